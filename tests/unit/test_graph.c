/* SPDX-License-Identifier: MIT */
/* Drafts, builder, snapshot, store and diff; what random graphs do is in test_graph_random.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "graph/builder.h"
#include "graph/diff.h"
#include "graph/store.h"

/* --- helpers ---------------------------------------------------------------------------------- */
static void process(struct draft *d, int pid, const char *name)
{
	draft_begin(d, &entity_types[ENTITY_PROCESS]);
	draft_s64(d, PROCESS_PID, pid);
	draft_u64(d, PROCESS_START_TIME_TICKS, (uint64_t)pid * 10);
	if (name)
		draft_str(d, PROCESS_NAME, name);
}

static void socket_of(struct draft *d, const char *addr, int port, uint64_t inode)
{
	draft_begin(d, &entity_types[ENTITY_SOCKET]);
	draft_str(d, SOCKET_SOCKET_ADDR, addr);
	draft_s64(d, SOCKET_SOCKET_PORT, port);
	draft_u64(d, SOCKET_NETNS, 1);
	draft_u64(d, SOCKET_INODE, inode);
}

static struct builder *new_builder(const struct snapshot *previous)
{
	struct builder *b;

	assert_int_equal(builder_new(previous, (struct builder_limits){0}, &b), 0);
	return b;
}

static uint64_t add(struct builder *b, const struct draft *d)
{
	uint64_t ident = 0;

	assert_int_equal(builder_add(b, d, &ident), 0);
	assert_true(ident != 0 && ident <= IDENT_MASK);
	return ident;
}

static uint64_t add_process(struct builder *b, int pid)
{
	_cleanup_draft_ struct draft d = {0};

	process(&d, pid, "p");
	return add(b, &d);
}

static struct snapshot *finish(struct builder *b)
{
	struct snapshot *s;

	assert_int_equal(builder_finish(b, state_new(), &s), 0);
	builder_free(b);
	return s;
}

static const struct object *entity(const struct snapshot *s, enum entity_type type, const char *key)
{
	return snapshot_entity_by_key(s, type, key, strlen(key));
}

static bool bytes_are(const struct object *o, unsigned int attr, const char *want)
{
	size_t len;
	const char *s = object_bytes(o, attr, &len);

	return s && len == strlen(want) && memcmp(s, want, len) == 0;
}

static struct object *pack(const struct draft *d, struct object *same)
{
	struct object_identity id = {.ident = draft_ident(d), .key = "k", .key_len = 1};
	struct object *o;

	assert_int_equal(draft_pack(d, &id, same, &o), 0);
	return o;
}

/* --- drafts and objects ----------------------------------------------------------------------- */
static void test_defaults(void **state)
{
	_cleanup_draft_ struct draft d = {0};

	draft_begin(&d, &entity_types[ENTITY_PROCESS]);
	assert_int_equal(d.values[PROCESS_PID].kind, VALUE_S64);
	assert_int_equal(d.values[PROCESS_PID].s64, -1);
	assert_int_equal(d.values[PROCESS_NAME].kind, VALUE_NULL);
	assert_int_equal(d.values[PROCESS_UID].kind, VALUE_ABSENT);
	assert_int_equal(d.values[ENTITY_DETAILS_ATTR].kind, VALUE_JSON);
	draft_begin_bare(&d, &entity_types[ENTITY_PROCESS]);
	for (unsigned int i = 0; i < d.type->n_attrs; i++)
		assert_int_equal(d.values[i].kind, VALUE_ABSENT);
}

static void test_pack_equality(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	struct object *a, *b;

	process(&d, 5, "name");
	draft_str(&d, PROCESS_CMDLINE, "cmd line");
	a = pack(&d, NULL);
	b = pack(&d, a);
	assert_ptr_equal(a, b);
	object_unref(b);
	/* The same content by another way: written twice, in another order. */
	process(&d, 5, NULL);
	draft_str(&d, PROCESS_CMDLINE, "something else before");
	draft_str(&d, PROCESS_CMDLINE, "cmd line");
	draft_str(&d, PROCESS_NAME, "name");
	b = pack(&d, a);
	assert_ptr_equal(a, b);
	object_unref(b);
	/* Unpacked and packed again. */
	draft_from_object(&d, a);
	b = pack(&d, a);
	assert_ptr_equal(a, b);
	object_unref(b);
	object_unref(a);
}

