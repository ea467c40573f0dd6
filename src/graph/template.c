/* SPDX-License-Identifier: MIT */
#include "graph/template.h"

#include <ctype.h>

#include "util/hash.h"
#include "util/text.h"

#define KEY_MAX	  200
#define CUT_LIMIT 30 /* the reference cuts a longer command line to 27 characters and "..." */
#define CUT_KEEP  27

struct template_source template_of_object(const struct object *o)
{
	return (struct template_source){
		.type = o->type, .values = o->values, .heap = object_heap(o)};
}

struct template_source template_of_draft(const struct draft *d)
{
	return (struct template_source){.type = d->type, .values = d->values, .heap = d->heap.data};
}

/* --- specs: how a text value is printed ------------------------------------------------------- */
static void spec_raw(struct strbuf *b, const char *s, size_t len)
{
	strbuf_add(b, s, len);
}

static void spec_lower(struct strbuf *b, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		strbuf_char(b, (char)tolower((unsigned char)s[i]));
}

/* Characters, not bytes: as Python counts. */
static void spec_cut(struct strbuf *b, const char *s, size_t len)
{
	size_t chars = 0, keep = len;

	for (size_t i = 0; i < len; i++) {
		if (((unsigned char)s[i] & 0xc0) == 0x80)
			continue;
		if (chars == CUT_KEEP)
			keep = i;
		chars++;
	}
	if (chars <= CUT_LIMIT) {
		strbuf_add(b, s, len);
		return;
	}
	strbuf_add(b, s, keep);
	strbuf_str(b, "...");
}

static void python_string(struct strbuf *b, const char **pos, const char *end)
{
	const char *p = *pos + 1;
	const char *from = p;
	bool number = true;

	for (; p < end && *p != '"'; p++) {
		number = number && isdigit((unsigned char)*p);
		if (*p == '\\' && p + 1 < end)
			p++;
	}
	/* Keys of NUMA tables are numbers in Python and strings in JSON. */
	number = number && p > from && p + 1 < end && p[1] == ':';
	if (!number)
		strbuf_char(b, '\'');
	strbuf_add(b, from, (size_t)(p - from));
	if (!number)
		strbuf_char(b, '\'');
	*pos = p + 1;
}

void template_python(struct strbuf *b, const char *json, size_t len)
{
	const char *p = json, *end = json + len;

	while (p < end) {
		if (*p == '"') {
			python_string(b, &p, end);
		} else if (*p == ',' || *p == ':') {
			strbuf_char(b, *p++);
			strbuf_char(b, ' ');
		} else if (end - p >= 4 && memcmp(p, "null", 4) == 0) {
			strbuf_str(b, "None");
			p += 4;
		} else if (end - p >= 4 && memcmp(p, "true", 4) == 0) {
			strbuf_str(b, "True");
			p += 4;
		} else if (end - p >= 5 && memcmp(p, "false", 5) == 0) {
			strbuf_str(b, "False");
			p += 5;
		} else {
			if (!isspace((unsigned char)*p))
				strbuf_char(b, *p);
			p++;
		}
	}
}

static const struct template_spec {
	const char *name;
	void (*print)(struct strbuf *b, const char *s, size_t len);
} template_specs[] = {
	{"raw", spec_raw},
	{"lower", spec_lower},
	{"cut", spec_cut},
	{"pydict", template_python},
};

/* Text from outside as part of a file name. Raw text keeps '%': addresses have it (fe80::1%3). */
static bool fit_for_name(char c, bool keep_percent)
{
	return text_name_safe((unsigned char)c) || (keep_percent && c == '%');
}

static void escape_tail(struct strbuf *b, size_t mark, bool keep_percent)
{
	_cleanup_strbuf_ struct strbuf plain = {0};
	size_t good = mark;

	while (good < b->len && fit_for_name(b->data[good], keep_percent))
		good++;
	if (good == b->len)
		return;
	strbuf_add(&plain, b->data + good, b->len - good);
	b->len = good;
	for (size_t i = 0; i < plain.len; i++) {
		if (fit_for_name(plain.data[i], keep_percent))
			strbuf_char(b, plain.data[i]);
		else
			text_escape_name(b, plain.data + i, 1);
	}
	if (strbuf_error(&plain))
		b->error = strbuf_error(&plain);
}

