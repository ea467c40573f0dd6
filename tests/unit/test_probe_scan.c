/* SPDX-License-Identifier: MIT */
/*
 * The scan by iterators against /proc: the same threads, names, times, counters, descriptors and
 * namespaces. Needs the right to load BPF; else every test is skipped and says why.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/probe_scan.h"
#include "util/fdio.h"
#include "util/timeutil.h"

#define N_CHILDREN 200
#define N_THREADS  2 /* beside the leader */

static struct probe_scan *scan;
static char refusal[PROBE_REASON];
static pid_t children[N_CHILDREN];

static const char *const names[] = {
	"plain", "a) R 1 2 3 (b", "new\nline\t)", "\xff\xfe\x80 bad", "fifteen-bytes-x",
	" ",	 "a\\n'\"$(x)"};

#define NEED_BPF()                                                                                 \
	do {                                                                                       \
		if (!scan) {                                                                       \
			print_message("skipped: %s\n", refusal);                                   \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static void *sleeper(void *arg)
{
	prctl(PR_SET_NAME, arg);
	for (;;)
		pause();
	return NULL;
}

/* A process with threads, sockets, pipes and an eventfd, that says "ready" and sleeps. */
static void child_main(unsigned int i, int ready)
{
	const char *name = names[i % ARRAY_SIZE(names)];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(in);
	int l, c, p[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	for (unsigned int t = 0; t < N_THREADS; t++) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleeper, (void *)names[(i + t) % ARRAY_SIZE(names)]);
	}
	for (unsigned int n = 0; n < 3; n++) {
		socketpair(AF_UNIX, n == 1 ? SOCK_DGRAM : SOCK_STREAM, 0, p);
		(void)!pipe(p);
	}
	l = socket(AF_INET, SOCK_STREAM, 0);
	bind(l, (struct sockaddr *)&in, sizeof(in));
	listen(l, 5);
	getsockname(l, (struct sockaddr *)&in, &len);
	c = socket(AF_INET, SOCK_STREAM, 0);
	connect(c, (struct sockaddr *)&in, sizeof(in));
	accept(l, NULL, NULL);
	socket(AF_INET6, SOCK_DGRAM, 0);
	snprintf(un.sun_path + 1, 60, "wittyfs-test-%d", getpid());
	bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&un,
	     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(un.sun_path + 1)));
	eventfd(i, 0);
	(void)!write(ready, "x", 1);
	for (;;)
		pause();
}

static int start_all(void **state)
{
	int p[2], r;
	char x;

	r = probe_scan_open(&scan, refusal, sizeof(refusal));
	if (r < 0)
		return 0;
	if (pipe2(p, O_CLOEXEC) < 0)
		return -1;
	for (unsigned int i = 0; i < N_CHILDREN; i++) {
		children[i] = fork();
		if (children[i] == 0)
			child_main(i, p[1]);
	}
	for (unsigned int i = 0; i < N_CHILDREN; i++) {
		if (read(p[0], &x, 1) != 1)
			return -1;
	}
	usleep(100000);
	close(p[0]);
	close(p[1]);
	return 0;
}

static int stop_all(void **state)
{
	for (unsigned int i = 0; i < N_CHILDREN; i++) {
		if (children[i] > 0)
			kill(children[i], SIGKILL);
	}
	for (unsigned int i = 0; i < N_CHILDREN; i++) {
		if (children[i] > 0)
			waitpid(children[i], NULL, 0);
	}
	scan = probe_scan_close(scan);
	return 0;
}

/* ---- a pass kept ---- */

struct kept {
	struct scan_task *tasks;
	struct scan_fd *fds;
	size_t n_tasks, n_fds, size_tasks, size_fds;
};

static int keep_task(void *arg, const struct scan_task *t)
{
	struct kept *k = arg;

	if (k->n_tasks == k->size_tasks) {
		k->size_tasks = k->size_tasks * 2 + 1024;
		k->tasks = realloc(k->tasks, k->size_tasks * sizeof(*t));
	}
	k->tasks[k->n_tasks++] = *t;
	return 0;
}

static int keep_fd(void *arg, const struct scan_fd *f)
{
	struct kept *k = arg;

	if (k->n_fds == k->size_fds) {
		k->size_fds = k->size_fds * 2 + 1024;
		k->fds = realloc(k->fds, k->size_fds * sizeof(*f));
	}
	memset(&k->fds[k->n_fds], 0, sizeof(*f));
	memcpy(&k->fds[k->n_fds++], f, f->size);
	return 0;
}

