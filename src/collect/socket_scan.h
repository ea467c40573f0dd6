/* SPDX-License-Identifier: MIT */
/*
 * All network namespaces of the machine, one after the other, into one socket_table.
 *
 * A namespace is entered with setns() by the calling thread, dumped, and left at once; no
 * descriptor of it stays open, since that would keep it alive. Where entering is refused the text
 * tables of one of its processes are read instead.
 */
#pragma once

#include "collect/collector.h"
#include "collect/socket_table.h"

struct socket_scan {
	/* Given: */
	int proc_fd;
	bool use_diag;	    /* sock_diag; else only the text tables */
	int own_netns_fd;   /* to come back; -1 when use_diag is false */
	uint64_t own_netns; /* inode number; 0 unknown */
	const struct proctable *procs;
	struct socket_table *table;
	/* Counted: */
	uint32_t namespaces;	   /* seen */
	uint32_t from_text;	   /* read from text although sock_diag is the method */
	uint32_t tables_from_text; /* single tables for which the kernel has no sock_diag module */
	uint32_t unreadable;	   /* not readable in any way */
	uint32_t inconsistent;	   /* dumps that stayed inconsistent */
	uint32_t hidden_processes; /* whose namespace may not be read */
	int refused;		   /* -errno of the last setns() or netlink failure */
};

/*
 * Scans. 0; -ENOMEM; -ENOTRECOVERABLE: the thread could not go back to its own namespace. What
 * cannot be read is counted only.
 */
int socket_scan_run(struct socket_scan *s);
