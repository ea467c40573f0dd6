/* SPDX-License-Identifier: MIT */
/*
 * Files of one process: arguments, executable, cgroup, namespaces, status.
 *
 * Links are read, never followed: what they name may be on our own mount. The one exception is the
 * exe link that says "(deleted)", see take_exe().
 */
#include "collect/proctable_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/fdio.h"

/*
 * One read(): the files asked for have one record, which the kernel gives in one piece when the
 * buffer has room for it. A second read() only to see the end would be a third of the cost.
 */
static ssize_t read_once(int dirfd, const char *path, char *buf, size_t cap)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, cap - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

ssize_t proctable_read_file(struct proctable *t, int dirfd, const char *path)
{
	ssize_t n = read_once(dirfd, path, t->buffer, PROCTABLE_BUFFER);

	t->losses.starved += n < 0 && read_starved((int)n);
	return n;
}

/* --- directories of numbers ------------------------------------------------------------------- */
static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static int push_pid(pid_t **pids, uint32_t *n, uint32_t *cap, pid_t pid)
{
	if (*n == *cap) {
		uint32_t want = *cap ? *cap * 2 : 256;
		pid_t *grown = realloc(*pids, want * sizeof(**pids));

		if (!grown)
			return -ENOMEM;
		*pids = grown;
		*cap = want;
	}
	(*pids)[(*n)++] = pid;
	return 0;
}

ssize_t proctable_list(struct proctable *t, int fd)
{
	ssize_t n = getdents64(fd, t->buffer, PROCTABLE_BUFFER);

	return n < 0 ? -errno : n;
}

int proctable_list_pids(struct proctable *t, int fd, uint32_t limit, pid_t **pids, uint32_t *n,
			uint32_t *cap, uint64_t *lost)
{
	bool sorted = true;
	ssize_t len;

	*n = 0;
	while ((len = proctable_list(t, fd)) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *e = (void *)(t->buffer + at);
			pid_t pid;

			at += e->d_reclen;
			if (!procparse_pid(e->d_name, &pid))
				continue;
			if (*n >= limit) {
				(*lost)++;
				continue;
			}
			sorted = sorted && (*n == 0 || (*pids)[*n - 1] < pid);
			if (push_pid(pids, n, cap, pid) < 0)
				return -ENOMEM;
		}
		if (proctable_listed(t, len))
			break;
	}
	if (len < 0)
		return (int)len;
	if (!sorted)
		qsort(*pids, *n, sizeof(**pids), compare_pids);
	return 0;
}

/* --- status ----------------------------------------------------------------------------------- */
/* "1234\t1" becomes "1234 1"; the old text stays when it is the same. */
static void take_nspid(struct procparse_text text, char **nspid)
{
	char *fresh;

	if (*nspid && strlen(*nspid) == text.len) {
		size_t i = 0;

		while (i < text.len && ((*nspid)[i] == text.data[i] || text.data[i] == '\t'))
			i++;
		if (i == text.len)
			return;
	}
	fresh = text.len ? strndup(text.data, text.len) : NULL;
	for (char *p = fresh; p && *p; p++)
		if (*p == '\t')
			*p = ' ';
	free(*nspid);
	*nspid = fresh;
}

void proctable_take_status(struct proctable *t, const char *buf, size_t len,
			   struct proc_status *status, char **nspid)
{
	struct procparse_status s;

	*status = (struct proc_status){0};
	if (procparse_status(buf, len, &s) < 0 || !s.ids_known || !s.switches_known)
		return;
	take_nspid(s.nspid, nspid);
	*status = (struct proc_status){
		.known = true,
		.voluntary = s.voluntary,
		.involuntary = s.involuntary,
		.uid = s.uid,
		.gid = s.gid,
		.nspid = *nspid,
	};
	if (s.cpus_allowed.data)
		status->cpus_allowed =
			intern_text(&t->intern, s.cpus_allowed.data, s.cpus_allowed.len);
	if (s.mems_allowed.data)
		status->mems_allowed =
			intern_text(&t->intern, s.mems_allowed.data, s.mems_allowed.len);
}

/* --- text that is kept ------------------------------------------------------------------------ */
/* Replaces *text when it differs; NUL-ended besides. False when memory ran out (then NULL). */
static bool keep_text(char **text, size_t *text_len, const char *data, size_t len)
{
	if (*text && *text_len == len && memcmp(*text, data, len) == 0)
		return true;
	free(*text);
	*text_len = 0;
	*text = malloc(len + 1);
	if (!*text)
		return false;
	memcpy(*text, data, len);
	(*text)[len] = '\0';
	*text_len = len;
	return true;
}

static void forget_argv(struct proc_process *p, bool known)
{
	free(p->argv);
	p->argv = NULL;
	p->argv_len = p->argv_total = 0;
	p->argv_known = known;
}

