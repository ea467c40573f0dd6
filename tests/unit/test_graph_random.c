/* SPDX-License-Identifier: MIT */
/*
 * Random graphs over several generations, compared with a model that does everything the slow and
 * obvious way: arrays, searched from the front.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "graph/builder.h"
#include "graph/diff.h"

#define MAX_ENTITIES 400
#define MAX_EDGES    1200

struct model_entity {
	enum entity_type type;
	uint64_t ident;
	int64_t number; /* pid, port, numa id */
	uint64_t extra; /* uid or inode; 0: none */
	int name;	/* -1: null */
};

struct model_edge {
	enum edge_type type;
	uint64_t ident, source, target;
	int64_t size, packets, start, end; /* SendToSocket only */
	unsigned int merged;
};

struct model {
	struct model_entity entities[MAX_ENTITIES];
	struct model_edge edges[MAX_EDGES];
	unsigned int n_entities, n_edges;
};

static uint64_t seed;

static unsigned int rnd(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % n;
}

/* --- making ----------------------------------------------------------------------------------- */
static void random_entity(struct draft *d, struct model_entity *m)
{
	static const enum entity_type types[] = {ENTITY_PROCESS, ENTITY_SOCKET, ENTITY_NUMA};
	char name[16];

	*m = (struct model_entity){.type = types[rnd(3)], .name = (int)rnd(4) - 1};
	draft_begin(d, &entity_types[m->type]);
	snprintf(name, sizeof(name), "name%d", m->name);
	switch (m->type) {
	case ENTITY_PROCESS:
		m->number = rnd(60);
		m->extra = rnd(3);
		draft_s64(d, PROCESS_PID, m->number);
		draft_u64(d, PROCESS_START_TIME_TICKS, 7);
		if (m->name >= 0)
			draft_str(d, PROCESS_NAME, name);
		if (m->extra)
			draft_u64(d, PROCESS_UID, m->extra);
		break;
	case ENTITY_SOCKET:
		m->extra = 1 + rnd(80);
		m->number = (int64_t)(m->extra % 7); /* few ports: many equal keys */
		m->name = -1;
		draft_str(d, SOCKET_SOCKET_ADDR, "::1");
		draft_s64(d, SOCKET_SOCKET_PORT, m->number);
		draft_u64(d, SOCKET_NETNS, 1);
		draft_u64(d, SOCKET_INODE, m->extra);
		break;
	default:
		m->number = rnd(8);
		m->name = -1;
		draft_s64(d, NUMA_NUMA_ID, m->number);
	}
	m->ident = draft_ident(d);
}

/* The model's merge: the first value wins, what is missing is filled. */
static void model_add(struct model *m, const struct model_entity *e)
{
	for (unsigned int i = 0; i < m->n_entities; i++) {
		struct model_entity *old = &m->entities[i];

		if (old->ident != e->ident)
			continue;
		if (old->name < 0)
			old->name = e->name;
		if (!old->extra)
			old->extra = e->extra;
		return;
	}
	m->entities[m->n_entities++] = *e;
}

static void model_add_edge(struct model *m, const struct model_edge *e)
{
	for (unsigned int i = 0; i < m->n_edges; i++) {
		struct model_edge *old = &m->edges[i];

		if (old->ident != e->ident)
			continue;
		old->size += e->size;
		old->packets += e->packets;
		if (e->start >= 0 && (old->start < 0 || e->start < old->start))
			old->start = e->start;
		if (e->end > old->end)
			old->end = e->end;
		old->merged++;
		return;
	}
	m->edges[m->n_edges++] = *e;
}

static void random_edge(struct draft *d, const struct model *m, struct model_edge *e)
{
	static const enum edge_type types[] = {EDGE_OWN, EDGE_SEND_TO_SOCKET, EDGE_UNDIRECTED};

	*e = (struct model_edge){
		.type = types[rnd(3)],
		.source = m->entities[rnd(m->n_entities)].ident,
		.target = m->entities[rnd(m->n_entities)].ident,
		.size = rnd(1000),
		.packets = rnd(9),
		.start = (int64_t)rnd(50) - 1,
		.end = (int64_t)rnd(50) - 1,
	};
	e->ident = edge_ident(&edge_types[e->type], e->source, e->target);
	draft_begin(d, &edge_types[e->type]);
	if (e->type != EDGE_SEND_TO_SOCKET)
		return;
	draft_s64(d, EDGE_SEND_TO_SOCKET_DATA_SIZE, e->size);
	draft_s64(d, EDGE_SEND_TO_SOCKET_PACKETS_CNT, e->packets);
	draft_s64(d, EDGE_SEND_TO_SOCKET_START_TIME, e->start);
	draft_s64(d, EDGE_SEND_TO_SOCKET_END_TIME, e->end);
}

static struct snapshot *random_graph(const struct snapshot *previous, struct model *m)
{
	_cleanup_draft_ struct draft d = {0};
	struct builder *b;
	struct snapshot *s;
	unsigned int n = 1 + rnd(MAX_ENTITIES), edges = rnd(MAX_EDGES);

