/* SPDX-License-Identifier: MIT */
#include "probe_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe_uring.h"

static char big[1 << 20] __attribute__((aligned(4096)));
static struct case_truth *truth;

static void need(bool good, const char *what)
{
	if (good)
		return;
	snprintf(truth->failed, sizeof(truth->failed), "%s: %s", what, strerror(errno));
	_exit(0);
}
#define NEED(x) need((x), #x)

static void skip_case(const char *why)
{
	snprintf(truth->skip, sizeof(truth->skip), "%s: %s", why, strerror(errno));
	_exit(0);
}

static struct case_end *end_of(int fd)
{
	struct stat st;

	NEED(fstat(fd, &st) == 0);
	for (unsigned int i = 0; i < truth->n_ends; i++) {
		if (truth->ends[i].ino == st.st_ino)
			return &truth->ends[i];
	}
	NEED(truth->n_ends < CASE_ENDS);
	truth->ends[truth->n_ends].ino = st.st_ino;
	return &truth->ends[truth->n_ends++];
}

static void count(int64_t *n)
{
	if (*n != CASE_ANY)
		++*n;
}

/* The result of a call on an end. */
static ssize_t sent(int fd, ssize_t n)
{
	struct case_end *e = end_of(fd);

	if (n >= 0)
		e->tx_bytes += (uint64_t)n;
	count(n >= 0 ? &e->tx_calls : errno == EAGAIN ? &e->tx_again : &e->tx_errors);
	return n;
}

static ssize_t received(int fd, ssize_t n)
{
	struct case_end *e = end_of(fd);

	if (n >= 0)
		e->rx_bytes += (uint64_t)n;
	count(n >= 0 ? &e->rx_calls : errno == EAGAIN ? &e->rx_again : &e->rx_errors);
	return n;
}

static void tcp_pair(int family, const char *to, int fds[2])
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr *a = family == AF_INET ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
	socklen_t len = family == AF_INET ? sizeof(a4) : sizeof(a6);
	/* Whole pages per segment, beside the time stamps: what zero-copy receive can map. */
	int l = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), mss = 4096 + 12, one = 1;

	if (to && strcmp(to, "pages") == 0)
		NEED(setsockopt(l, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)) == 0);
	NEED(l >= 0 && bind(l, a, len) == 0 && listen(l, 16) == 0 && getsockname(l, a, &len) == 0);
	if (to && strcmp(to, "mapped") == 0) {
		memset(&a6.sin6_addr, 0, 16);
		a6.sin6_addr.s6_addr[10] = a6.sin6_addr.s6_addr[11] = 0xff;
		a6.sin6_addr.s6_addr[12] = 127;
		a6.sin6_addr.s6_addr[15] = 1;
	} else if (family == AF_INET6) {
		a6.sin6_addr = in6addr_loopback;
	}
	fds[0] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	NEED(connect(fds[0], a, len) == 0);
	fds[1] = accept(l, NULL, NULL);
	NEED(fds[1] >= 0);
	/* Otherwise small answers wait for acknowledgements. */
	for (int i = 0; i < 2; i++)
		NEED(setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
	close(l);
}

static void udp_pair(int family, bool connected, int fds[2], struct sockaddr_storage addrs[2])
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in *a4 = (void *)&addrs[i];
		struct sockaddr_in6 *a6 = (void *)&addrs[i];
		socklen_t len = sizeof(addrs[i]);

		memset(&addrs[i], 0, sizeof(addrs[i]));
		addrs[i].ss_family = (sa_family_t)family;
		if (family == AF_INET)
			a4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		else
			a6->sin6_addr = in6addr_loopback;
		fds[i] = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		NEED(bind(fds[i], (void *)&addrs[i],
			  family == AF_INET ? sizeof(*a4) : sizeof(*a6)) == 0);
		NEED(getsockname(fds[i], (void *)&addrs[i], &len) == 0);
	}
	for (int i = 0; connected && i < 2; i++)
		NEED(connect(fds[i], (void *)&addrs[1 - i], sizeof(struct sockaddr_in6)) == 0);
}

