/* SPDX-License-Identifier: MIT */
/*
 * The emitter. Attributes go out in the order of the schema; those with a path of several names
 * stand next to each other there, so nested objects come from comparing each path with the one
 * before. A group opens with its first attribute that is there, so a group without any is left out.
 *
 * Members of a loaded file that the schema does not know are in `extra`, a JSON object with the
 * same nesting: at the end of each group (and of the object) its members go out.
 *
 * Cost: a copy per name and value; the names are kept with their quotes and colon.
 */
#include "view/json.h"

#include <assert.h>
#include <pthread.h>

#include "util/text.h"
#include "view/jsonscan.h"

#define NESTED_MAX  3 /* an edge's socket, its thread, the thread's process */
#define PIECE_MAX   56
#define PIECES_MAX  1024
#define TYPES_TOTAL (ENTITY_TYPE_COUNT + EDGE_TYPE_COUNT)

/* --- tables ----------------------------------------------------------------------------------- */
/* `"name":` of an attribute. */
struct piece {
	uint8_t len;
	char text[PIECE_MAX - 1];
};

struct type_plan {
	const struct piece *pieces;
	uint64_t nested; /* attributes that a nested entity has */
};

static struct piece pieces[PIECES_MAX];
static struct type_plan plans[TYPES_TOTAL];
static pthread_once_t plans_once = PTHREAD_ONCE_INIT;

/*
 * Nested entities have the fields of the reference, and those that make their identity: without
 * them a loaded file could not tell two sockets of one address apart.
 */
static uint64_t nested_attributes(const struct type_schema *t)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < t->n_attrs; i++)
		if (t->attrs[i].flags & ATTR_REFERENCE)
			mask |= 1ULL << i;
	for (unsigned int g = 0; g < t->n_identity; g++)
		for (unsigned int i = 0; i < t->identity_len[g]; i++)
			mask |= 1ULL << t->identity[g][i];
	return mask;
}

static struct piece *plan_type(const struct type_schema *t, struct type_plan *plan,
			       struct piece *next)
{
	plan->pieces = next;
	plan->nested = nested_attributes(t);
	for (unsigned int i = 0; i < t->n_attrs; i++, next++) {
		const struct attr_schema *a = &t->attrs[i];
		const char *name = a->json_depth ? a->json_path[a->json_depth - 1] : a->name;
		size_t len = strlen(name);

		assert(next < pieces + PIECES_MAX && len + 3 <= sizeof(next->text));
		next->text[0] = '"';
		memcpy(next->text + 1, name, len);
		memcpy(next->text + 1 + len, "\":", 2);
		next->len = (uint8_t)(len + 3);
	}
	return next;
}

static void make_plans(void)
{
	struct piece *next = pieces;

	for (unsigned int i = 0; i < ENTITY_TYPE_COUNT; i++)
		next = plan_type(&entity_types[i], &plans[i], next);
	for (unsigned int i = 0; i < EDGE_TYPE_COUNT; i++)
		next = plan_type(&edge_types[i], &plans[ENTITY_TYPE_COUNT + i], next);
}

static const struct type_plan *plan_of(const struct type_schema *t)
{
	pthread_once(&plans_once, make_plans);
	return &plans[t->index + (t->is_edge ? ENTITY_TYPE_COUNT : 0)];
}

/* --- strings ---------------------------------------------------------------------------------- */
#define ONES  0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Some byte of the word is not plain: control, quote, backslash or not ASCII. (May also be true
 * for a plain byte above such a one, never false for a special one.) */
static uint64_t special_bytes(uint64_t w)
{
	uint64_t quote = w ^ (ONES * '"'), slash = w ^ (ONES * '\\');

	return (w | (w - ONES * 0x20) | (quote - ONES) | (slash - ONES)) & HIGHS;
}

/* Length of the run of plain bytes. */
static size_t plain_span(const char *s, size_t len)
{
	size_t i = 0;

	while (i + 8 <= len) {
		uint64_t w;

		memcpy(&w, s + i, 8);
		if (special_bytes(w))
			break;
		i += 8;
	}
	while (i < len && plain((unsigned char)s[i]))
		i++;
	return i;
}

