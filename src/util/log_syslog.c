/* SPDX-License-Identifier: MIT */
#include "util/log_syslog.h"

#include <syslog.h>

void log_syslog(int priority, const char *text)
{
	syslog(LOG_DAEMON | priority, "%s", text);
}
