/* SPDX-License-Identifier: MIT */
/*
 * YAML by libyaml's events. Aliases and tags are refused: a configuration needs none, and aliases
 * can make a small file huge. Scalars without quotes follow the core schema
 * (config_scalar_resolve).
 */
#include <yaml.h>

#include <errno.h>
#include <string.h>

#include "daemon/config_parse.h"
#include "util/macro.h"

struct reader {
	struct config_tree *tree;
	yaml_parser_t parser;
	yaml_event_t event;
	bool have_event;
};

static void reader_deinit(struct reader *r)
{
	if (r->have_event)
		yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
}

static unsigned int line_of(const yaml_mark_t *m)
{
	return (unsigned int)m->line + 1;
}

static int next_event(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (r->have_event)
		yaml_event_delete(&r->event);
	r->have_event = yaml_parser_parse(&r->parser, &r->event);
	if (r->have_event)
		return 0;
	/* Errors of the bytes themselves (the reader) have an offset and no line. */
	if (p->error == YAML_READER_ERROR)
		return config_tree_fail(r->tree, line_of(&p->mark), 0, "%s", p->problem);
	if (p->error == YAML_MEMORY_ERROR)
		return config_tree_fail(r->tree, 0, 0, "out of memory");
	return config_tree_fail(r->tree, line_of(&p->problem_mark),
				(unsigned int)p->problem_mark.column + 1, "%s",
				p->problem ? p->problem : "not YAML");
}

static int refuse(struct reader *r, const char *what)
{
	return config_tree_fail(r->tree, line_of(&r->event.start_mark),
				(unsigned int)r->event.start_mark.column + 1, "%s", what);
}

/* Where the next value goes; a key that has been read waits for its value. */
struct position {
	struct config_node *parent;
	char *key;
	size_t key_len;
	unsigned int key_line;
};

static void position_clear_key(struct position *at)
{
	free(at->key);
	at->key = NULL;
}

static int add_node(struct reader *r, struct position *at, enum config_node_kind kind,
		    struct config_node **ret)
{
	unsigned int line = at->key ? at->key_line : line_of(&r->event.start_mark);
	int e;

	if (!at->parent && r->tree->root)
		return refuse(r, "a second document: one is enough");
	e = config_tree_add(r->tree, at->parent, at->key, at->key_len, kind, line, ret);
	position_clear_key(at);
	return e;
}

static int add_scalar(struct reader *r, struct position *at)
{
	const char *text = (const char *)r->event.data.scalar.value;
	size_t len = r->event.data.scalar.length;
	struct config_node *n;
	int e;

	if (r->event.data.scalar.tag)
		return refuse(r, "tags (!) are not supported: leave it out");
	e = add_node(r, at, CONFIG_NODE_STRING, &n);
	if (e < 0)
		return e;
	if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == len &&
	    config_scalar_resolve(text, n))
		return 0;
	n->kind = CONFIG_NODE_STRING;
	return config_tree_text(r->tree, n, text, len);
}

static int take_key(struct reader *r, struct position *at)
{
	if (r->event.type != YAML_SCALAR_EVENT)
		return refuse(r, "a key has to be a plain word");
	at->key = strndup((const char *)r->event.data.scalar.value, r->event.data.scalar.length);
	if (!at->key)
		return config_tree_fail(r->tree, 0, 0, "out of memory");
	at->key_len = r->event.data.scalar.length;
	if (strlen(at->key) != at->key_len)
		return refuse(r, "a key has a NUL byte in it");
	at->key_line = line_of(&r->event.start_mark);
	return 0;
}

static int open_collection(struct reader *r, struct position *at, bool map)
{
	const yaml_char_t *tag =
		map ? r->event.data.mapping_start.tag : r->event.data.sequence_start.tag;
	struct config_node *n;
	int e;

	if (tag)
		return refuse(r, "tags (!) are not supported: leave it out");
	e = add_node(r, at, map ? CONFIG_NODE_MAP : CONFIG_NODE_LIST, &n);
	if (e < 0)
		return e;
	at->parent = n;
	return 0;
}

static int handle_event(struct reader *r, struct position *at)
{
	bool wants_key = at->parent && at->parent->kind == CONFIG_NODE_MAP && !at->key;

	switch (r->event.type) {
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		at->parent = at->parent->parent;
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse(r, "aliases (*) are not supported: write the value again");
	case YAML_SCALAR_EVENT:
		return wants_key ? take_key(r, at) : add_scalar(r, at);
	case YAML_MAPPING_START_EVENT:
		return wants_key ? take_key(r, at) : open_collection(r, at, true);
	case YAML_SEQUENCE_START_EVENT:
		return wants_key ? take_key(r, at) : open_collection(r, at, false);
	default: /* start and end of the stream and of documents */
		return 0;
	}
}

int config_parse_yaml(struct config_tree *t, const char *text, size_t len)
{
	_cleanup_(reader_deinit) struct reader r = {.tree = t};
	_cleanup_(position_clear_key) struct position at = {0};
	struct config_node *root;
	int e;

	if (!yaml_parser_initialize(&r.parser))
		return config_tree_fail(t, 0, 0, "out of memory");
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	do {
		e = next_event(&r);
		if (e == 0)
			e = handle_event(&r, &at);
		if (e < 0)
			return e;
	} while (r.event.type != YAML_STREAM_END_EVENT);
	if (!t->root)
		return config_tree_add(t, NULL, NULL, 0, CONFIG_NODE_MAP, 1, &root);
	if (t->root->kind == CONFIG_NODE_NULL) /* "---" and nothing else */
		t->root->kind = CONFIG_NODE_MAP;
	return 0;
}
