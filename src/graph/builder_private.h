/* SPDX-License-Identifier: MIT */
/* The inside of the builder, shared by builder.c and restrict.c. */
#pragma once

#include "graph/builder.h"

/* ident (or hash of a key) -> position; 0 is no key. */
struct slot_table {
	uint64_t *keys;
	uint32_t *positions;
	uint32_t size, used;
};

/* Position, or UINT32_MAX. */
uint32_t slots_find(const struct slot_table *t, uint64_t key);
int slots_put(struct slot_table *t, uint64_t key, uint32_t position);
void slots_deinit(struct slot_table *t);

struct object_list {
	struct object **items;
	uint32_t n, cap;
	struct slot_table by_ident;
};

struct builder {
	const struct snapshot *previous;
	struct builder_limits limits;
	struct object_list entities, edges;
	struct slot_table keys; /* name hash -> position of the entity that has the name */
	struct draft scratch;
	struct strbuf key;
	uint32_t lost, dangling;
};
