/* SPDX-License-Identifier: MIT */
/* The life probe misses nothing: 2,000 forks, names of processes that are gone, exit codes. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/probe_life.h"
#include "util/timeutil.h"

#define FORKS 2000

static struct probe_life *probe;
static char refusal[PROBE_REASON];

#define NEED_BPF()                                                                                 \
	do {                                                                                       \
		if (!probe) {                                                                      \
			print_message("skipped: %s\n", refusal);                                   \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static int open_probe(void **state)
{
	(void)probe_life_open(&probe, 0, refusal, sizeof(refusal));
	return 0;
}

static int close_probe(void **state)
{
	probe = probe_life_close(probe);
	return 0;
}

static int ignore(void *arg, const struct life_record *r)
{
	return 0;
}

struct history {
	pid_t pids[FORKS];
	unsigned char forks[FORKS], exits[FORKS];
	unsigned int wrong;
};

static int note(void *arg, const struct life_record *r)
{
	struct history *h = arg;
	char name[16];

	for (unsigned int i = 0; i < FORKS; i++) {
		if (r->tgid != (uint32_t)h->pids[i])
			continue;
		if (r->kind == LIFE_FORK) {
			h->forks[i]++;
			h->wrong += r->ppid != (uint32_t)getpid() || h->exits[i];
		} else if (r->kind == LIFE_EXIT) {
			snprintf(name, sizeof(name), "gone-%u", i);
			h->exits[i]++;
			h->wrong += strcmp(r->comm, name) != 0 || !r->last ||
				    r->exit_code != (i % 100) << 8 || !h->forks[i];
		}
	}
	return 0;
}

static void test_forks(void **state)
{
	static struct history h;
	uint64_t lost;

	NEED_BPF();
	probe_life_drain(probe, ignore, NULL);
	for (unsigned int i = 0; i < FORKS; i++) {
		h.pids[i] = fork();
		if (h.pids[i] == 0) {
			char name[16];

			snprintf(name, sizeof(name), "gone-%u", i);
			prctl(PR_SET_NAME, name);
			_exit((int)(i % 100));
		}
		waitpid(h.pids[i], NULL, 0);
	}
	/* Number used again within the test: the records could not be told apart here. */
	for (unsigned int i = 1; i < FORKS; i++)
		assert_true(h.pids[i] != h.pids[0]);
	assert_true(probe_life_drain(probe, note, &h) >= 2 * FORKS);
	assert_int_equal(probe_life_lost(probe, &lost), 0);
	assert_int_equal(lost, 0);
	for (unsigned int i = 0; i < FORKS; i++) {
		if (h.forks[i] != 1 || h.exits[i] != 1)
			fail_msg("process %d: %d forks, %d exits", h.pids[i], h.forks[i],
				 h.exits[i]);
	}
	assert_int_equal(h.wrong, 0);
}

/* ---- exec, threads, signals ---- */

struct story {
	uint32_t tgid;
	unsigned int forks, threads, execs, exits, thread_exits, last;
	uint32_t exit_code;
	uint64_t run_ns;
	char comm[16];
};

static int tell(void *arg, const struct life_record *r)
{
	struct story *s = arg;

	if (r->tgid != s->tgid)
		return 0;
	s->forks += r->kind == LIFE_FORK;
	s->threads += r->kind == LIFE_THREAD;
	s->thread_exits += r->kind == LIFE_THREAD_EXIT;
	s->exits += r->kind == LIFE_EXIT;
	if (r->kind == LIFE_EXEC) {
		s->execs++;
		memcpy(s->comm, r->comm, sizeof(s->comm));
	}
	if (r->last) {
		s->last++;
		s->exit_code = r->exit_code;
		s->run_ns = r->run_ns;
	}
	return 0;
}

static struct story story_of(pid_t pid)
{
	struct story s = {.tgid = (uint32_t)pid};

	waitpid(pid, NULL, 0);
	assert_true(probe_life_drain(probe, tell, &s) > 0);
	return s;
}

static void *burn(void *arg)
{
	uint64_t end = time_thread_cpu_ns() + 30 * NSEC_PER_MSEC;

	while (time_thread_cpu_ns() < end)
		;
	/* The thread alone, without what the C library does at the end of the last one. */
	syscall(SYS_exit, 0);
	return NULL;
}

static void test_stories(void **state)
{
	struct story s;
	pid_t pid;

	NEED_BPF();
	pid = fork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	s = story_of(pid);
	assert_int_equal(s.forks, 1);
	assert_int_equal(s.execs, 1);
	assert_string_equal(s.comm, "true");
	assert_int_equal(s.exit_code, 0);

	pid = fork();
	if (pid == 0) {
		raise(SIGKILL);
		_exit(0);
	}
	s = story_of(pid);
	assert_int_equal(s.exit_code & 0x7f, SIGKILL);

	/* Threads that burn 90 ms; the leader ends first. */
	pid = fork();
	if (pid == 0) {
		pthread_t t;

		for (int i = 0; i < 3; i++)
			pthread_create(&t, NULL, burn, NULL);
		syscall(SYS_exit, 0);
	}
	s = story_of(pid);
	assert_int_equal(s.threads, 3);
	assert_int_equal(s.exits, 2);
	assert_int_equal(s.thread_exits, 2);
	assert_int_equal(s.last, 1);
	assert_in_range(s.run_ns, 88 * NSEC_PER_MSEC, 150 * NSEC_PER_MSEC);
}

static void test_wakes(void **state)
{
	struct pollfd p;
	pid_t pid;

	NEED_BPF();
	probe_life_drain(probe, ignore, NULL);
	p = (struct pollfd){.fd = probe_life_fd(probe), .events = POLLIN};
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(poll(&p, 1, 2000), 1);
	assert_int_equal(story_of(pid).exits, 1);
}

static void test_full(void **state)
{
	struct probe_life *small = NULL;
	uint64_t lost;
	int n;

	NEED_BPF();
	assert_int_equal(probe_life_open(&small, 4096, refusal, sizeof(refusal)), 0);
	for (unsigned int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	n = probe_life_drain(small, ignore, NULL);
	assert_int_equal(probe_life_lost(small, &lost), 0);
	print_message("%d kept, %lu lost\n", n, (unsigned long)lost);
	assert_true(n > 0 && n < 200);
	assert_true((uint64_t)n + lost >= 200);
	probe_life_close(small);
}

static void test_refused(void **state)
{
	struct probe_life *p = NULL;
	char reason[PROBE_REASON];

	NEED_BPF();
	probe_refuse("life_exec");
	assert_int_equal(probe_life_open(&p, 0, reason, sizeof(reason)), 0);
	assert_int_equal(probe_find(probe_life_object(p), "life_exec")->error, -EACCES);
	probe_life_close(p);
	probe_refuse("life_exit");
	assert_int_equal(probe_life_open(&p, 0, reason, sizeof(reason)), -EACCES);
	probe_refuse(NULL);
	assert_non_null(strstr(reason, "life_exit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forks),	cmocka_unit_test(test_stories),
		cmocka_unit_test(test_wakes),	cmocka_unit_test(test_full),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, open_probe, close_probe);
}
