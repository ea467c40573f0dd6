/* SPDX-License-Identifier: MIT */
/* Clocks as nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "util/macro.h"

static inline uint64_t time_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* For intervals: never jumps. */
static inline uint64_t time_monotonic_ns(void)
{
	return time_clock_ns(CLOCK_MONOTONIC);
}

/* For people: since the epoch. */
static inline uint64_t time_realtime_ns(void)
{
	return time_clock_ns(CLOCK_REALTIME);
}

/* CPU time of the calling thread. */
static inline uint64_t time_thread_cpu_ns(void)
{
	return time_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
