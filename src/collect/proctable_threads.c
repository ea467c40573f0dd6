/* SPDX-License-Identifier: MIT */
/*
 * The threads of one process.
 *
 * First the known ones: schedstat says whether a thread ran; only then its stat and status are
 * read. Only when one ran, is gone, or the count moved, the list is read again, since a thread
 * comes by the running of another one and goes by its own. Nothing is allocated for a thread that
 * is known already.
 */
#include "collect/proctable_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "util/fdio.h"

static void free_thread(struct proc_thread *th)
{
	free(th->cpus_seen);
	free(th->nspid);
}

void proctable_free_threads(struct slot *s)
{
	for (uint32_t i = 0; i < s->p.n_threads; i++)
		free_thread(&s->p.threads[i]);
	free(s->p.threads);
	s->p.threads = NULL;
	s->p.n_threads = 0;
	s->list_known = false;
}

/* --- one thread ------------------------------------------------------------------------------- */
struct thread_path {
	char text[64];
	size_t base; /* where the name of the file begins */
};

static void path_of(struct thread_path *p, pid_t tid)
{
	p->base = (size_t)snprintf(p->text, sizeof(p->text), "task/%d/", (int)tid);
}

static ssize_t read_of(struct proctable *t, int dirfd, struct thread_path *p, const char *file)
{
	strcpy(p->text + p->base, file);
	return proctable_read_file(t, dirfd, p->text);
}

static void see_cpu(struct proc_thread *th, int cpu)
{
	uint32_t word;

	if (cpu < 0 || cpu > 65535)
		return;
	word = (uint32_t)cpu / 64;
	if (word >= th->cpus_seen_words) {
		uint64_t *grown = realloc(th->cpus_seen, (word + 1) * sizeof(*grown));

		if (!grown)
			return;
		memset(grown + th->cpus_seen_words, 0,
		       (word + 1 - th->cpus_seen_words) * sizeof(*grown));
		th->cpus_seen = grown;
		th->cpus_seen_words = word + 1;
	}
	th->cpus_seen[word] |= 1ULL << (cpu % 64);
}

/* Another thread under the same number: nothing of the old one stays. */
static void renew(struct proc_thread *th)
{
	struct proc_thread fresh = {
		.tid = th->tid,
		.run_ns = th->run_ns,
		.wait_ns = th->wait_ns,
		.slices = th->slices,
		.sched_known = th->sched_known,
		.ran = true,
	};

	free_thread(th);
	*th = fresh;
}

static int take_stat(struct proctable *t, struct proc_thread *th, bool fresh, size_t len)
{
	struct procparse_stat st;
	int r = procparse_stat(t->buffer, len, &st);

	if (r < 0)
		return r;
	if (!fresh && th->start_ticks != st.start_ticks)
		renew(th);
	th->start_ticks = st.start_ticks;
	th->name_len = (uint8_t)MIN(st.name.len, sizeof(th->name) - 1);
	memcpy(th->name, st.name.data, th->name_len);
	th->name[th->name_len] = '\0';
	th->state = st.state;
	th->user_ticks = st.user_ticks;
	th->system_ticks = st.system_ticks;
	th->nice = st.nice;
	th->last_cpu = st.last_cpu;
	see_cpu(th, st.last_cpu);
	return 0;
}

/*
 * Reads schedstat. 1: the thread ran, or it cannot be known; 0: it did not; -errno when the daemon
 * has no descriptor left.
 */
static int take_sched(struct proctable *t, struct proc_thread *th, bool fresh, int dirfd,
		      struct thread_path *path)
{
	uint64_t run_ns, wait_ns, slices;
	ssize_t n = read_of(t, dirfd, path, "schedstat");
	bool same;

	if (n < 0 && read_starved((int)n))
		return (int)n;
	if (n < 0 || procparse_schedstat(t->buffer, (size_t)n, &run_ns, &wait_ns, &slices) < 0) {
		th->sched_known = false;
		return 1;
	}
	/* A kernel that does not count says 0 0 0 of everybody. */
	t->schedstat_works = t->schedstat_works || slices > 0;
	same = !fresh && th->sched_known && th->run_ns == run_ns && th->slices == slices;
	th->sched_known = t->schedstat_works;
	th->run_ns = run_ns;
	th->wait_ns = wait_ns;
	th->slices = slices;
	return !same;
}

