/* SPDX-License-Identifier: MIT */
/*
 * A collector: one source of observations. Never fatal: what it cannot do it says in its report.
 *
 * A collector lists its methods, best first. The scheduler probes them in that order at start and
 * uses the first that works here; the reasons of those that do not are kept and shown in
 * collectors/<name>/reason and by `wittyfs --verify`.
 *
 * All calls come from the scheduler's thread.
 */
#pragma once

#include "graph/builder.h"

struct proctable;

/* What every collector may use. Root descriptors make recorded machines valid inputs. */
struct collect_context {
	int proc_fd, sys_fd; /* /proc and /sys */
	bool live; /* false: a recorded machine; no netlink, no setns, no on-demand reading */
	struct proctable *procs; /* process table, brought up to date by the process collector */
	uint64_t cycle;		 /* number of this collection, 1 is the first */
};

/* What a collection reports about itself; zeroed by the caller. */
struct collect_report {
	bool degraded;	  /* worked, but saw less than it could */
	char reason[512]; /* what is missing, and the command that mends it, when there is one */
	struct state_lost lost[STATE_MAX_LOST];
	unsigned int n_lost;
};

/* Counts n losses of one cause (static text). Beyond the table they go to its last row. */
void collect_lost(struct collect_report *r, const char *cause, uint64_t n);

struct collector_method {
	const char *name;
	const char *doc;
	/* 0 when it works here; else -errno, with the reason (and the mend) in `reason`. */
	int (*probe)(struct collect_context *ctx, char *reason, size_t size);
};

struct collector {
	const char *name;
	const char *doc;
	const struct collector_method *methods;
	unsigned int n_methods;
	/* method: index into methods. ret_state is given back to the other calls. May be NULL. */
	int (*start)(struct collect_context *ctx, unsigned int method, void **ret_state);
	void (*stop)(void *state);
	/* Forgets everything remembered between collections. May be NULL. */
	void (*clear)(void *state);
	/* Adds what it sees to the builder; 0 or -errno (then nothing of it is shown but the
	 * reason). */
	int (*collect)(struct collect_context *ctx, void *state, struct builder *b,
		       struct collect_report *report);
};

/* All collectors in the order of collection, NULL-ended. A new one is one name in registry.c. */
extern const struct collector *const collectors[];
