/* SPDX-License-Identifier: MIT */
#include "graph/diff.h"

typedef void (*diff_fn)(void *userdata, const struct object *before, const struct object *after);

static int order(const struct object *a, const struct object *b)
{
	if (a->type != b->type)
		return a->type->index < b->type->index ? -1 : 1;
	return a->ident < b->ident ? -1 : a->ident > b->ident;
}

static void diff_arrays(struct object **a, uint32_t na, struct object **b, uint32_t nb, diff_fn fn,
			void *userdata)
{
	uint32_t i = 0, j = 0;

	while (i < na || j < nb) {
		int o = i == na ? 1 : j == nb ? -1 : order(a[i], b[j]);

		if (o < 0)
			fn(userdata, a[i++], NULL);
		else if (o > 0)
			fn(userdata, NULL, b[j++]);
		else {
			if (a[i] != b[j])
				fn(userdata, a[i], b[j]);
			i++;
			j++;
		}
	}
}

void diff_snapshots(const struct snapshot *before, const struct snapshot *after,
		    const struct diff_sink *sink)
{
	/* A snapshot that only changed its state shares the arrays. */
	if (before->index == after->index)
		return;
	if (sink->entity)
		diff_arrays(before->entities, before->n_entities, after->entities,
			    after->n_entities, sink->entity, sink->userdata);
	if (sink->edge)
		diff_arrays(before->edges, before->n_edges, after->edges, after->n_edges,
			    sink->edge, sink->userdata);
}
