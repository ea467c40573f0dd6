/* SPDX-License-Identifier: MIT */
#include "collect/probe_scan.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bpf/scan.skel.h"
#include "util/fdio.h"
#include "util/timeutil.h"

/* A read of a BPF iterator returns at most what the kernel gathers (32 KiB in 6.x). */
#define READ_SIZE (256 * 1024)

enum { CLASS_MAX = 8 };

struct seen_table {
	uint64_t table;
	uint32_t tgid;
};

struct probe_scan {
	struct probe_object object;
	struct probe_program *tasks, *fds;
	struct bpf_link *tasks_link, *fds_link;
	int64_t boot_offset_ns; /* of this process's time namespace */
	uint64_t tick_ns;
	struct {
		const char *name;
		uint64_t class;
	} classes[CLASS_MAX];
	unsigned int n_classes;
	struct seen_table *seen; /* tables of threads in this pass: few */
	size_t n_seen, seen_size;
	char *buf;
};

/* Lines "monotonic <s> <ns>" and "boottime <s> <ns>"; the file is absent without time namespaces.
 */
static int64_t own_boot_offset(void)
{
	_cleanup_free_ char *text = NULL;
	long long s, ns;
	const char *line;
	size_t len;

	if (fdio_read_all_at(AT_FDCWD, "/proc/self/timens_offsets", 4096, &text, &len, NULL) < 0)
		return 0;
	line = strstr(text, "boottime");
	if (!line || sscanf(line, "boottime %lld %lld", &s, &ns) != 2)
		return 0;
	return s * (int64_t)NSEC_PER_SEC + ns;
}

static int open_iterator(struct probe_program *p, struct bpf_link **ret)
{
	struct bpf_link *link;

	if (!p || p->error)
		return p ? p->error : -ENOENT;
	link = bpf_program__attach_iter(p->prog, NULL);
	if (!link) {
		p->error = -errno;
		probe_explain(p->error, "attach", p->reason, sizeof(p->reason));
		return p->error;
	}
	*ret = link;
	return 0;
}

struct class_fds {
	int fd[CLASS_MAX];
	struct probe_scan *s;
	const char *const *names;
	uint32_t self;
	unsigned int missing;
};

/* Ends the pass when all are found. */
static int note_class(void *arg, const struct scan_fd *fd)
{
	struct class_fds *c = arg;

	for (unsigned int i = 0; fd->tgid == c->self && i < CLASS_MAX; i++) {
		if (c->fd[i] < 0 || fd->fd != (uint32_t)c->fd[i])
			continue;
		c->s->classes[c->s->n_classes].name = c->names[i];
		c->s->classes[c->s->n_classes++].class = fd->class;
		return --c->missing == 0;
	}
	return 0;
}

/*
 * Learns the implementations of files from descriptors of our own: addresses of data symbols are
 * not to be had on every kernel. Without it nothing has a class.
 */
static void calibrate(struct probe_scan *s)
{
	static const char *const names[CLASS_MAX] = {"eventfd",	 "epoll",  "inotify", "timerfd",
						     "signalfd", "socket", "pipe",    "pidfd"};
	struct class_fds c = {.s = s, .names = names, .self = (uint32_t)getpid()};
	struct scan_bpf__bss *vars = probe_variables(&s->object);
	struct probe_scan_result result;
	int pipes[2] = {-1, -1};
	sigset_t none;

	sigemptyset(&none);
	c.fd[0] = eventfd(0, EFD_CLOEXEC);
	c.fd[1] = epoll_create1(EPOLL_CLOEXEC);
	c.fd[2] = inotify_init1(IN_CLOEXEC);
	c.fd[3] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	c.fd[4] = signalfd(-1, &none, SFD_CLOEXEC);
	c.fd[5] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	c.fd[6] = pipe2(pipes, O_CLOEXEC) == 0 ? pipes[0] : -1;
	c.fd[7] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	for (unsigned int i = 0; i < CLASS_MAX; i++)
		c.missing += c.fd[i] >= 0;
	(void)probe_scan_fds(s, note_class, &c, &result);
	for (unsigned int i = 0; i < CLASS_MAX; i++) {
		if (c.fd[i] >= 0)
			close(c.fd[i]);
	}
	if (pipes[1] >= 0)
		close(pipes[1]);
	for (unsigned int i = 0; vars && i < s->n_classes; i++) {
		if (strcmp(s->classes[i].name, "eventfd") == 0)
			vars->eventfd_class = s->classes[i].class;
	}
}

