/* SPDX-License-Identifier: MIT */
#include "fs/seen.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

#define EMPTY UINT64_MAX

static void table_insert(struct seen_table *t, uint64_t key, uint64_t bits)
{
	uint32_t i = (uint32_t)hash_mix(key) & (t->size - 1);

	while (t->keys[i] != EMPTY && t->keys[i] != key)
		i = (i + 1) & (t->size - 1);
	if (t->keys[i] == EMPTY) {
		t->keys[i] = key;
		t->bits[i] = 0;
		t->used++;
	}
	t->bits[i] |= bits;
}

static bool table_grow(struct seen_table *t)
{
	struct seen_table bigger = {.size = t->size ? t->size * 2 : 1024, .overflow = t->overflow};

	bigger.keys = malloc(bigger.size * sizeof(*bigger.keys));
	bigger.bits = malloc(bigger.size * sizeof(*bigger.bits));
	if (!bigger.keys || !bigger.bits) {
		free(bigger.keys);
		free(bigger.bits);
		return false;
	}
	memset(bigger.keys, 0xff, bigger.size * sizeof(*bigger.keys));
	for (uint32_t i = 0; i < t->size; i++)
		if (t->keys[i] != EMPTY && t->bits[i])
			table_insert(&bigger, t->keys[i], t->bits[i]);
	free(t->keys);
	free(t->bits);
	*t = bigger;
	return true;
}

static void table_mark(struct seen_table *t, uint64_t key, uint64_t bits)
{
	if (t->used * 4 >= t->size * 3 && !table_grow(t)) {
		t->overflow = true;
		return;
	}
	table_insert(t, key, bits);
}

void seen_init(struct seen *s)
{
	*s = (struct seen){0};
	pthread_mutex_init(&s->lock, NULL);
}

void seen_deinit(struct seen *s)
{
	free(s->now.keys);
	free(s->now.bits);
	pthread_mutex_destroy(&s->lock);
}

void seen_mark(struct seen *s, uint64_t ino)
{
	pthread_mutex_lock(&s->lock);
	table_mark(&s->now, ino >> 6, 1ULL << (ino & 63));
	pthread_mutex_unlock(&s->lock);
}

void seen_take(struct seen *s, struct seen_table *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->now;
	s->now = (struct seen_table){0};
	pthread_mutex_unlock(&s->lock);
}

void seen_give_back(struct seen *s, struct seen_table *t)
{
	pthread_mutex_lock(&s->lock);
	/* The bigger one is kept, the smaller one added to it. */
	if (t->used > s->now.used) {
		struct seen_table swap = s->now;

		s->now = *t;
		*t = swap;
	}
	for (uint32_t i = 0; i < t->size; i++)
		if (t->keys[i] != EMPTY && t->bits[i])
			table_mark(&s->now, t->keys[i], t->bits[i]);
	s->now.overflow = s->now.overflow || t->overflow;
	pthread_mutex_unlock(&s->lock);
	free(t->keys);
	free(t->bits);
	*t = (struct seen_table){0};
}

bool seen_clear(struct seen_table *t, uint64_t ino)
{
	uint64_t key = ino >> 6, bit = 1ULL << (ino & 63);
	uint32_t i;

	if (t->size) {
		for (i = (uint32_t)hash_mix(key) & (t->size - 1); t->keys[i] != EMPTY;
		     i = (i + 1) & (t->size - 1)) {
			bool was = t->keys[i] == key && t->bits[i] & bit;

			if (t->keys[i] != key)
				continue;
			t->bits[i] &= ~bit;
			return was || t->overflow;
		}
	}
	return t->overflow;
}
