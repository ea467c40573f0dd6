/* SPDX-License-Identifier: MIT */
/*
 * Holder of the newest snapshot. Readers take a reference; publishing is one pointer swap.
 */
#pragma once

#include "graph/snapshot.h"

struct store;

/* Starts with a snapshot of this generation number (taken over, also on failure). 0 or -ENOMEM. */
int store_new(struct snapshot *first, uint64_t generation, struct store **ret);
struct store *store_free(struct store *s);
/* The newest snapshot, with a reference for the caller. */
struct snapshot *store_get(struct store *s);
/* Gives the snapshot the next generation number and makes it the newest; takes the reference over.
 * Returns the generation. */
uint64_t store_publish(struct store *s, struct snapshot *next);
