/* SPDX-License-Identifier: MIT */
/*
 * What a configuration file says, whatever its format: a tree of values with the line of each. The
 * three parsers build it by config_tree_add() only, which bounds its size and depth and refuses a
 * key that is there twice. All nodes belong to the tree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_TREE_MAX_NODES 10000
#define CONFIG_TREE_MAX_DEPTH 32

enum config_node_kind {
	CONFIG_NODE_NULL,
	CONFIG_NODE_BOOL,
	CONFIG_NODE_INT,
	CONFIG_NODE_FLOAT,
	CONFIG_NODE_STRING,
	CONFIG_NODE_LIST,
	CONFIG_NODE_MAP,
	CONFIG_NODE_OTHER, /* a kind that no key takes; text says what it is */
};

struct config_node {
	enum config_node_kind kind;
	unsigned int line; /* of the key, in a list of the value; 0 when unknown */
	unsigned int depth;
	char *key;  /* in a map */
	char *text; /* STRING, OTHER */
	bool boolean;
	int64_t integer;
	double real;
	struct config_node *parent, *next; /* next in the parent */
	struct config_node *first, *last;  /* children */
	struct config_node *allocated;	   /* chain of all nodes of the tree */
};

struct config_tree {
	struct config_node *root;
	struct config_node *allocated;
	unsigned int n_nodes;
	/* Why parsing failed, and where (0 when unknown). */
	char error[256];
	unsigned int error_line, error_column;
};

void config_tree_deinit(struct config_tree *t);

/*
 * Adds a value; parent NULL makes the root, key NULL is for the root and elements of lists.
 * Returns 0 or -errno with t->error set (-EEXIST: the key is there already; -E2BIG: too many values
 * or too deep; -EINVAL: a NUL byte in the key; -ENOMEM).
 */
int config_tree_add(struct config_tree *t, struct config_node *parent, const char *key,
		    size_t key_len, enum config_node_kind kind, unsigned int line,
		    struct config_node **ret);
/* Gives the node a text; 0, -EINVAL (a NUL byte in it) or -ENOMEM, t->error set. */
int config_tree_text(struct config_tree *t, struct config_node *node, const char *text, size_t len);
/* Sets the error and returns -EINVAL. */
int config_tree_fail(struct config_tree *t, unsigned int line, unsigned int column, const char *fmt,
		     ...) __attribute__((format(printf, 4, 5)));

/*
 * Gives a text without quotes the kind that it has in YAML's core schema, less octal and
 * hexadecimal numbers: null, true or false, a whole number, a number; false when it is none of
 * them.
 */
bool config_scalar_resolve(const char *text, struct config_node *node);