static int open_programs(struct probe_scan *s, char *reason, size_t size)
{
	size_t elf_size;
	const void *elf = scan_bpf__elf_bytes(&elf_size);
	int r, r2;

	r = probe_object_load(&s->object, elf, elf_size, NULL, NULL, reason, size);
	if (r < 0)
		return r;
	s->tasks = probe_find(&s->object, "scan_tasks");
	s->fds = probe_find(&s->object, "scan_fds");
	r = open_iterator(s->tasks, &s->tasks_link);
	r2 = open_iterator(s->fds, &s->fds_link);
	if (r < 0 && r2 < 0) {
		snprintf(reason, size, "%s", s->tasks ? s->tasks->reason : "no program");
		return r;
	}
	return 0;
}

int probe_scan_open(struct probe_scan **ret, char *reason, size_t size)
{
	_cleanup_probe_scan_ struct probe_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->buf = malloc(READ_SIZE);
	if (!s->buf)
		return -ENOMEM;
	s->boot_offset_ns = own_boot_offset();
	s->tick_ns = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	r = open_programs(s, reason, size);
	if (r < 0)
		return r;
	calibrate(s);
	*ret = STEAL_PTR(s);
	return 0;
}

struct probe_scan *probe_scan_close(struct probe_scan *s)
{
	if (!s)
		return NULL;
	bpf_link__destroy(s->tasks_link);
	bpf_link__destroy(s->fds_link);
	probe_object_close(&s->object);
	free(s->seen);
	free(s->buf);
	free(s);
	return NULL;
}

static bool has(const struct bpf_link *link, const struct probe_program *p, const char **ret_reason)
{
	if (link)
		return true;
	if (ret_reason)
		*ret_reason = p ? p->reason : "no such program";
	return false;
}

bool probe_scan_has_tasks(const struct probe_scan *s, const char **ret_reason)
{
	return has(s->tasks_link, s->tasks, ret_reason);
}

bool probe_scan_has_fds(const struct probe_scan *s, const char **ret_reason)
{
	return has(s->fds_link, s->fds, ret_reason);
}

/* Gives the whole records at the front of [buf, buf+len) to fn; the bytes used, or a result. */
static int give(const char *buf, size_t len, int (*fn)(void *arg, const void *record), void *arg,
		size_t *ret_used)
{
	size_t used = 0;
	uint32_t size;
	int r = 0;

	while (r == 0 && len - used >= sizeof(size)) {
		memcpy(&size, buf + used, sizeof(size));
		if (size < sizeof(size) || size % 8 != 0 || size > READ_SIZE / 2)
			return -EPROTO;
		if (len - used < size)
			break;
		r = fn(arg, buf + used);
		used += size;
	}
	*ret_used = used;
	return r;
}

/* One pass. A record can be cut by the end of a read: the rest is kept for the next. */
static int run(struct probe_scan *s, const struct bpf_link *link,
	       int (*fn)(void *arg, const void *record), void *arg, uint64_t *ret_reads)
{
	size_t have = 0, used;
	int fd, r = 0;

	if (!link)
		return -EOPNOTSUPP;
	*ret_reads = 0;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	while (r == 0) {
		ssize_t n = read(fd, s->buf + have, READ_SIZE - have);

		++*ret_reads;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : have ? -EPROTO : 0;
			break;
		}
		have += (size_t)n;
		r = give(s->buf, have, fn, arg, &used);
		if (r < 0)
			break;
		have -= used;
		memmove(s->buf, s->buf + used, have);
	}
	close(fd);
	return r;
}

struct pass {
	struct probe_scan *s;
	int (*task_fn)(void *arg, const struct scan_task *task);
	int (*fd_fn)(void *arg, const struct scan_fd *fd);
	void *arg;
	struct probe_scan_result result;
	struct seen_table last; /* thread of which rows are given */
	uint32_t last_tid;
	bool last_double;
};

