/* SPDX-License-Identifier: MIT */
/*
 * The state of the daemon at one generation: what status, control/ and collectors/ show. Made by
 * the scheduler for each snapshot, immutable, shared by reference count.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/macro.h"

#define STATE_MAX_COLLECTORS 24
#define STATE_MAX_LOST	     8
#define STATE_MAX_PIDS	     64

/* Something that was seen and could not be shown. */
struct state_lost {
	const char *cause; /* static text, in words of a user */
	uint64_t count;	   /* in this collection */
};

enum collector_health {
	COLLECTOR_OFF,
	COLLECTOR_OK,
	COLLECTOR_DEGRADED, /* works, but sees less than it could: see reason */
	COLLECTOR_FAILED,
	COLLECTOR_STALE, /* its last collection has not come back in time */
	COLLECTOR_HEALTH_COUNT,
};
extern const char *const collector_health_names[COLLECTOR_HEALTH_COUNT];

struct collector_state {
	const char *name;   /* static */
	const char *method; /* static; "none" when nothing works */
	char reason[512];   /* why this method; what is missing */
	enum collector_health health;
	bool enabled;
	uint64_t entities, edges;
	uint64_t cost_ns;      /* CPU time of the last collection */
	uint64_t collected_ns; /* when it last came back, CLOCK_MONOTONIC; 0 never */
	struct state_lost lost[STATE_MAX_LOST];
	unsigned int n_lost;
};

struct state {
	atomic_uint refs;
	bool running;
	bool recorded;	    /* a loaded file, not this machine */
	const char *source; /* "this machine", or the file */
	uint64_t interval_ns;
	uint64_t started_ns;	      /* daemon start, ns since the epoch */
	uint64_t collected_ns;	      /* this generation, ns since the epoch; 0 before the first */
	uint64_t collections;	      /* since the start */
	uint64_t cost_ns, elapsed_ns; /* CPU time and duration of the last collection */
	int pid;
	int pids[STATE_MAX_PIDS]; /* seeds; none: the whole machine */
	unsigned int n_pids;
	const char *log_level;	/* static */
	uint64_t lost;		/* objects beyond the limits of the builder, in this generation */
	char last_result[1024]; /* JSON of the last control action; "{}" before the first */
	unsigned int n_collectors;
	struct collector_state collectors[STATE_MAX_COLLECTORS];
};

struct state *state_new(void);
/* A private copy to change and publish. */
struct state *state_dup(const struct state *s);
struct state *state_unref(struct state *s);
static inline void state_unrefp(struct state **s)
{
	*s = state_unref(*s);
}
