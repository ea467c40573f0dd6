/* SPDX-License-Identifier: MIT */
/*
 * Going to the background: the parent waits until the child says that the mount answers, or why
 * not, and exits with that. To be called before any thread is started.
 */
#pragma once

#include <stdbool.h>

/* In the child returns the descriptor to report on; in the parent it does not return. -errno. */
int daemonize_fork(void);
/* Reports success (status 0) or a failure, and closes *fd. Without a parent (-1) does nothing. */
void daemonize_report(int *fd, int status);
/* The child lets go of the terminal and of pipes, whose readers would wait for its end. The log
 * goes on in stderr when that is a file, else in syslog. */
void daemonize_detach(void);
