/* SPDX-License-Identifier: MIT */
#include "daemon/daemonize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/fdio.h"
#include "util/log.h"

static void parent_waits(int fd, pid_t child)
{
	unsigned char status = 1;
	ssize_t n;

	do
		n = read(fd, &status, 1);
	while (n < 0 && errno == EINTR);
	/* Nothing came: the child died, its own message is on stderr. */
	if (n != 1)
		waitpid(child, NULL, 0);
	_exit(n == 1 ? status : 1);
}

int daemonize_fork(void)
{
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0) {
		int r = -errno;

		close(fds[0]);
		close(fds[1]);
		return r;
	}
	if (child > 0) {
		close(fds[1]);
		parent_waits(fds[0], child);
	}
	close(fds[0]);
	setsid();
	return fds[1];
}

void daemonize_report(int *fd, int status)
{
	unsigned char byte = (unsigned char)status;

	if (*fd < 0)
		return;
	/* A parent that was killed has nobody to tell. */
	(void)!write(*fd, &byte, 1);
	close_fd(fd);
}

void daemonize_detach(void)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct stat st;

	if (chdir("/") < 0 || null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode))
		return;
	dup2(null, STDERR_FILENO);
	log_to_syslog();
}
