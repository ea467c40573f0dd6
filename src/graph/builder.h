/* SPDX-License-Identifier: MIT */
/*
 * A graph under construction. Collectors give drafts; the builder merges what has the same
 * identity, reuses unchanged objects of the previous snapshot, keeps the limits, and finishes as a
 * snapshot.
 *
 * Not thread-safe: one builder, one thread. A collector that runs apart fills a builder of its own,
 * which builder_merge() then pours into the main one.
 *
 * Merging (compat.md 4.3): of an entity the first value of each attribute wins, absent ones are
 * filled in; of an edge weights add up, data_size and packets_cnt add up, start_time is the smaller
 * and end_time the larger one, other attributes keep the first value.
 */
#pragma once

#include "graph/snapshot.h"

struct builder;

struct builder_limits {
	uint32_t entities, edges; /* 0: the default */
};
#define BUILDER_DEFAULT_ENTITIES 400000
#define BUILDER_DEFAULT_EDGES	 1600000

/* previous may be NULL; it is only read. */
int builder_new(const struct snapshot *previous, struct builder_limits limits,
		struct builder **ret);
struct builder *builder_free(struct builder *b);
static inline void builder_freep(struct builder **b)
{
	*b = builder_free(*b);
}
#define _cleanup_builder_ _cleanup_(builder_freep)

/*
 * Adds what the draft describes. ret_ident (may be NULL) gets its ident, also when an equal one was
 * there. 0; -ENOMEM; -ENOSPC: the limit is reached (counted, the caller just goes on).
 */
int builder_add(struct builder *b, const struct draft *d, uint64_t *ret_ident);
/* The ends may be added later; an edge whose end never comes is dropped and counted at the finish.
 */
int builder_add_edge(struct builder *b, const struct draft *d, uint64_t source, uint64_t target);
/* An edge without attributes of its own. */
int builder_connect(struct builder *b, enum edge_type type, uint64_t source, uint64_t target);
/* True when an entity of this ident was added. */
bool builder_has(const struct builder *b, uint64_t ident);

/* Counts since the start, and what the limits left out. */
struct builder_counts {
	uint32_t entities, edges, lost, dangling;
};
struct builder_counts builder_counts(const struct builder *b);

/* Adds everything of `from`, which stays as it is. 0, -ENOMEM or -ENOSPC (rest counted). */
int builder_merge(struct builder *b, const struct builder *from);

/*
 * Keeps only the seeds and what is reached from them along directed edges. From a container its
 * processes are not reached (else one process would bring all of its neighbours).
 */
int builder_restrict(struct builder *b, const uint64_t *seeds, uint32_t n_seeds);

/* Makes the snapshot (the state's reference is taken over) and empties the builder. 0 or -ENOMEM.
 */
int builder_finish(struct builder *b, struct state *state, struct snapshot **ret);
