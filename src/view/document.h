/* SPDX-License-Identifier: MIT */
/*
 * A big render of one snapshot (graph.json, graph.txt) that is never held in memory.
 *
 * A document is a row of items, each rendered by a function of (snapshot, i). Making it renders
 * every item once to count its bytes and notes the offset of every 16th item; a read renders again
 * just the items that it covers. So st_size is exact, memory is 8 bytes per 16 items, a sequential
 * read costs two renders in all, and any reader of the document sees the one generation.
 *
 * After document_new() it is immutable and may be read from any thread.
 */
#pragma once

#include <sys/types.h>

#include "graph/snapshot.h"

struct document_format {
	const char *name;
	uint32_t (*count)(const struct snapshot *s);
	void (*item)(struct strbuf *b, const struct snapshot *s, uint32_t i);
};

extern const struct document_format
	document_graph_json; /* {"nodes":[…],"edges":[…]}, one object a line */
extern const struct document_format document_graph_text; /* describe() */

struct document;

/* Takes a reference on the snapshot. O(size of the text). 0 or -ENOMEM. */
int document_new(struct snapshot *s, const struct document_format *format, struct document **ret);
struct document *document_free(struct document *d);
uint64_t document_size(const struct document *d);
const struct snapshot *document_snapshot(const struct document *d);
/* Bytes at offset, as pread(): the number put into buf (0 at the end), or -ENOMEM. */
ssize_t document_read(const struct document *d, uint64_t offset, void *buf, size_t size);
