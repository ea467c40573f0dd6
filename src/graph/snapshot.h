/* SPDX-License-Identifier: MIT */
/*
 * One generation of the graph: immutable, shared by reference count, read without any lock.
 *
 * Entities and edges are sorted by (type, ident), so a listing in that order has stable positions:
 * an ident is a directory cookie, and a reader that goes on in a later generation neither sees an
 * entry twice nor misses one that stayed. Look-ups by ident, by name and along edges are O(1).
 */
#pragma once

#include "graph/object.h"
#include "graph/state.h"

struct snapshot_index; /* private: hash tables and adjacency */

struct snapshot {
	atomic_uint refs;
	uint64_t generation;
	uint32_t n_entities, n_edges;
	struct object **entities, **edges;
	uint32_t entity_start[ENTITY_TYPE_COUNT + 1]; /* [start[t], start[t + 1]) has type t */
	uint32_t edge_start[EDGE_TYPE_COUNT + 1];
	struct state *state;
	struct snapshot_index *index;
};

/* A run of edge positions (into snapshot.edges) in the order of that array. */
struct edge_run {
	const uint32_t *edges;
	uint32_t n;
};

struct snapshot *snapshot_ref(struct snapshot *s);
struct snapshot *snapshot_unref(struct snapshot *s);
static inline void snapshot_unrefp(struct snapshot **s)
{
	*s = snapshot_unref(*s);
}
#define _cleanup_snapshot_ _cleanup_(snapshot_unrefp)

/*
 * Makes a snapshot of arrays of objects (sorted here; references are taken over, also on failure).
 * An edge with an end that is not among the entities is left out and counted in *ret_dangling.
 * Returns 0 or -ENOMEM.
 */
int snapshot_new(struct object **entities, uint32_t n_entities, struct object **edges,
		 uint32_t n_edges, struct state *state, struct snapshot **ret,
		 uint32_t *ret_dangling);
/* The same graph with another state and generation: shares everything else. 0 or -ENOMEM. */
int snapshot_with_state(struct snapshot *s, struct state *state, struct snapshot **ret);

/* All return NULL when there is none; borrowed from the snapshot. */
const struct object *snapshot_entity(const struct snapshot *s, uint64_t ident);
const struct object *snapshot_edge(const struct snapshot *s, uint64_t ident);
const struct object *snapshot_entity_by_key(const struct snapshot *s, enum entity_type type,
					    const char *key, size_t len);
const struct object *snapshot_edge_by_name(const struct snapshot *s, enum edge_type type,
					   const char *name, size_t len);
/* Position of the first entity of the type (edge of the type) whose ident is >= ident. */
uint32_t snapshot_entity_from(const struct snapshot *s, enum entity_type type, uint64_t ident);
uint32_t snapshot_edge_from(const struct snapshot *s, enum edge_type type, uint64_t ident);

/* Edges that start (end) at the entity. An undirected edge is in both. */
struct edge_run snapshot_out(const struct snapshot *s, uint64_t ident);
struct edge_run snapshot_in(const struct snapshot *s, uint64_t ident);

/*
 * Entities of a type by its index attribute (by/port): the run of those with that number, and the
 * smallest number >= at_least that exists (false when there is none).
 */
struct index_run {
	const uint32_t *entities; /* positions in snapshot.entities, ascending ident */
	uint32_t n;
};
struct index_run snapshot_indexed(const struct snapshot *s, enum entity_type type, uint64_t value);
bool snapshot_index_next(const struct snapshot *s, enum entity_type type, uint64_t at_least,
			 uint64_t *ret_value);

/* `type:key` of an entity as a link name; `source--target` of an edge as a directory name. */
void snapshot_peer_name(struct strbuf *b, const struct object *entity);
/* The entity of a `type:key` name, or NULL. */
const struct object *snapshot_peer(const struct snapshot *s, const char *name, size_t len);
void snapshot_edge_name(struct strbuf *b, const struct snapshot *s, const struct object *edge);
