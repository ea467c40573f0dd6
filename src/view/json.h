/* SPDX-License-Identifier: MIT */
/*
 * The graph as JSON, in the shape of the reference (compat.md 4.1, 4.2): entity_namespace,
 * entity_type, details, then the fields of the reference in its order, then ours.
 *
 * Nested entities (ends of an edge, the process of a thread) carry the fields of the reference and
 * those that make their identity (so that a loaded file can tell two sockets of one address apart):
 * whole as the reference means it, without repeating our additions for every edge. They nest at
 * most 3 deep, deeper ones and ones that are not in the snapshot are null. Each byte that is no
 * part of valid UTF-8 becomes U+FFFD, and a member "<name>_hex" with the raw bytes follows. An
 * ABSENT value is left out, UNKNOWN and NULL are null. `extra` goes out within the groups and at
 * the end of the object.
 */
#pragma once

#include "graph/snapshot.h"

/* One entity, with everything we know. */
void json_entity(struct strbuf *b, const struct snapshot *s, const struct object *entity);
/* One edge with its nodes nested: edge_type, weight, source_node, target_node (or nodes),
 * attributes. */
void json_edge(struct strbuf *b, const struct snapshot *s, const struct object *edge);
/* One attribute value as JSON. */
void json_value(struct strbuf *b, const struct snapshot *s, const struct object *o,
		unsigned int attr);
/* A JSON string of any bytes (invalid UTF-8 as U+FFFD). */
void json_quote(struct strbuf *b, const char *data, size_t len);
/*
 * Compact JSON again with indentation of 2 and Python's separators (as json.dumps(x, indent=2)).
 * Feeds on pieces: keep the struct between calls.
 */
struct json_indent {
	unsigned int depth;
	bool in_string, escaped, opened;
};
void json_indent(struct json_indent *state, struct strbuf *out, const char *data, size_t len);
