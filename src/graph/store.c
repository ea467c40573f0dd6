/* SPDX-License-Identifier: MIT */
#include "graph/store.h"

#include <errno.h>
#include <pthread.h>

struct store {
	pthread_mutex_t lock; /* held for a pointer and a count, never while anything is made */
	struct snapshot *newest;
	uint64_t generation;
};

int store_new(struct snapshot *first, uint64_t generation, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s) {
		snapshot_unref(first);
		return -ENOMEM;
	}
	first->generation = generation;
	s->newest = first;
	s->generation = generation;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

struct store *store_free(struct store *s)
{
	if (!s)
		return NULL;
	snapshot_unref(s->newest);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

struct snapshot *store_get(struct store *s)
{
	struct snapshot *newest;

	pthread_mutex_lock(&s->lock);
	newest = snapshot_ref(s->newest);
	pthread_mutex_unlock(&s->lock);
	return newest;
}

uint64_t store_publish(struct store *s, struct snapshot *next)
{
	struct snapshot *old;
	uint64_t generation;

	pthread_mutex_lock(&s->lock);
	generation = ++s->generation;
	next->generation = generation;
	old = s->newest;
	s->newest = next;
	pthread_mutex_unlock(&s->lock);
	snapshot_unref(old);
	return generation;
}
