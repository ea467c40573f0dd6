/* SPDX-License-Identifier: MIT */
/*
 * The text tables /proc/<pid>/net/{tcp,tcp6,udp,udp6,unix}: what is left where sock_diag is not to
 * be had, and what a recorded machine has. No byte counters, and no ends of link-local interfaces.
 *
 * Addresses there are numbers in the byte order of the machine that wrote them; a machine must be
 * recorded and read with the same byte order.
 */
#pragma once

#include <stddef.h>

#include "collect/socket_table.h"

/*
 * Appends all sockets of dirfd/path (tcp, tcp6, udp or udp6 as `source` says), as of namespace
 * netns. 0 or -errno (then the table is as before). Lines that are none are passed over.
 */
int socket_proc_inet(int dirfd, const char *path, const struct socket_source *source,
		     uint64_t netns, struct socket_table *t);
/* Adds the inodes of dirfd/path (unix) to t->unix_inodes. 0 or -errno. */
int socket_proc_unix(int dirfd, const char *path, struct socket_table *t);

/* --- the parsers, apart for their tests: one line without its newline --------------------------
 */
/* 1: a row was appended; 0: no row (a heading, nonsense, no room); -ENOMEM. */
int socket_proc_line(const char *line, size_t len, const struct socket_source *source,
		     uint64_t netns, struct socket_table *t);
/* The inode of a line of the unix table, 0 when there is none. */
uint64_t socket_proc_unix_line(const char *line, size_t len);
