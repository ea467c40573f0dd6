/* SPDX-License-Identifier: MIT */
/*
 * Memory beside the objects: about 12 bytes per entity and 24 per edge for the tables. They belong
 * to the index, which several snapshots share when only the state differs.
 */
#include "graph/snapshot.h"

#include <errno.h>
#include <stdio.h>

#include "graph/template.h"
#include "util/hash.h"
#include "util/text.h"

#define EDGE_NAME_MAX 220
#define NO_POSITION   UINT32_MAX

/* Open addressing over positions; the hashed value is read back from the object. */
struct table {
	uint32_t *slots;
	uint32_t mask;
};

struct adjacency {
	uint32_t *start; /* n_entities + 1 */
	uint32_t *edges;
};

struct number_index {
	uint64_t *values;   /* ascending */
	uint32_t *entities; /* positions, ascending ident within a value */
	uint32_t n;
};

struct snapshot_index {
	atomic_uint refs;
	struct object **entities, **edges;
	uint32_t n_entities, n_edges;
	struct table by_ident, by_name, edge_by_ident;
	struct adjacency out, in;
	struct number_index numbers[ENTITY_TYPE_COUNT];
};

/* --- tables ----------------------------------------------------------------------------------- */
static int table_init(struct table *t, uint32_t n)
{
	uint32_t size = 16;

	while (size < n * 2)
		size *= 2;
	t->slots = malloc(size * sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	memset(t->slots, 0xff, size * sizeof(*t->slots));
	t->mask = size - 1;
	return 0;
}

static void table_put(struct table *t, uint64_t hash, uint32_t position)
{
	uint32_t i = (uint32_t)hash_mix(hash) & t->mask;

	while (t->slots[i] != NO_POSITION)
		i = (i + 1) & t->mask;
	t->slots[i] = position;
}

static uint32_t find_ident(const struct table *t, struct object *const *objects, uint64_t ident)
{
	uint32_t i = (uint32_t)hash_mix(ident) & t->mask;

	for (; t->slots[i] != NO_POSITION; i = (i + 1) & t->mask)
		if (objects[t->slots[i]]->ident == ident)
			return t->slots[i];
	return NO_POSITION;
}

/* --- life cycle ------------------------------------------------------------------------------- */
static void free_objects(struct object **objects, uint32_t n)
{
	for (uint32_t i = 0; objects && i < n; i++)
		object_unref(objects[i]);
	free(objects);
}

static void index_unref(struct snapshot_index *x)
{
	if (!x || atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
		return;
	free_objects(x->entities, x->n_entities);
	free_objects(x->edges, x->n_edges);
	free(x->by_ident.slots);
	free(x->by_name.slots);
	free(x->edge_by_ident.slots);
	free(x->out.start);
	free(x->out.edges);
	free(x->in.start);
	free(x->in.edges);
	for (unsigned int i = 0; i < ENTITY_TYPE_COUNT; i++) {
		free(x->numbers[i].values);
		free(x->numbers[i].entities);
	}
	free(x);
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

struct snapshot *snapshot_unref(struct snapshot *s)
{
	if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
		index_unref(s->index);
		state_unref(s->state);
		free(s);
	}
	return NULL;
}

/* --- building the index ----------------------------------------------------------------------- */
static int compare_objects(const void *a, const void *b)
{
	const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;

	if (x->type != y->type)
		return x->type->index < y->type->index ? -1 : 1;
	return x->ident < y->ident ? -1 : x->ident > y->ident;
}

static void fill_starts(uint32_t *start, uint32_t n_types, struct object **objects, uint32_t n)
{
	uint32_t i = 0;

	for (uint32_t t = 0; t < n_types; t++) {
		while (i < n && objects[i]->type->index < t)
			i++;
		start[t] = i;
	}
	start[n_types] = n;
}

static int index_entities(struct snapshot_index *x)
{
	int r = table_init(&x->by_ident, x->n_entities);

	if (r == 0)
		r = table_init(&x->by_name, x->n_entities);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < x->n_entities; i++) {
		table_put(&x->by_ident, x->entities[i]->ident, i);
		table_put(&x->by_name, x->entities[i]->name_hash, i);
	}
	return 0;
}

/* Drops edges without both ends, then indexes the rest. */
static int index_edges(struct snapshot_index *x, uint32_t *ret_dangling)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < x->n_edges; i++) {
		struct object *e = x->edges[i];

		if (find_ident(&x->by_ident, x->entities, e->source) == NO_POSITION ||
		    find_ident(&x->by_ident, x->entities, e->target) == NO_POSITION)
			object_unref(e);
		else
			x->edges[kept++] = e;
	}
	*ret_dangling = x->n_edges - kept;
	x->n_edges = kept;
	if (table_init(&x->edge_by_ident, kept) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < kept; i++)
		table_put(&x->edge_by_ident, x->edges[i]->ident, i);
	return 0;
}

