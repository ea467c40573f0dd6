/* SPDX-License-Identifier: MIT */
/* The graph as the reference's describe() text (compat.md 4.1, 4.2, 4.5). */
#pragma once

#include "graph/snapshot.h"

/* The line of a node or an edge without the leading "  - " and without newline. A newline inside a
 * name comes out as \n, so that a line is an object. */
void text_entity(struct strbuf *b, const struct snapshot *s, const struct object *entity);
void text_edge(struct strbuf *b, const struct snapshot *s, const struct object *edge);
