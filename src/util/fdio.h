/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing by descriptor. /proc and /sys are always read through a root descriptor, so
 * that a recorded machine is as good an input as the live one. Everything opened here is O_CLOEXEC.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "util/macro.h"

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
#define _cleanup_close_ _cleanup_(close_fd)

/* Moves a descriptor out of an owner. */
static inline int steal_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

/*
 * Reads at most cap - 1 bytes of dirfd/path into buf and terminates it with NUL.
 * Returns the number of bytes read (a value of cap - 1 may mean that more was there), or -errno.
 */
ssize_t fdio_read_at(int dirfd, const char *path, char *buf, size_t cap);

/*
 * Reads dirfd/path to its end, at most `limit` bytes, into a fresh NUL-terminated buffer.
 * ret_len gets the number of bytes kept; ret_total (may be NULL) the number that was there, so that
 * a cut is seen. Returns 0 or -errno; the caller frees *ret_data.
 */
int fdio_read_all_at(int dirfd, const char *path, size_t limit, char **ret_data, size_t *ret_len,
		     size_t *ret_total);

/* Writes all of data; 0 or -errno. */
int fdio_write_all(int fd, const void *data, size_t len);

/* readlinkat() into a NUL-terminated buffer; length or -errno (-ENAMETOOLONG when it does not fit).
 */
ssize_t fdio_readlink_at(int dirfd, const char *path, char *buf, size_t cap);

/*
 * Writes `data` to dirfd/name so that the name shows either the old content or the whole new one
 * (temporary file beside it, then rename). Returns 0 or -errno.
 */
int fdio_replace_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode);

/* The same of a path. */
int fdio_replace(const char *path, const void *data, size_t len, mode_t mode);

/* Opens /dev/null where stdin, stdout or stderr is closed, so that no file of ours gets its number.
 * 0 or -errno. */
int fdio_keep_standard(void);
