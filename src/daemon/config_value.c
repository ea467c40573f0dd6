/* SPDX-License-Identifier: MIT */
/* One value: from a node of a file or a text of the command line, checked against its row. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "daemon/config.h"
#include "daemon/config_tree.h"
#include "daemon/suggest.h"
#include "util/text.h"

void config_value_deinit(struct config_value *v)
{
	for (char **s = v->strings; s && *s; s++)
		free(*s);
	free(v->strings);
	free(v->text);
	json_decref(v->json);
	*v = (struct config_value){0};
}
#define _cleanup_value_ _cleanup_(config_value_deinit)

static bool in_range(const struct config_key_row *row, double v)
{
	return isfinite(v) && v >= row->min && v <= row->max;
}

static int parse_bool(const struct config_key_row *row, const struct config_node *n,
		      struct config_value *v)
{
	v->boolean = n->boolean;
	return n->kind == CONFIG_NODE_BOOL ? 0 : -EINVAL;
}

static int parse_int(const struct config_key_row *row, const struct config_node *n,
		     struct config_value *v)
{
	v->integer = n->integer;
	if (n->kind != CONFIG_NODE_INT)
		return -EINVAL;
	return in_range(row, (double)n->integer) ? 0 : -ERANGE;
}

static int parse_float(const struct config_key_row *row, const struct config_node *n,
		       struct config_value *v)
{
	v->real = n->kind == CONFIG_NODE_INT ? (double)n->integer : n->real;
	if (n->kind != CONFIG_NODE_FLOAT && n->kind != CONFIG_NODE_INT)
		return -EINVAL;
	return in_range(row, v->real) ? 0 : -ERANGE;
}

static int parse_string(const struct config_key_row *row, const struct config_node *n,
			struct config_value *v)
{
	if (n->kind != CONFIG_NODE_STRING)
		return -EINVAL;
	if (!in_range(row, (double)strlen(n->text)))
		return -ERANGE;
	v->text = strdup(n->text);
	return v->text ? 0 : -ENOMEM;
}

static int parse_duration(const struct config_key_row *row, const struct config_node *n,
			  struct config_value *v)
{
	double seconds = n->kind == CONFIG_NODE_INT ? (double)n->integer : n->real;

	if (n->kind == CONFIG_NODE_STRING) {
		int r = text_parse_duration(n->text, &v->ns);

		if (r < 0)
			return r;
		return in_range(row, (double)v->ns) ? 0 : -ERANGE;
	}
	if (n->kind != CONFIG_NODE_FLOAT && n->kind != CONFIG_NODE_INT)
		return -EINVAL;
	/* the range bounds it far below 2^63 ns */
	if (!in_range(row, seconds * (double)NSEC_PER_SEC))
		return -ERANGE;
	v->ns = (uint64_t)llround(seconds * (double)NSEC_PER_SEC);
	return 0;
}

static int parse_enum(const struct config_key_row *row, const struct config_node *n,
		      struct config_value *v)
{
	if (n->kind != CONFIG_NODE_STRING)
		return -EINVAL;
	for (v->choice = 0; v->choice < row->n_choices; v->choice++)
		if (strcasecmp(n->text, row->choices[v->choice]) == 0)
			return 0;
	return -EINVAL;
}

static int parse_strings(const struct config_key_row *row, const struct config_node *n,
			 struct config_value *v)
{
	size_t count = 0;

	if (n->kind != CONFIG_NODE_LIST)
		return -EINVAL;
	for (const struct config_node *e = n->first; e; e = e->next, count++)
		if (e->kind != CONFIG_NODE_STRING)
			return -EINVAL;
	v->strings = calloc(count + 1, sizeof(*v->strings));
	if (!v->strings)
		return -ENOMEM;
	count = 0;
	for (const struct config_node *e = n->first; e; e = e->next) {
		v->strings[count] = strdup(e->text);
		if (!v->strings[count++])
			return -ENOMEM;
	}
	return 0;
}

/* NULL when memory ran out, or a number is none that JSON has (not finite). */
static json_t *node_to_json(const struct config_node *n)
{
	json_t *j;

	switch (n->kind) {
	case CONFIG_NODE_NULL:
		return json_null();
	case CONFIG_NODE_BOOL:
		return json_boolean(n->boolean);
	case CONFIG_NODE_INT:
		return json_integer(n->integer);
	case CONFIG_NODE_FLOAT:
		return json_real(n->real);
	case CONFIG_NODE_STRING:
	case CONFIG_NODE_OTHER:
		return json_string(n->text);
	case CONFIG_NODE_LIST:
	case CONFIG_NODE_MAP:
		break;
	}
	j = n->kind == CONFIG_NODE_MAP ? json_object() : json_array();
	for (const struct config_node *e = n->first; j && e; e = e->next) {
		json_t *value = node_to_json(e);
		int r = n->kind == CONFIG_NODE_MAP ? json_object_set_new(j, e->key, value)
						   : json_array_append_new(j, value);

		if (r < 0) {
			json_decref(j);
			return NULL;
		}
	}
	return j;
}

static int parse_list(const struct config_key_row *row, const struct config_node *n,
		      struct config_value *v)
{
	if (n->kind != CONFIG_NODE_LIST)
		return -EINVAL;
	for (const struct config_node *e = n->first; e; e = e->next)
		if (row->type == CONFIG_TYPE_OBJECTS && e->kind != CONFIG_NODE_MAP)
			return -EINVAL;
	v->json = node_to_json(n);
	return v->json ? 0 : -EINVAL;
}