static void kept_deinit(struct kept *k)
{
	free(k->tasks);
	free(k->fds);
}

static const struct scan_task *find_task(const struct kept *k, uint32_t tid)
{
	for (size_t i = 0; i < k->n_tasks; i++) {
		if (k->tasks[i].tid == tid)
			return &k->tasks[i];
	}
	return NULL;
}

static const struct scan_fd *find_fd(const struct kept *k, uint32_t tgid, uint32_t fd)
{
	for (size_t i = 0; i < k->n_fds; i++) {
		if (k->fds[i].tgid == tgid && k->fds[i].fd == fd)
			return &k->fds[i];
	}
	return NULL;
}

/* ---- /proc ---- */

static char *proc_text(const char *fmt, ...)
{
	char path[128], *text;
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return fdio_read_all_at(AT_FDCWD, path, 1 << 20, &text, &len, NULL) < 0 ? NULL : text;
}

static uint64_t field(const char *status, const char *name)
{
	const char *p = strstr(status, name);

	assert_non_null(p);
	return strtoull(p + strlen(name), NULL, 10);
}

static uint64_t ns_number(uint32_t tid, const char *ns)
{
	char path[64], link[64] = "";
	const char *p;

	snprintf(path, sizeof(path), "/proc/%u/ns/%s", tid, ns);
	assert_true(readlink(path, link, sizeof(link) - 1) > 0);
	p = strchr(link, '[');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void check_comm(const struct scan_task *t, uint32_t pid)
{
	_cleanup_free_ char *comm = proc_text("/proc/%u/task/%u/comm", pid, t->tid);
	size_t len = strlen(comm);

	assert_non_null(comm);
	len -= len > 0 && comm[len - 1] == '\n';
	assert_int_equal(len, strnlen(t->comm, sizeof(t->comm)));
	assert_memory_equal(comm, t->comm, len);
}

static void check_stat(const struct scan_task *t, uint32_t pid)
{
	_cleanup_free_ char *stat = proc_text("/proc/%u/task/%u/stat", pid, t->tid);
	unsigned long min, maj, ut, st, start, vsize, rss;
	int ppid, pgid, sid, prio, nice, threads, cpu;
	uint64_t user, system;
	char state;

	assert_non_null(stat);
	assert_int_equal(sscanf(strrchr(stat, ')') + 2,
				"%c %d %d %d %*d %*d %*u %lu %*u %lu %*u %lu %lu %*d %*d %d %d %d "
				"%*d %lu %lu "
				"%lu %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
				&state, &ppid, &pgid, &sid, &min, &maj, &ut, &st, &prio, &nice,
				&threads, &start, &vsize, &rss, &cpu),
			 15);
	assert_int_equal(probe_scan_state(t), state);
	assert_int_equal(t->ppid, ppid);
	assert_int_equal(t->min_faults, min);
	assert_int_equal(t->maj_faults, maj);
	assert_int_equal(probe_scan_start_ticks(scan, t), start);
	assert_int_equal(t->prio - 100, prio);
	assert_int_equal(t->nice, nice);
	assert_int_equal(t->cpu, cpu);
	probe_scan_cputime(t->run_ns, t->utime_ns, t->stime_ns, &user, &system);
	assert_int_equal(user / 10000000, ut);
	assert_int_equal(system / 10000000, st);
	if (t->leader) {
		assert_int_equal(t->group.pgid, pgid);
		assert_int_equal(t->group.sid, sid);
		assert_int_equal(t->group.n_threads, threads);
		assert_int_equal(t->group.vsize_pages * (uint64_t)getpagesize(), vsize);
		assert_int_equal(t->group.rss_pages, rss);
	}
}

static void check_status(const struct scan_task *t, uint32_t pid)
{
	_cleanup_free_ char *status = proc_text("/proc/%u/task/%u/status", pid, t->tid);
	_cleanup_free_ char *sched = proc_text("/proc/%u/task/%u/schedstat", pid, t->tid);
	unsigned long run, wait, slices;

	assert_non_null(status);
	assert_non_null(sched);
	/* "voluntary" is also the tail of "nonvoluntary". */
	assert_int_equal(t->voluntary, field(status, "\nvoluntary_ctxt_switches:\t"));
	assert_int_equal(t->involuntary, field(status, "\nnonvoluntary_ctxt_switches:\t"));
	assert_int_equal(t->uid, field(status, "\nUid:\t"));
	assert_int_equal(t->gid, field(status, "\nGid:\t"));
	assert_int_equal(t->n_levels, 1);
	assert_int_equal(t->nr[0], field(status, "\nNSpid:\t"));
	assert_int_equal(sscanf(sched, "%lu %lu %lu", &run, &wait, &slices), 3);
	assert_int_equal(t->run_ns, run);
	assert_int_equal(t->wait_ns, wait);
	assert_int_equal(t->slices, slices);
}

static void check_namespaces(const struct scan_task *t)
{
	assert_int_equal(t->ns.pid, ns_number(t->tid, "pid"));
	assert_int_equal(t->ns.net, ns_number(t->tid, "net"));
	assert_int_equal(t->ns.mnt, ns_number(t->tid, "mnt"));
	assert_int_equal(t->ns.ipc, ns_number(t->tid, "ipc"));
	assert_int_equal(t->ns.uts, ns_number(t->tid, "uts"));
	assert_int_equal(t->ns.user, ns_number(t->tid, "user"));
	assert_int_equal(t->ns.cgroup, ns_number(t->tid, "cgroup"));
	if (access("/proc/self/ns/time", F_OK) == 0)
		assert_int_equal(t->ns.time, ns_number(t->tid, "time"));
}

static void test_tasks(void **state)
{
	_cleanup_(kept_deinit) struct kept k = {};
	struct probe_scan_result result;
	unsigned int threads = 0;

	NEED_BPF();
	assert_int_equal(probe_scan_tasks(scan, keep_task, &k, &result), 0);
	assert_int_equal(result.records, k.n_tasks);
	for (unsigned int i = 0; i < N_CHILDREN; i++) {
		for (size_t j = 0; j < k.n_tasks; j++) {
			const struct scan_task *t = &k.tasks[j];

			if (t->tgid != (uint32_t)children[i])
				continue;
			threads++;
			assert_int_equal(t->leader, t->tid == t->tgid);
			assert_int_equal(t->init_tid, t->tid);
			check_comm(t, t->tgid);
			check_stat(t, t->tgid);
			check_status(t, t->tgid);
			check_namespaces(t);
		}
	}
	assert_int_equal(threads, N_CHILDREN * (1 + N_THREADS));
}

/*
 * Every thread of /proc that was there before and after the pass is in the pass, once. Sandboxes
 * hide their own process 1 from BPF altogether: that one may be missing, with all its threads.
 */
static size_t list_tids(uint32_t *tids, size_t max, bool without_init)
{
	DIR *proc = opendir("/proc"), *task;
	struct dirent *d, *e;
	char path[300];
	size_t n = 0;

	while ((d = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/task", d->d_name);
		if (d->d_name[0] < '1' || d->d_name[0] > '9' ||
		    (without_init && strcmp(d->d_name, "1") == 0) || !(task = opendir(path)))
			continue;
		while ((e = readdir(task))) {
			if (e->d_name[0] != '.' && n < max)
				tids[n++] = (uint32_t)atoi(e->d_name);
		}
		closedir(task);
	}
	closedir(proc);
	return n;
}

static void test_whole_machine(void **state)
{
	static uint32_t before[65536], after[65536];
	_cleanup_(kept_deinit) struct kept k = {};
	struct probe_scan_result result;
	size_t n_before, n_after, common = 0;
	bool hidden;

	NEED_BPF();
	assert_int_equal(probe_scan_tasks(scan, keep_task, &k, &result), 0);
	hidden = !find_task(&k, 1);
	if (hidden)
		print_message("this kernel hides process 1 from BPF\n");
	k.n_tasks = 0;
	n_before = list_tids(before, ARRAY_SIZE(before), hidden);
	assert_int_equal(probe_scan_tasks(scan, keep_task, &k, &result), 0);
	n_after = list_tids(after, ARRAY_SIZE(after), hidden);
	for (size_t i = 0; i < n_before; i++) {
		unsigned int found = 0;
		bool stayed = false;

		for (size_t j = 0; j < n_after; j++)
			stayed |= after[j] == before[i];
		if (!stayed)
			continue;
		common++;
		for (size_t j = 0; j < k.n_tasks; j++)
			found += k.tasks[j].tid == before[i];
		if (found != 1)
			fail_msg("thread %u is %u times in the pass", before[i], found);
	}
	assert_true(common >= N_CHILDREN * (1 + N_THREADS));
	assert_true(k.n_tasks <= common + 200);
}

static void check_descriptor(const struct scan_fd *f, const char *path)
{
	char link[256] = "";
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(f->mode, st.st_mode);
	assert_int_equal(f->ino, st.st_ino);
	if (f->dev >> 20 != major(st.st_dev))
		fail_msg("%s: device %u, not %u:%u", path, f->dev, major(st.st_dev),
			 minor(st.st_dev));
	assert_true(readlink(path, link, sizeof(link) - 1) > 0);
	if (strncmp(link, "socket:", 7) == 0) {
		assert_int_equal(f->kind, SCAN_FD_SOCKET);
		assert_string_equal(probe_scan_class(scan, f), "socket");
		assert_int_equal(f->sock.netns, ns_number(f->tgid, "net"));
	} else if (strncmp(link, "pipe:", 5) == 0) {
		assert_string_equal(probe_scan_class(scan, f), "pipe");
	} else if (strstr(link, "[eventfd]")) {
		_cleanup_free_ char *info = proc_text("/proc/%u/fdinfo/%u", f->tgid, f->fd);

		assert_int_equal(f->kind, SCAN_FD_EVENTFD);
		assert_string_equal(probe_scan_class(scan, f), "eventfd");
		assert_int_equal(f->object, field(info, "eventfd-id: "));
	}
}

static void test_fds(void **state)
{
	_cleanup_(kept_deinit) struct kept k = {};
	struct probe_scan_result result;
	size_t rows, links;

	NEED_BPF();
	assert_int_equal(probe_scan_fds(scan, keep_fd, &k, &result), 0);
	for (unsigned int i = 0; i < N_CHILDREN; i++) {
		char path[300];
		struct dirent *d;
		DIR *dir;

		rows = links = 0;
		for (size_t j = 0; j < k.n_fds; j++)
			rows += k.fds[j].tgid == (uint32_t)children[i];
		snprintf(path, sizeof(path), "/proc/%d/fd", children[i]);
		dir = opendir(path);
		while ((d = readdir(dir))) {
			const struct scan_fd *f;

			if (d->d_name[0] == '.')
				continue;
			links++;
			f = find_fd(&k, (uint32_t)children[i], (uint32_t)atoi(d->d_name));
			assert_non_null(f);
			snprintf(path, sizeof(path), "/proc/%d/fd/%s", children[i], d->d_name);
			check_descriptor(f, path);
		}
		closedir(dir);
		assert_int_equal(rows, links);
	}
}

/* Tuples, types, peers and names of the sockets of one child. */
static void test_sockets(void **state)
{
	_cleanup_(kept_deinit) struct kept k = {};
	struct probe_scan_result result;
	const struct scan_sock *listening = NULL, *established[2] = {};
	unsigned int pairs = 0, named = 0, udp6 = 0, n_established = 0;
	char name[64];

	NEED_BPF();
	assert_int_equal(probe_scan_fds(scan, keep_fd, &k, &result), 0);
	snprintf(name, sizeof(name), "wittyfs-test-%d", children[0]);
	for (size_t i = 0; i < k.n_fds; i++) {
		const struct scan_sock *s = &k.fds[i].sock;

		if (k.fds[i].tgid != (uint32_t)children[0] || k.fds[i].kind != SCAN_FD_SOCKET)
			continue;
		udp6 += s->family == AF_INET6 && s->type == SOCK_DGRAM &&
			s->protocol == IPPROTO_UDP;
		if (s->family == AF_INET && s->state == 10)
			listening = s;
		if (s->family == AF_INET && s->state == 1 && n_established < 2)
			established[n_established++] = s;
		if (s->family != AF_UNIX)
			continue;
		if (s->name_len == strlen(name) + 1 && !s->unix_name[0] &&
		    memcmp(s->unix_name + 1, name, strlen(name)) == 0)
			named++;
		for (size_t j = 0; s->unix_peer && j < k.n_fds; j++) {
			if (k.fds[j].tgid == k.fds[i].tgid && k.fds[j].ino == s->unix_peer) {
				assert_int_equal(k.fds[j].sock.unix_peer, k.fds[i].ino);
				pairs++;
			}
		}
	}
	assert_int_equal(pairs, 6);
	assert_int_equal(named, 1);
	assert_int_equal(udp6, 1);
	assert_int_equal(n_established, 2);
	assert_non_null(listening);
	assert_int_equal(established[0]->local_port, established[1]->remote_port);
	assert_int_equal(established[1]->local_port, established[0]->remote_port);
	assert_true(established[0]->local_port == listening->local_port ||
		    established[1]->local_port == listening->local_port);
	assert_int_equal(ntohl(*(const uint32_t *)(const void *)established[0]->local),
			 INADDR_LOOPBACK);
	assert_int_equal(listening->max_backlog, 5);
}

/* ---- descriptor tables of threads ---- */

static void *own_table(void *arg)
{
	int *ready = arg;

	unshare(CLONE_FILES);
	eventfd(7, 0);
	(void)!write(ready[1], "x", 1);
	for (;;)
		pause();
	return NULL;
}

static void *shared_table(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* kind 0: one thread with a table of its own. 1: the leader is gone, two threads share. */
static pid_t start_tables(int kind)
{
	static int p[2];
	pid_t pid;
	char x;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t t;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&t, NULL, kind ? shared_table : own_table, p);
		if (kind) {
			pthread_create(&t, NULL, shared_table, p);
			(void)!write(p[1], "x", 1);
			pthread_exit(NULL);
		}
		for (;;)
			pause();
	}
	assert_int_equal(read(p[0], &x, 1), 1);
	usleep(50000);
	close(p[0]);
	close(p[1]);
	return pid;
}

static void test_tables(void **state)
{
	NEED_BPF();
	for (int kind = 0; kind < 2; kind++) {
		_cleanup_(kept_deinit) struct kept k = {};
		struct probe_scan_result result;
		pid_t pid = start_tables(kind);
		size_t leader = 0, other = 0;

		assert_int_equal(probe_scan_fds(scan, keep_fd, &k, &result), 0);
		for (size_t i = 0; i < k.n_fds; i++) {
			if (k.fds[i].tgid != (uint32_t)pid)
				continue;
			leader += k.fds[i].tid == (uint32_t)pid;
			other += k.fds[i].tid != (uint32_t)pid;
		}
		if (kind == 0) {
			assert_true(leader > 0);
			assert_int_equal(other, leader + 1);
		} else {
			assert_int_equal(leader, 0);
			assert_true(other > 0);
			assert_int_equal(result.doubles, other);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* ---- namespaces of the reader ---- */

static int judge_inner(void *arg, const struct scan_task *t)
{
	unsigned int *bad = arg;

	*bad += t->tid != 1 || t->tgid != 1 || t->ppid != 0 || t->nr[0] != 1 || t->init_tid < 2;
	return 0;
}

static int run_inner(void *arg)
{
	struct probe_scan_result result;
	unsigned int bad = 0;

	/* One process here, number 1, whose parent is outside. */
	if (probe_scan_tasks(scan, judge_inner, &bad, &result) < 0)
		return 2;
	return bad || result.records != 1;
}

static void test_pid_namespace(void **state)
{
	_cleanup_(kept_deinit) struct kept k = {};
	struct probe_scan_result result;
	const struct scan_task *t;
	static char stack[65536];
	int status;
	pid_t pid;

	NEED_BPF();
	pid = clone(run_inner, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, NULL);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* From outside both numbers are told. */
	pid = clone((int (*)(void *))(void *)pause, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD,
		    NULL);
	assert_int_equal(probe_scan_tasks(scan, keep_task, &k, &result), 0);
	t = find_task(&k, (uint32_t)pid);
	assert_non_null(t);
	assert_int_equal(t->n_levels, 2);
	assert_int_equal(t->nr[0], pid);
	assert_int_equal(t->nr[1], 1);
	assert_int_equal(t->ns.pid, ns_number((uint32_t)pid, "pid"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_time_namespace(void **state)
{
	int status = 0;
	pid_t pid;

	NEED_BPF();
	pid = fork();
	if (pid == 0) {
		struct probe_scan_result result;
		struct probe_scan *s;
		struct kept k = {};
		const struct scan_task *t;
		int fd;

		if (unshare(0x80 /* CLONE_NEWTIME */) < 0)
			_exit(77);
		fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
		if (write(fd, "boottime 5000 0\n", 16) != 16)
			_exit(77);
		pid = fork();
		if (pid == 0) {
			_cleanup_free_ char *stat = proc_text("/proc/self/stat");
			unsigned long start;

			if (probe_scan_open(&s, refusal, sizeof(refusal)) < 0 ||
			    probe_scan_tasks(s, keep_task, &k, &result) < 0)
				_exit(2);
			t = find_task(&k, (uint32_t)getpid());
			sscanf(strrchr(stat, ')') + 2,
			       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			       "%*d "
			       "%*d %*d %lu",
			       &start);
			_exit(probe_scan_start_ticks(s, t) == start && start > 500000 ? 0 : 3);
		}
		waitpid(pid, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: no time namespaces here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* ---- refusals ---- */

static void test_refused(void **state)
{
	struct probe_scan_result result;
	struct probe_scan *s = NULL;
	struct kept k = {};
	char reason[PROBE_REASON];
	const char *why = NULL;
	int status;
	pid_t pid;

	NEED_BPF();
	probe_refuse("scan_fds");
	assert_int_equal(probe_scan_open(&s, reason, sizeof(reason)), 0);
	probe_refuse(NULL);
	assert_true(probe_scan_has_tasks(s, &why));
	assert_false(probe_scan_has_fds(s, &why));
	assert_non_null(strstr(why, "refused"));
	assert_int_equal(probe_scan_fds(s, keep_fd, &k, &result), -EOPNOTSUPP);
	assert_int_equal(probe_scan_tasks(s, keep_task, &k, &result), 0);
	assert_true(result.records > N_CHILDREN);
	probe_scan_close(s);
	kept_deinit(&k);

	pid = fork();
	if (pid == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		if (probe_scan_open(&s, reason, sizeof(reason)) != -EPERM)
			_exit(2);
		print_message("without rights: %s\n", reason);
		_exit(strstr(reason, "CAP_BPF") ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static int count_task(void *arg, const struct scan_task *t)
{
	*(uint64_t *)arg += t->leader;
	return 0;
}

static int count_fd(void *arg, const struct scan_fd *f)
{
	++*(uint64_t *)arg;
	return 0;
}

/* stat and status per thread, one readlink per descriptor: what the fields cost by /proc. */
static void walk_proc(void)
{
	DIR *proc = opendir("/proc"), *dir;
	char path[700], link[256];
	struct dirent *d, *e;

	while ((d = readdir(proc))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", d->d_name);
		dir = opendir(path);
		while (dir && (e = readdir(dir))) {
			if (e->d_name[0] == '.')
				continue;
			free(proc_text("/proc/%s/task/%s/stat", d->d_name, e->d_name));
			free(proc_text("/proc/%s/task/%s/status", d->d_name, e->d_name));
		}
		if (dir)
			closedir(dir);
		snprintf(path, sizeof(path), "/proc/%s/fd", d->d_name);
		dir = opendir(path);
		while (dir && (e = readdir(dir))) {
			snprintf(path, sizeof(path), "/proc/%s/fd/%s", d->d_name, e->d_name);
			(void)!readlink(path, link, sizeof(link));
		}
		if (dir)
			closedir(dir);
	}
	closedir(proc);
}

static void test_cost(void **state)
{
	struct probe_scan_result tasks, fds;
	uint64_t t0, t1, t2, t3;

	NEED_BPF();
	for (int round = 0; round < 3; round++) {
		uint64_t processes = 0, n = 0;

		t0 = time_thread_cpu_ns();
		assert_int_equal(probe_scan_tasks(scan, count_task, &processes, &tasks), 0);
		t1 = time_thread_cpu_ns();
		assert_int_equal(probe_scan_fds(scan, count_fd, &n, &fds), 0);
		t2 = time_thread_cpu_ns();
		walk_proc();
		t3 = time_thread_cpu_ns();
		print_message(
			"%lu processes, %lu threads, %lu descriptors: tasks %.2f ms, descriptors "
			"%.2f ms, %.4f ms per process; /proc %.1f ms; ratio %.1f\n",
			(unsigned long)processes, (unsigned long)tasks.records,
			(unsigned long)fds.records, (double)(t1 - t0) / 1e6,
			(double)(t2 - t1) / 1e6, (double)(t2 - t0) / 1e6 / (double)processes,
			(double)(t3 - t2) / 1e6, (double)(t3 - t2) / (double)(t2 - t0));
	}
	assert_true(t3 - t2 > 4 * (t2 - t0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_whole_machine),
		cmocka_unit_test(test_fds),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_pid_namespace),
		cmocka_unit_test(test_time_namespace),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, start_all, stop_all);
}
