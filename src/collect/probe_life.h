/* SPDX-License-Identifier: MIT */
/*
 * Beginnings and ends of processes, as they happen: what lived between two scans is not missed, and
 * names outlive their processes. Records: bpf/life.h.
 *
 * Drain it at least as often as the ring fills: 8,192 records fit the default of 1 MiB. When
 * `probe_life_lost` rises, records are missing: scan everything again.
 */
#pragma once

#include "bpf/life.h"
#include "collect/probe.h"

struct probe_life;

/*
 * Loads and attaches. ring_bytes: a power of two and a multiple of the page size; 0: 1 MiB. 0 when
 * at least forks and exits are told, else -errno with one line in `reason`.
 */
int probe_life_open(struct probe_life **ret, size_t ring_bytes, char *reason, size_t size);
struct probe_life *probe_life_close(struct probe_life *p);
static inline void probe_life_closep(struct probe_life **p)
{
	*p = probe_life_close(*p);
}
#define _cleanup_probe_life_ _cleanup_(probe_life_closep)

struct probe_object *probe_life_object(struct probe_life *p);
/* Readable when there is something to drain. Borrowed. */
int probe_life_fd(const struct probe_life *p);

/*
 * Gives what is there, oldest first, and returns the number of records, or -errno. A result of the
 * callback other than 0 ends it and, when negative, is returned.
 */
int probe_life_drain(struct probe_life *p, int (*fn)(void *arg, const struct life_record *record),
		     void *arg);
/* Records that found no room since the opening. 0 or -errno. */
int probe_life_lost(struct probe_life *p, uint64_t *ret);
