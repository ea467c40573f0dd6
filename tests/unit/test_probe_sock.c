/* SPDX-License-Identifier: MIT */
/*
 * The socket probe is exact: for every way to send and receive (probe_cases.c) the counts of every
 * end are those of the calls, to the byte, read after the process is gone. Needs the right to load
 * BPF; else everything is skipped and says why.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/probe_sock.h"
#include "probe_cases.h"
#include "util/timeutil.h"

static struct probe_sock *probe;
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
	(void)probe_sock_open(&probe, NULL, refusal, sizeof(refusal));
	for (unsigned int i = 0; probe && i < probe_sock_object(probe)->n_programs; i++) {
		const struct probe_program *p = &probe_sock_object(probe)->programs[i];

		if (p->error)
			print_message("%s: %s\n", p->name, p->reason);
	}
	return 0;
}

static int close_probe(void **state)
{
	probe = probe_sock_close(probe);
	return 0;
}

/* ---- what was counted for one process ---- */

struct seen {
	uint32_t tgid;
	struct case_end ends[CASE_ENDS];
	struct sock_meta metas[CASE_ENDS];
	unsigned int n_ends, rows;
	struct case_end sum;
	char comm[16];
};

static void add_row(struct case_end *e, const struct sock_value *v)
{
	e->tx_bytes += v->tx_bytes;
	e->rx_bytes += v->rx_bytes;
	e->tx_calls += (int64_t)v->tx_calls;
	e->rx_calls += (int64_t)v->rx_calls;
	e->tx_errors += (int64_t)v->tx_errors;
	e->rx_errors += (int64_t)v->rx_errors;
	e->tx_again += (int64_t)v->tx_again;
	e->rx_again += (int64_t)v->rx_again;
}

static int see(void *arg, const struct probe_sock_row *row)
{
	struct seen *s = arg;
	unsigned int i = 0;

	if (row->key->tgid != s->tgid)
		return PROBE_SOCK_KEEP;
	s->rows++;
	add_row(&s->sum, row->value);
	if (row->owner)
		memcpy(s->comm, row->owner->comm, sizeof(s->comm));
	while (i < s->n_ends && s->ends[i].ino != row->key->ino)
		i++;
	if (i == CASE_ENDS)
		return PROBE_SOCK_KEEP;
	if (i == s->n_ends) {
		s->n_ends++;
		s->ends[i].ino = row->key->ino;
		if (row->meta)
			s->metas[i] = *row->meta;
	}
	add_row(&s->ends[i], row->value);
	return PROBE_SOCK_KEEP;
}

static bool differs(const char *name, const char *what, uint64_t ino, int64_t want, int64_t got)
{
	if (want == CASE_ANY || want == got)
		return false;
	print_error("%s: socket %lu: %s: %lld, counted %lld\n", name, (unsigned long)ino, what,
		    (long long)want, (long long)got);
	return true;
}

static unsigned int compare(const char *name, const struct case_truth *t, const struct seen *s)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < t->n_ends; i++) {
		const struct case_end *w = &t->ends[i], *g = NULL;

		for (unsigned int j = 0; j < s->n_ends; j++) {
			if (s->ends[j].ino != w->ino)
				continue;
			g = &s->ends[j];
			if (t->netns && s->metas[j].netns != t->netns) {
				print_error("%s: net namespace %u\n", name, s->metas[j].netns);
				wrong++;
			}
		}
		if (!g) {
			/* An end may have been noted and not used. */
			wrong += w->tx_bytes || w->rx_bytes;
			continue;
		}
		wrong += differs(name, "sent", w->ino, (int64_t)w->tx_bytes, (int64_t)g->tx_bytes);
		wrong += differs(name, "received", w->ino, (int64_t)w->rx_bytes,
				 (int64_t)g->rx_bytes);
		wrong += differs(name, "sends", w->ino, w->tx_calls, g->tx_calls);
		wrong += differs(name, "receives", w->ino, w->rx_calls, g->rx_calls);
		wrong += differs(name, "send errors", w->ino, w->tx_errors, g->tx_errors);
		wrong += differs(name, "receive errors", w->ino, w->rx_errors, g->rx_errors);
		wrong += differs(name, "send again", w->ino, w->tx_again, g->tx_again);
		wrong += differs(name, "receive again", w->ino, w->rx_again, g->rx_again);
	}
	return wrong;
}

