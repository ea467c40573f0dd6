/* SPDX-License-Identifier: MIT */
#include "daemon/notify.h"

#include <string.h>
#include <systemd/sd-daemon.h>

#include "util/log.h"

void notify_service(const char *state)
{
	int r = sd_notify(0, state);

	if (r < 0)
		log_warning("cannot tell the service manager '%s': %s", state, strerror(-r));
}