/* Moves sizes 1..n forth, and every third back, by send and recv. */
static void ping(int a, int b, unsigned int n)
{
	for (unsigned int i = 1; i <= n; i++) {
		size_t got = 0;

		NEED(sent(a, send(a, big, i, 0)) == (ssize_t)i);
		while (got < i) {
			ssize_t r = received(b, recv(b, big, i - got, 0));

			NEED(r > 0);
			got += (size_t)r;
		}
		if (i % 3 == 0) {
			NEED(sent(b, send(b, big, 7, 0)) == 7);
			NEED(received(a, recv(a, big, 7, MSG_WAITALL)) == 7);
		}
	}
}

static void case_tcp(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	ping(s[0], s[1], 1000);
}

static void case_tcp6(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET6, NULL, s);
	ping(s[0], s[1], 300);
}

static void case_mapped(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET6, "mapped", s);
	ping(s[0], s[1], 300);
}

static void case_read_write(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	for (unsigned int i = 1; i < 500; i++) {
		NEED(sent(s[0], write(s[0], big, i * 3)) == (ssize_t)i * 3);
		NEED(received(s[1], read(s[1], big, sizeof(big))) == (ssize_t)i * 3);
	}
}

static void case_vectors(struct case_truth *t)
{
	struct iovec v[3] = {{big, 10}, {big + 10, 0}, {big + 20, 400}};
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	for (unsigned int i = 1; i < 300; i++) {
		v[1].iov_len = i;
		NEED(sent(s[1], writev(s[1], v, 3)) == (ssize_t)i + 410);
		NEED(received(s[0], readv(s[0], v, 3)) == (ssize_t)i + 410);
	}
}

/* ---- a reader beside ---- */

struct drain {
	int fd;
	size_t want;
	pthread_t thread;
};

static void *drain_main(void *arg)
{
	struct drain *d = arg;
	char *buf = malloc(65536);
	size_t got = 0;

	while (got < d->want) {
		ssize_t n = received(d->fd, recv(d->fd, buf, 65536, 0));

		NEED(n > 0);
		got += (size_t)n;
	}
	free(buf);
	return NULL;
}

static void drain_start(struct drain *d, int fd, size_t want)
{
	*d = (struct drain){.fd = fd, .want = want};
	/* Both threads note ends: let them be there before. */
	end_of(fd);
	NEED(pthread_create(&d->thread, NULL, drain_main, d) == 0);
}

static void case_sendfile(struct case_truth *t)
{
	struct drain d;
	int s[2], f = memfd_create("x", MFD_CLOEXEC);
	off_t at = 0;

	tcp_pair(AF_INET, NULL, s);
	NEED(write(f, big, sizeof(big)) == sizeof(big));
	end_of(s[0])->tx_calls = CASE_ANY;
	drain_start(&d, s[1], sizeof(big));
	while (at < (off_t)sizeof(big))
		NEED(sendfile(s[0], f, &at, 100000) > 0);
	pthread_join(d.thread, NULL);
	end_of(s[0])->tx_bytes = sizeof(big);
}

static void splice_in(int to, int from)
{
	struct drain d;
	int p[2];
	size_t moved = 0;

	NEED(pipe2(p, O_CLOEXEC) == 0);
	end_of(to)->tx_calls = CASE_ANY;
	drain_start(&d, from, 300000);
	while (moved < 300000) {
		ssize_t n;

		NEED(write(p[1], big, 10000) == 10000);
		n = splice(p[0], NULL, to, NULL, 10000, 0);
		NEED(n == 10000);
		moved += (size_t)n;
	}
	pthread_join(d.thread, NULL);
	end_of(to)->tx_bytes += moved;
}

static void case_splice_to(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	splice_in(s[0], s[1]);
}