/* --- values ----------------------------------------------------------------------------------- */
static bool print_value(struct strbuf *b, const struct template_source *src, const struct value *v,
			const char *spec, size_t spec_len)
{
	static const char *const bools[] = {"False", "True"};

	if (v->kind <= VALUE_NULL) {
		if (src->lenient)
			strbuf_str(b, "None");
		return src->lenient;
	}
	if (v->kind != VALUE_BYTES && v->kind != VALUE_JSON) {
		return object_number(b, v, bools);
	}
	for (size_t i = 0; i < ARRAY_SIZE(template_specs); i++)
		if (strlen(template_specs[i].name) == spec_len &&
		    memcmp(template_specs[i].name, spec, spec_len) == 0) {
			size_t mark = b->len;

			template_specs[i].print(b, src->heap + v->offset, v->len);
			if (src->escape && b->len > mark)
				escape_tail(b, mark, template_specs[i].print == spec_raw);
			return true;
		}
	if (src->escape)
		text_escape_name(b, src->heap + v->offset, v->len);
	else
		strbuf_add(b, src->heap + v->offset, v->len);
	return true;
}

/* `name`, `name:spec` or `ref.name` between braces. */
static bool print_field(struct strbuf *b, const struct template_source *src, const char *f,
			size_t len)
{
	const char *colon = memchr(f, ':', len), *dot;
	size_t name_len = colon ? (size_t)(colon - f) : len;
	struct template_source inner;
	const struct object *o;
	int attr;

	dot = memchr(f, '.', name_len);
	if (!dot) {
		attr = schema_attr(src->type, f, name_len);
		return attr >= 0 && print_value(b, src, &src->values[attr], colon ? colon + 1 : "",
						colon ? len - name_len - 1 : 0);
	}
	attr = schema_attr(src->type, f, (size_t)(dot - f));
	if (attr < 0)
		return false;
	o = src->values[attr].kind == VALUE_REF && src->resolve
		    ? src->resolve(src->userdata, src->values[attr].ident)
		    : NULL;
	if (!o) {
		if (src->lenient)
			strbuf_str(b, "None");
		return src->lenient;
	}
	inner = template_of_object(o);
	inner.escape = src->escape;
	inner.lenient = src->lenient;
	return print_field(b, &inner, dot + 1, len - (size_t)(dot + 1 - f));
}

static bool print_span(struct strbuf *b, const char *p, const char *end,
		       const struct template_source *src)
{
	while (p < end) {
		const char *close;

		if (p + 1 < end && p[0] == p[1] && (*p == '{' || *p == '}')) {
			strbuf_char(b, *p);
			p += 2;
		} else if (*p == '{' && (close = memchr(p, '}', (size_t)(end - p)))) {
			if (!print_field(b, src, p + 1, (size_t)(close - p - 1)))
				return false;
			p = close + 1;
		} else if (p[0] == '?' && p + 1 < end && p[1] == '[' &&
			   (close = memchr(p, ']', (size_t)(end - p)))) {
			struct template_source strict = *src;
			size_t mark = b->len;

			strict.lenient = false;
			if (!print_span(b, p + 2, close, &strict))
				b->len = mark;
			p = close + 1;
		} else {
			strbuf_char(b, *p++);
		}
	}
	return true;
}

bool template_render(struct strbuf *b, const char *tmpl, const struct template_source *src)
{
	size_t mark = b->len;

	if (print_span(b, tmpl, tmpl + strlen(tmpl), src))
		return true;
	b->len = mark;
	return false;
}

static void render_alternatives(struct strbuf *b, const char *const *tmpl,
				struct template_source src)
{
	const char *last = tmpl[0];

	for (unsigned int i = 0; i < SCHEMA_ALTERNATIVES && tmpl[i]; i++) {
		if (template_render(b, tmpl[i], &src))
			return;
		last = tmpl[i];
	}
	src.lenient = true;
	template_render(b, last, &src);
}

void template_key(struct strbuf *b, const struct template_source *src)
{
	struct template_source escaped = *src;
	size_t mark = b->len;
	uint64_t hash;

	escaped.escape = true;
	render_alternatives(b, src->type->key, escaped);
	if (b->len - mark == 0)
		strbuf_str(b, "%");
	if (b->len - mark <= KEY_MAX)
		return;
	hash = hash_bytes(0, b->data + mark, b->len - mark);
	b->len = mark + KEY_MAX - 17;
	strbuf_printf(b, "~%016llx", (unsigned long long)hash);
}

void template_global_id(struct strbuf *b, const struct object *entity)
{
	struct template_source src = template_of_object(entity);
	size_t ns_len;
	const char *ns = object_bytes(entity, ENTITY_ENTITY_NAMESPACE_ATTR, &ns_len);

	strbuf_str(b, entity->type->abbr);
	strbuf_char(b, '(');
	if (ns && !(ns_len == 5 && memcmp(ns, "local", 5) == 0)) {
		strbuf_str(b, "ns=");
		strbuf_add(b, ns, ns_len);
		strbuf_char(b, ',');
	}
	render_alternatives(b, entity->type->unique, src);
	strbuf_char(b, ')');
}
