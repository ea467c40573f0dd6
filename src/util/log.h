/* SPDX-License-Identifier: MIT */
/*
 * Log lines on stderr (or in syslog): `time[LEVEL] text`, the level names of the reference.
 * Lines of one call site are limited to 10 in 5 seconds; what was left out is counted in the next.
 * Library layers log at debug or below; the daemon logs an error once, where it is handled.
 */
#pragma once

#include <stdatomic.h>

#include "util/macro.h"

enum log_level {
	LOG_VERBOSE,
	LOG_DEBUG,
	LOG_INFO,
	LOG_REPORT,
	LOG_WARNING,
	LOG_ERROR,
	LOG_CRITICAL,
	LOG_LEVEL_COUNT,
};

struct log_site {
	atomic_uint_least64_t window_start; /* ns, CLOCK_MONOTONIC */
	atomic_uint in_window, dropped;
};

extern const char *const log_level_names[LOG_LEVEL_COUNT];

/* Name (any case) to level; level or -EINVAL. */
int log_level_from_string(const char *name);
void log_set_level(enum log_level level);
/* From now on to syslog(3) instead of stderr: for a daemon without a terminal. */
void log_to_syslog(void);
enum log_level log_get_level(void);
void log_write(struct log_site *site, enum log_level level, const char *fmt, ...) _printf_(3, 4);

#define log_at(level, ...)                                                                         \
	do {                                                                                       \
		static struct log_site _site;                                                      \
		if ((level) >= log_get_level())                                                    \
			log_write(&_site, (level), __VA_ARGS__);                                   \
	} while (0)
#define log_verbose(...)  log_at(LOG_VERBOSE, __VA_ARGS__)
#define log_debug(...)	  log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)	  log_at(LOG_INFO, __VA_ARGS__)
#define log_report(...)	  log_at(LOG_REPORT, __VA_ARGS__)
#define log_warning(...)  log_at(LOG_WARNING, __VA_ARGS__)
#define log_error(...)	  log_at(LOG_ERROR, __VA_ARGS__)
#define log_critical(...) log_at(LOG_CRITICAL, __VA_ARGS__)