static void case_splice_to_unix(struct case_truth *t)
{
	int s[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	splice_in(s[0], s[1]);
}

static void splice_out(int s[2])
{
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	for (unsigned int i = 0; i < 150; i++) {
		size_t got = 0;

		NEED(sent(s[0], send(s[0], big, 10000, 0)) == 10000);
		while (got < 10000) {
			ssize_t n = received(s[1], splice(s[1], NULL, p[1], NULL, 10000 - got, 0));

			NEED(n > 0);
			got += (size_t)n;
			while (n > 0)
				n -= read(p[0], big, (size_t)n);
		}
	}
}

static void case_splice_from(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	splice_out(s);
}

static void case_splice_from_unix(struct case_truth *t)
{
	int s[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	splice_out(s);
}

static void case_zerocopy_receive(struct case_truth *t)
{
	enum { CHUNK = 1 << 18, TOTAL = 10 * CHUNK };
	uint64_t got = 0, mapped = 0;
	int s[2], one = 1;
	char *window;

	tcp_pair(AF_INET, "pages", s);
	setsockopt(s[0], SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
	window = mmap(NULL, CHUNK, PROT_READ, MAP_SHARED, s[1], 0);
	if (window == MAP_FAILED)
		skip_case("mmap of a TCP socket");
	end_of(s[1])->rx_calls = CASE_ANY;
	end_of(s[1])->rx_again = CASE_ANY;
	for (unsigned int i = 0; i < TOTAL / CHUNK; i++) {
		size_t at = 0, want = (i + 1) * (size_t)CHUNK;

		while (at < CHUNK) {
			ssize_t n = sent(s[0], send(s[0], big + at, CHUNK - at,
						    MSG_DONTWAIT | MSG_ZEROCOPY));

			if (n > 0)
				at += (size_t)n;
			else
				NEED(errno == EAGAIN);
			want = i * (size_t)CHUNK + at;
			while (got < want) {
				struct tcp_zerocopy_receive zc = {.address = (uintptr_t)window,
								  .length = CHUNK,
								  .copybuf_address = (uintptr_t)big,
								  .copybuf_len = 4096};
				socklen_t len = sizeof(zc);

				NEED(getsockopt(s[1], IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc,
						&len) == 0);
				mapped += zc.length;
				got += zc.length;
				if (zc.copybuf_len > 0)
					got += (uint64_t)zc.copybuf_len;
				if (zc.recv_skip_hint && got < want) {
					n = recv(s[1], big, zc.recv_skip_hint, MSG_DONTWAIT);
					got += n > 0 ? (uint64_t)n : 0;
				}
			}
		}
	}
	end_of(s[1])->rx_bytes = got;
	end_of(s[0])->tx_calls = CASE_ANY;
	if (!mapped) {
		errno = 0;
		skip_case("nothing could be mapped");
	}
}

static void case_udp(struct case_truth *t)
{
	struct sockaddr_storage a[2];
	int s[2];

	udp_pair(AF_INET, true, s, a);
	ping(s[0], s[1], 499);
}

static void case_udp6(struct case_truth *t)
{
	struct sockaddr_storage a[2];
	int s[2];

	udp_pair(AF_INET6, true, s, a);
	ping(s[0], s[1], 499);
}

static void case_truncated(struct case_truth *t)
{
	struct sockaddr_storage a[2];
	int s[2];

	udp_pair(AF_INET, true, s, a);
	for (unsigned int i = 0; i < 100; i++) {
		NEED(sent(s[0], send(s[0], big, 1000, 0)) == 1000);
		NEED(received(s[1], recv(s[1], big, 100, i & 1 ? MSG_TRUNC : 0)) ==
		     (i & 1 ? 1000 : 100));
	}
	/* On TCP the flag throws away. */
	tcp_pair(AF_INET, NULL, s);
	NEED(sent(s[0], send(s[0], big, 50000, 0)) == 50000);
	for (size_t got = 0; got < 50000;)
		got += (size_t)received(s[1], recv(s[1], NULL, 50000 - got, MSG_TRUNC));
}

static void case_mmsg(struct case_truth *t)
{
	struct sockaddr_storage a[2];
	struct mmsghdr m[16] = {};
	struct iovec v[16];
	int s[2];

	udp_pair(AF_INET, true, s, a);
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 16; i++) {
			v[i] = (struct iovec){big + i * 100, 10 + i};
			m[i].msg_hdr = (struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1};
		}
		NEED(sendmmsg(s[0], m, 16, 0) == 16);
		for (unsigned int i = 0; i < 16; i++)
			sent(s[0], m[i].msg_len);
		NEED(recvmmsg(s[1], m, 16, MSG_WAITFORONE, NULL) == 16);
		for (unsigned int i = 0; i < 16; i++)
			received(s[1], m[i].msg_len);
	}
}

static void case_peek(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	for (unsigned int i = 0; i < 100; i++) {
		NEED(sent(s[0], send(s[0], big, 500, 0)) == 500);
		NEED(recv(s[1], big, 400, MSG_PEEK) == 400);
		NEED(recv(s[1], big, 500, MSG_PEEK) == 500);
		NEED(received(s[1], recv(s[1], big, 500, 0)) == 500);
	}
}

static void case_zerocopy_send(struct case_truth *t)
{
	struct drain d;
	int s[2], one = 1;

	tcp_pair(AF_INET, NULL, s);
	if (setsockopt(s[0], SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) < 0)
		skip_case("SO_ZEROCOPY");
	end_of(s[0]);
	drain_start(&d, s[1], 20 * 50000);
	for (unsigned int i = 0; i < 20; i++) {
		char control[256];
		struct msghdr m = {.msg_control = control, .msg_controllen = sizeof(control)};
		struct pollfd p = {.fd = s[0]};

		NEED(sent(s[0], send(s[0], big, 50000, MSG_ZEROCOPY)) == 50000);
		poll(&p, 1, 1000);
		(void)recvmsg(s[0], &m, MSG_ERRQUEUE);
	}
	pthread_join(d.thread, NULL);
}

static void case_timestamps(struct case_truth *t)
{
	struct sockaddr_storage a[2];
	int s[2], on = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;

	udp_pair(AF_INET, true, s, a);
	NEED(setsockopt(s[0], SOL_SOCKET, SO_TIMESTAMPING, &on, sizeof(on)) == 0);
	for (unsigned int i = 0; i < 50; i++) {
		char control[512];
		struct iovec v = {big, sizeof(big)};
		struct msghdr m = {.msg_iov = &v,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		struct pollfd p = {.fd = s[0]};

		NEED(sent(s[0], send(s[0], big, 100, 0)) == 100);
		poll(&p, 1, 1000);
		NEED(recvmsg(s[0], &m, MSG_ERRQUEUE) > 0);
		NEED(received(s[1], recv(s[1], big, 200, 0)) == 100);
	}
}

static void unix_case(int type)
{
	int s[2];

	NEED(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, s) == 0);
	ping(s[0], s[1], 300);
}

static void case_unix_stream(struct case_truth *t)
{
	unix_case(SOCK_STREAM);
}

static void case_unix_dgram(struct case_truth *t)
{
	unix_case(SOCK_DGRAM);
}

static void case_unix_seqpacket(struct case_truth *t)
{
	unix_case(SOCK_SEQPACKET);
}

static void case_errors(struct case_truth *t)
{
	int s[2];

	signal(SIGPIPE, SIG_IGN);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	NEED(sent(s[0], send(s[0], big, 1000, 0)) == 1000);
	NEED(received(s[1], recv(s[1], big, 600, 0)) == 600);
	NEED(received(s[1], recv(s[1], big, 600, 0)) == 400);
	NEED(received(s[1], recv(s[1], big, 600, MSG_DONTWAIT)) < 0 && errno == EAGAIN);
	NEED(shutdown(s[0], SHUT_WR) == 0);
	NEED(received(s[1], recv(s[1], big, 600, 0)) == 0);
	errno = 0;
	NEED(sent(s[0], send(s[0], big, 10, 0)) < 0 && errno == EPIPE);
}

/* Writes until it would block, short writes included; then the reader reads all of it. */
static void fill_and_drain(int s[2])
{
	for (unsigned int round = 0; round < 5; round++) {
		while (sent(s[0], send(s[0], big, 300001, MSG_DONTWAIT)) > 0)
			;
		NEED(errno == EAGAIN);
		for (;;) {
			ssize_t n = received(s[1], recv(s[1], big, sizeof(big), MSG_DONTWAIT));

			if (n > 0)
				continue;
			NEED(errno == EAGAIN);
			/* What is on its way arrives soon. */
			if (poll(&(struct pollfd){.fd = s[1], .events = POLLIN}, 1, 20) == 0)
				break;
		}
	}
	NEED(end_of(s[0])->tx_bytes == end_of(s[1])->rx_bytes);
}

static void case_full_tcp(struct case_truth *t)
{
	int s[2];

	tcp_pair(AF_INET, NULL, s);
	fill_and_drain(s);
}

static void case_full_unix(struct case_truth *t)
{
	int s[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	fill_and_drain(s);
}

static int shared_socket;

static void *send_many(void *arg)
{
	for (unsigned int i = 0; i < 2000; i++)
		NEED(send(shared_socket, big, 50, 0) == 50);
	return NULL;
}

static void case_threads(struct case_truth *t)
{
	pthread_t threads[4];
	struct drain d;
	int s[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	shared_socket = s[0];
	*end_of(s[0]) =
		(struct case_end){.ino = end_of(s[0])->ino, .tx_bytes = 400000, .tx_calls = 8000};
	drain_start(&d, s[1], 400000);
	for (int i = 0; i < 4; i++)
		NEED(pthread_create(&threads[i], NULL, send_many, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	pthread_join(d.thread, NULL);
}

static void case_netns(struct case_truth *t)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	struct stat st;
	int s[2], fd;

	if (unshare(CLONE_NEWNET) < 0)
		skip_case("unshare(CLONE_NEWNET)");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	NEED(ioctl(fd, SIOCSIFFLAGS, &ifr) == 0);
	NEED(stat("/proc/self/ns/net", &st) == 0);
	t->netns = (uint32_t)st.st_ino;
	tcp_pair(AF_INET, NULL, s);
	ping(s[0], s[1], 200);
}

static void case_exit_at_once(struct case_truth *t)
{
	int s[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	NEED(sent(s[0], send(s[0], big, 12345, 0)) == 12345);
	_exit(0);
}

/* ---- io_uring ---- */

static void uring_case(uint32_t setup, uint8_t sqe_flags, bool zerocopy)
{
	struct uring u;
	int s[2];

	if (uring_init(&u, setup) < 0)
		skip_case("io_uring_setup");
	tcp_pair(AF_INET, NULL, s);
	for (unsigned int i = 1; i <= 100; i++) {
		bool rw = i & 1 && !zerocopy;
		int n = uring_do(&u,
				 zerocopy ? URING_SEND_ZC
				 : rw	  ? URING_WRITE
					  : URING_SEND,
				 s[0], big, 200 + i, sqe_flags);

		if (n == -EINVAL && zerocopy) {
			errno = EINVAL;
			skip_case("IORING_OP_SEND_ZC");
		}
		NEED(sent(s[0], n) == 200 + (int)i);
		n = uring_do(&u, rw ? URING_READ : URING_RECV, s[1], big, 200 + i, sqe_flags);
		NEED(received(s[1], n) == 200 + (int)i);
	}
	uring_deinit(&u);
	/* A receive may be tried before it waits: attempts that would block are not told to us. */
	end_of(s[1])->rx_again = CASE_ANY;
}

static void case_uring(struct case_truth *t)
{
	uring_case(0, 0, false);
}

static void case_uring_async(struct case_truth *t)
{
	uring_case(0, URING_ASYNC, false);
}

static void case_uring_sqpoll(struct case_truth *t)
{
	uring_case(URING_SQPOLL, 0, false);
}

static void case_uring_zc(struct case_truth *t)
{
	uring_case(0, 0, true);
}

const struct socket_case socket_cases[] = {
	{"tcp send/recv", case_tcp},
	{"tcp6", case_tcp6},
	{"v4-mapped", case_mapped},
	{"read/write", case_read_write},
	{"writev/readv", case_vectors},
	{"sendfile", case_sendfile},
	{"splice to tcp", case_splice_to},
	{"splice to unix", case_splice_to_unix},
	{"splice from tcp", case_splice_from},
	{"splice from unix", case_splice_from_unix},
	{"TCP_ZEROCOPY_RECEIVE", case_zerocopy_receive},
	{"udp", case_udp},
	{"udp6", case_udp6},
	{"MSG_TRUNC", case_truncated},
	{"sendmmsg/recvmmsg", case_mmsg},
	{"MSG_PEEK", case_peek},
	{"MSG_ZEROCOPY", case_zerocopy_send},
	{"MSG_ERRQUEUE timestamps", case_timestamps},
	{"unix stream", case_unix_stream},
	{"unix dgram", case_unix_dgram},
	{"unix seqpacket", case_unix_seqpacket},
	{"errors", case_errors},
	{"full tcp, non-blocking", case_full_tcp},
	{"full unix, non-blocking", case_full_unix},
	{"4 threads, one socket", case_threads},
	{"another netns", case_netns},
	{"exit at once", case_exit_at_once},
	{"io_uring", case_uring},
	{"io_uring IOSQE_ASYNC", case_uring_async},
	{"io_uring SQPOLL", case_uring_sqpoll},
	{"io_uring send_zc", case_uring_zc},
};
const unsigned int n_socket_cases = sizeof(socket_cases) / sizeof(socket_cases[0]);

void socket_case_begin(struct case_truth *t)
{
	truth = t;
	memset(big, 'w', sizeof(big));
}
