/* SPDX-License-Identifier: MIT */
#include "collect/probe_table.h"

#include <string.h>

#include "util/hash.h"

/* An entry: a mark (8 bytes, for alignment), the key, the value. */
#define MARK 8

void probe_table_init(struct probe_table *t, size_t key_size, size_t value_size)
{
	*t = (struct probe_table){.key_size = (key_size + 7) & ~(size_t)7,
				  .value_size = (value_size + 7) & ~(size_t)7};
	t->entry_size = MARK + t->key_size + t->value_size;
}

void probe_table_deinit(struct probe_table *t)
{
	free(t->entries);
	free(t->index);
	t->entries = NULL;
	t->index = NULL;
	t->n = t->size = t->mask = 0;
}

static char *entry_at(const struct probe_table *t, uint32_t i)
{
	return t->entries + (size_t)i * t->entry_size;
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t *slot_of(const struct probe_table *t, const void *key)
{
	uint32_t i = (uint32_t)hash_bytes(0, key, t->key_size) & t->mask;

	while (t->index[i] && memcmp(entry_at(t, t->index[i] - 1) + MARK, key, t->key_size) != 0)
		i = (i + 1) & t->mask;
	return &t->index[i];
}

static void reindex(struct probe_table *t)
{
	memset(t->index, 0, ((size_t)t->mask + 1) * sizeof(*t->index));
	for (uint32_t i = 0; i < t->n; i++)
		*slot_of(t, entry_at(t, i) + MARK) = i + 1;
}

static bool grow(struct probe_table *t)
{
	uint32_t size = t->size ? t->size * 2 : 64;
	uint32_t *index = calloc((size_t)size * 2, sizeof(*index));
	char *entries = realloc(t->entries, (size_t)size * t->entry_size);

	if (entries)
		t->entries = entries;
	if (!entries || !index) {
		free(index);
		return false;
	}
	free(t->index);
	t->index = index;
	t->size = size;
	t->mask = size * 2 - 1;
	reindex(t);
	return true;
}

void *probe_table_find(struct probe_table *t, const void *key)
{
	uint32_t *slot = t->index ? slot_of(t, key) : NULL;
	char *e;

	if (!slot || !*slot)
		return NULL;
	e = entry_at(t, *slot - 1);
	e[0] = 1;
	return e + MARK + t->key_size;
}

void *probe_table_need(struct probe_table *t, const void *key, bool *ret_new)
{
	char *e = probe_table_find(t, key);

	*ret_new = !e;
	if (e)
		return e;
	if (t->n == t->size && !grow(t))
		return NULL;
	e = entry_at(t, t->n);
	memset(e, 0, t->entry_size);
	e[0] = 1;
	memcpy(e + MARK, key, t->key_size);
	*slot_of(t, key) = ++t->n;
	return e + MARK + t->key_size;
}

void probe_table_sweep(struct probe_table *t,
		       void (*gone)(void *arg, const void *key, const void *value), void *arg)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		char *e = entry_at(t, i);

		if (!e[0]) {
			if (gone)
				gone(arg, e + MARK, e + MARK + t->key_size);
			continue;
		}
		e[0] = 0;
		if (kept != i)
			memcpy(entry_at(t, kept), e, t->entry_size);
		kept++;
	}
	if (kept == t->n)
		return;
	t->n = kept;
	reindex(t);
}