/* What may stand there, for the error. */
static void allowed_whole_number(const struct config_key_row *row, struct strbuf *b)
{
	strbuf_str(b, "a whole number");
	if (isfinite(row->min) && isfinite(row->max))
		strbuf_printf(b, " from %.0f to %.0f", row->min, row->max);
	else if (isfinite(row->min))
		strbuf_printf(b, ", %.0f or more", row->min);
}

static void allowed_number(const struct config_key_row *row, struct strbuf *b)
{
	strbuf_str(b, "a number");
	if (isfinite(row->min) && isfinite(row->max))
		strbuf_printf(b, " from %g to %g", row->min, row->max);
	else if (isfinite(row->min))
		strbuf_printf(b, ", %g or more", row->min);
}

static void allowed_string(const struct config_key_row *row, struct strbuf *b)
{
	strbuf_str(b, "a string");
	if (row->min > 0 && isfinite(row->max))
		strbuf_printf(b, " of %.0f to %.0f bytes", row->min, row->max);
	else if (isfinite(row->max))
		strbuf_printf(b, " of at most %.0f bytes", row->max);
}

static void allowed_duration(const struct config_key_row *row, struct strbuf *b)
{
	strbuf_str(b, "a time such as 5, 0.5 (seconds), 500ms or 2m, from ");
	text_format_duration(b, (uint64_t)row->min);
	strbuf_str(b, " to ");
	text_format_duration(b, (uint64_t)row->max);
}

static void allowed_choices(const struct config_key_row *row, struct strbuf *b)
{
	for (unsigned int i = 0; i < row->n_choices; i++)
		strbuf_printf(b, "%s%s",
			      i == 0			? ""
			      : i + 1 == row->n_choices ? " or "
							: ", ",
			      row->choices[i]);
}

static const struct type_row {
	int (*parse)(const struct config_key_row *row, const struct config_node *n,
		     struct config_value *v);
	void (*allowed)(const struct config_key_row *row, struct strbuf *b);
	const char *allowed_text; /* where it needs no function */
	bool texts;		  /* an unquoted text of the command line is a string */
} type_rows[] = {
	[CONFIG_TYPE_BOOL] = {parse_bool, NULL, "true or false"},
	[CONFIG_TYPE_INT] = {parse_int, allowed_whole_number},
	[CONFIG_TYPE_FLOAT] = {parse_float, allowed_number},
	[CONFIG_TYPE_STRING] = {parse_string, allowed_string, .texts = true},
	[CONFIG_TYPE_DURATION] = {parse_duration, allowed_duration, .texts = true},
	[CONFIG_TYPE_ENUM] = {parse_enum, allowed_choices, .texts = true},
	[CONFIG_TYPE_STRINGS] = {parse_strings, NULL, "a list of strings"},
	[CONFIG_TYPE_OBJECTS] = {parse_list, NULL, "a list of objects"},
	[CONFIG_TYPE_LIST] = {parse_list, NULL, "a list"},
};
_Static_assert(ARRAY_SIZE(type_rows) == CONFIG_TYPE_COUNT, "a type without a row");

static void describe_node(const struct config_node *n, struct strbuf *b)
{
	static const char *const fixed[] = {[CONFIG_NODE_NULL] = "null",
					    [CONFIG_NODE_LIST] = "this list",
					    [CONFIG_NODE_MAP] = "a section of keys"};
	char quoted[SUGGEST_QUOTED];

	switch (n->kind) {
	case CONFIG_NODE_BOOL:
		strbuf_str(b, n->boolean ? "true" : "false");
		break;
	case CONFIG_NODE_INT:
		strbuf_s64(b, n->integer);
		break;
	case CONFIG_NODE_FLOAT:
		strbuf_printf(b, "%g", n->real);
		break;
	case CONFIG_NODE_STRING:
		strbuf_str(b, suggest_quote(n->text, quoted));
		break;
	case CONFIG_NODE_OTHER:
		strbuf_str(b, n->text);
		break;
	default:
		strbuf_str(b, fixed[n->kind]);
	}
}

static void explain(const struct config_key_row *row, const struct config_node *n, char *error,
		    size_t size)
{
	const struct type_row *type = &type_rows[row->type];
	_cleanup_strbuf_ struct strbuf b = {0};

	strbuf_str(&b, "must be ");
	if (type->allowed)
		type->allowed(row, &b);
	else
		strbuf_str(&b, type->allowed_text);
	if (row->nullable)
		strbuf_str(&b, ", or null");
	strbuf_str(&b, ", not ");
	describe_node(n, &b);
	snprintf(error, size, "%s", strbuf_cstr(&b));
}

int config_value_parse(const struct config_key_row *row, const struct config_node *node,
		       struct config_value *ret, char *error, size_t size)
{
	_cleanup_value_ struct config_value v = {0};
	int r;

	if (node->kind == CONFIG_NODE_NULL) {
		v.null = true;
		r = row->nullable ? 0 : -EINVAL;
	} else {
		r = type_rows[row->type].parse(row, node, &v);
	}
	if (r == -ENOMEM)
		snprintf(error, size, "could not be read: out of memory");
	else if (r < 0)
		explain(row, node, error, size);
	if (r < 0)
		return r;
	*ret = v;
	v = (struct config_value){0};
	return 0;
}

int config_value_parse_text(const struct config_key_row *row, const char *text,
			    struct config_value *ret, char *error, size_t size)
{
	struct config_node n = {0};

	if (type_rows[row->type].texts || *text == '\0' || !config_scalar_resolve(text, &n)) {
		n.kind = CONFIG_NODE_STRING;
		n.text = (char *)text; /* not changed, and not kept */
	}
	return config_value_parse(row, &n, ret, error, size);
}
