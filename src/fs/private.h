/* SPDX-License-Identifier: MIT */
/* The inside of the file system, shared by the files of this folder. */
#pragma once

#include <fuse_lowlevel.h>
#include <pthread.h>

#include "fs/fs.h"
#include "fs/kind.h"
#include "fs/seen.h"

/* Kernel time-outs: long, since every change is notified. */
#define FS_TIMEOUT   3600.0
#define CONTROL_LINE 4096 /* longest line of a control file */

struct bigfiles;
struct controls;
struct wake;

struct fs {
	struct fs_config config;
	char *mountpoint;
	struct fs_control control;
	uid_t uid;
	uint64_t mounted_ns;
	struct fuse_session *session;
	pthread_t dispatcher;
	atomic_bool ended; /* the dispatcher has left fs_run() */

	/*
	 * Held by the dispatcher while it answers one request, and by fs_publish() for a pointer
	 * swap: when the swap is done, every answer made from the older snapshot is with the
	 * kernel.
	 */
	pthread_mutex_t lock;
	struct fs_view view;

	struct seen seen;
	struct bigfiles *big;
	struct controls *controls;
	struct wake *wake;
};

extern const struct fuse_lowlevel_ops fs_ops;

/* --- attributes (ops.c) ----------------------------------------------------------------------- */
/* Fills attributes of an inode; false when it does not exist (any more). */
bool fs_attr(struct fs *fs, uint64_t ino, struct stat *st, double *ret_timeout);
/* Attributes of a file of which one inode per generation exists. */
void fs_attr_generation(struct fs *fs, enum tree_entry_id entry, uint64_t size, uint64_t time_ns,
			struct stat *st);
/* The entry of a static inode with cache = generation, or NULL. */
const struct tree_entry *fs_generation_entry(uint64_t ino);

/* --- files with one inode per generation (bigfile.c) -------------------------------------------
 */
int bigfiles_new(struct fs *fs, struct bigfiles **ret);
struct bigfiles *bigfiles_free(struct bigfiles *b);
/* All answer the request, at once or later from the worker thread. */
void bigfiles_lookup(struct bigfiles *b, fuse_req_t req, enum tree_entry_id entry);
void bigfiles_getattr(struct bigfiles *b, fuse_req_t req, uint64_t ino);
void bigfiles_read(struct bigfiles *b, fuse_req_t req, uint64_t ino, size_t size, off_t offset);
bool bigfiles_exists(struct bigfiles *b, uint64_t ino);
void bigfiles_forget(struct bigfiles *b, uint64_t ino, uint64_t n);

/* --- control files (control.c) ---------------------------------------------------------------- */
int controls_new(struct fs *fs, struct controls **ret);
struct controls *controls_free(struct controls *c);
/* A handle for an open; 0 when too many are open. */
uint64_t controls_open(struct controls *c, enum tree_control control);
void controls_write(struct controls *c, fuse_req_t req, uint64_t handle, const char *data,
		    size_t len);
void controls_flush(struct controls *c, fuse_req_t req, uint64_t handle);
void controls_release(struct controls *c, uint64_t handle);

/* --- waking up (wake.c) ------------------------------------------------------------------------
 */
/* Forks the toucher: before any thread and before the session exists. */
int wake_new(const char *mountpoint, struct wake **ret);
struct wake *wake_free(struct wake *w);
/* The only process that may write `generation`. */
pid_t wake_toucher(const struct wake *w);
/* A handle for an open of `generation` that has seen nothing yet; 0 when too many are open. */
uint64_t wake_open(struct wake *w);
void wake_read(struct wake *w, uint64_t handle, uint64_t generation);
void wake_release(struct wake *w, uint64_t handle);
/* True when the handle has not read this generation; keeps ph (may be NULL) until then. */
bool wake_poll(struct wake *w, uint64_t handle, uint64_t generation, struct fuse_pollhandle *ph);
/* Wakes pollers and touches the file. */
void wake_all(struct wake *w);

/* --- telling the kernel (invalidate.c) ---------------------------------------------------------
 */
void invalidate_changes(struct fs *fs, const struct snapshot *before, const struct snapshot *after,
			struct seen_table *seen);