static const char hex_digits[] = "0123456789abcdef";

static void add_escaped(struct strbuf *b, unsigned char c)
{
	static const char short_escapes[0x80] = {
		['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
	char text[6] = {'\\', 'u', '0', '0', hex_digits[c >> 4], hex_digits[c & 15]};

	if (short_escapes[c]) {
		text[1] = short_escapes[c];
		strbuf_add(b, text, 2);
	} else {
		strbuf_add(b, text, sizeof(text));
	}
}

/* A run of bytes beyond ASCII: every byte that is not part of valid UTF-8 becomes U+FFFD. Returns
 * true when all was valid. */
static bool add_high(struct strbuf *b, const char *s, size_t len)
{
	bool valid = true;

	while (len) {
		size_t n = text_utf8_span(s, len);

		strbuf_add(b, s, n);
		if (n < len) {
			strbuf_add(b, "\xef\xbf\xbd", 3);
			valid = false;
			n++;
		}
		s += n;
		len -= n;
	}
	return valid;
}

/* Returns false when bytes were replaced. */
static bool quote(struct strbuf *b, const char *s, size_t len)
{
	bool valid = true;

	strbuf_char(b, '"');
	while (len) {
		size_t n = plain_span(s, len);

		strbuf_add(b, s, n);
		s += n;
		len -= n;
		if (!len)
			break;
		n = 1;
		if ((unsigned char)*s < 0x80) {
			add_escaped(b, (unsigned char)*s);
		} else {
			while (n < len && (unsigned char)s[n] >= 0x80)
				n++;
			valid = add_high(b, s, n) && valid;
		}
		s += n;
		len -= n;
	}
	strbuf_char(b, '"');
	return valid;
}

void json_quote(struct strbuf *b, const char *data, size_t len)
{
	(void)quote(b, data, len);
}

/* "a\0b\0" -> ["a","b"]. A last string may lack its NUL. */
static bool quote_strings(struct strbuf *b, const char *s, size_t len)
{
	bool valid = true, first = true;

	strbuf_char(b, '[');
	while (len) {
		size_t n = strnlen(s, len);

		if (!first)
			strbuf_char(b, ',');
		first = false;
		valid = quote(b, s, n) && valid;
		n = MIN(n + 1, len);
		s += n;
		len -= n;
	}
	strbuf_char(b, ']');
	return valid;
}

static void quote_hex(struct strbuf *b, const char *s, size_t len)
{
	if (!strbuf_reserve(b, len * 2 + 2))
		return;
	strbuf_char(b, '"');
	for (size_t i = 0; i < len; i++) {
		strbuf_char(b, hex_digits[(unsigned char)s[i] >> 4]);
		strbuf_char(b, hex_digits[(unsigned char)s[i] & 15]);
	}
	strbuf_char(b, '"');
}

/* --- objects ---------------------------------------------------------------------------------- */
struct writer {
	struct strbuf *b;
	const struct snapshot *s;
	const struct object *o;
	const struct type_plan *plan;
	const char *const *path; /* names of the open groups */
	unsigned int open;	 /* how many */
	unsigned int nesting;	 /* of entities; 0: the object itself */
	bool comma;		 /* something stands before in this object */
};

static void put_entity(struct strbuf *b, const struct snapshot *s, uint64_t ident,
		       unsigned int nesting);

static void put_name(struct writer *w, const char *name, size_t len)
{
	if (w->comma)
		strbuf_char(w->b, ',');
	w->comma = true;
	strbuf_char(w->b, '"');
	strbuf_add(w->b, name, len);
	strbuf_add(w->b, "\":", 2);
}

/* The group `name` below the first `depth` open groups holds an attribute that is there. */
static bool group_used(const struct writer *w, unsigned int depth, struct json_slice name)
{
	for (unsigned int i = 0; i < w->o->n_values; i++) {
		const struct attr_schema *a = &w->o->type->attrs[i];
		unsigned int k = 0;

		if (a->json_depth <= depth + 1 || w->o->values[i].kind == VALUE_ABSENT)
			continue;
		while (k < depth && strcmp(a->json_path[k], w->path[k]) == 0)
			k++;
		if (k == depth && strlen(a->json_path[k]) == name.len &&
		    memcmp(a->json_path[k], name.data, name.len) == 0)
			return true;
	}
	return false;
}

/* What a loaded file had beside the schema in the innermost open group. */
static void put_extra(struct writer *w)
{
	unsigned int attr = w->o->type->is_edge ? EDGE_EXTRA_ATTR : ENTITY_EXTRA_ATTR;
	struct json_slice members, name, value;
	struct json_scan scan;

	members.data = w->nesting ? NULL : object_bytes(w->o, attr, &members.len);
	if (!members.data)
		return;
	for (unsigned int i = 0; i < w->open; i++)
		if (!json_scan_find(members, w->path[i], &members))
			return;
	if (!json_scan_begin(&scan, members.data, members.len) || scan.close != '}')
		return;
	while (json_scan_next(&scan, &name, &value)) {
		if (group_used(w, w->open, name))
			continue;
		put_name(w, name.data, name.len);
		strbuf_add(w->b, value.data, value.len);
	}
}

static void leave_groups(struct writer *w, unsigned int depth)
{
	while (w->open > depth) {
		put_extra(w);
		strbuf_char(w->b, '}');
		w->comma = true;
		w->open--;
	}
}

static void change_group(struct writer *w, const struct attr_schema *a)
{
	unsigned int common = 0;

	while (common < w->open && common + 1 < a->json_depth &&
	       strcmp(w->path[common], a->json_path[common]) == 0)
		common++;
	leave_groups(w, common);
	w->path = a->json_path;
	for (; w->open + 1 < a->json_depth; w->open++) {
		put_name(w, w->path[w->open], strlen(w->path[w->open]));
		strbuf_char(w->b, '{');
		w->comma = false;
	}
}

/* Returns false when the value is text of which bytes were replaced. */
static bool put_value(struct strbuf *b, const struct snapshot *s, const struct object *o,
		      unsigned int attr, unsigned int nesting)
{
	static const char *const bools[] = {"false", "true"};
	const struct value *v = &o->values[attr];
	const char *heap = object_heap(o);

	if (object_number(b, v, bools))
		return true;
	switch ((enum value_kind)v->kind) {
	case VALUE_BYTES:
		if (o->type->attrs[attr].flags & ATTR_JSON_STRINGS)
			return quote_strings(b, heap + v->offset, v->len);
		return quote(b, heap + v->offset, v->len);
	case VALUE_JSON:
		strbuf_add(b, heap + v->offset, v->len);
		break;
	case VALUE_REF:
		put_entity(b, s, v->ident, nesting + 1);
		break;
	default:
		strbuf_add(b, "null", 4);
	}
	return true;
}

static void put_attr(struct writer *w, unsigned int attr)
{
	const struct attr_schema *a = &w->o->type->attrs[attr];
	const struct piece *piece = &w->plan->pieces[attr];

	if (w->o->values[attr].kind == VALUE_ABSENT || a->json_depth == 0)
		return;
	if (w->open || a->json_depth > 1)
		change_group(w, a);
	if (w->comma)
		strbuf_char(w->b, ',');
	w->comma = true;
	strbuf_add(w->b, piece->text, piece->len);
	if (!put_value(w->b, w->s, w->o, attr, w->nesting)) {
		strbuf_char(w->b, ',');
		strbuf_add(w->b, piece->text, piece->len - 2U);
		strbuf_add(w->b, "_hex\":", 6);
		quote_hex(w->b, object_heap(w->o) + w->o->values[attr].offset,
			  w->o->values[attr].len);
	}
}

static void put_attrs(struct writer *w, uint64_t mask)
{
	for (; mask; mask &= mask - 1)
		put_attr(w, (unsigned int)__builtin_ctzll(mask));
	leave_groups(w, 0);
	put_extra(w);
}

static void put_type(struct writer *w, const char *name)
{
	put_name(w, name, strlen(name));
	strbuf_char(w->b, '"');
	strbuf_str(w->b, w->o->type->name);
	strbuf_char(w->b, '"');
}

static uint64_t all_attributes(const struct object *o)
{
	return o->n_values == 64 ? UINT64_MAX : (1ULL << o->n_values) - 1;
}

static void put_object(struct strbuf *b, const struct snapshot *s, const struct object *o,
		       unsigned int nesting)
{
	struct writer w = {.b = b, .s = s, .o = o, .plan = plan_of(o->type), .nesting = nesting};
	uint64_t mask = all_attributes(o);

	if (nesting)
		mask &= w.plan->nested;
	strbuf_char(b, '{');
	put_attr(&w, ENTITY_ENTITY_NAMESPACE_ATTR);
	put_type(&w, "entity_type");
	put_attrs(&w, mask & ~(1ULL << ENTITY_ENTITY_NAMESPACE_ATTR));
	strbuf_char(b, '}');
}

static void put_entity(struct strbuf *b, const struct snapshot *s, uint64_t ident,
		       unsigned int nesting)
{
	const struct object *o = nesting > NESTED_MAX ? NULL : snapshot_entity(s, ident);

	if (o)
		put_object(b, s, o, nesting);
	else
		strbuf_add(b, "null", 4);
}

void json_entity(struct strbuf *b, const struct snapshot *s, const struct object *entity)
{
	put_object(b, s, entity, 0);
}

void json_edge(struct strbuf *b, const struct snapshot *s, const struct object *edge)
{
	struct writer w = {.b = b, .s = s, .o = edge, .plan = plan_of(edge->type)};

	strbuf_char(b, '{');
	put_type(&w, "edge_type");
	put_attr(&w, EDGE_WEIGHT_ATTR);
	strbuf_str(b, edge->type->directed ? ",\"source_node\":" : ",\"nodes\":[");
	put_entity(b, s, edge->source, 1);
	strbuf_str(b, edge->type->directed ? ",\"target_node\":" : ",");
	put_entity(b, s, edge->target, 1);
	if (!edge->type->directed)
		strbuf_char(b, ']');
	put_attrs(&w, all_attributes(edge) & ~(1ULL << EDGE_WEIGHT_ATTR));
	strbuf_char(b, '}');
}

void json_value(struct strbuf *b, const struct snapshot *s, const struct object *o,
		unsigned int attr)
{
	(void)put_value(b, s, o, attr, 0);
}

/* --- indentation ------------------------------------------------------------------------------ */
static void new_line(struct strbuf *out, unsigned int depth)
{
	strbuf_char(out, '\n');
	for (unsigned int i = 0; i < depth; i++)
		strbuf_add(out, "  ", 2);
}

/* A byte within a string. */
static void indent_text(struct json_indent *state, char c)
{
	if (state->escaped)
		state->escaped = false;
	else if (c == '\\')
		state->escaped = true;
	else if (c == '"')
		state->in_string = false;
}

static void indent_token(struct json_indent *state, struct strbuf *out, char c)
{
	bool closes = c == '}' || c == ']';

	if (state->opened && !closes)
		new_line(out, ++state->depth);
	else if (!state->opened && closes)
		new_line(out, --state->depth);
	state->opened = c == '{' || c == '[';
	state->in_string = c == '"';
	strbuf_char(out, c);
	if (c == ':')
		strbuf_char(out, ' ');
	else if (c == ',')
		new_line(out, state->depth);
}

void json_indent(struct json_indent *state, struct strbuf *out, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (state->in_string) {
			strbuf_char(out, data[i]);
			indent_text(state, data[i]);
		} else if (!strchr(" \n\t\r", data[i]) || !data[i]) {
			indent_token(state, out, data[i]);
		}
	}
}