static void test_pack_differences(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	struct object *a, *b;

	process(&d, 5, "name");
	draft_u64(&d, PROCESS_UID, 0);
	a = pack(&d, NULL);
	draft_str(&d, PROCESS_NAME, "nama");
	b = pack(&d, a);
	assert_ptr_not_equal(a, b);
	assert_false(object_attr_equal(a, b, PROCESS_NAME));
	assert_true(object_attr_equal(a, b, PROCESS_UID));
	assert_true(object_attr_equal(a, b, PROCESS_CMDLINE));
	assert_true(bytes_are(b, PROCESS_NAME, "nama"));
	object_unref(b);
	/* 0 is not "not known". */
	draft_str(&d, PROCESS_NAME, "name");
	draft_mark(&d, PROCESS_UID, VALUE_UNKNOWN);
	b = pack(&d, a);
	assert_ptr_not_equal(a, b);
	assert_false(object_attr_equal(a, b, PROCESS_UID));
	assert_true(object_has(a, PROCESS_UID) && !object_has(b, PROCESS_UID));
	object_unref(b);
	object_unref(a);
}

static void test_bytes_are_bytes(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_object_ struct object *o = NULL;
	size_t len;

	process(&d, 5, NULL);
	draft_bytes(&d, PROCESS_NAME, "a\0\n\xff", 4);
	draft_bytes(&d, PROCESS_CMDLINE, "", 0);
	o = pack(&d, NULL);
	assert_memory_equal(object_bytes(o, PROCESS_NAME, &len), "a\0\n\xff", 4);
	assert_int_equal(len, 4);
	assert_non_null(object_bytes(o, PROCESS_CMDLINE, &len));
	assert_int_equal(len, 0);
	assert_null(object_bytes(o, PROCESS_PID, &len));
}

static void test_idents(void **state)
{
	_cleanup_draft_ struct draft d = {0}, fresh = {0};
	uint64_t a, b;

	process(&d, 5, "x");
	a = draft_ident(&d);
	draft_str(&d, PROCESS_NAME, "y");
	draft_u64(&d, PROCESS_UID, 7);
	assert_int_equal(draft_ident(&d), a); /* what is not identity */
	draft_u64(&d, PROCESS_START_TIME_TICKS, 51);
	assert_int_not_equal(draft_ident(&d), a); /* the pid again, of another process */
	draft_mark(&d, PROCESS_START_TIME_TICKS, VALUE_ABSENT);
	b = draft_ident(&d); /* the second group: pid alone */
	assert_int_not_equal(b, a);
	draft_str(&d, ENTITY_ENTITY_NAMESPACE_ATTR, "other");
	assert_int_not_equal(draft_ident(&d), b);
	/* An empty text is the same whether or not the draft has held any text. */
	draft_begin_bare(&d, &entity_types[ENTITY_NUMA_SET]);
	draft_bytes(&d, NUMA_SET_NUMA_ID_STR, "", 0);
	draft_begin_bare(&fresh, &entity_types[ENTITY_NUMA_SET]);
	draft_bytes(&fresh, NUMA_SET_NUMA_ID_STR, "", 0);
	assert_int_equal(draft_ident(&d), draft_ident(&fresh));
	assert_int_equal(edge_ident(&edge_types[EDGE_UNDIRECTED], 3, 9),
			 edge_ident(&edge_types[EDGE_UNDIRECTED], 9, 3));
	assert_int_not_equal(edge_ident(&edge_types[EDGE_OWN], 3, 9),
			     edge_ident(&edge_types[EDGE_OWN], 9, 3));
	assert_int_not_equal(edge_ident(&edge_types[EDGE_OWN], 3, 9),
			     edge_ident(&edge_types[EDGE_BELONG], 3, 9));
}

/* --- merging (compat.md 4.3) ------------------------------------------------------------------ */
static void test_entity_merge(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);
	const struct object *o;

	process(&d, 5, "first");
	draft_mark(&d, PROCESS_GID, VALUE_UNKNOWN);
	add(b, &d);
	process(&d, 5, "second");
	draft_str(&d, PROCESS_CMDLINE, "filled in");
	draft_u64(&d, PROCESS_UID, 0);
	draft_u64(&d, PROCESS_GID, 9);
	add(b, &d);
	add(b, &d);
	assert_int_equal(builder_counts(b).entities, 1);
	s = finish(b);
	o = entity(s, ENTITY_PROCESS, "5");
	assert_true(bytes_are(o, PROCESS_NAME, "first"));
	assert_true(bytes_are(o, PROCESS_CMDLINE, "filled in"));
	assert_int_equal(object_value(o, PROCESS_UID)->kind, VALUE_U64);
	assert_int_equal(object_value(o, PROCESS_GID)->u64, 9);
}

