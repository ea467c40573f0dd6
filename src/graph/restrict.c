/* SPDX-License-Identifier: MIT */
/* Breadth-first selection of what is reached from seeds. O(entities + edges). */
#include <errno.h>

#include "graph/builder_private.h"
#include "util/hash.h"

/* Not followed: from a container to its processes, and what has no direction. */
static bool followed(const struct object *edge)
{
	return edge->type->directed && edge->type->index != EDGE_HOST;
}

struct reach {
	uint32_t *start, *targets; /* adjacency by entity position */
	uint32_t *queue;
	bool *seen;
	uint32_t n_queue;
};

static void reach_deinit(struct reach *r)
{
	free(r->start);
	free(r->targets);
	free(r->queue);
	free(r->seen);
}

static void visit(struct reach *r, uint32_t position)
{
	if (position == UINT32_MAX || r->seen[position])
		return;
	r->seen[position] = true;
	r->queue[r->n_queue++] = position;
}

/* Counting sort of the followed edges by their source. */
static int build_adjacency(struct builder *b, struct reach *r)
{
	_cleanup_free_ uint32_t *at = NULL;

	r->start = calloc((size_t)b->entities.n + 2, sizeof(*r->start));
	r->targets = calloc((size_t)b->edges.n + 1, sizeof(*r->targets));
	r->queue = calloc((size_t)b->entities.n + 1, sizeof(*r->queue));
	r->seen = calloc((size_t)b->entities.n + 1, sizeof(*r->seen));
	if (!r->start || !r->targets || !r->queue || !r->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->edges.n; i++) {
		uint32_t s = slots_find(&b->entities.by_ident, b->edges.items[i]->source);

		if (s != UINT32_MAX && followed(b->edges.items[i]))
			r->start[s + 1]++;
	}
	for (uint32_t i = 0; i < b->entities.n; i++)
		r->start[i + 1] += r->start[i];
	at = malloc(((size_t)b->entities.n + 1) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	memcpy(at, r->start, ((size_t)b->entities.n + 1) * sizeof(*at));
	for (uint32_t i = 0; i < b->edges.n; i++) {
		uint32_t s = slots_find(&b->entities.by_ident, b->edges.items[i]->source);

		if (s != UINT32_MAX && followed(b->edges.items[i]))
			r->targets[at[s]++] =
				slots_find(&b->entities.by_ident, b->edges.items[i]->target);
	}
	return 0;
}

/* Keeps the marked entities and the edges between them; rebuilds the ident table of the list. */
static int keep(struct object_list *l, const bool *marks)
{
	uint32_t kept = 0;

	slots_deinit(&l->by_ident);
	for (uint32_t i = 0; i < l->n; i++) {
		if (!marks[i])
			object_unref(l->items[i]);
		else
			l->items[kept++] = l->items[i];
	}
	l->n = kept;
	for (uint32_t i = 0; i < kept; i++)
		if (slots_put(&l->by_ident, l->items[i]->ident, i) < 0)
			return -ENOMEM;
	return 0;
}

int builder_restrict(struct builder *b, const uint64_t *seeds, uint32_t n_seeds)
{
	_cleanup_(reach_deinit) struct reach reach = {0};
	_cleanup_free_ bool *edge_marks = NULL;
	int r = build_adjacency(b, &reach);

	if (r < 0)
		return r;
	edge_marks = calloc((size_t)b->edges.n + 1, sizeof(*edge_marks));
	if (!edge_marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_seeds; i++)
		visit(&reach, slots_find(&b->entities.by_ident, seeds[i]));
	for (uint32_t i = 0; i < reach.n_queue; i++)
		for (uint32_t k = reach.start[reach.queue[i]]; k < reach.start[reach.queue[i] + 1];
		     k++)
			visit(&reach, reach.targets[k]);
	for (uint32_t i = 0; i < b->edges.n; i++) {
		uint32_t s = slots_find(&b->entities.by_ident, b->edges.items[i]->source);
		uint32_t t = slots_find(&b->entities.by_ident, b->edges.items[i]->target);

		edge_marks[i] =
			s != UINT32_MAX && t != UINT32_MAX && reach.seen[s] && reach.seen[t];
	}
	r = keep(&b->edges, edge_marks);
	return r < 0 ? r : keep(&b->entities, reach.seen);
}
