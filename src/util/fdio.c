/* SPDX-License-Identifier: MIT */
#include "util/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

ssize_t fdio_read_at(int dirfd, const char *path, char *buf, size_t cap)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t len = 0;

	if (fd < 0)
		return -errno;
	while (len < cap - 1) {
		ssize_t n = read(fd, buf + len, cap - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	return (ssize_t)len;
}

/* Counts what is left of a file that was read only up to a limit. */
static size_t drain(int fd)
{
	char scratch[4096];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, scratch, sizeof(scratch));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return total;
		total += (size_t)n;
	}
}

int fdio_read_all_at(int dirfd, const char *path, size_t limit, char **ret_data, size_t *ret_len,
		     size_t *ret_total)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_free_ char *data = NULL;
	size_t len = 0, cap = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (cap - len < 2) {
			size_t want = cap ? cap * 2 : 4096;
			char *grown = realloc(data, want);

			if (!grown)
				return -ENOMEM;
			data = grown;
			cap = want;
		}
		if (len >= limit)
			break;
		n = read(fd, data + len, MIN(cap - len - 1, limit - len));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	data[len] = '\0';
	if (ret_total)
		*ret_total = len + (len >= limit ? drain(fd) : 0);
	*ret_data = STEAL_PTR(data);
	*ret_len = len;
	return 0;
}

int fdio_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fdio_readlink_at(int dirfd, const char *path, char *buf, size_t cap)
{
	ssize_t n = readlinkat(dirfd, path, buf, cap);

	if (n < 0)
		return -errno;
	if ((size_t)n >= cap)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return n;
}

int fdio_replace_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	char tmp[256];
	int r;

	if ((size_t)snprintf(tmp, sizeof(tmp), ".%s.%d.tmp", name, (int)getpid()) >= sizeof(tmp))
		return -ENAMETOOLONG;
	/* A left-over of an earlier process with this pid is ours to replace; a symlink is not
	 * followed. */
	if (unlinkat(dirfd, tmp, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = fdio_write_all(fd, data, len);
	if (r == 0 && renameat(dirfd, tmp, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, tmp, 0);
	return r;
}

int fdio_replace(const char *path, const void *data, size_t len, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_close_ int dir = -1;

	if (!parent)
		return -ENOMEM;
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	return fdio_replace_at(dir, slash ? slash + 1 : path, data, len, mode);
}

int fdio_keep_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -errno;
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}