/* Edge i is listed at its source (at its target); an undirected one at both ends in both lists. */
static unsigned int edge_ends(const struct object *e, bool in, uint64_t ends[2])
{
	ends[0] = in ? e->target : e->source;
	ends[1] = in ? e->source : e->target;
	return e->type->directed || e->source == e->target ? 1 : 2;
}

/* Counting sort by position of the end: the edges of one node keep the order of the array. */
static int index_adjacency(struct snapshot_index *x, struct adjacency *a, bool in)
{
	_cleanup_free_ uint32_t *at = NULL;
	uint32_t total = 0;
	uint64_t ends[2];

	a->start = calloc((size_t)x->n_entities + 2, sizeof(*a->start));
	at = calloc((size_t)x->n_entities + 2, sizeof(*at));
	if (!a->start || !at)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->n_edges; i++) {
		unsigned int n = edge_ends(x->edges[i], in, ends);

		for (unsigned int k = 0; k < n; k++, total++)
			a->start[find_ident(&x->by_ident, x->entities, ends[k]) + 1]++;
	}
	for (uint32_t i = 0; i < x->n_entities; i++)
		a->start[i + 1] += a->start[i];
	memcpy(at, a->start, ((size_t)x->n_entities + 1) * sizeof(*at));
	a->edges = malloc(MAX(total, 1U) * sizeof(*a->edges));
	if (!a->edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->n_edges; i++) {
		unsigned int n = edge_ends(x->edges[i], in, ends);

		for (unsigned int k = 0; k < n; k++)
			a->edges[at[find_ident(&x->by_ident, x->entities, ends[k])]++] = i;
	}
	return 0;
}

struct numbered {
	uint64_t value;
	uint32_t position;
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

static int index_numbers(struct snapshot_index *x, const struct type_schema *type, uint32_t from,
			 uint32_t to)
{
	struct number_index *n = &x->numbers[type->index];
	_cleanup_free_ struct numbered *rows = malloc(((size_t)to - from + 1) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = from; i < to; i++) {
		const struct value *v =
			object_value(x->entities[i], (unsigned int)type->index_attr);

		if ((v->kind == VALUE_S64 && v->s64 >= 0) || v->kind == VALUE_U64)
			rows[n->n++] = (struct numbered){v->u64, i};
	}
	qsort(rows, n->n, sizeof(*rows), compare_numbered);
	n->values = malloc(((size_t)n->n + 1) * sizeof(*n->values));
	n->entities = malloc(((size_t)n->n + 1) * sizeof(*n->entities));
	if (!n->values || !n->entities)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->n; i++) {
		n->values[i] = rows[i].value;
		n->entities[i] = rows[i].position;
	}
	return 0;
}

