/* SPDX-License-Identifier: MIT */
/*
 * The thread that collects at the interval and carries out control actions, one at a time, in
 * order. Every action and every collection ends with a published snapshot, so what is read is one
 * generation.
 */
#pragma once

#include "daemon/collection.h"
#include "fs/fs.h"
#include "graph/store.h"

struct scheduler;

struct scheduler_config {
	struct collection *collection; /* borrowed */
	struct store *store;	       /* borrowed; holds the newest snapshot */
	/* Called in the scheduler's thread with each newly published snapshot. */
	void (*published)(void *userdata, struct snapshot *snapshot);
	void *userdata;
};

/* Starts the thread; the first collection begins at once when the state in the store is running. */
int scheduler_new(const struct scheduler_config *config, struct scheduler **ret);
/* Waits until the thread has ended, at most timeout_ns; -ETIMEDOUT when it hangs (then leak it). */
int scheduler_stop(struct scheduler *s, uint64_t timeout_ns);
struct scheduler *scheduler_free(struct scheduler *s);

/* For fs_control: see fs/fs.h. */
enum fs_text scheduler_judge(enum tree_control control, const char *text);
void scheduler_submit(void *scheduler, enum tree_control control, const char *text, fs_done_fn done,
		      void *cookie);
