/* SPDX-License-Identifier: MIT */
/*
 * Which inodes the kernel may remember something of (an entry, attributes, pages, a listing): one
 * bit each, 16 bytes per 64 slots of a node. Marked by the dispatcher; at each publication the
 * notifier takes the whole table, notifies what changed, and gives the rest back.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct seen_table {
	uint64_t *keys; /* ino >> 6; the empty slot is UINT64_MAX */
	uint64_t *bits; /* 1 << (ino & 63) */
	uint32_t size, used;
	bool overflow; /* out of memory: then everything counts as seen */
};

struct seen {
	pthread_mutex_t lock;
	struct seen_table now;
};

void seen_init(struct seen *s);
void seen_deinit(struct seen *s);
void seen_mark(struct seen *s, uint64_t ino);
/* Moves the marks out; the table starts empty. Marks made from now on belong to the new snapshot.
 */
void seen_take(struct seen *s, struct seen_table *ret);
/* Adds marks that are still good, and frees the table. */
void seen_give_back(struct seen *s, struct seen_table *t);
/* Tests and clears one mark. */
bool seen_clear(struct seen_table *t, uint64_t ino);
