/* SPDX-License-Identifier: MIT */
#include "view/document.h"

#include <errno.h>

#include "view/json.h"
#include "view/text.h"

#define STEP 16 /* items per noted offset */

struct document {
	struct snapshot *snapshot;
	const struct document_format *format;
	uint32_t n_items;
	uint64_t size;
	uint64_t offsets[]; /* of item 0, STEP, 2 * STEP … */
};

/* --- the document ----------------------------------------------------------------------------- */
/* Renders every item once to count its bytes. */
static int measure(struct document *d)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	for (uint32_t i = 0; i < d->n_items; i++) {
		if (i % STEP == 0)
			d->offsets[i / STEP] = d->size;
		strbuf_reset(&b);
		d->format->item(&b, d->snapshot, i);
		if (strbuf_error(&b))
			return -ENOMEM;
		d->size += b.len;
	}
	return 0;
}

int document_new(struct snapshot *s, const struct document_format *format, struct document **ret)
{
	uint32_t n = format->count(s);
	struct document *d = malloc(sizeof(*d) + ((size_t)n / STEP + 1) * sizeof(d->offsets[0]));
	int r;

	if (!d)
		return -ENOMEM;
	*d = (struct document){.snapshot = snapshot_ref(s), .format = format, .n_items = n};
	r = measure(d);
	if (r < 0) {
		document_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct document *document_free(struct document *d)
{
	if (!d)
		return NULL;
	snapshot_unref(d->snapshot);
	free(d);
	return NULL;
}

uint64_t document_size(const struct document *d)
{
	return d->size;
}

const struct snapshot *document_snapshot(const struct document *d)
{
	return d->snapshot;
}

/* The last noted item that begins at or before the offset. */
static uint32_t item_before(const struct document *d, uint64_t offset)
{
	uint32_t from = 0, to = d->n_items / STEP + (d->n_items % STEP != 0);

	while (to - from > 1) {
		uint32_t mid = from + (to - from) / 2;

		if (d->offsets[mid] <= offset)
			from = mid;
		else
			to = mid;
	}
	return from * STEP;
}

ssize_t document_read(const struct document *d, uint64_t offset, void *buf, size_t size)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	size_t done = 0;
	uint64_t at;
	uint32_t i;

	if (offset >= d->size || size == 0)
		return 0;
	i = item_before(d, offset);
	at = d->offsets[i / STEP];
	/* `at` is where item i begins; the first items may end before the offset. */
	for (; i < d->n_items && done < size; i++) {
		size_t skip, n;

		strbuf_reset(&b);
		d->format->item(&b, d->snapshot, i);
		if (strbuf_error(&b))
			return -ENOMEM;
		if (at + b.len > offset) {
			skip = at < offset ? (size_t)(offset - at) : 0;
			n = MIN(b.len - skip, size - done);
			memcpy((char *)buf + done, b.data + skip, n);
			done += n;
		}
		at += b.len;
	}
	return (ssize_t)done;
}

/* --- graph.json ------------------------------------------------------------------------------- */
/* Items: the opening, the nodes, the middle, the edges, the end. */
static uint32_t json_count(const struct snapshot *s)
{
	return s->n_entities + s->n_edges + 3;
}

static void end_line(struct strbuf *b, bool last)
{
	if (!last)
		strbuf_char(b, ',');
	strbuf_char(b, '\n');
}

static void json_item(struct strbuf *b, const struct snapshot *s, uint32_t i)
{
	if (i == 0) {
		strbuf_str(b, "{\"nodes\":[\n");
	} else if (i <= s->n_entities) {
		json_entity(b, s, s->entities[i - 1]);
		end_line(b, i == s->n_entities);
	} else if (i == s->n_entities + 1) {
		strbuf_str(b, "],\"edges\":[\n");
	} else if (i < s->n_entities + 2 + s->n_edges) {
		json_edge(b, s, s->edges[i - s->n_entities - 2]);
		end_line(b, i == s->n_entities + 1 + s->n_edges);
	} else {
		strbuf_str(b, "]}\n");
	}
}

const struct document_format document_graph_json = {"graph.json", json_count, json_item};

/* --- graph.txt -------------------------------------------------------------------------------- */
static uint32_t text_count(const struct snapshot *s)
{
	return s->n_entities + s->n_edges + 2;
}

static void text_item(struct strbuf *b, const struct snapshot *s, uint32_t i)
{
	const struct object *edge;

	if (i == 0) {
		strbuf_printf(b, "Graph with %u nodes and %u edges\nNodes:\n", s->n_entities,
			      s->n_edges);
	} else if (i <= s->n_entities) {
		strbuf_str(b, "  - ");
		text_entity(b, s, s->entities[i - 1]);
		strbuf_char(b, '\n');
	} else if (i == s->n_entities + 1) {
		strbuf_str(b, "Edges:\n");
	} else {
		edge = s->edges[i - s->n_entities - 2];
		/* Counted in the first line, but not listed: as the reference does. */
		if (!edge->type->described)
			return;
		strbuf_str(b, "  - ");
		text_edge(b, s, edge);
		strbuf_char(b, '\n');
	}
}

const struct document_format document_graph_text = {"graph.txt", text_count, text_item};
