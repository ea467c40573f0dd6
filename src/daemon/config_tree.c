/* SPDX-License-Identifier: MIT */
#include "daemon/config_tree.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/suggest.h"
#include "util/macro.h"

void config_tree_deinit(struct config_tree *t)
{
	struct config_node *n = t->allocated, *next;

	for (; n; n = next) {
		next = n->allocated;
		free(n->key);
		free(n->text);
		free(n);
	}
	*t = (struct config_tree){0};
}

int config_tree_fail(struct config_tree *t, unsigned int line, unsigned int column, const char *fmt,
		     ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->error, sizeof(t->error), fmt, ap);
	va_end(ap);
	t->error_line = line;
	t->error_column = column;
	return -EINVAL;
}

static int fail_memory(struct config_tree *t)
{
	config_tree_fail(t, 0, 0, "out of memory");
	return -ENOMEM;
}

static int check_new(struct config_tree *t, struct config_node *parent, const char *key,
		     size_t key_len, unsigned int line)
{
	char quoted[SUGGEST_QUOTED];

	if (t->n_nodes >= CONFIG_TREE_MAX_NODES) {
		config_tree_fail(t, line, 0, "more than %d values", CONFIG_TREE_MAX_NODES);
		return -E2BIG;
	}
	if (parent && parent->depth + 1 >= CONFIG_TREE_MAX_DEPTH) {
		config_tree_fail(t, line, 0, "nested deeper than %d", CONFIG_TREE_MAX_DEPTH);
		return -E2BIG;
	}
	if (!key)
		return 0;
	if (memchr(key, '\0', key_len))
		return config_tree_fail(t, line, 0, "a key has a NUL byte in it");
	for (const struct config_node *c = parent->first; c; c = c->next) {
		if (strlen(c->key) != key_len || memcmp(c->key, key, key_len) != 0)
			continue;
		config_tree_fail(t, line, 0, "key %s is there twice, first on line %u: remove one",
				 suggest_quote(c->key, quoted), c->line);
		return -EEXIST;
	}
	return 0;
}

int config_tree_add(struct config_tree *t, struct config_node *parent, const char *key,
		    size_t key_len, enum config_node_kind kind, unsigned int line,
		    struct config_node **ret)
{
	struct config_node *n;
	int r;

	r = check_new(t, parent, key, key_len, line);
	if (r < 0)
		return r;
	n = calloc(1, sizeof(*n));
	if (!n)
		return fail_memory(t);
	n->allocated = t->allocated;
	t->allocated = n;
	t->n_nodes++;
	n->kind = kind;
	n->line = line;
	if (key) {
		n->key = strndup(key, key_len);
		if (!n->key)
			return fail_memory(t);
	}
	if (parent) {
		n->parent = parent;
		n->depth = parent->depth + 1;
		if (parent->last)
			parent->last->next = n;
		else
			parent->first = n;
		parent->last = n;
	} else {
		t->root = n;
	}
	*ret = n;
	return 0;
}

int config_tree_text(struct config_tree *t, struct config_node *node, const char *text, size_t len)
{
	if (memchr(text, '\0', len))
		return config_tree_fail(t, node->line, 0, "a string has a NUL byte in it");
	free(node->text);
	node->text = strndup(text, len);
	return node->text ? 0 : fail_memory(t);
}

static const struct scalar_word {
	const char *word;
	enum config_node_kind kind;
	bool boolean;
	double real;
} scalar_words[] = {
	{"", CONFIG_NODE_NULL},
	{"~", CONFIG_NODE_NULL},
	{"null", CONFIG_NODE_NULL},
	{"Null", CONFIG_NODE_NULL},
	{"NULL", CONFIG_NODE_NULL},
	{"true", CONFIG_NODE_BOOL, true},
	{"True", CONFIG_NODE_BOOL, true},
	{"TRUE", CONFIG_NODE_BOOL, true},
	{"false", CONFIG_NODE_BOOL},
	{"False", CONFIG_NODE_BOOL},
	{"FALSE", CONFIG_NODE_BOOL},
	{".inf", CONFIG_NODE_FLOAT, false, HUGE_VAL},
	{"-.inf", CONFIG_NODE_FLOAT, false, -HUGE_VAL},
	{".nan", CONFIG_NODE_FLOAT, false, NAN},
};

static bool resolve_number(const char *text, struct config_node *node)
{
	const char *digits = text + (*text == '-' || *text == '+');
	char *end;

	/* strtod alone would also take hexadecimal numbers, "infinity" and leading blanks. */
	if (digits[strspn(digits, "0123456789.eE+-")] != '\0' || !strpbrk(digits, "0123456789"))
		return false;
	if (digits[strspn(digits, "0123456789")] == '\0') {
		errno = 0;
		node->integer = strtoll(text, &end, 10);
		node->kind = CONFIG_NODE_INT;
		if (errno != ERANGE)
			return true;
	}
	node->real = strtod(text, &end);
	node->kind = CONFIG_NODE_FLOAT;
	return *end == '\0';
}

bool config_scalar_resolve(const char *text, struct config_node *node)
{
	for (size_t i = 0; i < ARRAY_SIZE(scalar_words); i++) {
		if (strcmp(text, scalar_words[i].word) != 0)
			continue;
		node->kind = scalar_words[i].kind;
		node->boolean = scalar_words[i].boolean;
		node->real = scalar_words[i].real;
		return true;
	}
	return resolve_number(text, node);
}