static void flow(struct draft *d, int64_t start, int64_t end, int64_t size, int64_t packets)
{
	draft_begin(d, &edge_types[EDGE_SEND_TO_SOCKET]);
	draft_s64(d, EDGE_SEND_TO_SOCKET_START_TIME, start);
	draft_s64(d, EDGE_SEND_TO_SOCKET_END_TIME, end);
	draft_s64(d, EDGE_SEND_TO_SOCKET_DATA_SIZE, size);
	draft_s64(d, EDGE_SEND_TO_SOCKET_PACKETS_CNT, packets);
}

static const struct object *only_edge(const struct snapshot *s)
{
	assert_int_equal(s->n_edges, 1);
	return s->edges[0];
}

static void test_flow_merge(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);
	uint64_t p = add_process(b, 1), q = add_process(b, 2);
	const struct object *e;

	flow(&d, -1, -1, 100, 2);
	draft_str(&d, EDGE_SEND_TO_SOCKET_CONNECTION_TYPE, "UDP");
	assert_int_equal(builder_add_edge(b, &d, p, q), 0);
	flow(&d, 500, 700, 1000, 20);
	assert_int_equal(builder_add_edge(b, &d, p, q), 0);
	flow(&d, 400, 600, 1, 1);
	draft_f64(&d, EDGE_WEIGHT_ATTR, 1.5);
	assert_int_equal(builder_add_edge(b, &d, p, q), 0);
	s = finish(b);
	e = only_edge(s);
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_START_TIME)->s64, 400);
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_END_TIME)->s64, 700);
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_DATA_SIZE)->s64, 1101);
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_PACKETS_CNT)->s64, 23);
	assert_true(bytes_are(e, EDGE_SEND_TO_SOCKET_CONNECTION_TYPE, "UDP"));
	assert_int_equal(object_value(e, EDGE_WEIGHT_ATTR)->kind, VALUE_F64);
	assert_true(object_value(e, EDGE_WEIGHT_ATTR)->f64 == 1.5);
}

/* Adds two edges with these values of one attribute and returns the merged value. */
static struct value merge_two(unsigned int attr, const struct value *x, const struct value *y)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);
	uint64_t p = add_process(b, 1);

	draft_begin(&d, &edge_types[EDGE_SEND_TO_SOCKET]);
	d.values[attr] = *x;
	assert_int_equal(builder_add_edge(b, &d, p, p), 0);
	d.values[attr] = *y;
	assert_int_equal(builder_add_edge(b, &d, p, p), 0);
	s = finish(b);
	return *object_value(only_edge(s), attr);
}

