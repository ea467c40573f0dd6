/* SPDX-License-Identifier: MIT */
#include "graph/builder_private.h"

#include <errno.h>

#include "graph/template.h"
#include "util/hash.h"

/* --- ident table ------------------------------------------------------------------------------ */
uint32_t slots_find(const struct slot_table *t, uint64_t key)
{
	uint32_t i;

	if (!t->size)
		return UINT32_MAX;
	for (i = (uint32_t)hash_mix(key) & (t->size - 1); t->keys[i]; i = (i + 1) & (t->size - 1))
		if (t->keys[i] == key)
			return t->positions[i];
	return UINT32_MAX;
}

static void slots_insert(struct slot_table *t, uint64_t key, uint32_t position)
{
	uint32_t i = (uint32_t)hash_mix(key) & (t->size - 1);

	while (t->keys[i] && t->keys[i] != key)
		i = (i + 1) & (t->size - 1);
	t->used += t->keys[i] == 0;
	t->keys[i] = key;
	t->positions[i] = position;
}

static int slots_grow(struct slot_table *t)
{
	struct slot_table bigger = {.size = t->size ? t->size * 2 : 1024};

	bigger.keys = calloc(bigger.size, sizeof(*bigger.keys));
	bigger.positions = malloc(bigger.size * sizeof(*bigger.positions));
	if (!bigger.keys || !bigger.positions) {
		slots_deinit(&bigger);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->size; i++)
		if (t->keys[i])
			slots_insert(&bigger, t->keys[i], t->positions[i]);
	slots_deinit(t);
	*t = bigger;
	return 0;
}

int slots_put(struct slot_table *t, uint64_t key, uint32_t position)
{
	if (t->used * 2 >= t->size) {
		int r = slots_grow(t);

		if (r < 0)
			return r;
	}
	slots_insert(t, key, position);
	return 0;
}

void slots_deinit(struct slot_table *t)
{
	free(t->keys);
	free(t->positions);
	*t = (struct slot_table){0};
}

/* --- lists ------------------------------------------------------------------------------------ */
static void list_deinit(struct object_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		object_unref(l->items[i]);
	free(l->items);
	slots_deinit(&l->by_ident);
	*l = (struct object_list){0};
}

/* Takes the object over, also on failure. */
static int list_add(struct object_list *l, struct object *o)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 1024;
		struct object **items = realloc(l->items, cap * sizeof(struct object *));

		if (!items) {
			object_unref(o);
			return -ENOMEM;
		}
		l->items = items;
		l->cap = cap;
	}
	if (slots_put(&l->by_ident, o->ident, l->n) < 0) {
		object_unref(o);
		return -ENOMEM;
	}
	l->items[l->n++] = o;
	return 0;
}

/* --- builder ---------------------------------------------------------------------------------- */
int builder_new(const struct snapshot *previous, struct builder_limits limits, struct builder **ret)
{
	struct builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->previous = previous;
	b->limits.entities = limits.entities ? limits.entities : BUILDER_DEFAULT_ENTITIES;
	b->limits.edges = limits.edges ? limits.edges : BUILDER_DEFAULT_EDGES;
	*ret = b;
	return 0;
}

struct builder *builder_free(struct builder *b)
{
	if (!b)
		return NULL;
	list_deinit(&b->entities);
	list_deinit(&b->edges);
	slots_deinit(&b->keys);
	draft_deinit(&b->scratch);
	strbuf_deinit(&b->key);
	free(b);
	return NULL;
}

/* --- merging ---------------------------------------------------------------------------------- */
static double as_number(const struct value *v)
{
	if (v->kind == VALUE_F64)
		return v->f64;
	return v->kind == VALUE_S64 ? (double)v->s64 : 0;
}

static bool is_number(const struct value *v)
{
	return v->kind == VALUE_S64 || v->kind == VALUE_F64;
}

/* A sum with a part that is not known is not known. */
static void merge_sum(struct value *a, const struct value *b)
{
	if (b->kind == VALUE_ABSENT || (!is_number(a) && a->kind != VALUE_ABSENT))
		return;
	if (a->kind == VALUE_ABSENT || !is_number(b)) {
		*a = *b;
	} else if (a->kind == VALUE_S64 && b->kind == VALUE_S64) {
		if (__builtin_add_overflow(a->s64, b->s64, &a->s64))
			a->s64 = b->s64 > 0 ? INT64_MAX : INT64_MIN;
	} else {
		*a = (struct value){.kind = VALUE_F64, .f64 = as_number(a) + as_number(b)};
	}
}

/* The reference's rule: no weight counts as 0, and once merged there is a weight. */
static void merge_weight(struct value *a, const struct value *b)
{
	const struct value zero = {.kind = VALUE_F64};

	if (a->kind == VALUE_NULL && b->kind != VALUE_ABSENT)
		*a = zero;
	merge_sum(a, b->kind == VALUE_NULL ? &zero : b);
}

