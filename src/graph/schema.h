/* SPDX-License-Identifier: MIT */
/*
 * The types of nodes and edges and their attributes, as tables generated from fs-layout/entities
 * and fs-layout/edges. Attributes are named by index: PROCESS_PID, EDGE_SEND_TO_SOCKET_DATA_SIZE …
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/value.h"
#include "schema.gen.h"

#define SCHEMA_MAX_ATTRS    64
#define SCHEMA_MAX_DEPTH    4
#define SCHEMA_ALTERNATIVES 2

enum attr_flags {
	ATTR_REFERENCE = 1,    /* a field of the reference: also in nested entities */
	ATTR_JSON_SPLICE = 2,  /* JSON members that go directly into the object */
	ATTR_FS_HIDDEN = 4,    /* no file of its own */
	ATTR_JSON_STRINGS = 8, /* NUL-ended strings: a JSON array of strings, a file of raw bytes */
};

struct attr_schema {
	const char *name; /* file name; unique in the type */
	enum value_kind kind;
	unsigned int flags;
	unsigned int json_depth; /* 0: not in JSON */
	const char *json_path[SCHEMA_MAX_DEPTH];
	enum value_kind default_kind; /* VALUE_ABSENT: no default */
	double default_number;
	const char *default_text;
	const char *doc;
};

/*
 * Templates (key, unique, text): `{attr}`, `{attr:spec}` (spec: raw, lower, cut, pydict),
 * `{ref.attr}` of a referenced entity, `?[…]` left out unless all attributes inside are present,
 * `{{` and `}}` for braces. Of alternatives the first whose attributes are all present is used.
 */
struct type_schema {
	const char *name;	/* entity_type or edge_type of the reference */
	const char *short_name; /* directory name */
	const char *abbr;	/* name without the suffix, in ids */
	const char *doc;
	unsigned int index; /* enum entity_type or enum edge_type */
	bool is_edge, directed, described;
	const struct attr_schema *attrs;
	unsigned int n_attrs;
	const char *key[SCHEMA_ALTERNATIVES];
	const char *unique[SCHEMA_ALTERNATIVES];
	const char *text; /* NULL: Abbr(unique) */
	uint8_t identity[SCHEMA_ALTERNATIVES][6];
	uint8_t identity_len[SCHEMA_ALTERNATIVES];
	unsigned int n_identity;
	int index_attr;	 /* number by which by/ finds it, or -1 */
	int sticky_attr; /* told apart by this attribute when two keys are equal, or -1 */
};

extern const struct type_schema entity_types[ENTITY_TYPE_COUNT];
extern const struct type_schema edge_types[EDGE_TYPE_COUNT];

/* By name of the reference ("ProcessEntity") or short name ("process"); NULL when unknown. */
const struct type_schema *schema_entity(const char *name);
const struct type_schema *schema_edge(const char *name);
/* Attribute index by file name, or -1. */
int schema_attr(const struct type_schema *type, const char *name, size_t len);