/* Reads all of fd, keeps the first `cap` bytes; the total or -errno. */
static ssize_t read_counting(int fd, char *buf, size_t cap, char *rest)
{
	size_t total = 0;

	for (;;) {
		bool kept = total < cap;
		ssize_t n = read(fd, kept ? buf + total : rest,
				 kept ? cap - total : (size_t)PROCTABLE_BUFFER);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (ssize_t)total;
		total += (size_t)n;
	}
}

/*
 * What is kept ends with a NUL, put there where there is none: an argument that was cut, or an area
 * that the process wrote full.
 */
static void take_argv(struct proctable *t, struct proc_process *p, int dirfd)
{
	_cleanup_close_ int fd = openat(dirfd, "cmdline", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t total = fd < 0 ? -errno : read_counting(fd, t->argv, PROCTABLE_ARGV_MAX, t->buffer);
	size_t len;

	if (total < 0 && read_starved((int)total)) {
		t->losses.starved++;
		return; /* what was known is still the best */
	}
	if (total <= 0) {
		forget_argv(p, total == 0 || p->state == 'Z' || p->kernel_thread);
		return;
	}
	if (total > PROCTABLE_ARGV_MAX) {
		len = PROCTABLE_ARGV_MAX - 1;
	} else {
		len = procparse_argv_len(t->argv, (size_t)total);
		if (len < (size_t)total) /* a title: the zeroes are no arguments */
			total = (ssize_t)len;
	}
	if (t->argv[len - 1] != '\0') {
		t->argv[len++] = '\0';
		total = MAX(total, (ssize_t)len);
	}
	p->argv_known = keep_text(&p->argv, &p->argv_len, t->argv, len);
	p->argv_total = p->argv_known ? (size_t)total : 0;
}

/*
 * The kernel adds " (deleted)" to the path of a file without a name, and a file may be called so.
 * What decides is the number of its names: of the file itself, through the link, from the cached
 * inode (no question to a server that may hang, and no file without a name is on our own mount).
 */
static void take_exe(struct proctable *t, struct proc_process *p, int dirfd)
{
	ssize_t n = fdio_readlink_at(dirfd, "exe", t->buffer, PROCTABLE_BUFFER);
	size_t len = p->exe ? strlen(p->exe) : 0;
	struct statx st;

	p->exe_known = n >= 0 || read_gone((int)n);
	p->exe_deleted = p->exe_deleted_known = false;
	if (n < 0) {
		free(p->exe);
		p->exe = NULL;
		return;
	}
	p->exe_deleted_known = true;
	if (procparse_marked_deleted(t->buffer, (size_t)n)) {
		int r = statx(dirfd, "exe", AT_STATX_DONT_SYNC, STATX_NLINK, &st);

		/* ENOENT: the link is only text, on a recorded machine; then the mark is believed.
		 */
		p->exe_deleted = r < 0 ? errno == ENOENT : st.stx_nlink == 0;
		p->exe_deleted_known = r == 0 || errno == ENOENT;
		if (p->exe_deleted)
			n -= (ssize_t)sizeof(PROCPARSE_DELETED) - 1;
	}
	keep_text(&p->exe, &len, t->buffer, (size_t)n);
}

static void take_cgroup(struct proctable *t, struct proc_process *p, int dirfd)
{
	ssize_t n = proctable_read_file(t, dirfd, "cgroup");
	size_t len = p->cgroup ? strlen(p->cgroup) : 0;

	if (n < 0 && read_starved((int)n))
		return;
	if (n >= 0) {
		keep_text(&p->cgroup, &len, t->buffer, (size_t)n);
		return;
	}
	free(p->cgroup);
	p->cgroup = NULL;
}

static const struct {
	const char *path, *prefix;
} namespaces[PROC_NS_COUNT] = {
	[PROC_NS_CGROUP] = {"ns/cgroup", "cgroup"}, [PROC_NS_IPC] = {"ns/ipc", "ipc"},
	[PROC_NS_MNT] = {"ns/mnt", "mnt"},	    [PROC_NS_NET] = {"ns/net", "net"},
	[PROC_NS_PID] = {"ns/pid", "pid"},	    [PROC_NS_TIME] = {"ns/time", "time"},
	[PROC_NS_USER] = {"ns/user", "user"},	    [PROC_NS_UTS] = {"ns/uts", "uts"},
};

static void take_namespaces(struct proc_process *p, int dirfd)
{
	char link[64];

	for (unsigned int i = 0; i < PROC_NS_COUNT; i++) {
		ssize_t n = fdio_readlink_at(dirfd, namespaces[i].path, link, sizeof(link));

		if (n < 0 ||
		    !procparse_link_number(link, (size_t)n, namespaces[i].prefix, &p->ns[i]))
			p->ns[i] = 0;
	}
}

void proctable_read_details(struct proctable *t, struct slot *s, int dirfd)
{
	struct proc_process *p = &s->p;

	take_cgroup(t, p, dirfd);
	take_namespaces(p, dirfd);
	if (p->kernel_thread) {
		forget_argv(p, true);
		p->exe_known = true;
		return;
	}
	take_argv(t, p, dirfd);
	take_exe(t, p, dirfd);
}
