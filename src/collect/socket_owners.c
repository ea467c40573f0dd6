/* SPDX-License-Identifier: MIT */
#include "collect/socket_owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "util/fdio.h"
#include "util/text.h"

void socket_owners_deinit(struct socket_owners *o)
{
	free(o->holders);
	free(o->others);
	inode_set_deinit(&o->unowned);
	*o = (struct socket_owners){0};
}

void socket_memory_deinit(struct socket_memory *m)
{
	inode_set_deinit(&m->others);
	inode_set_deinit(&m->unowned);
	inode_set_deinit(&m->orphans);
}

/* --- holders ---------------------------------------------------------------------------------- */
static int others_add(struct socket_owners *o, uint64_t inode, uint32_t process)
{
	if (o->n_others == o->others_cap) {
		uint32_t cap = o->others_cap ? o->others_cap * 2 : 256;
		struct socket_other *others = realloc(o->others, cap * sizeof(*others));

		if (!others)
			return -ENOMEM;
		o->others = others;
		o->others_cap = cap;
	}
	o->others[o->n_others++] = (struct socket_other){inode, process};
	return 0;
}

static int compare_others(const void *a, const void *b)
{
	const struct socket_other *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* Descriptors that could be there but may not be read. */
static bool unreadable(const struct proc_process *p)
{
	return !p->fds_known && !p->kernel_thread && p->state != 'Z' && p->state != 'X';
}

/* Notes the row of every descriptor in matches[], and counts the holders of each row. */
static int match_descriptors(struct socket_owners *o, struct socket_table *t,
			     const struct proctable *procs, uint32_t *matches)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < proctable_count(procs); i++) {
		const struct proc_process *p = proctable_at(procs, i);

		o->all_readable = o->all_readable && !unreadable(p);
		for (uint32_t k = 0; k < p->n_sockets; k++) {
			uint32_t row = socket_table_find(t, p->sockets[k]);
			int r;

			matches[n++] = row;
			if (row != UINT32_MAX) {
				t->rows[row].n_holders++;
				continue;
			}
			if (inode_set_has(&t->unix_inodes, p->sockets[k]))
				continue;
			r = others_add(o, p->sockets[k], i);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Gives every row its part of holders[]. */
static int lay_out(struct socket_owners *o, struct socket_table *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_order; i++) {
		struct socket_row *row = &t->rows[t->order[i]];

		row->first_holder = n;
		n += row->n_holders;
		if (!row->n_holders && inode_set_add(&o->unowned, row->inode) < 0)
			return -ENOMEM;
		row->n_holders = 0;
	}
	inode_set_sort(&o->unowned);
	o->n_holders = n;
	o->holders = malloc((n + 1) * sizeof(*o->holders));
	return o->holders ? 0 : -ENOMEM;
}

static void fill(struct socket_owners *o, struct socket_table *t, const struct proctable *procs,
		 const uint32_t *matches)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < proctable_count(procs); i++) {
		const struct proc_process *p = proctable_at(procs, i);

		for (uint32_t k = 0; k < p->n_sockets; k++) {
			struct socket_row *row;

			if (matches[n++] == UINT32_MAX)
				continue;
			row = &t->rows[matches[n - 1]];
			o->holders[row->first_holder + row->n_holders++] = i;
		}
	}
}

int socket_owners_find(struct socket_owners *o, struct socket_table *t,
		       const struct proctable *procs)
{
	_cleanup_free_ uint32_t *matches = NULL;
	size_t total = 0;
	int r;

	socket_owners_deinit(o);
	o->all_readable = true;
	for (uint32_t i = 0; i < t->n; i++)
		t->rows[i].n_holders = 0;
	for (uint32_t i = 0; i < proctable_count(procs); i++)
		total += proctable_at(procs, i)->n_sockets;
	matches = malloc((total + 1) * sizeof(*matches));
	if (!matches || total >= UINT32_MAX)
		return -ENOMEM;
	r = match_descriptors(o, t, procs, matches);
	if (r < 0)
		return r;
	r = lay_out(o, t);
	if (r < 0)
		return r;
	fill(o, t, procs, matches);
	if (o->n_others)
		qsort(o->others, o->n_others, sizeof(*o->others), compare_others);
	return 0;
}

bool socket_owners_want_walk(const struct socket_owners *o, const struct socket_memory *m)
{
	for (uint32_t i = 0; i < o->unowned.n; i++)
		if (inode_set_has(&m->unowned, o->unowned.items[i]) &&
		    !inode_set_has(&m->orphans, o->unowned.items[i]))
			return true;
	return false;
}