static void merge_min(struct value *a, const struct value *b)
{
	if (b->kind == VALUE_S64 && b->s64 >= 0 && (a->s64 < 0 || b->s64 < a->s64))
		*a = *b;
}

static void merge_max(struct value *a, const struct value *b)
{
	if (b->kind == VALUE_S64 && b->s64 > a->s64)
		*a = *b;
}

/* How an attribute of an edge is merged; the others keep the first value. */
static const struct merge_rule {
	int edge_type; /* -1: every type */
	unsigned int attr;
	void (*merge)(struct value *a, const struct value *b);
} merge_rules[] = {
	{-1, EDGE_WEIGHT_ATTR, merge_weight},
	{EDGE_SEND_TO_SOCKET, EDGE_SEND_TO_SOCKET_DATA_SIZE, merge_sum},
	{EDGE_SEND_TO_SOCKET, EDGE_SEND_TO_SOCKET_PACKETS_CNT, merge_sum},
	{EDGE_SEND_TO_SOCKET, EDGE_SEND_TO_SOCKET_START_TIME, merge_min},
	{EDGE_SEND_TO_SOCKET, EDGE_SEND_TO_SOCKET_END_TIME, merge_max},
};

static bool is_text(const struct value *v)
{
	return v->kind == VALUE_BYTES || v->kind == VALUE_JSON;
}

/* The rule of an attribute, or NULL: it keeps its first value. */
static const struct merge_rule *rule_of(const struct type_schema *type, unsigned int attr)
{
	for (size_t i = 0; type->is_edge && i < ARRAY_SIZE(merge_rules); i++)
		if (merge_rules[i].attr == attr &&
		    (merge_rules[i].edge_type < 0 ||
		     (unsigned int)merge_rules[i].edge_type == type->index))
			return &merge_rules[i];
	return NULL;
}

static void fill_value(struct draft *into, unsigned int attr, const struct draft *from)
{
	const struct value *v = &from->values[attr];

	if (v->kind == VALUE_BYTES)
		draft_bytes(into, attr, from->heap.data + v->offset, v->len);
	else if (v->kind == VALUE_JSON)
		draft_json(into, attr, from->heap.data + v->offset, v->len);
	else
		into->values[attr] = *v;
}

/* Merges each attribute of `from` into `into`; true when something changed. */
static bool merge_values(struct draft *into, const struct draft *from)
{
	bool changed = false;

	for (unsigned int i = 0; i < into->type->n_attrs; i++) {
		const struct merge_rule *rule = rule_of(into->type, i);
		struct value *a = &into->values[i], before = *a;
		const struct value *b = &from->values[i];

		if (rule && !is_text(a) && !is_text(b)) {
			rule->merge(a, b);
			changed = changed || memcmp(&before, a, sizeof(before)) != 0;
		} else if (a->kind <= VALUE_NULL && b->kind > a->kind) {
			fill_value(into, i, from);
			changed = true;
		}
	}
	return changed;
}

static int merge_into(struct builder *b, struct object_list *l, uint32_t position,
		      const struct draft *d)
{
	struct object *old = l->items[position], *merged;
	const struct object *before = NULL;
	struct object_identity id = {
		.ident = old->ident,
		.source = old->source,
		.target = old->target,
		.key = object_key(old),
		.key_len = old->key_len,
	};
	int r;

	draft_from_object(&b->scratch, old);
	if (!merge_values(&b->scratch, d))
		return 0;
	/* Merged every time, it is the same object every time. */
	if (b->previous)
		before = d->type->is_edge ? snapshot_edge(b->previous, old->ident)
					  : snapshot_entity(b->previous, old->ident);
	r = draft_pack(&b->scratch, &id, (struct object *)before, &merged);
	if (r < 0)
		return r;
	l->items[position] = merged;
	object_unref(old);
	return 0;
}

/* --- keys ------------------------------------------------------------------------------------- */
/* The name belongs to another entity: of this graph, or (types with sticky keys) of the one before.
 */
static bool key_taken(const struct builder *b, const struct draft *d, uint64_t ident)
{
	const struct object *other;

	if (slots_find(&b->keys, object_name_hash(d->type, b->key.data, b->key.len)) != UINT32_MAX)
		return true;
	if (d->type->sticky_attr < 0 || !b->previous)
		return false;
	other = snapshot_entity_by_key(b->previous, d->type->index, b->key.data, b->key.len);
	return other && other->ident != ident;
}