static void test_sums_of_the_unknown(void **state)
{
	static const struct value null = {.kind = VALUE_NULL}, absent = {.kind = VALUE_ABSENT},
				  five = {.kind = VALUE_S64, .s64 = 5},
				  max = {.kind = VALUE_S64, .s64 = INT64_MAX},
				  half = {.kind = VALUE_F64, .f64 = 0.5};
	static const struct {
		unsigned int attr;
		const struct value *x, *y;
		struct value want;
	} rows[] = {
		/* No weight counts as 0, and once merged there is one. */
		{EDGE_WEIGHT_ATTR, &null, &null, {.kind = VALUE_F64}},
		{EDGE_WEIGHT_ATTR, &null, &half, {.kind = VALUE_F64, .f64 = 0.5}},
		{EDGE_WEIGHT_ATTR, &half, &null, {.kind = VALUE_F64, .f64 = 0.5}},
		{EDGE_WEIGHT_ATTR, &half, &half, {.kind = VALUE_F64, .f64 = 1}},
		{EDGE_WEIGHT_ATTR, &five, &half, {.kind = VALUE_F64, .f64 = 5.5}},
		{EDGE_WEIGHT_ATTR, &absent, &absent, {.kind = VALUE_ABSENT}},
		{EDGE_WEIGHT_ATTR, &absent, &half, {.kind = VALUE_F64, .f64 = 0.5}},
		/* A number plus what no counter counted is not known: never the number, never 0. */
		{EDGE_SEND_TO_SOCKET_DATA_SIZE, &null, &null, {.kind = VALUE_NULL}},
		{EDGE_SEND_TO_SOCKET_DATA_SIZE, &five, &null, {.kind = VALUE_NULL}},
		{EDGE_SEND_TO_SOCKET_DATA_SIZE, &absent, &five, {.kind = VALUE_S64, .s64 = 5}},
		{EDGE_SEND_TO_SOCKET_DATA_SIZE, &five, &absent, {.kind = VALUE_S64, .s64 = 5}},
		{EDGE_SEND_TO_SOCKET_DATA_SIZE, &five, &five, {.kind = VALUE_S64, .s64 = 10}},
		{EDGE_SEND_TO_SOCKET_DATA_SIZE, &max, &five, {.kind = VALUE_S64, .s64 = INT64_MAX}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value v = merge_two(rows[i].attr, rows[i].x, rows[i].y);

		if (v.kind != rows[i].want.kind || v.u64 != rows[i].want.u64)
			fail_msg("row %zu: kind %u value %lld", i, v.kind, (long long)v.s64);
	}
}

static void test_connect_twice(void **state)
{
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);
	uint64_t p = add_process(b, 1), q = add_process(b, 2);

	assert_int_equal(builder_connect(b, EDGE_OWN, p, q), 0);
	assert_int_equal(builder_connect(b, EDGE_OWN, p, q), 0);
	assert_int_equal(builder_connect(b, EDGE_UNDIRECTED, p, q), 0);
	assert_int_equal(builder_connect(b, EDGE_UNDIRECTED, q, p), 0);
	assert_int_equal(builder_counts(b).edges, 2);
	s = finish(b);
	for (uint32_t i = 0; i < s->n_edges; i++)
		assert_int_equal(object_value(s->edges[i], EDGE_WEIGHT_ATTR)->kind, VALUE_NULL);
}

/* --- generations ------------------------------------------------------------------------------ */
static struct snapshot *two_processes(const struct snapshot *previous, const char *name)
{
	_cleanup_draft_ struct draft d = {0};
	struct builder *b = new_builder(previous);
	uint64_t p, q;

	process(&d, 1, name);
	p = add(b, &d);
	process(&d, 2, "same");
	q = add(b, &d);
	/* In two parts, which are merged: also that is no change. */
	process(&d, 2, "same");
	draft_u64(&d, PROCESS_UID, 3);
	add(b, &d);
	flow(&d, 1, 2, 3, 4);
	assert_int_equal(builder_add_edge(b, &d, p, q), 0);
	assert_int_equal(builder_add_edge(b, &d, p, q), 0);
	assert_int_equal(builder_connect(b, EDGE_OWN, q, p), 0);
	return finish(b);
}

struct changes {
	unsigned int made, gone, changed;
};

static void count_change(void *userdata, const struct object *before, const struct object *after)
{
	struct changes *c = userdata;

	assert_true(before || after);
	assert_ptr_not_equal(before, after);
	c->made += !before;
	c->gone += !after;
	c->changed += before && after;
}

static struct changes diff(const struct snapshot *a, const struct snapshot *b)
{
	struct changes c = {0};
	struct diff_sink sink = {.entity = count_change, .edge = count_change, .userdata = &c};

	diff_snapshots(a, b, &sink);
	return c;
}

static void test_sharing(void **state)
{
	_cleanup_snapshot_ struct snapshot *a = two_processes(NULL, "old");
	_cleanup_snapshot_ struct snapshot *same = two_processes(a, "old");
	_cleanup_snapshot_ struct snapshot *changed = two_processes(same, "new");
	struct changes c;

	assert_int_equal(a->n_entities, 2);
	for (uint32_t i = 0; i < a->n_entities; i++)
		assert_ptr_equal(a->entities[i], same->entities[i]);
	for (uint32_t i = 0; i < a->n_edges; i++)
		assert_ptr_equal(a->edges[i], same->edges[i]);
	c = diff(a, same);
	assert_int_equal(c.made + c.gone + c.changed, 0);
	c = diff(same, changed);
	assert_int_equal(c.changed, 1);
	assert_int_equal(c.made + c.gone, 0);
	assert_ptr_equal(entity(same, ENTITY_PROCESS, "2"), entity(changed, ENTITY_PROCESS, "2"));
	assert_true(bytes_are(entity(same, ENTITY_PROCESS, "1"), PROCESS_NAME, "old"));
	assert_true(bytes_are(entity(changed, ENTITY_PROCESS, "1"), PROCESS_NAME, "new"));
}

