/* SPDX-License-Identifier: MIT */
#include "collect/proctable_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "util/fdio.h"

#define DEFAULT_PROCESSES    65536
#define DEFAULT_THREADS_EACH 32768
#define DEFAULT_SOCKETS_EACH 262144

/* --- life ------------------------------------------------------------------------------------- */
int proctable_new(int proc_fd, struct proctable_limits limits, struct proctable **ret)
{
	struct proctable *t = calloc(1, sizeof(*t));
	long page = sysconf(_SC_PAGESIZE);
	struct statfs fs;

	if (!t)
		return -ENOMEM;
	t->procfs = fstatfs(proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	t->proc_fd = proc_fd;
	t->limits.processes = limits.processes ? limits.processes : DEFAULT_PROCESSES;
	t->limits.threads_each = limits.threads_each ? limits.threads_each : DEFAULT_THREADS_EACH;
	t->limits.sockets_each = limits.sockets_each ? limits.sockets_each : DEFAULT_SOCKETS_EACH;
	t->page_size = page > 0 ? (uint64_t)page : 4096;
	t->buffer = malloc(PROCTABLE_BUFFER);
	t->argv = malloc(PROCTABLE_ARGV_MAX + 1);
	t->list_fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->list_fd < 0 || !t->buffer || !t->argv) {
		int r = t->list_fd < 0 ? -errno : -ENOMEM;

		proctable_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* Frees what the slot owns and leaves an empty one of the same pid. */
static void slot_reset(struct slot *s)
{
	pid_t pid = s->p.pid;

	proctable_free_threads(s);
	free(s->nspid);
	free(s->p.argv);
	free(s->p.exe);
	free(s->p.cgroup);
	free(s->p.sockets);
	*s = (struct slot){.p.pid = pid};
}

static void slot_free(struct slot *s)
{
	slot_reset(s);
	free(s);
}

void proctable_clear(struct proctable *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		slot_free(t->slots[i]);
	t->n = 0;
	t->schedstat_works = false;
	intern_deinit(&t->intern);
}

struct proctable *proctable_free(struct proctable *t)
{
	if (!t)
		return NULL;
	proctable_clear(t);
	close_fd(&t->list_fd);
	free(t->slots);
	free(t->next);
	free(t->buffer);
	free(t->argv);
	free(t->pids);
	free(t->tids);
	free(t->sockets);
	free(t);
	return NULL;
}

/* --- one process ------------------------------------------------------------------------------ */
static bool take_name(struct proc_process *p, struct procparse_text name)
{
	uint8_t len = (uint8_t)MIN(name.len, sizeof(p->name) - 1);
	bool same = p->name_len == len && memcmp(p->name, name.data, len) == 0;

	memcpy(p->name, name.data, len);
	p->name[len] = '\0';
	p->name_len = len;
	return !same;
}

static int open_process(struct proctable *t, pid_t pid)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", (int)pid);
	fd = openat(t->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	t->losses.starved += read_starved(-errno);
	return -errno;
}

static int read_stat(struct proctable *t, int dirfd, struct procparse_stat *ret)
{
	ssize_t n = proctable_read_file(t, dirfd, "stat");

	if (n < 0)
		return (int)n;
	return procparse_stat(t->buffer, (size_t)n, ret);
}

/*
 * Where the details of a process are read: a leader that ended while other threads go on has
 * nothing to show, the others have. Returns a descriptor to use; *own is closed by the caller.
 */
static int details_dir(const struct proc_process *p, int dirfd, int *own)
{
	char path[32];

	if (p->state != 'Z')
		return dirfd;
	for (uint32_t i = 0; i < p->n_threads; i++) {
		const struct proc_thread *th = &p->threads[i];

		if (th->tid == p->pid || th->state == 'Z' || th->state == 'X')
			continue;
		snprintf(path, sizeof(path), "task/%d", (int)th->tid);
		*own = openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (*own >= 0)
			return *own;
	}
	return dirfd;
}

static bool take_stat(const struct proctable *t, struct proc_process *p,
		      const struct procparse_stat *st)
{
	p->ppid = st->ppid;
	p->start_ticks = st->start_ticks;
	p->state = st->state;
	p->kernel_thread = st->flags & PROCPARSE_FLAG_KTHREAD;
	p->user_ticks = st->user_ticks;
	p->system_ticks = st->system_ticks;
	p->minor_faults = st->minor_faults;
	p->major_faults = st->major_faults;
	p->vsize_bytes = st->vsize_bytes;
	p->rss_bytes = st->rss_pages * t->page_size;
	p->nice = st->nice;
	p->last_cpu = st->last_cpu;
	p->n_threads_kernel = st->threads;
	return take_name(p, st->name);
}

/* 0, or -errno: nothing of the process was to be read, or it is gone. */
static int update_process(struct proctable *t, struct slot *s, bool fresh)
{
	struct proc_process *p = &s->p;
	_cleanup_close_ int dirfd = open_process(t, p->pid);
	_cleanup_close_ int own = -1;
	bool due = s->retry || ((uint64_t)p->pid + t->update) % PROCTABLE_REREAD == 0;
	bool renamed, recount;
	struct procparse_stat st;
	int r = dirfd < 0 ? dirfd : read_stat(t, dirfd, &st);

	if (r < 0)
		return r;
	if (!fresh && p->start_ticks != st.start_ticks) {
		slot_reset(s); /* the number is another process now */
		fresh = true;
	}
	recount = p->n_threads_kernel != st.threads;
	renamed = take_stat(t, p, &st);
	p->fresh = fresh;
	p->ran = proctable_read_threads(t, s, dirfd, fresh || renamed || due, recount) || fresh ||
		 renamed;
	if (p->ran || due) {
		int fd = details_dir(p, dirfd, &own);

		proctable_read_details(t, s, fd);
		proctable_read_fds(t, s, fd);
		/* Gone in the middle? Then half of it would be shown. */
		if (p->n_threads == 0 || !p->cgroup)
			return read_stat(t, dirfd, &st);
	}
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */
/* The slot of pid: of the update before (then *at moves on), or a new one (NULL: no memory). */
static struct slot *claim_slot(struct proctable *t, pid_t pid, uint32_t *at, bool *ret_fresh)
{
	struct slot *s;

	while (*at < t->n && t->slots[*at]->p.pid < pid)
		slot_free(t->slots[(*at)++]);
	*ret_fresh = *at >= t->n || t->slots[*at]->p.pid != pid;
	if (!*ret_fresh)
		return t->slots[(*at)++];
	s = calloc(1, sizeof(*s));
	if (s)
		s->p.pid = pid;
	return s;
}

/* True when the slot stays in the table. */
static bool keep_slot(struct proctable *t, struct slot *s, bool fresh)
{
	uint64_t starved = t->losses.starved;
	int r;

	s->p.fresh = s->p.ran = s->p.fds_walked = false;
	r = update_process(t, s, fresh);
	s->retry = t->losses.starved != starved;
	t->losses.fds_refused += s->fds_refused;
	if (r == 0)
		return true;
	/* Our own want of descriptors is no news about the process. */
	if (read_starved(r))
		return !fresh;
	t->losses.hidden += r == -EACCES || r == -EPERM;
	return false;
}

/* Room for n slots in the array of this update and, since they are swapped, of the next. */
static int reserve_slots(struct proctable *t, uint32_t n)
{
	struct slot **slots, **next;

	if (n <= t->cap)
		return 0;
	n += n / 4;
	slots = realloc(t->slots, n * sizeof(struct slot *));
	if (slots)
		t->slots = slots;
	next = realloc(t->next, n * sizeof(struct slot *));
	if (next)
		t->next = next;
	if (!slots || !next)
		return -ENOMEM;
	t->cap = n;
	return 0;
}

static void sweep_intern(struct proctable *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct proc_process *p = &t->slots[i]->p;

		intern_mark(&t->intern, p->status.cpus_allowed);
		intern_mark(&t->intern, p->status.mems_allowed);
		for (uint32_t k = 0; k < p->n_threads; k++) {
			intern_mark(&t->intern, p->threads[k].status.cpus_allowed);
			intern_mark(&t->intern, p->threads[k].status.mems_allowed);
		}
	}
	intern_sweep(&t->intern);
}

static void report_losses(const struct proctable_losses *l, struct collect_report *report)
{
	const struct {
		const char *cause;
		uint64_t n;
	} rows[] = {
		{"processes beyond the limit of the table", l->processes},
		{"threads beyond the limit of the table", l->threads},
		{"sockets of one process beyond the limit of the table", l->sockets},
		{"processes that may not be read", l->hidden},
		{"processes whose descriptors may not be read", l->fds_refused},
		{"reads that failed because the daemon had no descriptor or memory left",
		 l->starved},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].n)
			collect_lost(report, rows[i].cause, rows[i].n);
}

int proctable_update(struct proctable *t, struct collect_report *report)
{
	uint32_t at = 0, n = 0;
	struct slot **swap;
	int r;

	t->losses = (struct proctable_losses){0};
	if (lseek(t->list_fd, 0, SEEK_SET) < 0)
		return -errno;
	r = proctable_list_pids(t, t->list_fd, t->limits.processes, &t->pids, &t->pids_n,
				&t->pids_cap, &t->losses.processes);
	if (r == 0)
		r = reserve_slots(t, t->pids_n);
	if (r < 0)
		return r;
	t->update++;
	for (uint32_t i = 0; i < t->pids_n; i++) {
		bool fresh;
		struct slot *s = claim_slot(t, t->pids[i], &at, &fresh);

		if (!s)
			t->losses.starved++;
		else if (keep_slot(t, s, fresh))
			t->next[n++] = s;
		else
			slot_free(s);
	}
	while (at < t->n)
		slot_free(t->slots[at++]);
	swap = t->slots;
	t->slots = t->next;
	t->next = swap;
	t->n = n;
	if (intern_wants_sweep(&t->intern))
		sweep_intern(t);
	report_losses(&t->losses, report);
	return 0;
}

void proctable_walk_fds(struct proctable *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct slot *s = t->slots[i];
		_cleanup_close_ int dirfd = -1, own = -1;
		struct procparse_stat st;

		if (s->p.fds_walked || s->p.kernel_thread)
			continue;
		dirfd = open_process(t, s->p.pid);
		if (dirfd < 0 || read_stat(t, dirfd, &st) < 0 || st.start_ticks != s->p.start_ticks)
			continue; /* it ended meanwhile */
		proctable_read_fds(t, s, details_dir(&s->p, dirfd, &own));
	}
}

/* --- questions -------------------------------------------------------------------------------- */
uint32_t proctable_count(const struct proctable *t)
{
	return t->n;
}

struct proc_process *proctable_at(const struct proctable *t, uint32_t i)
{
	return &t->slots[i]->p;
}

struct proc_process *proctable_find(const struct proctable *t, pid_t pid)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (t->slots[mid]->p.pid == pid)
			return &t->slots[mid]->p;
		if (t->slots[mid]->p.pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

uint64_t proctable_tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return NSEC_PER_SEC / (uint64_t)(hz > 0 ? hz : 100);
}

/* Every PID namespace has a process 1, and without hidepid anybody may read its stat. */
bool proctable_hidden(const struct proctable *t)
{
	char buf[64];

	return t->procfs && fdio_read_at(t->proc_fd, "1/stat", buf, sizeof(buf)) < 0;
}