/* Puts the directory name of the draft's entity into b->key. */
static void make_key(struct builder *b, const struct draft *d, uint64_t ident)
{
	struct template_source src = template_of_draft(d);
	const struct object *before = b->previous ? snapshot_entity(b->previous, ident) : NULL;
	size_t base;

	strbuf_reset(&b->key);
	template_key(&b->key, &src);
	base = b->key.len;
	/* It keeps the longer name that it got when another one had the short name. */
	if (before && before->key_len > base && object_key(before)[base] == '~' &&
	    memcmp(object_key(before), b->key.data, base) == 0) {
		strbuf_add(&b->key, object_key(before) + base, before->key_len - base);
		return;
	}
	if (!key_taken(b, d, ident))
		return;
	strbuf_char(&b->key, '~');
	if (d->type->sticky_attr >= 0 && d->values[d->type->sticky_attr].kind == VALUE_U64) {
		strbuf_u64(&b->key, d->values[d->type->sticky_attr].u64);
		if (!key_taken(b, d, ident))
			return;
		strbuf_char(&b->key, '~');
	}
	strbuf_printf(&b->key, "%013llx", (unsigned long long)ident);
}

/* --- adding ----------------------------------------------------------------------------------- */
int builder_add(struct builder *b, const struct draft *d, uint64_t *ret_ident)
{
	uint64_t ident = draft_ident(d);
	uint32_t position = slots_find(&b->entities.by_ident, ident);
	const struct object *before;
	struct object_identity id = {.ident = ident};
	struct object *o;
	int r;

	if (position != UINT32_MAX) {
		if (ret_ident)
			*ret_ident = ident;
		return merge_into(b, &b->entities, position, d);
	}
	if (b->entities.n >= b->limits.entities) {
		b->lost++;
		return -ENOSPC;
	}
	make_key(b, d, ident);
	if (strbuf_error(&b->key))
		return -ENOMEM;
	id.key = b->key.data;
	id.key_len = b->key.len;
	before = b->previous ? snapshot_entity(b->previous, ident) : NULL;
	r = draft_pack(d, &id, (struct object *)before, &o);
	if (r < 0)
		return r;
	r = slots_put(&b->keys, o->name_hash, b->entities.n);
	if (r < 0) {
		object_unref(o);
		return r;
	}
	r = list_add(&b->entities, o);
	if (r == 0 && ret_ident)
		*ret_ident = ident;
	return r;
}

int builder_add_edge(struct builder *b, const struct draft *d, uint64_t source, uint64_t target)
{
	uint64_t ident = edge_ident(d->type, source, target);
	uint32_t position = slots_find(&b->edges.by_ident, ident);
	struct object_identity id = {.ident = ident, .source = source, .target = target};
	const struct object *before;
	struct object *o;
	int r;

	if (position != UINT32_MAX)
		return merge_into(b, &b->edges, position, d);
	if (b->edges.n >= b->limits.edges) {
		b->lost++;
		return -ENOSPC;
	}
	before = b->previous ? snapshot_edge(b->previous, ident) : NULL;
	r = draft_pack(d, &id, (struct object *)before, &o);
	if (r < 0)
		return r;
	return list_add(&b->edges, o);
}

int builder_connect(struct builder *b, enum edge_type type, uint64_t source, uint64_t target)
{
	draft_begin(&b->scratch, &edge_types[type]);
	/* Connecting twice changes nothing: there is no weight to add. */
	if (slots_find(&b->edges.by_ident, edge_ident(&edge_types[type], source, target)) !=
	    UINT32_MAX)
		return 0;
	return builder_add_edge(b, &b->scratch, source, target);
}

bool builder_has(const struct builder *b, uint64_t ident)
{
	return slots_find(&b->entities.by_ident, ident) != UINT32_MAX;
}

struct builder_counts builder_counts(const struct builder *b)
{
	return (struct builder_counts){
		.entities = b->entities.n,
		.edges = b->edges.n,
		.lost = b->lost,
		.dangling = b->dangling,
	};
}

int builder_merge(struct builder *b, const struct builder *from)
{
	_cleanup_draft_ struct draft d = {0};
	int worst = 0;

	for (uint32_t i = 0; i < from->entities.n; i++) {
		int r;

		draft_from_object(&d, from->entities.items[i]);
		r = builder_add(b, &d, NULL);
		if (r == -ENOMEM)
			return r;
		worst = MIN(worst, r);
	}
	for (uint32_t i = 0; i < from->edges.n; i++) {
		const struct object *e = from->edges.items[i];
		int r;

		draft_from_object(&d, e);
		r = builder_add_edge(b, &d, e->source, e->target);
		if (r == -ENOMEM)
			return r;
		worst = MIN(worst, r);
	}
	b->lost += from->lost;
	return worst;
}

static void list_forget(struct object_list *l)
{
	slots_deinit(&l->by_ident);
	*l = (struct object_list){0};
}

int builder_finish(struct builder *b, struct state *state, struct snapshot **ret)
{
	struct object_list entities = b->entities, edges = b->edges;
	int r;

	list_forget(&b->entities);
	list_forget(&b->edges);
	slots_deinit(&b->keys);
	r = snapshot_new(entities.items, entities.n, edges.items, edges.n, state, ret,
			 &b->dangling);
	return r;
}