static void test_diff(void **state)
{
	_cleanup_snapshot_ struct snapshot *a = two_processes(NULL, "old");
	_cleanup_snapshot_ struct snapshot *none = finish(new_builder(a));
	_cleanup_snapshot_ struct snapshot *again = NULL;
	struct changes c = diff(a, none);

	assert_int_equal(c.gone, 4);
	assert_int_equal(c.made + c.changed, 0);
	c = diff(none, a);
	assert_int_equal(c.made, 4);
	assert_int_equal(c.gone + c.changed, 0);
	assert_int_equal(snapshot_with_state(a, state_new(), &again), 0);
	c = diff(a, again);
	assert_int_equal(c.made + c.gone + c.changed, 0);
}

static void test_store(void **state)
{
	struct snapshot *a = two_processes(NULL, "a"), *held, *newest;
	struct store *store;

	assert_int_equal(store_new(a, 7, &store), 0);
	held = store_get(store);
	assert_ptr_equal(held, a);
	assert_int_equal(held->generation, 7);
	assert_int_equal(store_publish(store, two_processes(held, "b")), 8);
	newest = store_get(store);
	assert_int_equal(newest->generation, 8);
	store_free(store);
	/* Both live on as long as they are held. */
	assert_true(bytes_are(entity(held, ENTITY_PROCESS, "1"), PROCESS_NAME, "a"));
	assert_true(bytes_are(entity(newest, ENTITY_PROCESS, "1"), PROCESS_NAME, "b"));
	snapshot_unref(newest);
	assert_true(bytes_are(entity(held, ENTITY_PROCESS, "1"), PROCESS_NAME, "a"));
	snapshot_unref(held);
}

/* --- limits ----------------------------------------------------------------------------------- */
static void test_limits(void **state)
{
	struct builder_limits limits = {.entities = 3, .edges = 2};
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	uint64_t ids[3], ident = 99;
	struct builder *b;

	assert_int_equal(builder_new(NULL, limits, &b), 0);
	for (int i = 0; i < 3; i++)
		ids[i] = add_process(b, i);
	process(&d, 77, "x");
	assert_int_equal(builder_add(b, &d, &ident), -ENOSPC);
	assert_int_equal(ident, 99);
	assert_false(builder_has(b, draft_ident(&d)));
	/* What is there already may still be merged. */
	process(&d, 1, "p");
	draft_u64(&d, PROCESS_UID, 1);
	assert_int_equal(builder_add(b, &d, &ident), 0);
	assert_int_equal(ident, ids[1]);
	assert_int_equal(builder_connect(b, EDGE_OWN, ids[0], ids[1]), 0);
	assert_int_equal(builder_connect(b, EDGE_OWN, ids[0], ids[2]), 0);
	assert_int_equal(builder_connect(b, EDGE_OWN, ids[1], ids[2]), -ENOSPC);
	assert_int_equal(builder_connect(b, EDGE_OWN, ids[0], ids[1]), 0);
	assert_int_equal(builder_counts(b).lost, 2);
	s = finish(b);
	assert_int_equal(s->n_entities, 3);
	assert_int_equal(s->n_edges, 2);
}

static void test_dangling(void **state)
{
	struct builder *b = new_builder(NULL);
	struct snapshot *s;
	uint64_t p = add_process(b, 1), q;
	_cleanup_draft_ struct draft d = {0};

	process(&d, 2, "p");
	q = draft_ident(&d);
	assert_int_equal(builder_connect(b, EDGE_OWN, p, q), 0); /* its end comes later */
	assert_int_equal(builder_connect(b, EDGE_BELONG, p, 12345), 0);
	assert_int_equal(builder_connect(b, EDGE_BELONG, 12345, p), 0);
	assert_int_equal(add(b, &d), q);
	assert_int_equal(builder_finish(b, state_new(), &s), 0);
	assert_int_equal(builder_counts(b).dangling, 2);
	assert_int_equal(s->n_edges, 1);
	/* The builder is empty and may be used again. */
	assert_int_equal(builder_counts(b).entities, 0);
	assert_false(builder_has(b, p));
	snapshot_unref(s);
	add_process(b, 1);
	builder_free(b);
}