static int index_fill(struct snapshot_index *x, struct snapshot *s, uint32_t *ret_dangling)
{
	int r;

	if (x->n_entities)
		qsort(x->entities, x->n_entities, sizeof(*x->entities), compare_objects);
	if (x->n_edges)
		qsort(x->edges, x->n_edges, sizeof(*x->edges), compare_objects);
	r = index_entities(x);
	if (r == 0)
		r = index_edges(x, ret_dangling);
	if (r == 0)
		r = index_adjacency(x, &x->out, false);
	if (r == 0)
		r = index_adjacency(x, &x->in, true);
	if (r < 0)
		return r;
	fill_starts(s->entity_start, ENTITY_TYPE_COUNT, x->entities, x->n_entities);
	fill_starts(s->edge_start, EDGE_TYPE_COUNT, x->edges, x->n_edges);
	for (unsigned int t = 0; t < ENTITY_TYPE_COUNT && r == 0; t++)
		if (entity_types[t].index_attr >= 0)
			r = index_numbers(x, &entity_types[t], s->entity_start[t],
					  s->entity_start[t + 1]);
	return r;
}

int snapshot_new(struct object **entities, uint32_t n_entities, struct object **edges,
		 uint32_t n_edges, struct state *state, struct snapshot **ret,
		 uint32_t *ret_dangling)
{
	_cleanup_snapshot_ struct snapshot *s = calloc(1, sizeof(*s));
	struct snapshot_index *x = calloc(1, sizeof(*x));
	uint32_t dangling = 0;
	int r;

	if (!s || !x) {
		free(x);
		free_objects(entities, n_entities);
		free_objects(edges, n_edges);
		state_unref(state);
		return -ENOMEM;
	}
	atomic_init(&s->refs, 1);
	atomic_init(&x->refs, 1);
	s->index = x;
	s->state = state;
	x->entities = entities;
	x->n_entities = n_entities;
	x->edges = edges;
	x->n_edges = n_edges;
	r = index_fill(x, s, &dangling);
	if (r < 0)
		return r;
	s->entities = x->entities;
	s->n_entities = x->n_entities;
	s->edges = x->edges;
	s->n_edges = x->n_edges;
	*ret_dangling = dangling;
	*ret = STEAL_PTR(s);
	return 0;
}

int snapshot_with_state(struct snapshot *s, struct state *state, struct snapshot **ret)
{
	struct snapshot *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, s, sizeof(*copy));
	atomic_init(&copy->refs, 1);
	atomic_fetch_add_explicit(&copy->index->refs, 1, memory_order_relaxed);
	copy->state = state;
	*ret = copy;
	return 0;
}

/* --- look-ups --------------------------------------------------------------------------------- */
const struct object *snapshot_entity(const struct snapshot *s, uint64_t ident)
{
	uint32_t i = find_ident(&s->index->by_ident, s->entities, ident);

	return i == NO_POSITION ? NULL : s->entities[i];
}

const struct object *snapshot_edge(const struct snapshot *s, uint64_t ident)
{
	uint32_t i = find_ident(&s->index->edge_by_ident, s->edges, ident);

	return i == NO_POSITION ? NULL : s->edges[i];
}

const struct object *snapshot_entity_by_key(const struct snapshot *s, enum entity_type type,
					    const char *key, size_t len)
{
	const struct table *t = &s->index->by_name;
	uint64_t hash = object_name_hash(&entity_types[type], key, len);
	uint32_t i = (uint32_t)hash_mix(hash) & t->mask;

	for (; t->slots[i] != NO_POSITION; i = (i + 1) & t->mask) {
		const struct object *o = s->entities[t->slots[i]];

		if (o->name_hash == hash && o->type == &entity_types[type] && o->key_len == len &&
		    memcmp(object_key(o), key, len) == 0)
			return o;
	}
	return NULL;
}

