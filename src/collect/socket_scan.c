/* SPDX-License-Identifier: MIT */
#include "collect/socket_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>

#include "collect/proctable.h"
#include "collect/socket_diag.h"
#include "collect/socket_proc.h"
#include "util/fdio.h"

#define TRIES 16 /* processes of a namespace that are tried before it is called unreadable */

/* A process and the namespace in which it was. */
struct member {
	uint64_t netns;
	pid_t pid;
};

struct group {
	const struct member *members;
	uint32_t n;
	uint64_t netns;
};

/* --- text tables ------------------------------------------------------------------------------ */
static int text_table(const struct socket_scan *s, pid_t pid, uint64_t netns, unsigned int source)
{
	const struct socket_source *src = &socket_sources[source];
	char path[48];

	if (pid)
		snprintf(path, sizeof(path), "%d/net/%s", pid, src->file);
	else
		snprintf(path, sizeof(path), "net/%s", src->file);
	return socket_proc_inet(s->proc_fd, path, src, netns, s->table);
}

static int text_unix(const struct socket_scan *s, pid_t pid)
{
	char path[48];

	if (pid)
		snprintf(path, sizeof(path), "%d/net/unix", pid);
	else
		snprintf(path, sizeof(path), "net/unix");
	return socket_proc_unix(s->proc_fd, path, s->table);
}

/* All tables as one process (0: the root of /proc) sees them. A table that is not there is empty
 * (a kernel without IPv6), but one of them must be. */
static int text_tables(const struct socket_scan *s, pid_t pid, uint64_t netns)
{
	int worst = 0, good = 0;

	for (unsigned int i = 0; i < SOCKET_SOURCES; i++) {
		int r = text_table(s, pid, netns, i);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			worst = r;
		else
			good++;
	}
	if (!good)
		return worst;
	return text_unix(s, pid) == -ENOMEM ? -ENOMEM : 0;
}

/* 0, -ENOMEM, or what the last process gave. */
static int scan_text(const struct socket_scan *s, const struct group *g)
{
	int r = -ESRCH;

	for (uint32_t i = 0; i < g->n && i < TRIES; i++) {
		r = text_tables(s, g->members[i].pid, g->netns);
		if (r == 0 || r == -ENOMEM)
			return r;
	}
	if (g->netns == s->own_netns)
		r = text_tables(s, 0, g->netns);
	return r;
}

/* --- sock_diag -------------------------------------------------------------------------------- */
/* Dumps the namespace in which the thread is. pid: a process of it, for tables that sock_diag does
 * not have. 0 or -errno. */
static int diag_tables(struct socket_scan *s, const struct group *g, pid_t pid)
{
	_cleanup_socket_diag_ struct socket_diag *d = NULL;
	int r = socket_diag_open(&d);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < SOCKET_SOURCES; i++) {
		bool inconsistent = false;

		r = socket_diag_inet(d, &socket_sources[i], g->netns, s->table, &inconsistent);
		if (r == -ENOMEM)
			return r;
		s->inconsistent += inconsistent;
		if (r < 0 && text_table(s, pid, g->netns, i) == 0) {
			s->tables_from_text++;
			s->refused = r;
		}
	}
	r = socket_diag_unix(d, s->table);
	if (r < 0 && r != -ENOMEM) /* no module unix_diag */
		r = text_unix(s, pid);
	return r == -ENOMEM ? r : 0;
}

/* Opens the namespace of a process, if it is still the one that is meant. */
static int open_netns(int proc_fd, const struct member *m, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%d/ns/net", m->pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != m->netns)
		return -ESRCH;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int enter_and_dump(struct socket_scan *s, const struct group *g, const struct member *m)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (g->netns == s->own_netns)
		return diag_tables(s, g, m->pid);
	r = open_netns(s->proc_fd, m, &fd);
	if (r < 0)
		return r;
	if (setns(fd, CLONE_NEWNET) < 0)
		return -errno;
	r = diag_tables(s, g, m->pid);
	if (setns(s->own_netns_fd, CLONE_NEWNET) < 0)
		return -ENOTRECOVERABLE;
	return r;
}

static bool vanished(int r)
{
	return r == -ENOENT || r == -ESRCH;
}

/* 0: dumped, or all of its processes are gone; else the reason of the last one. */
static int scan_diag(struct socket_scan *s, const struct group *g)
{
	int r = 0;

	for (uint32_t i = 0; i < g->n && i < TRIES; i++) {
		uint32_t rows = s->table->n;

		r = enter_and_dump(s, g, &g->members[i]);
		if (r == 0 || r == -ENOMEM || r == -ENOTRECOVERABLE)
			return r;
		socket_table_truncate(s->table, rows);
		if (r == -EPERM) /* setns(): the same for all of them */
			return r;
	}
	return vanished(r) ? 0 : r;
}

static int scan_group(struct socket_scan *s, const struct group *g)
{
	int r = 0;

	s->namespaces++;
	if (s->use_diag) {
		r = scan_diag(s, g);
		if (r == 0 || r == -ENOMEM || r == -ENOTRECOVERABLE)
			return r;
		s->refused = r;
	}
	r = scan_text(s, g);
	if (r == -ENOMEM)
		return r;
	if (r == 0)
		s->from_text += s->use_diag;
	else if (!vanished(r) || g->netns == s->own_netns)
		s->unreadable++;
	return 0;
}

/* --- namespaces ------------------------------------------------------------------------------- */
static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->netns != y->netns)
		return x->netns < y->netns ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Processes by namespace; those whose namespace is not known are counted and left out. */
static uint32_t list_members(struct socket_scan *s, struct member *members)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < proctable_count(s->procs); i++) {
		const struct proc_process *p = proctable_at(s->procs, i);

		if (p->state == 'Z' || p->state == 'X')
			continue;
		if (p->ns[PROC_NS_NET])
			members[n++] = (struct member){p->ns[PROC_NS_NET], p->pid};
		else
			s->hidden_processes += !p->kernel_thread;
	}
	qsort(members, n, sizeof(*members), compare_members);
	return n;
}

/* A machine that does not tell its namespaces: what it has is taken for one. */
static int scan_unnamed(struct socket_scan *s, struct member *members)
{
	struct group g = {.members = members, .netns = s->own_netns};

	for (uint32_t i = 0; i < proctable_count(s->procs) && g.n < TRIES; i++)
		members[g.n++] = (struct member){0, proctable_at(s->procs, i)->pid};
	if (!g.n) /* no process at all: the root of /proc */
		members[g.n++] = (struct member){0, 0};
	return scan_group(s, &g);
}

int socket_scan_run(struct socket_scan *s)
{
	size_t room = proctable_count(s->procs) + TRIES;
	_cleanup_free_ struct member *members = malloc(room * sizeof(*members));
	uint32_t n, i = 0;

	if (!members)
		return -ENOMEM;
	n = list_members(s, members);
	if (n == 0)
		return scan_unnamed(s, members);
	while (i < n) {
		struct group g = {.members = &members[i], .netns = members[i].netns};
		int r;

		while (i < n && members[i].netns == g.netns) {
			g.n++;
			i++;
		}
		r = scan_group(s, &g);
		if (r < 0)
			return r;
	}
	return 0;
}
