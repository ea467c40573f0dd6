/* SPDX-License-Identifier: MIT */
/*
 * One daemon per mount point. The lock is a file in the runtime directory (/run/wittyfs.lock, of a
 * user $XDG_RUNTIME_DIR/wittyfs.lock or /tmp/wittyfs-UID.lock), held by flock() as long as the
 * daemon lives, however it ends. It holds JSON: pid, started_at (ns since the epoch), mode,
 * mountpoint.
 *
 * The directory is made with mode 0700 and refused when it is a symbolic link or of another owner;
 * files in it are opened without following links.
 */
#pragma once

#include <stddef.h>

struct instance_lock {
	int dir_fd, fd;
	char name[256];
};

#define INSTANCE_LOCK_NONE                                                                         \
	(struct instance_lock)                                                                     \
	{                                                                                          \
		.dir_fd = -1, .fd = -1                                                             \
	}

/*
 * mountpoint: absolute. -EBUSY: another daemon has it, error names its pid and mount point; other
 * -errno with a line in error.
 */
int instance_lock_take(struct instance_lock *l, const char *mountpoint, const char *mode,
		       char *error, size_t size);
/* Writes the file again after a fork: the pid changed. 0 or -errno. */
int instance_lock_write(struct instance_lock *l, const char *mountpoint, const char *mode);
void instance_lock_release(struct instance_lock *l);

/* The absolute path of a mount point whose last component may be a dead mount or missing: the
 * parent is resolved, the name kept. 0 or -errno; the caller frees *ret. */
int instance_lock_canonical(const char *path, char **ret);
