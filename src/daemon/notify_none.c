/* SPDX-License-Identifier: MIT */
#include "daemon/notify.h"

#include "util/macro.h"

void notify_service(const char *state _unused_)
{
}