	m->n_entities = m->n_edges = 0;
	assert_int_equal(builder_new(previous, (struct builder_limits){0}, &b), 0);
	for (unsigned int i = 0; i < n; i++) {
		struct model_entity e;
		uint64_t ident;

		random_entity(&d, &e);
		assert_int_equal(builder_add(b, &d, &ident), 0);
		assert_true(ident == e.ident);
		model_add(m, &e);
	}
	for (unsigned int i = 0; i < edges; i++) {
		struct model_edge e;

		random_edge(&d, m, &e);
		assert_int_equal(builder_add_edge(b, &d, e.source, e.target), 0);
		model_add_edge(m, &e);
	}
	assert_int_equal(builder_finish(b, state_new(), &s), 0);
	builder_free(b);
	return s;
}

/* --- comparing -------------------------------------------------------------------------------- */
static void check_entities(const struct snapshot *s, const struct model *m)
{
	assert_int_equal(s->n_entities, m->n_entities);
	for (unsigned int i = 0; i < m->n_entities; i++) {
		const struct model_entity *e = &m->entities[i];
		const struct object *o = snapshot_entity(s, e->ident);
		size_t len;

		assert_non_null(o);
		assert_ptr_equal(o->type, &entity_types[e->type]);
		assert_ptr_equal(snapshot_entity_by_key(s, e->type, object_key(o), o->key_len), o);
		if (e->type != ENTITY_PROCESS)
			continue;
		assert_int_equal(object_value(o, PROCESS_PID)->s64, e->number);
		assert_int_equal(object_has(o, PROCESS_UID), e->extra != 0);
		assert_int_equal(object_value(o, PROCESS_UID)->u64, e->extra);
		assert_int_equal(object_bytes(o, PROCESS_NAME, &len) != NULL, e->name >= 0);
		if (e->name >= 0)
			assert_int_equal(object_bytes(o, PROCESS_NAME, &len)[4] - '0', e->name);
	}
}

static void check_edges(const struct snapshot *s, const struct model *m)
{
	assert_int_equal(s->n_edges, m->n_edges);
	for (unsigned int i = 0; i < m->n_edges; i++) {
		const struct model_edge *e = &m->edges[i];
		const struct object *o = snapshot_edge(s, e->ident);
		_cleanup_strbuf_ struct strbuf name = {0};

		assert_non_null(o);
		assert_true(o->source == e->source && o->target == e->target);
		assert_int_equal(object_value(o, EDGE_WEIGHT_ATTR)->kind,
				 e->merged ? VALUE_F64 : VALUE_NULL);
		snapshot_edge_name(&name, s, o);
		assert_ptr_equal(snapshot_edge_by_name(s, e->type, name.data, name.len), o);
		if (e->type != EDGE_SEND_TO_SOCKET)
			continue;
		assert_int_equal(object_value(o, EDGE_SEND_TO_SOCKET_DATA_SIZE)->s64, e->size);
		assert_int_equal(object_value(o, EDGE_SEND_TO_SOCKET_PACKETS_CNT)->s64, e->packets);
		assert_int_equal(object_value(o, EDGE_SEND_TO_SOCKET_START_TIME)->s64, e->start);
		assert_int_equal(object_value(o, EDGE_SEND_TO_SOCKET_END_TIME)->s64, e->end);
	}
}

/* Sorted by type and ident, and the starts of the types are where the types start. */
static void check_order(struct object *const *objects, uint32_t n, const uint32_t *start,
			uint32_t n_types)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct object *a = objects[i - 1], *b = objects[i];

		assert_true(a->type->index < b->type->index ||
			    (a->type == b->type && a->ident < b->ident));
	}
	for (uint32_t t = 0; t < n_types; t++)
		for (uint32_t i = start[t]; i < start[t + 1]; i++)
			assert_int_equal(objects[i]->type->index, t);
	assert_int_equal(start[0], 0);
	assert_int_equal(start[n_types], n);
}

/* Edges of each entity, found by looking at all of them. */
static void check_adjacency(const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->n_entities; i++) {
		uint64_t ident = s->entities[i]->ident;
		struct edge_run out = snapshot_out(s, ident), in = snapshot_in(s, ident);
		uint32_t n_out = 0, n_in = 0;

		for (uint32_t k = 0; k < s->n_edges; k++) {
			const struct object *e = s->edges[k];
			bool both =
				!e->type->directed && (e->source == ident || e->target == ident);

			if (e->source == ident || both)
				assert_true(n_out < out.n && out.edges[n_out++] == k);
			if (e->target == ident || both)
				assert_true(n_in < in.n && in.edges[n_in++] == k);
		}
		assert_int_equal(n_out, out.n);
		assert_int_equal(n_in, in.n);
	}
}