static pid_t run_case(const struct socket_case *c, struct case_truth *t)
{
	int status;
	pid_t pid;

	memset(t, 0, sizeof(*t));
	pid = fork();
	if (pid == 0) {
		alarm(20);
		prctl(PR_SET_NAME, "witty-case");
		socket_case_begin(t);
		c->run(t);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		snprintf(t->failed, sizeof(t->failed), "ended with status %#x",
			 (unsigned int)status);
	return pid;
}

static void test_exactness(void **state)
{
	struct case_truth *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int wrong = 0, skipped = 0;

	NEED_BPF();
	for (unsigned int i = 0; i < n_socket_cases; i++) {
		struct seen s = {.tgid = (uint32_t)run_case(&socket_cases[i], t)};
		unsigned int bad = 0;

		if (t->skip[0]) {
			print_message("%-26s skipped: %s\n", socket_cases[i].name, t->skip);
			skipped++;
			continue;
		}
		assert_int_equal(probe_sock_read(probe, see, &s), 0);
		if (t->failed[0]) {
			print_error("%s: %s\n", socket_cases[i].name, t->failed);
			bad++;
		} else {
			bad += compare(socket_cases[i].name, t, &s);
			bad += strcmp(s.comm, "witty-case") != 0;
		}
		print_message("%-26s %s: %lu sent, %lu received, %lld + %lld calls\n",
			      socket_cases[i].name, bad ? "WRONG" : "exact",
			      (unsigned long)s.sum.tx_bytes, (unsigned long)s.sum.rx_bytes,
			      (long long)s.sum.tx_calls, (long long)s.sum.rx_calls);
		wrong += bad;
	}
	print_message("%u cases, %u skipped\n", n_socket_cases, skipped);
	munmap(t, sizeof(*t));
	assert_int_equal(wrong, 0);
}

/* ---- metadata ---- */

static const struct socket_case *case_named(const char *name)
{
	for (unsigned int i = 0; i < n_socket_cases; i++) {
		if (strcmp(socket_cases[i].name, name) == 0)
			return &socket_cases[i];
	}
	return NULL;
}

static void test_peers(void **state)
{
	static const char *const tuples[] = {"tcp send/recv", "tcp6", "v4-mapped", "udp", "udp6"};
	static const char *const pairs[] = {"unix stream", "unix dgram", "unix seqpacket"};
	struct case_truth *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	NEED_BPF();
	for (unsigned int i = 0; i < ARRAY_SIZE(tuples); i++) {
		struct seen s = {.tgid = (uint32_t)run_case(case_named(tuples[i]), t)};

		assert_int_equal(probe_sock_read(probe, see, &s), 0);
		assert_int_equal(s.n_ends, 2);
		assert_int_equal(s.metas[0].local_port, s.metas[1].remote_port);
		assert_int_equal(s.metas[1].local_port, s.metas[0].remote_port);
		assert_true(s.metas[0].remote_port != 0);
		assert_memory_equal(s.metas[0].local, s.metas[1].remote, 16);
		assert_memory_equal(s.metas[1].local, s.metas[0].remote, 16);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct seen s = {.tgid = (uint32_t)run_case(case_named(pairs[i]), t)};

		assert_int_equal(probe_sock_read(probe, see, &s), 0);
		assert_int_equal(s.n_ends, 2);
		assert_int_equal(s.metas[0].unix_peer, s.ends[1].ino);
		assert_int_equal(s.metas[1].unix_peer, s.ends[0].ino);
	}
	munmap(t, sizeof(*t));
}

/* The kernel's own counts of a TCP socket that was closed in the normal way. */
static void test_final(void **state)
{
	struct case_truth *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct seen s = {};
	unsigned int closed = 0;

	NEED_BPF();
	s.tgid = (uint32_t)run_case(case_named("read/write"), t);
	usleep(100000);
	assert_int_equal(probe_sock_read(probe, see, &s), 0);
	for (unsigned int i = 0; i < s.n_ends; i++) {
		struct sock_meta m;

		assert_int_equal(probe_sock_meta(probe, s.ends[i].ino, &m), 0);
		if (!m.final.closed_ns)
			continue;
		closed++;
		assert_int_equal(m.final.bytes_sent - m.final.bytes_retrans, s.ends[i].tx_bytes);
		/* One more when the FIN was received. */
		assert_in_range(m.final.bytes_received, s.ends[i].rx_bytes, s.ends[i].rx_bytes + 1);
	}
	/* The end that closed first stays behind in TIME_WAIT as another object: both are told. */
	assert_int_equal(closed, 2);
	munmap(t, sizeof(*t));
}

/* ---- many sockets, dead keys ---- */

#define CONNECTS 10000

static void *accept_main(void *arg)
{
	char buf[64];

	for (unsigned int i = 0; i < CONNECTS; i++) {
		int fd = accept(*(int *)arg, NULL, NULL);

		if (recv(fd, buf, 13, MSG_WAITALL) != 13 || send(fd, buf, 7, 0) != 7)
			_exit(4);
		close(fd);
	}
	return NULL;
}

static void short_connects(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct linger hard = {1, 0};
	socklen_t len = sizeof(a);
	pthread_t thread;
	char buf[64] = "";
	int l = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(l, (void *)&a, sizeof(a)) < 0 || listen(l, 100) < 0 ||
	    getsockname(l, (void *)&a, &len) < 0 || pthread_create(&thread, NULL, accept_main, &l))
		_exit(2);
	for (unsigned int i = 0; i < CONNECTS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (void *)&a, sizeof(a)) < 0 || send(fd, buf, 13, 0) != 13 ||
		    recv(fd, buf, 7, MSG_WAITALL) != 7)
			_exit(3);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(fd);
	}
	pthread_join(thread, NULL);
	_exit(0);
}

