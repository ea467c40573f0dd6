/* SPDX-License-Identifier: MIT */
/*
 * One parsed JSON value as the value of an attribute: the inside of load.c. A value keeps the kind
 * that the file gave it (12 is not 12.0), also where the schema expects another one. Out of memory
 * is remembered in the draft.
 */
#pragma once

#include <jansson.h>

#include "graph/object.h"

/* Any value that is not an entity. */
void load_value(struct draft *d, unsigned int attr, json_t *j);
/* The raw bytes of "<name>_hex" replace the text with U+FFFD. False when it is no hex text. */
bool load_hex(struct draft *d, unsigned int attr, json_t *j);
/* Compact JSON, members in the order of the file. Depth is bounded by jansson's parser. */
void load_dump(struct strbuf *b, json_t *j);
