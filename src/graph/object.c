/* SPDX-License-Identifier: MIT */
#include "graph/object.h"

#include <assert.h>
#include <errno.h>

#include "util/hash.h"

struct object *object_ref(struct object *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

struct object *object_unref(struct object *o)
{
	if (o && atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
		free(o);
	return NULL;
}

static bool value_has_text(const struct value *v)
{
	return v->kind == VALUE_BYTES || v->kind == VALUE_JSON;
}

bool object_attr_equal(const struct object *a, const struct object *b, unsigned int attr)
{
	const struct value *x = &a->values[attr], *y = &b->values[attr];

	if (x->kind != y->kind || x->len != y->len)
		return false;
	if (!value_has_text(x))
		return x->u64 == y->u64;
	return memcmp(object_heap(a) + x->offset, object_heap(b) + y->offset, x->len) == 0;
}

bool object_number(struct strbuf *b, const struct value *v, const char *const bools[2])
{
	switch ((enum value_kind)v->kind) {
	case VALUE_S64:
		strbuf_s64(b, v->s64);
		return true;
	case VALUE_U64:
		strbuf_u64(b, v->u64);
		return true;
	case VALUE_F64:
		strbuf_f64(b, v->f64);
		return true;
	case VALUE_BOOL:
		strbuf_str(b, bools[v->u64 != 0]);
		return true;
	default:
		return false;
	}
}

uint64_t object_name_hash(const struct type_schema *type, const char *key, size_t len)
{
	return hash_bytes(type->index + 1, key, len);
}

/* --- drafts ----------------------------------------------------------------------------------- */
void draft_deinit(struct draft *d)
{
	strbuf_deinit(&d->heap);
}

void draft_begin_bare(struct draft *d, const struct type_schema *type)
{
	assert(type->n_attrs <= SCHEMA_MAX_ATTRS);
	d->type = type;
	memset(d->values, 0, sizeof(d->values[0]) * type->n_attrs);
	strbuf_reset(&d->heap);
}

static void draft_text(struct draft *d, unsigned int attr, enum value_kind kind, const void *data,
		       size_t len)
{
	assert(attr < d->type->n_attrs);
	d->values[attr] = (struct value){.kind = kind, .len = (uint32_t)len, .offset = d->heap.len};
	strbuf_add(&d->heap, data, len);
}

void draft_bytes(struct draft *d, unsigned int attr, const void *data, size_t len)
{
	draft_text(d, attr, VALUE_BYTES, data, len);
}

void draft_json(struct draft *d, unsigned int attr, const char *text, size_t len)
{
	draft_text(d, attr, VALUE_JSON, text, len);
}

static void draft_default(struct draft *d, unsigned int attr)
{
	const struct attr_schema *a = &d->type->attrs[attr];

	switch (a->default_kind) {
	case VALUE_BYTES:
	case VALUE_JSON:
		draft_text(d, attr, a->default_kind, a->default_text, strlen(a->default_text));
		break;
	case VALUE_F64:
		draft_f64(d, attr, a->default_number);
		break;
	case VALUE_S64:
		draft_s64(d, attr, (int64_t)a->default_number);
		break;
	case VALUE_U64:
		draft_u64(d, attr, (uint64_t)a->default_number);
		break;
	default:
		draft_mark(d, attr, a->default_kind);
	}
}

void draft_begin(struct draft *d, const struct type_schema *type)
{
	draft_begin_bare(d, type);
	for (unsigned int i = 0; i < type->n_attrs; i++)
		draft_default(d, i);
}

void draft_from_object(struct draft *d, const struct object *o)
{
	draft_begin_bare(d, o->type);
	memcpy(d->values, o->values, sizeof(o->values[0]) * o->n_values);
	strbuf_add(&d->heap, object_heap(o),
		   o->size - sizeof(*o) - sizeof(o->values[0]) * o->n_values);
}

/* --- identity --------------------------------------------------------------------------------- */
static bool present(const struct value *v)
{
	return v->kind > VALUE_NULL;
}

static uint64_t hash_value(uint64_t h, const struct draft *d, unsigned int attr)
{
	const struct value *v = &d->values[attr];

	if (!present(v))
		return hash_u64(h, 0);
	if (value_has_text(v))
		/* An empty text may stand where no heap has been made yet. */
		return hash_bytes(h, v->len ? d->heap.data + v->offset : "", v->len);
	return hash_u64(h, v->u64);
}

/* The first group whose attributes are all there, else the last one. */
static unsigned int identity_group(const struct draft *d)
{
	const struct type_schema *t = d->type;

	for (unsigned int g = 0; g + 1 < t->n_identity; g++) {
		bool all = true;

		for (unsigned int i = 0; i < t->identity_len[g]; i++)
			all = all && present(&d->values[t->identity[g][i]]);
		if (all)
			return g;
	}
	return t->n_identity - 1;
}

static uint64_t ident_of_hash(uint64_t h)
{
	h &= IDENT_MASK;
	return h ? h : 1;
}

uint64_t draft_ident(const struct draft *d)
{
	const struct type_schema *t = d->type;
	unsigned int g = identity_group(d);
	uint64_t h = hash_bytes(g, t->short_name, strlen(t->short_name));

	assert(!t->is_edge);
	h = hash_value(h, d, ENTITY_ENTITY_NAMESPACE_ATTR);
	for (unsigned int i = 0; i < t->identity_len[g]; i++)
		h = hash_value(h, d, t->identity[g][i]);
	return ident_of_hash(h);
}

uint64_t edge_ident(const struct type_schema *type, uint64_t source, uint64_t target)
{
	uint64_t h = hash_bytes(77, type->short_name, strlen(type->short_name));

	/* An undirected edge is the same from both sides. */
	if (!type->directed && source > target)
		return edge_ident(type, target, source);
	return ident_of_hash(hash_u64(hash_u64(h, source), target));
}

/* --- packing ---------------------------------------------------------------------------------- */
static size_t text_size(const struct draft *d)
{
	size_t n = 0;

	for (unsigned int i = 0; i < d->type->n_attrs; i++)
		if (value_has_text(&d->values[i]))
			n += d->values[i].len;
	return n;
}

/* Fills an allocation of the right size. Text is laid out in the order of the attributes. */
static void pack_into(struct object *o, const struct draft *d, const struct object_identity *id)
{
	unsigned int n = d->type->n_attrs;
	char *heap = (char *)&o->values[n];
	size_t at = 0;

	o->type = d->type;
	o->ident = id->ident;
	o->source = id->source;
	o->target = id->target;
	o->name_hash = id->key_len ? object_name_hash(d->type, id->key, id->key_len) : 0;
	o->n_values = (uint16_t)n;
	for (unsigned int i = 0; i < n; i++) {
		o->values[i] = d->values[i];
		if (!value_has_text(&d->values[i]))
			continue;
		if (d->values[i].len)
			memcpy(heap + at, d->heap.data + d->values[i].offset, d->values[i].len);
		o->values[i].offset = at;
		at += d->values[i].len;
	}
	o->key_offset = (uint32_t)at;
	o->key_len = (uint16_t)id->key_len;
	if (id->key_len)
		memcpy(heap + at, id->key, id->key_len);
}

/* Compares from `type` on: what stands before is no content. */
static bool same_content(const struct object *a, const struct object *b)
{
	size_t from = offsetof(struct object, type);

	return a->size == b->size &&
	       memcmp((const char *)a + from, (const char *)b + from, a->size - from) == 0;
}

int draft_pack(const struct draft *d, const struct object_identity *id, struct object *same,
	       struct object **ret)
{
	size_t size = sizeof(struct object) + sizeof(struct value) * d->type->n_attrs +
		      text_size(d) + id->key_len;
	struct object *o;

	if (strbuf_error(&d->heap))
		return -ENOMEM;
	if (size > UINT32_MAX)
		return -E2BIG;
	o = malloc(size);
	if (!o)
		return -ENOMEM;
	atomic_init(&o->refs, 1);
	o->size = (uint32_t)size;
	pack_into(o, d, id);
	if (same && same_content(o, same)) {
		free(o);
		*ret = object_ref(same);
		return 0;
	}
	*ret = o;
	return 0;
}