static void test_builder_merge(void **state)
{
	struct builder_limits small = {.entities = 2};
	struct builder *a = new_builder(NULL), *b = new_builder(NULL), *c;
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	uint64_t p = add_process(a, 1), q;

	add_process(b, 1);
	process(&d, 2, "other");
	q = add(b, &d);
	flow(&d, 1, 2, 10, 1);
	assert_int_equal(builder_add_edge(a, &d, p, q), 0);
	assert_int_equal(builder_add_edge(b, &d, p, q), 0);
	assert_int_equal(builder_merge(a, b), 0);
	assert_int_equal(builder_counts(b).entities, 2); /* stays as it is */
	process(&d, 3, "third");
	add(b, &d);
	assert_int_equal(builder_new(NULL, small, &c), 0);
	assert_int_equal(builder_merge(c, b), -ENOSPC);
	assert_int_equal(builder_counts(c).lost, 1);
	builder_free(c);
	builder_free(b);
	s = finish(a);
	assert_int_equal(s->n_entities, 2);
	assert_int_equal(object_value(only_edge(s), EDGE_SEND_TO_SOCKET_DATA_SIZE)->s64, 20);
}

/* --- restriction ------------------------------------------------------------------------------ */
static void test_restrict(void **state)
{
	struct builder *b = new_builder(NULL);
	_cleanup_snapshot_ struct snapshot *s = NULL;
	uint64_t p[7], container;
	_cleanup_draft_ struct draft d = {0};

	for (int i = 0; i < 7; i++)
		p[i] = add_process(b, i);
	draft_begin(&d, &entity_types[ENTITY_CONTAINER]);
	draft_str(&d, CONTAINER_CONTAINER_ID, "c");
	container = add(b, &d);
	/* 0 -> 1 -> 2 -> 0, 3 -> 0; container of 0 and 4; 5 beside 0, 6 alone */
	builder_connect(b, EDGE_OWN, p[0], p[1]);
	builder_connect(b, EDGE_OWN, p[1], p[2]);
	builder_connect(b, EDGE_OWN, p[2], p[0]);
	builder_connect(b, EDGE_OWN, p[3], p[0]);
	builder_connect(b, EDGE_RUN_ON, p[0], container);
	builder_connect(b, EDGE_HOST, container, p[0]);
	builder_connect(b, EDGE_HOST, container, p[4]);
	builder_connect(b, EDGE_UNDIRECTED, p[0], p[5]);
	assert_int_equal(builder_restrict(b, (uint64_t[]){p[0], 4242}, 2), 0);
	s = finish(b);
	assert_int_equal(s->n_entities, 4);
	for (int i = 0; i < 7; i++)
		assert_int_equal(snapshot_entity(s, p[i]) != NULL, i <= 2);
	assert_non_null(snapshot_entity(s, container));
	assert_int_equal(s->n_edges, 5); /* 0-1, 1-2, 2-0, and both with the container */
}

static void test_restrict_to_nothing(void **state)
{
	struct builder *b = new_builder(NULL);
	_cleanup_snapshot_ struct snapshot *s = NULL;
	uint64_t p = add_process(b, 1);

	builder_connect(b, EDGE_OWN, p, p);
	assert_int_equal(builder_restrict(b, NULL, 0), 0);
	assert_false(builder_has(b, p));
	s = finish(b);
	assert_int_equal(s->n_entities + s->n_edges, 0);
}

/* --- names ------------------------------------------------------------------------------------ */
static struct snapshot *sockets(const struct snapshot *previous, const uint64_t *inodes, int n)
{
	_cleanup_draft_ struct draft d = {0};
	struct builder *b = new_builder(previous);

	for (int i = 0; i < n; i++) {
		socket_of(&d, "::", 80, inodes[i]);
		add(b, &d);
	}
	return finish(b);
}

static uint64_t inode_at(const struct snapshot *s, const char *key)
{
	const struct object *o = entity(s, ENTITY_SOCKET, key);

	return o ? object_value(o, SOCKET_INODE)->u64 : 0;
}