static int see_dead(void *arg, const struct probe_sock_row *row)
{
	struct seen *s = arg;

	if (row->key->tgid != s->tgid)
		return PROBE_SOCK_KEEP;
	s->rows++;
	return PROBE_SOCK_DEAD;
}

static void test_short_connects(void **state)
{
	struct probe_sock_ledger before, after;
	struct seen s = {};
	uint64_t t0, t1;
	int status;
	pid_t pid;

	NEED_BPF();
	assert_int_equal(probe_sock_ledger(probe, &before), 0);
	pid = fork();
	if (pid == 0)
		short_connects();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	s.tgid = (uint32_t)pid;
	t0 = time_thread_cpu_ns();
	assert_int_equal(probe_sock_read(probe, see, &s), 0);
	t1 = time_thread_cpu_ns();
	s = (struct seen){.tgid = s.tgid};
	assert_int_equal(probe_sock_read(probe, see, &s), 0);
	print_message("%u keys: first reading %.2f ms, second %.2f ms of CPU\n", s.rows,
		      (double)(t1 - t0) / 1e6, (double)(time_thread_cpu_ns() - t1) / 1e6);
	assert_int_equal(probe_sock_ledger(probe, &after), 0);
	assert_int_equal(s.rows, 2 * CONNECTS);
	assert_int_equal(s.sum.tx_bytes, 20 * CONNECTS);
	assert_int_equal(s.sum.rx_bytes, 20 * CONNECTS);
	assert_int_equal(s.sum.tx_calls, 2 * CONNECTS);
	assert_int_equal(s.sum.rx_calls, 2 * CONNECTS);
	assert_int_equal(after.lost.key_full + after.lost.key_nomem + after.lost.key_other,
			 before.lost.key_full + before.lost.key_nomem + before.lost.key_other);
	assert_int_equal(after.lost.meta_lost, before.lost.meta_lost);
	assert_int_equal(after.recursion_misses, 0);

	/* Dead in two readings: gone in the third. */
	for (unsigned int i = 0; i < 3; i++) {
		s.rows = 0;
		assert_int_equal(probe_sock_read(probe, see_dead, &s), 0);
		assert_int_equal(s.rows, i == 0 ? 2 * CONNECTS : i == 1 ? 4 * CONNECTS : 0);
	}
	assert_int_equal(probe_sock_read(probe, see_dead, &s), 0);
	assert_int_equal(probe_sock_ledger(probe, &after), 0);
	assert_int_equal(after.forgotten, 2 * CONNECTS);
	assert_true(after.sockets < 2000);
}