/* --- memory ----------------------------------------------------------------------------------- */
int socket_memory_keep(struct socket_memory *m, const struct socket_owners *o, bool walked)
{
	struct inode_set orphans = {0};

	for (uint32_t i = 0; i < o->unowned.n; i++) {
		uint64_t inode = o->unowned.items[i];

		if ((walked || inode_set_has(&m->orphans, inode)) &&
		    inode_set_add(&orphans, inode) < 0) {
			inode_set_deinit(&orphans);
			return -ENOMEM;
		}
	}
	inode_set_deinit(&m->orphans);
	m->orphans = orphans;
	m->unowned.n = 0;
	for (uint32_t i = 0; i < o->unowned.n; i++)
		if (inode_set_add(&m->unowned, o->unowned.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* --- looking again ---------------------------------------------------------------------------- */
static uint64_t socket_inode(const char *link, size_t len)
{
	static const char prefix[] = "socket:[";
	size_t skip = sizeof(prefix) - 1;
	uint64_t inode;

	if (len < skip + 2 || memcmp(link, prefix, skip) != 0 || link[len - 1] != ']')
		return 0;
	return text_parse_u64(link + skip, len - skip - 1, &inode) == 0 ? inode : 0;
}

static void closedir_ptr(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Marks in `held` the sockets that the process holds now; reads at most *links descriptors. */
static int look_again(int proc_fd, const struct proc_process *p, const struct inode_set *wanted,
		      struct inode_set *held, unsigned int *links)
{
	_cleanup_(closedir_ptr) DIR *dir = NULL;
	char path[32], link[64];
	struct dirent *entry;
	int fd;

	snprintf(path, sizeof(path), "%d/fd", p->pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (*links && (entry = readdir(dir))) {
		ssize_t len;
		uint64_t inode;

		if (entry->d_name[0] == '.')
			continue;
		(*links)--;
		len = fdio_readlink_at(fd, entry->d_name, link, sizeof(link));
		inode = len > 0 ? socket_inode(link, (size_t)len) : 0;
		if (inode && inode_set_has(wanted, inode) && inode_set_add(held, inode) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_process(const void *a, const void *b)
{
	const struct socket_other *x = a, *y = b;

	return (x->process > y->process) - (x->process < y->process);
}

/* Looks again in every process that holds a new one. */
static int verify_new(const struct socket_owners *o, const struct inode_set *fresh, int proc_fd,
		      const struct proctable *procs, struct inode_set *held)
{
	size_t size = o->n_others * sizeof(*o->others);
	_cleanup_free_ struct socket_other *by_process = malloc(size + 1);
	unsigned int links = SOCKET_VERIFY_LINKS;
	uint32_t last = UINT32_MAX;

	if (!by_process)
		return -ENOMEM;
	memcpy(by_process, o->others, size);
	qsort(by_process, o->n_others, sizeof(*by_process), compare_process);
	for (uint32_t i = 0; i < o->n_others && links; i++) {
		int r;

		if (by_process[i].process == last || !inode_set_has(fresh, by_process[i].inode))
			continue;
		last = by_process[i].process;
		r = look_again(proc_fd, proctable_at(procs, last), fresh, held, &links);
		if (r < 0)
			return r;
	}
	inode_set_sort(held);
	return 0;
}

int socket_owners_verify(struct socket_owners *o, struct socket_memory *m, int proc_fd,
			 const struct proctable *procs)
{
	struct inode_set all = {0}, fresh = {0}, held = {0};
	uint32_t kept = 0;
	int r = 0;

	for (uint32_t i = 0; i < o->n_others && r == 0; i++) {
		r = inode_set_add(&all, o->others[i].inode);
		if (r == 0 && !inode_set_has(&m->others, o->others[i].inode))
			r = inode_set_add(&fresh, o->others[i].inode);
	}
	inode_set_sort(&all);
	inode_set_sort(&fresh);
	if (r == 0 && fresh.n)
		r = verify_new(o, &fresh, proc_fd, procs, &held);
	for (uint32_t i = 0; i < o->n_others && r == 0; i++)
		if (!inode_set_has(&fresh, o->others[i].inode) ||
		    inode_set_has(&held, o->others[i].inode))
			o->others[kept++] = o->others[i];
	if (r == 0) {
		o->n_others = kept;
		inode_set_deinit(&m->others);
		m->others = all;
		all = (struct inode_set){0};
	}
	inode_set_deinit(&all);
	inode_set_deinit(&fresh);
	inode_set_deinit(&held);
	return r;
}
