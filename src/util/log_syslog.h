/* SPDX-License-Identifier: MIT */
/* The way to syslog(3), apart from log.h: <syslog.h> defines the same names as other values. */
#pragma once

/* priority: 0 (emergency) to 7 (debug), as of syslog(3). */
void log_syslog(int priority, const char *text);