/* Brings one thread up to date; true when it ran. A thread that is not there any more gets `gone`.
 */
static bool read_thread(struct proctable *t, struct proc_thread *th, bool fresh, bool all,
			int dirfd)
{
	struct thread_path path;
	ssize_t n;
	int ran;

	path_of(&path, th->tid);
	ran = take_sched(t, th, fresh, dirfd, &path);
	th->ran = ran > 0;
	if (ran < 0 && !fresh)
		return false; /* what was known is still the best */
	if (!th->ran && !all)
		return false;
	n = read_of(t, dirfd, &path, "stat");
	if (n >= 0)
		n = take_stat(t, th, fresh, (size_t)n);
	if (n < 0) {
		th->gone = fresh || !read_starved((int)n);
		return th->ran;
	}
	n = read_of(t, dirfd, &path, "status");
	if (n >= 0)
		proctable_take_status(t, t->buffer, (size_t)n, &th->status, &th->nspid);
	else if (!read_starved((int)n))
		th->status = (struct proc_status){0};
	return th->ran;
}

/* --- the list --------------------------------------------------------------------------------- */
static bool same_list(const struct proctable *t, const struct proc_process *p)
{
	if (t->tids_n != p->n_threads)
		return false;
	for (uint32_t i = 0; i < t->tids_n; i++)
		if (t->tids[i] != p->threads[i].tid || p->threads[i].gone)
			return false;
	return true;
}

static int list_threads(struct proctable *t, int dirfd)
{
	_cleanup_close_ int fd = openat(dirfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return proctable_list_pids(t, fd, t->limits.threads_each, &t->tids, &t->tids_n,
				   &t->tids_cap, &t->losses.threads);
}

/* Makes the array of threads be the list: known ones move over, new ones are read. */
static int adopt_list(struct proctable *t, struct slot *s, int dirfd)
{
	struct proc_process *p = &s->p;
	struct proc_thread *old = p->threads, *next = calloc(MAX(t->tids_n, 1U), sizeof(*next));
	uint32_t at = 0, n_old = p->n_threads;

	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->tids_n; i++) {
		while (at < n_old && old[at].tid < t->tids[i])
			free_thread(&old[at++]);
		if (at < n_old && old[at].tid == t->tids[i] && !old[at].gone) {
			next[i] = old[at++];
			continue;
		}
		next[i].tid = t->tids[i];
		read_thread(t, &next[i], true, true, dirfd);
	}
	while (at < n_old)
		free_thread(&old[at++]);
	free(old);
	p->threads = next;
	p->n_threads = t->tids_n;
	return 0;
}

static void drop_gone(struct proc_process *p)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->n_threads; i++) {
		if (p->threads[i].gone)
			free_thread(&p->threads[i]);
		else
			p->threads[kept++] = p->threads[i];
	}
	p->n_threads = kept;
}

/*
 * The status of the process is that of its leader. A recorded machine may have no task/: then it
 * is read beside it.
 */
static void take_leader(struct proctable *t, struct slot *s, int dirfd)
{
	struct proc_process *p = &s->p;
	ssize_t n;

	for (uint32_t i = 0; i < p->n_threads; i++) {
		if (p->threads[i].tid != p->pid)
			continue;
		p->status = p->threads[i].status;
		return;
	}
	p->status = (struct proc_status){0};
	n = proctable_read_file(t, dirfd, "status");
	if (n >= 0)
		proctable_take_status(t, t->buffer, (size_t)n, &p->status, &s->nspid);
}

bool proctable_read_threads(struct proctable *t, struct slot *s, int dirfd, bool all,
			    bool list_changed)
{
	struct proc_process *p = &s->p;
	bool ran = false, relist = all || list_changed || !s->list_known;
	int r;

	for (uint32_t i = 0; i < p->n_threads; i++) {
		struct proc_thread *th = &p->threads[i];

		ran = read_thread(t, th, false, all, dirfd) || ran;
		relist = relist || ran || th->gone;
	}
	if (relist) {
		r = list_threads(t, dirfd);
		t->losses.starved += r < 0 && read_starved(r);
		s->list_known = r == 0;
		if (r == 0 && !same_list(t, p)) {
			ran = true;
			r = adopt_list(t, s, dirfd);
		}
		drop_gone(p);
	}
	take_leader(t, s, dirfd);
	return ran;
}
