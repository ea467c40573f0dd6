/* SPDX-License-Identifier: MIT */
/*
 * JSON by jansson, which checks everything but keeps no lines. Its objects keep the order of the
 * text and duplicates are refused, so a walk over the text in step with the tree finds the line of
 * each key.
 */
#include <jansson.h>

#include <errno.h>
#include <string.h>

#include "daemon/config_parse.h"
#include "util/macro.h"

struct scanner {
	struct config_tree *tree;
	const char *p, *end;
	unsigned int line;
};

/* To the next byte that is no blank, and none of those between values. */
static void scan_to_token(struct scanner *s)
{
	for (; s->p < s->end && strchr(" \t\r\n,:", *s->p); s->p++)
		s->line += *s->p == '\n';
}

/* Over one scalar, key or bracket. No line ends within: JSON has them escaped in strings. */
static void scan_token(struct scanner *s)
{
	bool string = s->p < s->end && *s->p == '"';

	if (s->p < s->end)
		s->p++;
	if (string) {
		while (s->p < s->end && *s->p != '"')
			s->p += 1 + (*s->p == '\\' && s->p + 1 < s->end);
		s->p += s->p < s->end;
	}
}

static void scan_scalar(struct scanner *s)
{
	scan_to_token(s);
	if (s->p < s->end && *s->p == '"')
		scan_token(s);
	else
		while (s->p < s->end && !strchr(" \t\r\n,:]}", *s->p))
			s->p++;
}

static int add_json(struct scanner *s, struct config_node *parent, const char *key,
		    unsigned int line, json_t *value);

static int add_object(struct scanner *s, struct config_node *node, json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		unsigned int line;
		int r;

		scan_to_token(s);
		line = s->line;
		scan_token(s);
		r = add_json(s, node, key, line, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_array(struct scanner *s, struct config_node *node, json_t *array)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		int r;

		scan_to_token(s);
		r = add_json(s, node, NULL, s->line, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static const enum config_node_kind kinds[] = {
	[JSON_OBJECT] = CONFIG_NODE_MAP,    [JSON_ARRAY] = CONFIG_NODE_LIST,
	[JSON_STRING] = CONFIG_NODE_STRING, [JSON_INTEGER] = CONFIG_NODE_INT,
	[JSON_REAL] = CONFIG_NODE_FLOAT,    [JSON_TRUE] = CONFIG_NODE_BOOL,
	[JSON_FALSE] = CONFIG_NODE_BOOL,    [JSON_NULL] = CONFIG_NODE_NULL,
};

static int add_json(struct scanner *s, struct config_node *parent, const char *key,
		    unsigned int line, json_t *value)
{
	struct config_node *n;
	int r;

	r = config_tree_add(s->tree, parent, key, key ? strlen(key) : 0, kinds[json_typeof(value)],
			    line, &n);
	if (r < 0)
		return r;
	if (n->kind == CONFIG_NODE_MAP || n->kind == CONFIG_NODE_LIST) {
		scan_to_token(s);
		scan_token(s);
		r = n->kind == CONFIG_NODE_MAP ? add_object(s, n, value) : add_array(s, n, value);
		scan_to_token(s);
		scan_token(s);
		return r;
	}
	scan_scalar(s);
	n->boolean = json_is_true(value);
	n->integer = json_integer_value(value);
	n->real = json_real_value(value);
	if (json_is_string(value))
		return config_tree_text(s->tree, n, json_string_value(value),
					json_string_length(value));
	return 0;
}

static void json_decref_ptr(json_t **j)
{
	json_decref(*j);
}

int config_parse_json(struct config_tree *t, const char *text, size_t len)
{
	struct scanner s = {.tree = t, .p = text, .end = text + len, .line = 1};
	json_error_t e;
	_cleanup_(json_decref_ptr) json_t *root = NULL;

	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (!root)
		return config_tree_fail(t, e.line > 0 ? (unsigned int)e.line : 0,
					e.column > 0 ? (unsigned int)e.column : 0, "%s", e.text);
	scan_to_token(&s);
	return add_json(&s, NULL, NULL, s.line, root);
}
