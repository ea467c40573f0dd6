/* SPDX-License-Identifier: MIT */
/*
 * The FUSE file system: a mounted view of the newest snapshot.
 *
 * One dispatcher thread (fs_run) answers from an immutable snapshot and never blocks; what takes
 * long (the first render of a big file, a control action) is parked and answered by another thread.
 * fs_publish() comes from the scheduler's thread: it swaps the snapshot, then tells the kernel
 * exactly which of the things it remembers have changed, then lets `generation` show the new
 * number.
 *
 * Measured facts behind the choices (kernel 6.18, libfuse 3.14): one request is 20 to 24 us, so the
 * kernel is made to cache everything; a second dispatcher thread makes a single reader slower; a
 * touch of an own file from inside can deadlock beyond kill -9, so a process apart does it.
 */
#pragma once

#include <sys/types.h>

#include "fs/tree.h"

struct fs;

struct fs_config {
	const char *mountpoint;
	gid_t gid;	  /* group of files and directories */
	bool world;	  /* readable by everybody, not only owner and group */
	bool allow_other; /* needs root */
	bool recorded;	  /* a loaded file: control files refuse every write with EROFS */
};

/* Called once, from any thread, when a control action has ended: 0 or -errno. */
typedef void (*fs_done_fn)(void *cookie, int result);

/* Text written to a control file, so far and without newline. */
enum fs_text {
	FS_TEXT_WRONG, /* it can never become valid */
	FS_TEXT_START, /* more may come */
	FS_TEXT_WHOLE, /* valid, and nothing more can come */
};

/* What the daemon does with written control files. */
struct fs_control {
	enum fs_text (*judge)(void *userdata, enum tree_control control, const char *text);
	/* Starts the action of a whole line (a wrong one is refused) and returns; `done` is called
	 * when it has ended. */
	void (*submit)(void *userdata, enum tree_control control, const char *text, fs_done_fn done,
		       void *cookie);
	void *userdata;
};

/*
 * Prepares and mounts. `first` is what the mount shows at once (referenced). error (size bytes)
 * gets one line with the thing and the mend. Must be called before any thread is started (it forks
 * the process that wakes inotify watchers). 0 or -errno.
 */
int fs_mount(const struct fs_config *config, const struct fs_control *control,
	     struct snapshot *first, struct fs **ret, char *error, size_t error_size);
/* Answers requests until fs_stop() or an unmount from outside. 0 or -errno. */
int fs_run(struct fs *fs);
/* Ends fs_run(); from any thread. */
void fs_stop(struct fs *fs);
/* Shows a published snapshot (referenced here). One caller at a time. */
void fs_publish(struct fs *fs, struct snapshot *snapshot);
/* Unmounts (lazily: users of the mount get errors, not a hang) and frees. NULL is fine. */
struct fs *fs_free(struct fs *fs);
