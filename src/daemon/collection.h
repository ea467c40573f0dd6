/* SPDX-License-Identifier: MIT */
/*
 * All collectors with what they remember: one call makes one snapshot. Used by the scheduler
 * (mounted) and by the offline mode; not thread-safe.
 */
#pragma once

#include <sys/types.h>

#include "collect/collector.h"
#include "daemon/config.h"

struct collection;

/*
 * fsroot: NULL for this machine, else a directory with recorded proc/ and sys/. Probes the methods
 * of every collector that the configuration does not disable. error gets one line. 0 or -errno.
 */
int collection_new(const struct config *config, const char *fsroot, struct collection **ret,
		   char *error, size_t error_size);
struct collection *collection_free(struct collection *c);

/* Fills the collectors of a state that has none yet: name, method, reason, health. */
void collection_describe(const struct collection *c, struct state *state);

/*
 * Collects once. `state` is changed in place (counts, costs, health, times) and its reference taken
 * over by the snapshot, also on failure. previous may be NULL. 0 or -errno.
 */
int collection_run(struct collection *c, const struct snapshot *previous, struct state *state,
		   struct snapshot **ret);
/* Forgets everything seen so far. */
void collection_clear(struct collection *c);
/* Is there such a process now? */
bool collection_pid_exists(const struct collection *c, pid_t pid);

/* The methods of a collector as probed at start, for --verify. */
struct collection_method {
	const struct collector *collector;
	const struct collector_method *method;
	bool works, used;
	char reason[256]; /* why it does not work */
};
typedef void (*collection_method_fn)(void *userdata, const struct collection_method *m);
void collection_methods(struct collection *c, collection_method_fn fn, void *userdata);
