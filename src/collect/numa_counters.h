/* SPDX-License-Identifier: MIT */
/*
 * The live files of a NUMA node, meminfo and numastat, as JSON. Pure text functions: they are given
 * what was read. Names that are not made of [A-Za-z0-9_()] and values that are not numbers are left
 * out, so the JSON is always valid.
 */
#pragma once

#include "util/strbuf.h"

struct numa_memory {
	bool known; /* there was a MemTotal */
	uint64_t total_bytes, free_bytes;
	bool free_known;
};

/*
 * "Node 0 MemTotal: 123 kB" lines (or "MemTotal: 123 kB", /proc/meminfo) as
 * {"MemTotal":"123 kB",…} in their order; json may be NULL.
 */
void numa_parse_meminfo(const char *text, size_t len, struct strbuf *json, struct numa_memory *ret);
/* "numa_hit 123" lines as {"numa_hit":123,…} in their order. */
void numa_parse_numastat(const char *text, size_t len, struct strbuf *json);
