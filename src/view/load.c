/* SPDX-License-Identifier: MIT */
/*
 * Loading a recorded graph. The arrays "nodes" and "edges" are found by a scan, and each of their
 * items is parsed alone by jansson: memory is the text, one item, and the graph.
 *
 * A value keeps the kind that the file gave it, so that a dump equals the input; a member that the
 * schema does not know goes into `extra`, in its nesting.
 */
#include "view/load.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>

#include "graph/builder.h"
#include "util/fdio.h"
#include "view/json.h"
#include "view/jsonscan.h"
#include "view/load_value.h"

#define FILE_MAX    (2ULL << 30)
#define NESTING_MAX 8
#define GRAPH_MAX   (UINT32_MAX / 4)
#define HEX_SUFFIX  "_hex"

/* jansson.h has json_decrefp(). */
#define _cleanup_json_ _cleanup_(json_decrefp)

struct edge_seen {
	uint64_t ident;
	uint32_t index;
};

struct loader {
	const char *path, *data;
	size_t len;
	struct builder *builder;
	char *error;
	size_t error_size;
	const char *list; /* "nodes" or "edges": the place for messages */
	uint32_t index;
	const char *item;
	/* Of edges with one id the last wins: bits of those that an earlier pass found replaced. */
	uint8_t *replaced;
	struct edge_seen *seen;
	uint32_t n_seen, seen_cap;
};

/* --- messages --------------------------------------------------------------------------------- */
static unsigned long line_of(const struct loader *l, const char *at)
{
	unsigned long line = 1;

	for (const char *p = l->data; p < at; p++)
		line += *p == '\n';
	return line;
}

static int fail_at(struct loader *l, const char *at, int error, const char *fmt, ...)
	_printf_(4, 5);

/* "path:line: nodes[3]: what is wrong". */
static int fail_at(struct loader *l, const char *at, int error, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	va_list ap;

	strbuf_printf(&b, "%s:%lu: ", l->path, line_of(l, at));
	if (l->list)
		strbuf_printf(&b, "%s[%u]: ", l->list, l->index);
	va_start(ap, fmt);
	strbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)b.data[i] < 0x20)
			b.data[i] = '?';
	snprintf(l->error, l->error_size, "%s", strbuf_cstr(&b));
	return error;
}

static int no_memory(struct loader *l)
{
	snprintf(l->error, l->error_size, "%s: out of memory", l->path);
	return -ENOMEM;
}

/* Turns a result of the builder into a message. */
static int builder_result(struct loader *l, int r)
{
	if (r == -ENOMEM)
		return no_memory(l);
	if (r < 0)
		return fail_at(l, l->item, r, "too large");
	return 0;
}

static int unknown_type(struct loader *l, const char *what, const char *name,
			const struct type_schema *types, unsigned int n)
{
	_cleanup_strbuf_ struct strbuf known = {0};

	for (unsigned int i = 0; i < n; i++)
		strbuf_printf(&known, "%s%s", i ? " " : "", types[i].name);
	return fail_at(l, l->item, -EINVAL, "unknown %s '%.40s'; known are: %s", what, name,
		       strbuf_cstr(&known));
}

/* --- members ---------------------------------------------------------------------------------- */
static int load_entity(struct loader *l, json_t *j, unsigned int nesting, uint64_t *ret_ident);

struct group {
	const char *path[SCHEMA_MAX_DEPTH];
	unsigned int depth;
};

static bool in_group(const struct attr_schema *a, const struct group *g, const char *name,
		     size_t len)
{
	for (unsigned int i = 0; i < g->depth; i++)
		if (strcmp(a->json_path[i], g->path[i]) != 0)
			return false;
	return strlen(a->json_path[g->depth]) == len &&
	       memcmp(a->json_path[g->depth], name, len) == 0;
}

