/* SPDX-License-Identifier: MIT */
#include "daemon/instance_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "util/fdio.h"
#include "util/hash.h"
#include "util/strbuf.h"
#include "util/text.h"
#include "util/timeutil.h"

static void runtime_path(char *buf, size_t size)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		snprintf(buf, size, "/run/wittyfs.lock");
	else if (xdg && xdg[0] == '/')
		snprintf(buf, size, "%s/wittyfs.lock", xdg);
	else
		snprintf(buf, size, "/tmp/wittyfs-%u.lock", (unsigned int)geteuid());
}

/* A directory of ours that nobody else can write, not reached through a link. */
static int open_runtime_dir(char *error, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	runtime_path(path, sizeof(path));
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		int r = -errno;

		snprintf(error, size, "%s: cannot make the runtime directory: %s", path,
			 strerror(-r));
		return r;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;

		snprintf(error, size, "%s: cannot use the runtime directory: %s", path,
			 strerror(-r));
		return r;
	}
	if (st.st_uid != geteuid() || st.st_mode & 022) {
		snprintf(error, size,
			 "%s: belongs to uid %u with mode %03o, not to us alone: remove it", path,
			 (unsigned int)st.st_uid, (unsigned int)st.st_mode & 0777);
		return -EPERM;
	}
	return steal_fd(&fd);
}

/* A name made of the path; a long one keeps its end and gets a hash. */
static void lock_name(char *buf, size_t size, const char *mountpoint)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	const char *text;

	text_escape_name(&b, mountpoint, strlen(mountpoint));
	text = strbuf_cstr(&b);
	if (b.len > 180)
		snprintf(buf, size, "%016llx%s.json",
			 (unsigned long long)hash_bytes(0, text, b.len), text + b.len - 160);
	else
		snprintf(buf, size, "%s.json", text);
}

static void explain_holder(int fd, const char *mountpoint, char *error, size_t size)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	json_auto_t *j = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	long long pid = json_integer_value(json_object_get(j, "pid"));
	const char *where = json_string_value(json_object_get(j, "mountpoint"));

	if (pid > 0)
		snprintf(error, size,
			 "%s: pid %lld has mounted it already (%s): use that mount, or end it with "
			 "'kill %lld'",
			 mountpoint, pid, where ? where : mountpoint, pid);
	else
		snprintf(error, size, "%s: another wittyfs is just starting there", mountpoint);
}

int instance_lock_write(struct instance_lock *l, const char *mountpoint, const char *mode)
{
	json_auto_t *j =
		json_pack("{s:i,s:I,s:s,s:s}", "pid", (int)getpid(), "started_at",
			  (json_int_t)time_realtime_ns(), "mode", mode, "mountpoint", mountpoint);
	/* A mount point that is no UTF-8 is left out: the pid still tells. */
	_cleanup_free_ char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	char only_pid[64];
	const char *out = text;

	if (!out) {
		snprintf(only_pid, sizeof(only_pid), "{\"pid\":%d}", (int)getpid());
		out = only_pid;
	}
	if (ftruncate(l->fd, 0) < 0 || lseek(l->fd, 0, SEEK_SET) < 0)
		return -errno;
	return fdio_write_all(l->fd, out, strlen(out));
}

int instance_lock_take(struct instance_lock *l, const char *mountpoint, const char *mode,
		       char *error, size_t size)
{
	struct instance_lock take = INSTANCE_LOCK_NONE;
	struct stat held, named;
	int r;

	take.dir_fd = open_runtime_dir(error, size);
	if (take.dir_fd < 0)
		return take.dir_fd;
	lock_name(take.name, sizeof(take.name), mountpoint);
	take.fd = openat(take.dir_fd, take.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (take.fd < 0) {
		r = -errno;
		snprintf(error, size, "lock file %s: %s", take.name, strerror(-r));
		goto out;
	}
	if (flock(take.fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		explain_holder(take.fd, mountpoint, error, size);
		goto out;
	}
	/* The daemon before us may have removed the file between our open and our lock. */
	if (fstat(take.fd, &held) < 0 || fstatat(take.dir_fd, take.name, &named, 0) < 0 ||
	    held.st_ino != named.st_ino) {
		instance_lock_release(&(struct instance_lock){take.dir_fd, take.fd, ""});
		return instance_lock_take(l, mountpoint, mode, error, size);
	}
	r = instance_lock_write(&take, mountpoint, mode);
	if (r < 0) {
		snprintf(error, size, "lock file %s: %s", take.name, strerror(-r));
		goto out;
	}
	*l = take;
	return 0;
out:
	close_fd(&take.fd);
	close_fd(&take.dir_fd);
	return r;
}

void instance_lock_release(struct instance_lock *l)
{
	if (l->fd >= 0 && l->name[0])
		(void)unlinkat(l->dir_fd, l->name, 0);
	close_fd(&l->fd);
	close_fd(&l->dir_fd);
}

int instance_lock_canonical(const char *path, char **ret)
{
	_cleanup_free_ char *for_dir = strdup(path), *for_base = strdup(path);
	_cleanup_free_ char *parent = NULL;
	char *base, *whole;

	if (!for_dir || !for_base)
		return -ENOMEM;
	base = basename(for_base);
	/* "." and ".." name a directory only when it is resolved whole. */
	if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0 || strcmp(base, "/") == 0) {
		whole = realpath(path, NULL);
		if (!whole)
			return -errno;
		*ret = whole;
		return 0;
	}
	parent = realpath(dirname(for_dir), NULL);
	if (!parent)
		return -errno;
	if (asprintf(&whole, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, base) < 0)
		return -ENOMEM;
	*ret = whole;
	return 0;
}
