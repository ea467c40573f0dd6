/* SPDX-License-Identifier: MIT */
/*
 * Interned text: the few lists of CPUs and memory nodes that all threads of a machine share. Open
 * addressing; a sweep rebuilds the table of what is in use, so that a machine whose lists change
 * for ever does not grow it.
 */
#include "collect/proctable_private.h"

#include <errno.h>
#include <string.h>

#include "util/hash.h"

#define INTERN_MIN 256

void intern_deinit(struct intern *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		free(t->slots[i].text);
	free(t->slots);
	*t = (struct intern){0};
}

static struct intern_entry *find(const struct intern *t, const char *s, size_t len)
{
	uint32_t i = (uint32_t)hash_bytes(1, s, len) & (t->size - 1);

	while (t->slots[i].text &&
	       (t->slots[i].len != len || memcmp(t->slots[i].text, s, len) != 0))
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static int grow(struct intern *t, uint32_t size)
{
	struct intern next = {.size = size, .n = t->n, .threshold = t->threshold};

	next.slots = calloc(size, sizeof(*next.slots));
	if (!next.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->size; i++)
		if (t->slots[i].text)
			*find(&next, t->slots[i].text, t->slots[i].len) = t->slots[i];
	free(t->slots);
	*t = next;
	return 0;
}

const char *intern_text(struct intern *t, const char *s, size_t len)
{
	struct intern_entry *e;

	if (t->n * 2 >= t->size && grow(t, t->size ? t->size * 2 : INTERN_MIN * 2) < 0)
		return NULL;
	if (!t->threshold)
		t->threshold = INTERN_MIN;
	e = find(t, s, len);
	if (!e->text) {
		e->text = malloc(len + 1);
		if (!e->text)
			return NULL;
		memcpy(e->text, s, len);
		e->text[len] = '\0';
		e->len = (uint32_t)len;
		e->used = false;
		t->n++;
	}
	return e->text;
}

void intern_mark(struct intern *t, const char *text)
{
	if (text && t->size)
		find(t, text, strlen(text))->used = true;
}

void intern_sweep(struct intern *t)
{
	struct intern next = {.size = t->size};

	next.slots = t->size ? calloc(t->size, sizeof(*next.slots)) : NULL;
	if (!next.slots)
		return; /* nothing is lost: the next update tries again */
	for (uint32_t i = 0; i < t->size; i++) {
		struct intern_entry *e = &t->slots[i];

		if (e->text && !e->used) {
			free(e->text);
		} else if (e->text) {
			e->used = false;
			*find(&next, e->text, e->len) = *e;
			next.n++;
		}
	}
	free(t->slots);
	next.threshold = MAX((uint32_t)INTERN_MIN, next.n * 2);
	*t = next;
}