static void test_sticky_keys(void **state)
{
	_cleanup_snapshot_ struct snapshot *a = sockets(NULL, (uint64_t[]){10, 11}, 2);
	_cleanup_snapshot_ struct snapshot *b = sockets(a, (uint64_t[]){12, 11, 10}, 3);
	_cleanup_snapshot_ struct snapshot *c = sockets(b, (uint64_t[]){11, 13}, 2);
	_cleanup_snapshot_ struct snapshot *d = sockets(c, (uint64_t[]){13, 14, 11}, 3);

	assert_int_equal(inode_at(a, "tcp-::,80"), 10);
	assert_int_equal(inode_at(a, "tcp-::,80~11"), 11);
	/* Another order, and a new one first: nobody's name moves. */
	assert_int_equal(inode_at(b, "tcp-::,80"), 10);
	assert_int_equal(inode_at(b, "tcp-::,80~11"), 11);
	assert_int_equal(inode_at(b, "tcp-::,80~12"), 12);
	/* 10 is gone: its name does not become another socket in the next generation. */
	assert_int_equal(inode_at(c, "tcp-::,80"), 0);
	assert_int_equal(inode_at(c, "tcp-::,80~11"), 11);
	assert_int_equal(inode_at(c, "tcp-::,80~13"), 13);
	/* Free for one generation, it may be used again. */
	assert_int_equal(inode_at(d, "tcp-::,80~13"), 13);
	assert_int_equal(inode_at(d, "tcp-::,80"), 14);
	assert_int_equal(inode_at(d, "tcp-::,80~11"), 11);
}

/* Sockets of a loaded file may agree in all that tells them apart. */
static void test_keys_never_equal(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);

	for (uint64_t netns = 1; netns <= 4; netns++) {
		socket_of(&d, "::", 80, 10);
		draft_u64(&d, SOCKET_NETNS, netns);
		add(b, &d);
	}
	/* A type without a sticky attribute: two of one name. */
	for (int size = 1; size <= 2; size++) {
		draft_begin(&d, &entity_types[ENTITY_SHM]);
		draft_str(&d, SHM_SHM_NAME, "n");
		draft_s64(&d, SHM_SHM_SIZE, size);
		add(b, &d);
	}
	s = finish(b);
	assert_int_equal(s->n_entities, 6);
	for (uint32_t i = 0; i < s->n_entities; i++) {
		const struct object *o = s->entities[i];

		assert_ptr_equal(
			snapshot_entity_by_key(s, o->type->index, object_key(o), o->key_len), o);
	}
}

static void check_edge_name(const struct snapshot *s, const struct object *e)
{
	_cleanup_strbuf_ struct strbuf name = {0};

	snapshot_edge_name(&name, s, e);
	assert_true(name.len <= 255);
	assert_ptr_equal(snapshot_edge_by_name(s, e->type->index, name.data, name.len), e);
	assert_null(snapshot_edge_by_name(s, EDGE_HOST, name.data, name.len));
	assert_null(snapshot_edge_by_name(s, e->type->index, name.data, name.len - 1));
	name.data[name.len - 1] ^= 1;
	assert_null(snapshot_edge_by_name(s, e->type->index, name.data, name.len));
}

static void test_edge_names(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);
	char name[300];
	uint64_t p = add_process(b, 1), dashes, long_one;

	draft_begin(&d, &entity_types[ENTITY_SHM]);
	draft_str(&d, SHM_SHM_NAME, "a--shm:b--process:1--c");
	dashes = add(b, &d);
	memset(name, 'x', sizeof(name));
	draft_bytes(&d, SHM_SHM_NAME, name, sizeof(name));
	long_one = add(b, &d);
	builder_connect(b, EDGE_ACCESS, p, dashes);
	builder_connect(b, EDGE_ACCESS, dashes, p);
	builder_connect(b, EDGE_ACCESS, dashes, dashes);
	builder_connect(b, EDGE_ACCESS, long_one, dashes);
	builder_connect(b, EDGE_ACCESS, long_one, long_one);
	builder_connect(b, EDGE_UNDIRECTED, p, dashes);
	s = finish(b);
	assert_int_equal(s->n_edges, 6);
	for (uint32_t i = 0; i < s->n_edges; i++)
		check_edge_name(s, s->edges[i]);
	assert_null(snapshot_edge_by_name(s, EDGE_ACCESS, "", 0));
	assert_null(snapshot_edge_by_name(s, EDGE_ACCESS, "--", 2));
	assert_null(snapshot_edge_by_name(s, EDGE_ACCESS, "process:1--process:1", 20));
	assert_ptr_equal(snapshot_peer(s, "process:1", 9), snapshot_entity(s, p));
	assert_null(snapshot_peer(s, "process:2", 9));
	assert_null(snapshot_peer(s, "nothing:1", 9));
	assert_null(snapshot_peer(s, "process1", 8));
}