/* ---- overflow: a small map beside the large one ---- */

static int see_all(void *arg, const struct probe_sock_row *row)
{
	add_row(arg, row->value);
	return PROBE_SOCK_KEEP;
}

/* All that was counted, overflow included. */
static struct case_end total(struct probe_sock *p)
{
	struct probe_sock_ledger l;
	struct case_end sum = {};

	assert_int_equal(probe_sock_read(p, see_all, &sum), 0);
	assert_int_equal(probe_sock_ledger(p, &l), 0);
	sum.tx_bytes += l.lost.tx_bytes;
	sum.rx_bytes += l.lost.rx_bytes;
	sum.tx_calls += (int64_t)l.lost.tx_calls;
	sum.rx_calls += (int64_t)l.lost.rx_calls;
	return sum;
}

static void many_pairs(void)
{
	char buf[100] = "";

	for (unsigned int i = 0; i < 400; i++) {
		int s[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
			_exit(1);
		for (unsigned int j = 0; j < 3; j++) {
			if (send(s[0], buf, 10 + j, 0) < 0 || recv(s[1], buf, 100, 0) < 0)
				_exit(2);
		}
		if (i % 2) {
			close(s[0]);
			close(s[1]);
		}
	}
	_exit(0);
}

static void test_overflow(void **state)
{
	struct probe_sock_limits limits = {.keys = 100, .sockets = 50, .owners = 5, .remotes = 5};
	struct case_end small0, large0, small1, large1;
	struct probe_sock_ledger l;
	struct probe_sock *small;
	int status;
	pid_t pid;

	NEED_BPF();
	assert_int_equal(probe_sock_open(&small, &limits, refusal, sizeof(refusal)), 0);
	/* Others may send between two readings: then once more. */
	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		small0 = total(small);
		large0 = total(probe);
		pid = fork();
		if (pid == 0)
			many_pairs();
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
		small1 = total(small);
		large1 = total(probe);
		if (small1.tx_bytes - small0.tx_bytes == large1.tx_bytes - large0.tx_bytes &&
		    small1.rx_bytes - small0.rx_bytes == large1.rx_bytes - large0.rx_bytes)
			break;
	}
	assert_int_equal(probe_sock_ledger(small, &l), 0);
	print_message(
		"of %lld calls %lu found no room\n",
		(long long)(large1.tx_calls + large1.rx_calls - large0.tx_calls - large0.rx_calls),
		(unsigned long)l.lost.key_full);
	assert_int_equal(small1.tx_bytes - small0.tx_bytes, large1.tx_bytes - large0.tx_bytes);
	assert_int_equal(small1.rx_bytes - small0.rx_bytes, large1.rx_bytes - large0.rx_bytes);
	assert_int_equal(small1.tx_calls - small0.tx_calls, large1.tx_calls - large0.tx_calls);
	assert_int_equal(small1.rx_calls - small0.rx_calls, large1.rx_calls - large0.rx_calls);
	assert_true(large1.tx_bytes - large0.tx_bytes >= 400 * 33);
	assert_true(l.keys <= 100);
	assert_true(l.lost.key_full > 1000);
	assert_true(l.lost.meta_lost > 0);
	probe_sock_close(small);
}

/* ---- datagrams without a fixed remote ---- */

struct remotes {
	uint32_t tgid;
	uint64_t bytes[2], calls[2];
	uint16_t ports[2];
};

static int see_remote(void *arg, const struct sock_remote_key *key, const struct sock_remote *v)
{
	struct remotes *r = arg;

	for (unsigned int i = 0; key->tgid == r->tgid && i < 2; i++) {
		if (key->port != r->ports[i])
			continue;
		r->bytes[i] += v->tx_bytes;
		r->calls[i] += v->tx_calls;
	}
	return PROBE_SOCK_KEEP;
}