static int give_task(void *arg, const void *record)
{
	struct pass *p = arg;

	p->result.records++;
	return p->task_fn(p->arg, record);
}

/* True when that table of the process was given at another thread; else notes it. */
static bool seen_before(struct probe_scan *s, const struct scan_fd *fd)
{
	struct seen_table *grown;

	for (size_t i = s->n_seen; i > 0; i--) {
		if (s->seen[i - 1].table == fd->table && s->seen[i - 1].tgid == fd->tgid)
			return true;
	}
	if (s->n_seen == s->seen_size) {
		grown = realloc(s->seen, (s->seen_size * 2 + 16) * sizeof(*grown));
		if (!grown)
			return false;
		s->seen = grown;
		s->seen_size = s->seen_size * 2 + 16;
	}
	s->seen[s->n_seen++] = (struct seen_table){.table = fd->table, .tgid = fd->tgid};
	return false;
}

/*
 * Threads of which the leader is gone, or has another table, come each with all rows of the table
 * they share. Rows of one thread come one after the other.
 */
static int give_fd(void *arg, const void *record)
{
	const struct scan_fd *fd = record;
	struct pass *p = arg;

	if (fd->tid != fd->tgid) {
		if (p->last_tid != fd->tid) {
			p->last_tid = fd->tid;
			p->last_double = seen_before(p->s, fd);
		}
		if (p->last_double) {
			p->result.doubles++;
			return 0;
		}
	}
	p->result.records++;
	return p->fd_fn(p->arg, fd);
}

int probe_scan_tasks(struct probe_scan *s, int (*fn)(void *arg, const struct scan_task *task),
		     void *arg, struct probe_scan_result *ret)
{
	struct pass p = {.s = s, .task_fn = fn, .arg = arg};
	int r = run(s, s->tasks_link, give_task, &p, &p.result.reads);

	if (r == 0)
		*ret = p.result;
	return r;
}

int probe_scan_fds(struct probe_scan *s, int (*fn)(void *arg, const struct scan_fd *fd), void *arg,
		   struct probe_scan_result *ret)
{
	struct pass p = {.s = s, .fd_fn = fn, .arg = arg};
	int r;

	s->n_seen = 0;
	r = run(s, s->fds_link, give_fd, &p, &p.result.reads);
	if (r == 0)
		*ret = p.result;
	return r;
}

const char *probe_scan_class(const struct probe_scan *s, const struct scan_fd *fd)
{
	for (unsigned int i = 0; i < s->n_classes; i++) {
		if (s->classes[i].class == fd->class)
			return s->classes[i].name;
	}
	return NULL;
}

/* As task_state_index() of include/linux/sched.h: the highest of the bits that are reported. */
char probe_scan_state(const struct scan_task *task)
{
	enum { REPORT = 0x7f, NOLOAD_IDLE = 0x402, UNINTERRUPTIBLE = 2, RTLOCK_WAIT = 0x1000 };
	enum { FROZEN = 0x8000 };
	uint32_t state = (task->state | task->exit_state) & REPORT;

	if ((task->state & NOLOAD_IDLE) == NOLOAD_IDLE)
		return 'I';
	if (task->state & (RTLOCK_WAIT | FROZEN))
		state = UNINTERRUPTIBLE;
	return "RSDTtXZP"[state ? 32 - __builtin_clz(state) : 0];
}

uint64_t probe_scan_start_ticks(const struct probe_scan *s, const struct scan_task *task)
{
	return (uint64_t)((int64_t)task->start_boottime_ns + s->boot_offset_ns) / s->tick_ns;
}

/* As cputime_adjust() of kernel/sched/cputime.c, without its memory. */
void probe_scan_cputime(uint64_t run_ns, uint64_t utime_ns, uint64_t stime_ns,
			uint64_t *ret_user_ns, uint64_t *ret_system_ns)
{
	uint64_t system;

	if (stime_ns == 0)
		system = 0;
	else if (utime_ns == 0)
		system = run_ns;
	else
		system = (uint64_t)((unsigned __int128)stime_ns * run_ns / (utime_ns + stime_ns));
	*ret_system_ns = system;
	*ret_user_ns = run_ns - system;
}
