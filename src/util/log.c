/* SPDX-License-Identifier: MIT */
#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "util/fdio.h"
#include "util/log_syslog.h"
#include "util/timeutil.h"

#define LOG_BURST     10
#define LOG_WINDOW_NS (5 * NSEC_PER_SEC)

const char *const log_level_names[LOG_LEVEL_COUNT] = {
	[LOG_VERBOSE] = "VERBOSE",   [LOG_DEBUG] = "DEBUG",	[LOG_INFO] = "INFO",
	[LOG_REPORT] = "REPORT",     [LOG_WARNING] = "WARNING", [LOG_ERROR] = "ERROR",
	[LOG_CRITICAL] = "CRITICAL",
};
_Static_assert(ARRAY_SIZE(log_level_names) == LOG_LEVEL_COUNT, "a level without a name");

static const int syslog_priorities[LOG_LEVEL_COUNT] = {
	[LOG_VERBOSE] = 7, [LOG_DEBUG] = 7, [LOG_INFO] = 6,	[LOG_REPORT] = 5,
	[LOG_WARNING] = 4, [LOG_ERROR] = 3, [LOG_CRITICAL] = 2,
};

static atomic_int current_level = LOG_REPORT;
static atomic_bool to_syslog;

int log_level_from_string(const char *name)
{
	for (int i = 0; i < LOG_LEVEL_COUNT; i++)
		if (strcasecmp(name, log_level_names[i]) == 0)
			return i;
	return -EINVAL;
}

void log_set_level(enum log_level level)
{
	atomic_store(&current_level, (int)level);
}

void log_to_syslog(void)
{
	atomic_store(&to_syslog, true);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load_explicit(&current_level, memory_order_relaxed);
}

/* True when this line may be written; ret_dropped gets the lines left out since the last one. */
static bool log_admit(struct log_site *site, unsigned int *ret_dropped)
{
	uint64_t now = time_monotonic_ns();

	if (now - atomic_load(&site->window_start) > LOG_WINDOW_NS) {
		atomic_store(&site->window_start, now);
		atomic_store(&site->in_window, 0);
	}
	if (atomic_fetch_add(&site->in_window, 1) >= LOG_BURST) {
		atomic_fetch_add(&site->dropped, 1);
		return false;
	}
	*ret_dropped = atomic_exchange(&site->dropped, 0);
	return true;
}

void log_write(struct log_site *site, enum log_level level, const char *fmt, ...)
{
	unsigned int dropped = 0;
	char line[2048];
	struct tm tm;
	time_t now = time(NULL);
	size_t len, text;
	va_list ap;
	int n;

	if (!log_admit(site, &dropped))
		return;
	localtime_r(&now, &tm);
	text = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S", &tm);
	len = text;
	len += (size_t)snprintf(line + len, sizeof(line) - len, "[%s] ", log_level_names[level]);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 64, fmt, ap);
	va_end(ap);
	if (n > 0)
		len += MIN((size_t)n, sizeof(line) - len - 65);
	if (dropped)
		len += (size_t)snprintf(line + len, sizeof(line) - len, " (%u such lines left out)",
					dropped);
	if (atomic_load(&to_syslog)) {
		log_syslog(syslog_priorities[level], line + text);
		return;
	}
	line[len++] = '\n';
	/* There is nowhere to report that stderr is gone. */
	(void)fdio_write_all(STDERR_FILENO, line, len);
}