static void test_remotes(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct iovec v = {refusal, 77};
	struct msghdr m = {
		.msg_name = &a, .msg_namelen = sizeof(a), .msg_iov = &v, .msg_iovlen = 1};
	struct remotes r = {.tgid = (uint32_t)getpid(), .ports = {40001, 40002}};
	int s4 = socket(AF_INET, SOCK_DGRAM, 0), s6 = socket(AF_INET6, SOCK_DGRAM, 0);

	NEED_BPF();
	a.sin_port = htons(40001);
	a6.sin6_port = htons(40002);
	/* To nobody: the sends still succeed (unconnected sockets are not told of refusals). */
	for (unsigned int i = 0; i < 50; i++) {
		assert_int_equal(sendto(s4, refusal, 100, 0, (void *)&a, sizeof(a)), 100);
		assert_int_equal(sendmsg(s4, &m, 0), 77);
		assert_int_equal(sendto(s6, refusal, 10, 0, (void *)&a6, sizeof(a6)), 10);
	}
	assert_int_equal(probe_sock_remotes(probe, see_remote, &r), 0);
	assert_int_equal(r.bytes[0], 50 * 177);
	assert_int_equal(r.calls[0], 100);
	assert_int_equal(r.bytes[1], 500);
	assert_int_equal(r.calls[1], 50);
	close(s4);
	close(s6);
}

static void test_refused(void **state)
{
	static const char *const each[] = {"sock_splice", "sock_zerocopy", "sock_destroy",
					   "sock_recv"};
	char reason[PROBE_REASON];

	NEED_BPF();
	for (unsigned int i = 0; i < ARRAY_SIZE(each); i++) {
		struct probe_sock *p = NULL;
		int r;

		probe_refuse(each[i]);
		r = probe_sock_open(&p, NULL, reason, sizeof(reason));
		probe_refuse(NULL);
		if (strcmp(each[i], "sock_recv") == 0) {
			assert_int_equal(r, -EACCES);
			assert_non_null(strstr(reason, "sock_recv"));
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(probe_find(probe_sock_object(p), each[i])->error, -EACCES);
		assert_int_equal(probe_find(probe_sock_object(p), "sock_send")->error, 0);
		probe_sock_close(p);
	}
}

/* ---- cost ---- */

static uint64_t ping_ns(int s[2], unsigned int n)
{
	char buf[64] = "";
	uint64_t t = time_thread_cpu_ns();

	for (unsigned int i = 0; i < n; i++) {
		(void)!send(s[0], buf, 64, 0);
		(void)!recv(s[1], buf, 64, 0);
	}
	return (time_thread_cpu_ns() - t) / n;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static void measure(const char *name, int s[2])
{
	enum { PAIRS = 15, N = 10000 };
	double ratios[PAIRS], deltas[PAIRS];

	for (unsigned int i = 0; i < PAIRS; i++) {
		uint64_t off, on;

		probe_detach_all(probe_sock_object(probe));
		ping_ns(s, 500);
		off = ping_ns(s, N);
		probe_attach_all(probe_sock_object(probe));
		ping_ns(s, 500);
		on = ping_ns(s, N);
		ratios[i] = (double)on / (double)off;
		deltas[i] = ((double)on - (double)off) / 2;
	}
	qsort(ratios, PAIRS, sizeof(ratios[0]), by_value);
	qsort(deltas, PAIRS, sizeof(deltas[0]), by_value);
	print_message("%s, 64 bytes: ratio %.3f (quartiles %.3f, %.3f), %.0f ns per event\n", name,
		      ratios[PAIRS / 2], ratios[PAIRS / 4], ratios[PAIRS * 3 / 4],
		      deltas[PAIRS / 2]);
}

static void test_cost(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int s[2], l = socket(AF_INET, SOCK_STREAM, 0);

	NEED_BPF();
	assert_int_equal(bind(l, (void *)&a, sizeof(a)), 0);
	listen(l, 1);
	getsockname(l, (void *)&a, &len);
	s[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(s[0], (void *)&a, sizeof(a)), 0);
	s[1] = accept(l, NULL, NULL);
	measure("tcp", s);
	close(s[0]);
	close(s[1]);
	close(l);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	measure("unix", s);
	close(s[0]);
	close(s[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exactness), cmocka_unit_test(test_peers),
		cmocka_unit_test(test_final),	  cmocka_unit_test(test_short_connects),
		cmocka_unit_test(test_overflow),  cmocka_unit_test(test_remotes),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, open_probe, close_probe);
}