/* The attribute of this name in the group, or -1; *ret_group: there are attributes below it. */
static int find_member(const struct type_schema *t, const struct group *g, const char *name,
		       size_t len, bool *ret_group)
{
	*ret_group = false;
	for (unsigned int i = 0; i < t->n_attrs; i++) {
		const struct attr_schema *a = &t->attrs[i];

		if (a->json_depth <= g->depth || a->json_path[g->depth][0] != name[0] ||
		    !in_group(a, g, name, len))
			continue;
		if (a->json_depth == g->depth + 1)
			return (int)i;
		*ret_group = true;
	}
	return -1;
}

static int find_hex_member(const struct type_schema *t, const struct group *g, const char *name)
{
	size_t len = strlen(name), suffix = strlen(HEX_SUFFIX);
	bool group;
	int attr;

	if (len <= suffix || strcmp(name + len - suffix, HEX_SUFFIX) != 0)
		return -1;
	attr = find_member(t, g, name, len - suffix, &group);
	return attr >= 0 && t->attrs[attr].kind == VALUE_BYTES ? attr : -1;
}

static int load_attr(struct loader *l, struct draft *d, unsigned int attr, json_t *j,
		     unsigned int nesting)
{
	uint64_t ident;
	int r;

	if (d->type->attrs[attr].kind != VALUE_REF || !json_is_object(j)) {
		load_value(d, attr, j);
		return 0;
	}
	r = load_entity(l, j, nesting + 1, &ident);
	if (r == 0)
		draft_ref(d, attr, ident);
	return r;
}

static void add_extra(struct strbuf *extra, const char *name, json_t *j)
{
	if (extra->len && extra->data[extra->len - 1] != '{')
		strbuf_char(extra, ',');
	json_quote(extra, name, strlen(name));
	strbuf_char(extra, ':');
	if (j)
		load_dump(extra, j);
}

/* These are in the object itself. */
static bool is_structure(const struct type_schema *t, const struct group *g, const char *name)
{
	static const char *const of_edges[] = {"edge_type", "source_node", "target_node", "nodes"};

	if (g->depth)
		return false;
	if (!t->is_edge)
		return strcmp(name, "entity_type") == 0;
	for (size_t i = 0; i < (t->directed ? 3 : ARRAY_SIZE(of_edges)); i++)
		if (strcmp(name, of_edges[i]) == 0)
			return true;
	return false;
}

static int load_group(struct loader *l, struct draft *d, json_t *j, const struct group *g,
		      struct strbuf *extra, unsigned int nesting);

/* Goes into a group of attributes; what is left over there goes into `extra` below its name. */
static int load_subgroup(struct loader *l, struct draft *d, const char *name, json_t *j,
			 const struct group *g, struct strbuf *extra, unsigned int nesting)
{
	struct group below = *g;
	size_t mark = extra->len, empty;
	int r;

	below.path[below.depth++] = name;
	add_extra(extra, name, NULL);
	strbuf_char(extra, '{');
	empty = extra->len;
	r = load_group(l, d, j, &below, extra, nesting);
	/* Nothing left over; but an empty group stays an empty group. */
	if (extra->len == empty && json_object_size(j) > 0)
		extra->len = mark;
	else
		strbuf_char(extra, '}');
	return r;
}

static int load_group(struct loader *l, struct draft *d, json_t *j, const struct group *g,
		      struct strbuf *extra, unsigned int nesting)
{
	const char *name;
	json_t *item;

