/* SPDX-License-Identifier: MIT */
#include "view/load_value.h"

#include "view/json.h"

void load_dump(struct strbuf *b, json_t *j)
{
	const char *name;
	json_t *item;
	size_t i = 0;

	switch (json_typeof(j)) {
	case JSON_OBJECT:
		strbuf_char(b, '{');
		json_object_foreach(j, name, item)
		{
			if (i++)
				strbuf_char(b, ',');
			json_quote(b, name, strlen(name));
			strbuf_char(b, ':');
			load_dump(b, item);
		}
		strbuf_char(b, '}');
		break;
	case JSON_ARRAY:
		strbuf_char(b, '[');
		json_array_foreach(j, i, item)
		{
			if (i)
				strbuf_char(b, ',');
			load_dump(b, item);
		}
		strbuf_char(b, ']');
		break;
	case JSON_STRING:
		json_quote(b, json_string_value(j), json_string_length(j));
		break;
	case JSON_INTEGER:
		strbuf_s64(b, json_integer_value(j));
		break;
	case JSON_REAL:
		strbuf_f64(b, json_real_value(j));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		strbuf_str(b, json_is_true(j) ? "true" : "false");
		break;
	case JSON_NULL:
		strbuf_str(b, "null");
		break;
	}
}

static void set_json(struct draft *d, unsigned int attr, json_t *j)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	load_dump(&b, j);
	draft_json(d, attr, b.data, b.len);
	if (strbuf_error(&b))
		d->heap.error = strbuf_error(&b);
}

/* ["a","b"] as "a\0b\0"; false when it is not a list of strings without NUL. */
static bool set_strings(struct draft *d, unsigned int attr, json_t *j)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	json_t *item;
	size_t i;

	if (!json_is_array(j))
		return false;
	json_array_foreach(j, i, item)
	{
		const char *s = json_string_value(item);

		if (!s || strlen(s) != json_string_length(item))
			return false;
		strbuf_add(&b, s, strlen(s) + 1);
	}
	if (strbuf_error(&b))
		d->heap.error = strbuf_error(&b);
	draft_bytes(d, attr, b.data ? b.data : "", b.len);
	return true;
}

static void set_integer(struct draft *d, unsigned int attr, json_int_t v)
{
	if (d->type->attrs[attr].kind == VALUE_U64 && v >= 0)
		draft_u64(d, attr, (uint64_t)v);
	else
		draft_s64(d, attr, v);
}

void load_value(struct draft *d, unsigned int attr, json_t *j)
{
	const struct attr_schema *a = &d->type->attrs[attr];

	switch (json_typeof(j)) {
	case JSON_NULL:
		/* Null where the reference never has it is ours for "cannot be known". */
		draft_mark(d, attr, a->default_kind == VALUE_NULL ? VALUE_NULL : VALUE_UNKNOWN);
		break;
	case JSON_INTEGER:
		set_integer(d, attr, json_integer_value(j));
		break;
	case JSON_REAL:
		draft_f64(d, attr, json_real_value(j));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		draft_bool(d, attr, json_is_true(j));
		break;
	case JSON_STRING:
		if (a->kind == VALUE_BYTES && !(a->flags & ATTR_JSON_STRINGS))
			draft_bytes(d, attr, json_string_value(j), json_string_length(j));
		else
			set_json(d, attr, j);
		break;
	default:
		if (!(a->flags & ATTR_JSON_STRINGS) || !set_strings(d, attr, j))
			set_json(d, attr, j);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool load_hex(struct draft *d, unsigned int attr, json_t *j)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	const char *s = json_string_value(j);
	size_t len = s ? json_string_length(j) : 1;

	if (len % 2)
		return false;
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(s[i]), low = hex_digit(s[i + 1]);

		if (high < 0 || low < 0)
			return false;
		strbuf_char(&b, (char)(high << 4 | low));
	}
	if (strbuf_error(&b))
		d->heap.error = strbuf_error(&b);
	draft_bytes(d, attr, b.data ? b.data : "", b.len);
	return true;
}
