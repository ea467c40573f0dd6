/* SPDX-License-Identifier: MIT */
/*
 * Waking readers of `generation`: poll() by the kernel's poll handles, inotify by a write to the
 * file.
 *
 * The write is done by a process of its own that holds no descriptor of /dev/fuse: a thread of the
 * daemon that is killed in the middle of it would leave a mount on which even kill -9 hangs. It
 * ends when the daemon does: its pipe is closed then.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fs/private.h"
#include "util/fdio.h"

#define WAKE_MAX 1024 /* opens of `generation` that are followed */

struct watcher {
	uint64_t handle; /* 0: free */
	uint64_t read_generation;
	struct fuse_pollhandle *poll;
};

struct wake {
	pthread_mutex_t lock;
	pid_t toucher;
	int pipe_fd;
	uint64_t next_handle;
	struct watcher watchers[WAKE_MAX];
};

/* The whole life of the toucher. */
static void toucher_main(int pipe_fd, const char *mountpoint)
{
	char path[4096 + 16], burst[64];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "wittyfs-wake");
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	snprintf(path, sizeof(path), "%s/generation", mountpoint);
	for (;;) {
		ssize_t n = read(pipe_fd, burst, sizeof(burst));
		int fd;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		/* A failed touch costs one wake-up; the next generation brings another. */
		(void)!write(fd, "\n", 1);
		close(fd);
	}
}

int wake_new(const char *mountpoint, struct wake **ret)
{
	struct wake *w = calloc(1, sizeof(*w));
	int fds[2];

	if (!w)
		return -ENOMEM;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		free(w);
		return -errno;
	}
	w->toucher = fork();
	if (w->toucher < 0) {
		int r = -errno;

		close(fds[0]);
		close(fds[1]);
		free(w);
		return r;
	}
	if (w->toucher == 0) {
		int null = open("/dev/null", O_WRONLY);

		/* Nothing of the daemon is kept open: no lock, no pipe whose reader waits for an
		 * end. */
		dup2(fds[0], STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close_range(3, ~0U, 0);
		toucher_main(STDIN_FILENO, mountpoint);
	}
	close(fds[0]);
	w->pipe_fd = fds[1];
	fcntl(w->pipe_fd, F_SETFL, O_NONBLOCK);
	w->next_handle = 1;
	pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	return 0;
}

struct wake *wake_free(struct wake *w)
{
	if (!w)
		return NULL;
	close(w->pipe_fd);
	/* It may be inside a write to the mount, which the unmount has ended by now. */
	kill(w->toucher, SIGKILL);
	waitpid(w->toucher, NULL, 0);
	for (unsigned int i = 0; i < WAKE_MAX; i++)
		if (w->watchers[i].poll)
			fuse_pollhandle_destroy(w->watchers[i].poll);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

pid_t wake_toucher(const struct wake *w)
{
	return w->toucher;
}

static struct watcher *find(struct wake *w, uint64_t handle)
{
	for (unsigned int i = 0; i < WAKE_MAX; i++)
		if (w->watchers[i].handle == handle)
			return &w->watchers[i];
	return NULL;
}

uint64_t wake_open(struct wake *w)
{
	struct watcher *free_one;
	uint64_t handle = 0;

	pthread_mutex_lock(&w->lock);
	free_one = find(w, 0);
	if (free_one) {
		handle = w->next_handle++;
		*free_one = (struct watcher){.handle = handle};
	}
	pthread_mutex_unlock(&w->lock);
	return handle;
}

void wake_read(struct wake *w, uint64_t handle, uint64_t generation)
{
	struct watcher *x;

	pthread_mutex_lock(&w->lock);
	x = handle ? find(w, handle) : NULL;
	if (x)
		x->read_generation = generation;
	pthread_mutex_unlock(&w->lock);
}

void wake_release(struct wake *w, uint64_t handle)
{
	struct watcher *x;

	pthread_mutex_lock(&w->lock);
	x = handle ? find(w, handle) : NULL;
	if (x && x->poll)
		fuse_pollhandle_destroy(x->poll);
	if (x)
		*x = (struct watcher){0};
	pthread_mutex_unlock(&w->lock);
}

bool wake_poll(struct wake *w, uint64_t handle, uint64_t generation, struct fuse_pollhandle *ph)
{
	struct watcher *x;
	bool ready;

	pthread_mutex_lock(&w->lock);
	x = handle ? find(w, handle) : NULL;
	ready = !x || x->read_generation != generation;
	if (ph && x) {
		if (x->poll)
			fuse_pollhandle_destroy(x->poll);
		x->poll = ph;
	} else if (ph) {
		fuse_pollhandle_destroy(ph);
	}
	pthread_mutex_unlock(&w->lock);
	return ready;
}

void wake_all(struct wake *w)
{
	pthread_mutex_lock(&w->lock);
	for (unsigned int i = 0; i < WAKE_MAX; i++) {
		struct watcher *x = &w->watchers[i];

		if (!x->poll)
			continue;
		/* -ENOENT when the poller has left: nothing to wake. */
		(void)fuse_lowlevel_notify_poll(x->poll);
		fuse_pollhandle_destroy(x->poll);
		x->poll = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	/* A full pipe holds enough wake-ups already. */
	(void)!write(w->pipe_fd, "g", 1);
}
