/* SPDX-License-Identifier: MIT */
/*
 * What a probe's reader remembers of the keys in its maps: a hash table from keys to values of
 * fixed sizes. Values move when the table grows or is swept: pointers hold until then.
 */
#pragma once

#include "util/macro.h"

struct probe_table {
	size_t key_size, value_size, entry_size;
	char *entries;	 /* dense */
	uint32_t *index; /* position + 1, 0: free; of `mask` + 1 slots */
	uint32_t n, size, mask;
};

void probe_table_init(struct probe_table *t, size_t key_size, size_t value_size);
void probe_table_deinit(struct probe_table *t);

/* The value of the key and marks it as used in this pass; NULL: not there. */
void *probe_table_find(struct probe_table *t, const void *key);
/* The same, made of zeros when it was not there (*ret_new); NULL: no memory. */
void *probe_table_need(struct probe_table *t, const void *key, bool *ret_new);
/*
 * Ends a pass: removes what was not used since the last sweep, after telling `gone` (may be NULL).
 */
void probe_table_sweep(struct probe_table *t,
		       void (*gone)(void *arg, const void *key, const void *value), void *arg);
