/* SPDX-License-Identifier: MIT */
/*
 * What one snapshot changed against another: a merge of two sorted arrays that compares pointers,
 * since unchanged objects are shared. O(entities + edges), about 10 ns each.
 */
#pragma once

#include "graph/snapshot.h"

struct diff_sink {
	/* before is NULL for a new object, after for one that is gone; both set: it changed. */
	void (*entity)(void *userdata, const struct object *before, const struct object *after);
	void (*edge)(void *userdata, const struct object *before, const struct object *after);
	void *userdata;
};

void diff_snapshots(const struct snapshot *before, const struct snapshot *after,
		    const struct diff_sink *sink);
