/* SPDX-License-Identifier: MIT */
/*
 * The descriptors of one process: how many, and which are sockets. Links are read, not followed.
 * Threads share the table of their process, so it is walked once for all of them.
 */
#include "collect/proctable_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/fdio.h"

static int push_socket(struct proctable *t, uint64_t inode)
{
	if (t->sockets_n == t->sockets_cap) {
		uint32_t want = t->sockets_cap ? t->sockets_cap * 2 : 256;
		uint64_t *grown = realloc(t->sockets, want * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->sockets = grown;
		t->sockets_cap = want;
	}
	t->sockets[t->sockets_n++] = inode;
	return 0;
}

/* One descriptor; a link that vanished meanwhile was closed. */
static int take_link(struct proctable *t, int fd, const char *name, uint32_t *n_fds)
{
	char link[64]; /* longer ones are paths and are cut */
	ssize_t n = readlinkat(fd, name, link, sizeof(link));
	uint64_t inode;

	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	(*n_fds)++;
	if (!procparse_link_number(link, (size_t)n, "socket", &inode))
		return 0;
	if (t->sockets_n >= t->limits.sockets_each) {
		t->losses.sockets++;
		return 0;
	}
	return push_socket(t, inode);
}

static int walk(struct proctable *t, int dirfd, uint32_t *ret_n)
{
	_cleanup_close_ int fd = openat(dirfd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t len;

	*ret_n = 0;
	t->sockets_n = 0;
	if (fd < 0)
		return -errno;
	while ((len = proctable_list(t, fd)) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *e = (void *)(t->buffer + at);
			int r;

			at += e->d_reclen;
			if (e->d_name[0] < '0' || e->d_name[0] > '9')
				continue;
			r = take_link(t, fd, e->d_name, ret_n);
			if (r < 0)
				return r;
		}
		if (proctable_listed(t, len))
			break;
	}
	return len < 0 ? (int)len : 0;
}

static int compare_inodes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint32_t sort_unique(uint64_t *v, uint32_t n)
{
	uint32_t kept = 0;

	if (n > 1)
		qsort(v, n, sizeof(*v), compare_inodes);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

static void forget(struct proc_process *p)
{
	free(p->sockets);
	p->sockets = NULL;
	p->n_fds = p->n_sockets = 0;
	p->fds_known = false;
}

static int keep(struct proctable *t, struct proc_process *p)
{
	uint32_t n = sort_unique(t->sockets, t->sockets_n);
	uint64_t *grown;

	if (n != p->n_sockets) {
		grown = n ? realloc(p->sockets, n * sizeof(*grown)) : NULL;
		if (n && !grown)
			return -ENOMEM;
		if (!n)
			free(p->sockets);
		p->sockets = grown;
		p->n_sockets = n;
	}
	if (n)
		memcpy(p->sockets, t->sockets, n * sizeof(*p->sockets));
	return 0;
}

void proctable_read_fds(struct proctable *t, struct slot *s, int dirfd)
{
	struct proc_process *p = &s->p;
	uint32_t n = 0;
	int r = 0;

	p->fds_walked = true;
	s->fds_refused = false;
	t->sockets_n = 0;
	if (!p->kernel_thread)
		r = walk(t, dirfd, &n);
	if (r == 0)
		r = keep(t, p);
	if (r < 0) {
		/* Not readable, or the daemon ran out of descriptors: unknown, never "none". */
		t->losses.starved += read_starved(r);
		s->fds_refused = r == -EACCES || r == -EPERM;
		forget(p);
		return;
	}
	p->n_fds = n;
	p->fds_known = true;
}
