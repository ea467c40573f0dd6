/* SPDX-License-Identifier: MIT */
/*
 * A load of known size: mkload PROCESSES THREADS PAIRS [NAME]
 *
 * Forks PROCESSES processes, each with THREADS threads and PAIRS connected TCP pairs on 127.0.0.1
 * (both ends in that process, so 2 * PAIRS sockets), prints "ready" and a line with their pids, and
 * holds all of it until its standard input ends. The processes die with it. NAME is their comm.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "mkload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void make_threads(long n)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	for (long i = 1; i < n; i++)
		if (pthread_create(&thread, &attr, idle, NULL))
			fail("pthread_create");
	pthread_attr_destroy(&attr);
}

/* A connected pair through a listener that is closed again. */
static void make_pair(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	char text[100] = "";

	if (listener < 0 || client < 0)
		fail("socket");
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		fail("listen");
	if (connect(client, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	if (accept(listener, NULL, NULL) < 0)
		fail("accept");
	close(listener);
	if (write(client, text, sizeof(text)) != sizeof(text))
		fail("write");
}

static void run_child(long threads, long pairs, const char *name, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	make_threads(threads);
	for (long i = 0; i < pairs; i++)
		make_pair();
	if (write(ready, "x", 1) != 1)
		exit(1);
	close(ready);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	long processes, threads, pairs;
	struct rlimit files;
	pid_t *pids;
	int ready[2];
	char c;

	if (argc < 4) {
		fprintf(stderr, "usage: mkload PROCESSES THREADS PAIRS [NAME]\n");
		return 2;
	}
	processes = atol(argv[1]);
	threads = atol(argv[2]);
	pairs = atol(argv[3]);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	pids = calloc((size_t)processes + 1, sizeof(*pids));
	if (!pids || pipe(ready))
		fail("pipe");
	for (long i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork");
		if (!pids[i]) {
			close(ready[0]);
			close(STDIN_FILENO);
			run_child(threads, pairs, argc > 4 ? argv[4] : "mkload-child", ready[1]);
		}
		/* One after the other: the ephemeral ports of many at once would collide. */
		if (read(ready[0], &c, 1) != 1)
			fail("a child did not get ready");
	}
	for (long i = 0; i < processes; i++)
		printf("%s%d", i ? " " : "", pids[i]);
	puts("");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	for (long i = 0; i < processes; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	free(pids);
	return 0;
}
