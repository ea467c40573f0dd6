/* SPDX-License-Identifier: MIT */
/*
 * Names made of attributes, by the templates of the schema (schema.h says their syntax).
 */
#pragma once

#include "graph/object.h"

/* Finds a referenced entity for `{ref.attr}`; NULL when it is not there. */
typedef const struct object *(*template_resolve_fn)(void *userdata, uint64_t ident);

struct template_source {
	const struct type_schema *type;
	const struct value *values;
	const char *heap;
	bool escape;  /* values as parts of file names */
	bool lenient; /* an absent value is printed as None instead of failing */
	template_resolve_fn resolve;
	void *userdata;
};

struct template_source template_of_object(const struct object *o);
struct template_source template_of_draft(const struct draft *d);

/* Appends the text; false when an attribute outside `?[…]` was absent (nothing is appended then).
 */
bool template_render(struct strbuf *b, const char *tmpl, const struct template_source *src);
/* Directory name of an entity, at most 200 bytes; a longer one is cut and gets a hash. */
void template_key(struct strbuf *b, const struct template_source *src);
/* `Abbr(unique)`, or `Abbr(ns=NS,unique)` outside the local namespace. */
void template_global_id(struct strbuf *b, const struct object *entity);
/* A JSON object as Python prints a dict, as the reference's texts have it: {'a': 1, 0: 10}. */
void template_python(struct strbuf *b, const char *json, size_t len);
