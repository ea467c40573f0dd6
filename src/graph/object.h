/* SPDX-License-Identifier: MIT */
/*
 * Objects (entities and edges) and drafts of them.
 *
 * An object is immutable and shared by reference count: a snapshot whose entity did not change
 * holds the very object of the snapshot before, so "what changed" is a comparison of pointers. A
 * draft is filled by a collector and given to the builder, which makes (or finds) the object.
 *
 * ident: 52 bits, a hash of the type, the namespace and the identity attributes (for edges: type
 * and both ends). It is the same in every generation and after a restart, and never 0.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "graph/schema.h"
#include "util/strbuf.h"

#define IDENT_BITS 52
#define IDENT_MASK ((1ULL << IDENT_BITS) - 1)

struct object {
	atomic_uint refs;
	uint32_t size; /* bytes of the whole allocation */
	/* From here on two objects of equal content are equal byte for byte. */
	const struct type_schema *type;
	uint64_t ident;
	uint64_t source, target; /* edges: idents of the ends; entities: 0 */
	uint64_t name_hash;	 /* of the type and the name of its directory */
	uint32_t key_offset;	 /* entities: the key, in the heap */
	uint16_t key_len;
	uint16_t n_values;
	struct value values[];
	/* then the heap */
};

struct object *object_ref(struct object *o);
struct object *object_unref(struct object *o); /* NULL is fine; returns NULL */
static inline void object_unrefp(struct object **o)
{
	*o = object_unref(*o);
}
#define _cleanup_object_ _cleanup_(object_unrefp)

static inline const char *object_heap(const struct object *o)
{
	return (const char *)&o->values[o->n_values];
}

static inline const struct value *object_value(const struct object *o, unsigned int attr)
{
	return &o->values[attr];
}

/* Text of a BYTES or JSON value (not NUL-terminated); NULL for other kinds. */
static inline const char *object_bytes(const struct object *o, unsigned int attr, size_t *ret_len)
{
	const struct value *v = &o->values[attr];

	if (v->kind != VALUE_BYTES && v->kind != VALUE_JSON)
		return NULL;
	*ret_len = v->len;
	return object_heap(o) + v->offset;
}

static inline bool object_has(const struct object *o, unsigned int attr)
{
	return o->values[attr].kind > VALUE_NULL;
}

static inline const char *object_key(const struct object *o)
{
	return object_heap(o) + o->key_offset;
}

/* True when the attribute has the same value (and text) in both objects of one type. */
bool object_attr_equal(const struct object *a, const struct object *b, unsigned int attr);

/* Appends a number or truth value (as bools[0] or bools[1]); false for every other kind. */
bool object_number(struct strbuf *b, const struct value *v, const char *const bools[2]);

/* --- drafts ----------------------------------------------------------------------------------- */
struct draft {
	const struct type_schema *type;
	struct value values[SCHEMA_MAX_ATTRS];
	struct strbuf heap;
};

void draft_deinit(struct draft *d);
#define _cleanup_draft_ _cleanup_(draft_deinit)

/* Empties the draft (memory is kept). draft_begin() fills in the reference's defaults, as a
 * collector wants them; draft_begin_bare() leaves everything absent, as a loader wants it. */
void draft_begin(struct draft *d, const struct type_schema *type);
void draft_begin_bare(struct draft *d, const struct type_schema *type);

static inline void draft_s64(struct draft *d, unsigned int attr, int64_t v)
{
	d->values[attr] = (struct value){.kind = VALUE_S64, .s64 = v};
}

static inline void draft_u64(struct draft *d, unsigned int attr, uint64_t v)
{
	d->values[attr] = (struct value){.kind = VALUE_U64, .u64 = v};
}

static inline void draft_f64(struct draft *d, unsigned int attr, double v)
{
	d->values[attr] = (struct value){.kind = VALUE_F64, .f64 = v};
}

static inline void draft_bool(struct draft *d, unsigned int attr, bool v)
{
	d->values[attr] = (struct value){.kind = VALUE_BOOL, .u64 = v};
}

static inline void draft_ref(struct draft *d, unsigned int attr, uint64_t ident)
{
	d->values[attr] = (struct value){.kind = VALUE_REF, .ident = ident};
}

static inline void draft_mark(struct draft *d, unsigned int attr,
			      enum value_kind absent_unknown_null)
{
	d->values[attr] = (struct value){.kind = absent_unknown_null};
}

/* The bytes are copied. Out of memory is remembered and told by the builder. */
void draft_bytes(struct draft *d, unsigned int attr, const void *data, size_t len);
void draft_json(struct draft *d, unsigned int attr, const char *text, size_t len);

static inline void draft_str(struct draft *d, unsigned int attr, const char *s)
{
	draft_bytes(d, attr, s, strlen(s));
}

/* Ident of what the draft describes. */
uint64_t draft_ident(const struct draft *d);
uint64_t edge_ident(const struct type_schema *type, uint64_t source, uint64_t target);

/* What a packed object is besides the draft's values. The key is empty for edges. */
struct object_identity {
	uint64_t ident, source, target;
	const char *key;
	size_t key_len;
};

/*
 * Makes an object of the draft, or takes a reference on `same` (may be NULL) when that has the very
 * same content. 0, -ENOMEM, or -E2BIG (text of more than 4 GiB).
 */
int draft_pack(const struct draft *d, const struct object_identity *id, struct object *same,
	       struct object **ret);
/* The values of an object as a draft again. */
void draft_from_object(struct draft *d, const struct object *o);
/* Hash of an entity's type and directory name: object.name_hash. */
uint64_t object_name_hash(const struct type_schema *type, const char *key, size_t len);