static void check_index(const struct snapshot *s, const struct model *m)
{
	for (uint64_t port = 0; port < 9; port++) {
		struct index_run run = snapshot_indexed(s, ENTITY_SOCKET, port);
		uint32_t n = 0;
		uint64_t next, smallest = UINT64_MAX;

		for (unsigned int i = 0; i < m->n_entities; i++) {
			uint64_t number = (uint64_t)m->entities[i].number;

			if (m->entities[i].type != ENTITY_SOCKET)
				continue;
			n += number == port;
			if (number >= port && number < smallest)
				smallest = number;
		}
		assert_int_equal(run.n, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(
				object_value(s->entities[run.entities[i]], SOCKET_SOCKET_PORT)->u64,
				port);
		assert_int_equal(snapshot_index_next(s, ENTITY_SOCKET, port, &next),
				 smallest != UINT64_MAX);
		if (smallest != UINT64_MAX)
			assert_int_equal(next, smallest);
	}
}

/* No name of a socket goes over to another one from one generation to the next. */
static void check_names(const struct snapshot *before, const struct snapshot *after)
{
	for (uint32_t i = before->entity_start[ENTITY_SOCKET];
	     i < before->entity_start[ENTITY_SOCKET + 1]; i++) {
		const struct object *a = before->entities[i];
		const struct object *same_name =
			snapshot_entity_by_key(after, ENTITY_SOCKET, object_key(a), a->key_len);
		const struct object *same = snapshot_entity(after, a->ident);

		if (same_name)
			assert_true(same_name->ident == a->ident);
		if (same)
			assert_ptr_equal(same, same_name);
	}
}

/* --- differences ------------------------------------------------------------------------------ */
struct seen {
	const struct snapshot *before, *after;
	unsigned int n;
};

static bool same_values(const struct object *a, const struct object *b)
{
	for (unsigned int i = 0; i < a->n_values; i++)
		if (!object_attr_equal(a, b, i))
			return false;
	return a->key_len == b->key_len && memcmp(object_key(a), object_key(b), a->key_len) == 0;
}

static void see_entity(void *userdata, const struct object *before, const struct object *after)
{
	struct seen *seen = userdata;

	seen->n++;
	assert_ptr_equal(before, snapshot_entity(seen->before, (before ? before : after)->ident));
	assert_ptr_equal(after, snapshot_entity(seen->after, (before ? before : after)->ident));
	if (before && after)
		assert_false(same_values(before, after));
}

static void see_edge(void *userdata, const struct object *before, const struct object *after)
{
	struct seen *seen = userdata;

	seen->n++;
	assert_ptr_equal(before, snapshot_edge(seen->before, (before ? before : after)->ident));
	assert_ptr_equal(after, snapshot_edge(seen->after, (before ? before : after)->ident));
	if (before && after && before->source == after->source)
		assert_false(same_values(before, after));
}

static void check_diff(const struct snapshot *before, const struct snapshot *after)
{
	struct seen seen = {before, after, 0};
	struct diff_sink sink = {see_entity, see_edge, &seen};
	unsigned int want = 0;

	for (uint32_t i = 0; i < before->n_entities; i++)
		want += snapshot_entity(after, before->entities[i]->ident) != before->entities[i];
	for (uint32_t i = 0; i < after->n_entities; i++)
		want += !snapshot_entity(before, after->entities[i]->ident);
	for (uint32_t i = 0; i < before->n_edges; i++)
		want += snapshot_edge(after, before->edges[i]->ident) != before->edges[i];
	for (uint32_t i = 0; i < after->n_edges; i++)
		want += !snapshot_edge(before, after->edges[i]->ident);
	diff_snapshots(before, after, &sink);
	assert_int_equal(seen.n, want);
}

static void test_random_graphs(void **state)
{
	static struct model m;

	for (unsigned int round = 0; round < 12; round++) {
		struct snapshot *before = NULL;

		seed = 88172645463325252ULL + round * 7919;
		for (unsigned int generation = 0; generation < 6; generation++) {
			struct snapshot *s = random_graph(before, &m);

			check_entities(s, &m);
			check_edges(s, &m);
			check_order(s->entities, s->n_entities, s->entity_start, ENTITY_TYPE_COUNT);
			check_order(s->edges, s->n_edges, s->edge_start, EDGE_TYPE_COUNT);
			check_adjacency(s);
			check_index(s, &m);
			if (before) {
				check_names(before, s);
				check_diff(before, s);
			}
			snapshot_unref(before);
			before = s;
		}
		snapshot_unref(before);
	}
}

/* The same random graph again is the same objects again. */
static void test_nothing_changed(void **state)
{
	static struct model m;
	struct snapshot *a, *b;

	seed = 12345;
	a = random_graph(NULL, &m);
	seed = 12345;
	b = random_graph(a, &m);
	assert_int_equal(a->n_entities, b->n_entities);
	for (uint32_t i = 0; i < a->n_entities; i++)
		assert_ptr_equal(a->entities[i], b->entities[i]);
	for (uint32_t i = 0; i < a->n_edges; i++)
		assert_ptr_equal(a->edges[i], b->edges[i]);
	snapshot_unref(a);
	snapshot_unref(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_nothing_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