/* --- look-ups --------------------------------------------------------------------------------- */
static void test_index(void **state)
{
	static const int ports[] = {80, 443, 80, -1, 8000};
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct builder *b = new_builder(NULL);
	uint64_t v;

	for (unsigned int i = 0; i < ARRAY_SIZE(ports); i++) {
		socket_of(&d, "::1", ports[i], i + 1);
		add(b, &d);
	}
	s = finish(b);
	assert_int_equal(snapshot_indexed(s, ENTITY_SOCKET, 80).n, 2);
	assert_int_equal(snapshot_indexed(s, ENTITY_SOCKET, 443).n, 1);
	assert_int_equal(snapshot_indexed(s, ENTITY_SOCKET, 81).n, 0);
	assert_int_equal(snapshot_indexed(s, ENTITY_SHM, 80).n, 0);
	assert_true(snapshot_index_next(s, ENTITY_SOCKET, 0, &v) && v == 80);
	assert_true(snapshot_index_next(s, ENTITY_SOCKET, 80, &v) && v == 80);
	assert_true(snapshot_index_next(s, ENTITY_SOCKET, 81, &v) && v == 443);
	assert_true(snapshot_index_next(s, ENTITY_SOCKET, 444, &v) && v == 8000);
	assert_false(snapshot_index_next(s, ENTITY_SOCKET, 8001, &v)); /* -1 is no port */
	assert_int_equal(v, 8000);
}

static void test_empty(void **state)
{
	_cleanup_snapshot_ struct snapshot *s = finish(new_builder(NULL));
	uint64_t v;

	assert_int_equal(s->n_entities + s->n_edges, 0);
	assert_null(snapshot_entity(s, 1));
	assert_null(snapshot_edge(s, 1));
	assert_null(entity(s, ENTITY_PROCESS, "1"));
	assert_int_equal(snapshot_out(s, 1).n + snapshot_in(s, 1).n, 0);
	assert_int_equal(snapshot_entity_from(s, ENTITY_PROCESS, 0), 0);
	assert_false(snapshot_index_next(s, ENTITY_PROCESS, 0, &v));
}

/* A directory cookie: from the ident of the last entry on, in a later generation too. */
static void test_cursor(void **state)
{
	_cleanup_snapshot_ struct snapshot *s = two_processes(NULL, "x");
	uint32_t from = s->entity_start[ENTITY_PROCESS], to = s->entity_start[ENTITY_PROCESS + 1];

	assert_int_equal(to - from, 2);
	assert_int_equal(snapshot_entity_from(s, ENTITY_PROCESS, 0), from);
	for (uint32_t i = from; i < to; i++) {
		uint64_t ident = s->entities[i]->ident;

		assert_int_equal(snapshot_entity_from(s, ENTITY_PROCESS, ident), i);
		assert_int_equal(snapshot_entity_from(s, ENTITY_PROCESS, ident + 1), i + 1);
	}
	assert_int_equal(snapshot_entity_from(s, ENTITY_PROCESS, UINT64_MAX), to);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_pack_equality),
		cmocka_unit_test(test_pack_differences),
		cmocka_unit_test(test_bytes_are_bytes),
		cmocka_unit_test(test_idents),
		cmocka_unit_test(test_entity_merge),
		cmocka_unit_test(test_flow_merge),
		cmocka_unit_test(test_sums_of_the_unknown),
		cmocka_unit_test(test_connect_twice),
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_dangling),
		cmocka_unit_test(test_builder_merge),
		cmocka_unit_test(test_restrict),
		cmocka_unit_test(test_restrict_to_nothing),
		cmocka_unit_test(test_sticky_keys),
		cmocka_unit_test(test_keys_never_equal),
		cmocka_unit_test(test_edge_names),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
