/* SPDX-License-Identifier: MIT */
/*
 * The fixed part of the tree, as tables generated from fs-layout/dirs (tree.gen.h, tree.gen.c).
 */
#pragma once

#include "graph/snapshot.h"
#include "tree.gen.h"
#include "view/document.h"

enum tree_kind {
	TREE_KIND_DIR,
	TREE_KIND_FILE,
	TREE_KIND_CONTROL,
};

/* Who keeps the content of a file: see fs-layout/dirs/root.toml. */
enum tree_cache {
	TREE_CACHE_KERNEL,
	TREE_CACHE_GENERATION,
	TREE_CACHE_NEVER,
};

/* What fills a directory beside its fixed entries. */
enum tree_listing {
	TREE_LIST_ENTRIES,
	TREE_LIST_ENTITY_TYPES,
	TREE_LIST_EDGE_TYPES,
	TREE_LIST_BY_KEY,
	TREE_LIST_BY_PORT,
	TREE_LIST_COLLECTORS,
	TREE_LIST_COUNT,
};

enum tree_control_kind {
	TREE_VERB,
	TREE_VALUE,
};

/* A file is rendered whole by `small`, or is a document that is rendered in pieces. */
struct tree_render {
	void (*small)(struct strbuf *b, const struct snapshot *s);
	const struct document_format *document;
};

struct tree_entry {
	const char *name;
	enum tree_entry_id parent;
	enum tree_kind kind;
	enum tree_cache cache;
	enum tree_listing listing;
	enum entity_type entity; /* TREE_LIST_BY_KEY, TREE_LIST_BY_PORT */
	const struct tree_render *render;
	enum tree_control control;
	enum tree_control_kind control_kind;
	const char *doc;
};

struct tree_collector_entry {
	const char *name;
	void (*render)(struct strbuf *b, const struct collector_state *c);
	const char *doc;
};

extern const struct tree_entry tree_entries[TREE_ENTRY_COUNT];
extern const struct tree_collector_entry tree_collector_entries[TREE_COLLECTOR_FILE_COUNT];
extern const char tree_readme[];