static uint32_t lower_bound(struct object *const *objects, uint32_t from, uint32_t to,
			    uint64_t ident)
{
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (objects[mid]->ident < ident)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

uint32_t snapshot_entity_from(const struct snapshot *s, enum entity_type type, uint64_t ident)
{
	return lower_bound(s->entities, s->entity_start[type], s->entity_start[type + 1], ident);
}

uint32_t snapshot_edge_from(const struct snapshot *s, enum edge_type type, uint64_t ident)
{
	return lower_bound(s->edges, s->edge_start[type], s->edge_start[type + 1], ident);
}

static struct edge_run run_of(const struct snapshot *s, const struct adjacency *a, uint64_t ident)
{
	uint32_t i = find_ident(&s->index->by_ident, s->entities, ident);

	if (i == NO_POSITION)
		return (struct edge_run){NULL, 0};
	return (struct edge_run){a->edges + a->start[i], a->start[i + 1] - a->start[i]};
}

struct edge_run snapshot_out(const struct snapshot *s, uint64_t ident)
{
	return run_of(s, &s->index->out, ident);
}

struct edge_run snapshot_in(const struct snapshot *s, uint64_t ident)
{
	return run_of(s, &s->index->in, ident);
}

static uint32_t number_from(const struct number_index *n, uint64_t value)
{
	uint32_t from = 0, to = n->n;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (n->values[mid] < value)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

struct index_run snapshot_indexed(const struct snapshot *s, enum entity_type type, uint64_t value)
{
	const struct number_index *n = &s->index->numbers[type];
	uint32_t from = number_from(n, value), to = from;

	while (to < n->n && n->values[to] == value)
		to++;
	return (struct index_run){n->entities ? n->entities + from : NULL, to - from};
}

bool snapshot_index_next(const struct snapshot *s, enum entity_type type, uint64_t at_least,
			 uint64_t *ret_value)
{
	const struct number_index *n = &s->index->numbers[type];
	uint32_t i = number_from(n, at_least);

	if (i == n->n)
		return false;
	*ret_value = n->values[i];
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */
void snapshot_peer_name(struct strbuf *b, const struct object *entity)
{
	strbuf_str(b, entity->type->short_name);
	strbuf_char(b, ':');
	strbuf_add(b, object_key(entity), entity->key_len);
}

void snapshot_edge_name(struct strbuf *b, const struct snapshot *s, const struct object *edge)
{
	const struct object *source = snapshot_entity(s, edge->source);
	const struct object *target = snapshot_entity(s, edge->target);
	size_t mark = b->len;

	snapshot_peer_name(b, source);
	strbuf_str(b, "--");
	snapshot_peer_name(b, target);
	if (b->len - mark <= EDGE_NAME_MAX)
		return;
	b->len = mark + EDGE_NAME_MAX - 17;
	strbuf_printf(b, "~%016llx", (unsigned long long)edge->ident);
}

const struct object *snapshot_peer(const struct snapshot *s, const char *name, size_t len)
{
	const char *colon = memchr(name, ':', len);
	char type[32];
	const struct type_schema *t;
	size_t n;

	if (!colon || (n = (size_t)(colon - name)) >= sizeof(type))
		return NULL;
	memcpy(type, name, n);
	type[n] = '\0';
	t = schema_entity(type);
	return t ? snapshot_entity_by_key(s, t->index, colon + 1, len - n - 1) : NULL;
}

/* A name that was too long ends in ~ and the ident. */
static const struct object *find_cut_edge(const struct snapshot *s, const char *name, size_t len)
{
	char hex[17] = "";

	if (len != EDGE_NAME_MAX || name[len - 17] != '~')
		return NULL;
	memcpy(hex, name + len - 16, 16);
	return snapshot_edge(s, strtoull(hex, NULL, 16));
}

const struct object *snapshot_edge_by_name(const struct snapshot *s, enum edge_type type,
					   const char *name, size_t len)
{
	const struct object *edge = find_cut_edge(s, name, len);
	_cleanup_strbuf_ struct strbuf check = {0};

	/* "--" may also stand inside a key: try each place. */
	for (size_t i = 1; !edge && i + 3 < len; i++) {
		const struct object *source, *target;

		if (name[i] != '-' || name[i + 1] != '-')
			continue;
		source = snapshot_peer(s, name, i);
		target = source ? snapshot_peer(s, name + i + 2, len - i - 2) : NULL;
		if (target)
			edge = snapshot_edge(
				s, edge_ident(&edge_types[type], source->ident, target->ident));
	}
	if (!edge || edge->type != &edge_types[type])
		return NULL;
	snapshot_edge_name(&check, s, edge);
	return check.len == len && memcmp(check.data, name, len) == 0 ? edge : NULL;
}
