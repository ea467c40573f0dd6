/* SPDX-License-Identifier: MIT */
/* Every collector, in the order of collection: the later ones use what the earlier ones found. */
#include "collect/container.h"
#include "collect/numa.h"
#include "collect/process.h"
#include "collect/socket.h"
#include "collect/thread.h"

const struct collector *const collectors[] = {
	&collector_process, &collector_thread, &collector_container,
	&collector_numa,    &collector_socket, NULL,
};