	json_object_foreach(j, name, item)
	{
		bool group;
		int attr = find_member(d->type, g, name, strlen(name), &group), r = 0;

		if (is_structure(d->type, g, name))
			continue;
		if (attr >= 0)
			r = load_attr(l, d, (unsigned int)attr, item, nesting);
		else if (group && json_is_object(item))
			r = load_subgroup(l, d, name, item, g, extra, nesting);
		else if ((attr = find_hex_member(d->type, g, name)) < 0 ||
			 !load_hex(d, (unsigned int)attr, item))
			add_extra(extra, name, item);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_members(struct loader *l, struct draft *d, json_t *j, unsigned int nesting)
{
	_cleanup_strbuf_ struct strbuf extra = {0};
	struct group top = {.depth = 0};
	int r;

	strbuf_char(&extra, '{');
	r = load_group(l, d, j, &top, &extra, nesting);
	if (r < 0)
		return r;
	strbuf_char(&extra, '}');
	if (extra.len > 2)
		draft_json(d, d->type->is_edge ? EDGE_EXTRA_ATTR : ENTITY_EXTRA_ATTR, extra.data,
			   extra.len);
	return strbuf_error(&extra) || strbuf_error(&d->heap) ? no_memory(l) : 0;
}

/* --- objects ---------------------------------------------------------------------------------- */
static int load_entity(struct loader *l, json_t *j, unsigned int nesting, uint64_t *ret_ident)
{
	const char *name = json_string_value(json_object_get(j, "entity_type"));
	const struct type_schema *t = name ? schema_entity(name) : NULL;
	_cleanup_draft_ struct draft d = {0};
	int r;

	if (nesting > NESTING_MAX)
		return fail_at(l, l->item, -EINVAL, "entities nested more than %d deep",
			       NESTING_MAX);
	if (!name)
		return fail_at(l, l->item, -EINVAL,
			       "a node must be an object with the text \"entity_type\"");
	if (!t || strcmp(t->name, name) != 0)
		return unknown_type(l, "entity_type", name, entity_types, ENTITY_TYPE_COUNT);
	draft_begin_bare(&d, t);
	r = load_members(l, &d, j, nesting);
	if (r < 0)
		return r;
	/* Identity needs it; this is what the reference means when it is not there. */
	if (d.values[ENTITY_ENTITY_NAMESPACE_ATTR].kind != VALUE_BYTES)
		draft_str(&d, ENTITY_ENTITY_NAMESPACE_ATTR, "local");
	*ret_ident = draft_ident(&d);
	/* The first one wins, whole. */
	if (builder_has(l->builder, *ret_ident))
		return 0;
	return builder_result(l, builder_add(l->builder, &d, NULL));
}

static int load_end(struct loader *l, json_t *edge, const char *name, uint64_t *ret_ident)
{
	json_t *end = json_object_get(edge, name);

	if (!json_is_object(end))
		return fail_at(l, l->item, -EINVAL, "the edge has no object \"%s\"", name);
	return load_entity(l, end, 1, ret_ident);
}

static int load_ends(struct loader *l, const struct type_schema *t, json_t *edge, uint64_t ends[2])
{
	json_t *nodes;
	int r;

	if (t->directed) {
		r = load_end(l, edge, "source_node", &ends[0]);
		return r < 0 ? r : load_end(l, edge, "target_node", &ends[1]);
	}
	nodes = json_object_get(edge, "nodes");
	if (!json_is_array(nodes) || json_array_size(nodes) != 2)
		return fail_at(l, l->item, -EINVAL,
			       "the undirected edge has no array \"nodes\" of two");
	r = load_entity(l, json_array_get(nodes, 0), 1, &ends[0]);
	return r < 0 ? r : load_entity(l, json_array_get(nodes, 1), 1, &ends[1]);
}

static int remember_edge(struct loader *l, uint64_t ident)
{
	if (l->replaced)
		return 0;
	if (l->n_seen == l->seen_cap) {
		uint32_t cap = l->seen_cap ? l->seen_cap * 2 : 1024;
		struct edge_seen *seen = realloc(l->seen, cap * sizeof(*seen));

		if (!seen)
			return no_memory(l);
		l->seen = seen;
		l->seen_cap = cap;
	}
	l->seen[l->n_seen++] = (struct edge_seen){ident, l->index};
	return 0;
}

static int load_edge(struct loader *l, json_t *j)
{
	const char *name = json_string_value(json_object_get(j, "edge_type"));
	const struct type_schema *t = name ? schema_edge(name) : NULL;
	_cleanup_draft_ struct draft d = {0};
	uint64_t ends[2];
	int r;

	if (!name)
		return fail_at(l, l->item, -EINVAL,
			       "an edge must be an object with the text \"edge_type\"");
	if (!t || strcmp(t->name, name) != 0)
		return unknown_type(l, "edge_type", name, edge_types, EDGE_TYPE_COUNT);
	r = load_ends(l, t, j, ends);
	if (r == 0)
		r = remember_edge(l, edge_ident(t, ends[0], ends[1]));
	if (r < 0)
		return r;
	if (l->replaced && l->replaced[l->index / 8] >> (l->index % 8) & 1)
		return 0;
	draft_begin_bare(&d, t);
	r = load_members(l, &d, j, 0);
	return r < 0 ? r : builder_result(l, builder_add_edge(l->builder, &d, ends[0], ends[1]));
}

static int load_node(struct loader *l, json_t *j)
{
	uint64_t ident;

	return load_entity(l, j, 0, &ident);
}

/* --- the file --------------------------------------------------------------------------------- */
static int load_list(struct loader *l, const char *list, struct json_slice text,
		     int (*load)(struct loader *l, json_t *j))
{
	struct json_slice name, item;
	struct json_scan scan;
	int r = 0;

	l->list = list;
	l->index = 0;
	l->item = text.data;
	if (!json_scan_begin(&scan, text.data, text.len) || scan.close != ']')
		return fail_at(l, text.data, -EINVAL, "\"%s\" is not an array", list);
	for (; r == 0 && json_scan_next(&scan, &name, &item); l->index++) {
		_cleanup_json_ json_t *j = NULL;
		json_error_t error;

		l->item = item.data;
		j = json_loadb(item.data, item.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
		if (!j)
			return fail_at(l, item.data + MIN((size_t)error.position, item.len),
				       -EINVAL, "%s", error.text);
		r = load(l, j);
	}
	if (r == 0 && scan.error)
		return fail_at(l, scan.p, -EINVAL, "',' or ']' expected");
	l->list = NULL;
	return r;
}

struct graph_text {
	struct json_slice nodes, edges, content;
};

/* The members of the outermost object, or of its "content". */
static int find_lists(struct loader *l, struct json_slice text, struct graph_text *ret)
{
	struct json_slice name, value;
	struct json_scan scan;
	const char *rest, *end = text.data + text.len;

	*ret = (struct graph_text){0};
	if (!json_scan_begin(&scan, text.data, text.len) || scan.close != '}')
		return fail_at(l, scan.p, -EINVAL,
			       "not a JSON object with \"nodes\" and \"edges\"");
	while (json_scan_next(&scan, &name, &value)) {
		if (name.len == 5 && memcmp(name.data, "nodes", 5) == 0)
			ret->nodes = value;
		else if (name.len == 5 && memcmp(name.data, "edges", 5) == 0)
			ret->edges = value;
		else if (name.len == 7 && memcmp(name.data, "content", 7) == 0)
			ret->content = value;
	}
	if (scan.error)
		return fail_at(l, scan.p, -EINVAL,
			       "not valid JSON, or the text ends too early: is the file whole?");
	rest = json_skip_space(scan.p, end);
	if (rest < end)
		return fail_at(l, rest, -EINVAL, "text after the end of the graph");
	return 0;
}

static int find_graph(struct loader *l, struct graph_text *ret)
{
	struct json_slice text = {l->data, l->len};
	int r;

	/* A byte order mark of some editors. */
	if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
		text = (struct json_slice){text.data + 3, text.len - 3};
	r = find_lists(l, text, ret);
	if (r == 0 && !ret->nodes.data && ret->content.data)
		r = find_lists(l, ret->content, ret);
	if (r == 0 && (!ret->nodes.data || !ret->edges.data))
		r = fail_at(l, l->data, -EINVAL,
			    "no graph: an object with the arrays \"nodes\" and \"edges\" is wanted "
			    "(or that in \"content\")");
	return r;
}

static int fill(struct loader *l, const struct graph_text *text)
{
	struct builder_limits limits = {GRAPH_MAX, GRAPH_MAX};
	int r;

	l->builder = builder_free(l->builder);
	r = builder_new(NULL, limits, &l->builder);
	if (r < 0)
		return no_memory(l);
	r = load_list(l, "nodes", text->nodes, load_node);
	return r < 0 ? r : load_list(l, "edges", text->edges, load_edge);
}

static int compare_seen(const void *a, const void *b)
{
	const struct edge_seen *x = a, *y = b;

	if (x->ident != y->ident)
		return x->ident < y->ident ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Marks all but the last edge of each id. 0: there is none, 1: some, -ENOMEM. */
static int mark_replaced(struct loader *l)
{
	int any = 0;

	if (!l->n_seen)
		return 0;
	qsort(l->seen, l->n_seen, sizeof(*l->seen), compare_seen);
	for (uint32_t i = 0; i + 1 < l->n_seen; i++) {
		if (l->seen[i].ident != l->seen[i + 1].ident)
			continue;
		if (!l->replaced && !(l->replaced = calloc(l->n_seen / 8 + 1, 1)))
			return no_memory(l);
		l->replaced[l->seen[i].index / 8] |= (uint8_t)(1 << (l->seen[i].index % 8));
		any = 1;
	}
	return any;
}

static int make_snapshot(struct loader *l, struct snapshot **ret)
{
	struct state *state = state_new();

	if (!state)
		return no_memory(l);
	state->recorded = true;
	state->source = "a recorded graph";
	return builder_finish(l->builder, state, ret) < 0 ? no_memory(l) : 0;
}

static void loader_deinit(struct loader *l)
{
	builder_free(l->builder);
	free(l->replaced);
	free(l->seen);
}

int load_graph(const char *path, const char *data, size_t len, struct snapshot **ret, char *error,
	       size_t error_size)
{
	_cleanup_(loader_deinit) struct loader l = {
		.path = path, .data = data, .len = len, .error = error, .error_size = error_size};
	struct graph_text text;
	int r;

	r = find_graph(&l, &text);
	if (r == 0)
		r = fill(&l, &text);
	if (r == 0)
		r = mark_replaced(&l);
	/* Once more, without the edges that a later one replaces: rare. */
	if (r > 0)
		r = fill(&l, &text);
	return r < 0 ? r : make_snapshot(&l, ret);
}

static bool is_hex4(const char *p)
{
	for (int i = 0; i < 4; i++)
		if (!isxdigit((unsigned char)p[i]))
			return false;
	return true;
}

/* \uD8xx to \uDBxx (high) or \uDCxx to \uDFxx (low) at p? */
static bool is_surrogate(const char *p, const char *end, bool high)
{
	int c;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !is_hex4(p + 2) ||
	    tolower((unsigned char)p[2]) != 'd')
		return false;
	c = tolower((unsigned char)p[3]);
	return high ? c >= '8' && c <= 'b' : c >= 'c' && c <= 'f';
}

/*
 * Python writes a byte that is no UTF-8 as a lone surrogate (surrogateescape), which is no JSON
 * text for others. It becomes U+FFFD here, as everywhere in our own output; the length stays.
 */
static void mend_surrogates(char *data, size_t len)
{
	char *p = data, *end = data + len;

	while ((p = memchr(p, '\\', (size_t)(end - p)))) {
		if (is_surrogate(p, end, true) && is_surrogate(p + 6, end, false)) {
			p += 12;
		} else if (is_surrogate(p, end, true) || is_surrogate(p, end, false)) {
			memcpy(p, "\\ufffd", 6);
			p += 6;
		} else {
			/* The escaped character itself may be a backslash. */
			p += MIN(2, end - p);
		}
	}
}

int load_graph_file(const char *path, struct snapshot **ret, char *error, size_t error_size)
{
	_cleanup_free_ char *data = NULL;
	size_t len, total;
	int r = fdio_read_all_at(AT_FDCWD, path, FILE_MAX, &data, &len, &total);

	if (r == 0 && total > len)
		r = -EFBIG;
	if (r < 0) {
		snprintf(error, error_size, "%s: %s", path, strerror(-r));
		return r;
	}
	if (len == 0) {
		snprintf(error, error_size, "%s: the file is empty", path);
		return -EINVAL;
	}
	mend_surrogates(data, len);
	r = load_graph(path, data, len, ret, error, error_size);
	free(STEAL_PTR(data));
	/* The parsed text left holes everywhere: give them back. */
	malloc_trim(0);
	return r;
}
