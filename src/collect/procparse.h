/* SPDX-License-Identifier: MIT */
/*
 * Parsers of files of /proc/<pid>, over byte buffers: no I/O, no allocation. Nothing of the input
 * is trusted: a comm may hold blanks, parentheses and newlines, a file may be cut anywhere.
 *
 * Formats: proc(5) and fs/proc/array.c of Linux.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCPARSE_FLAG_KTHREAD 0x00200000U /* PF_KTHREAD, include/linux/sched.h */

/* A piece of the parsed buffer; len 0 when it was not there. */
struct procparse_text {
	const char *data;
	size_t len;
};

struct procparse_stat {
	struct procparse_text name; /* as it is: any bytes */
	pid_t ppid;
	char state;
	uint32_t flags;
	uint64_t minor_faults, major_faults, user_ticks, system_ticks, start_ticks, vsize_bytes;
	uint64_t rss_pages;
	uint32_t threads;
	int nice;
	int last_cpu; /* -1: the file is too short to say */
};

/*
 * stat of a process or thread. The last ')' of the whole file ends the name, since all that comes
 * after it is numbers. 0 or -EINVAL (not a stat file, or it ends before the resident size).
 */
int procparse_stat(const char *buf, size_t len, struct procparse_stat *ret);

struct procparse_status {
	bool switches_known, ids_known;
	uint64_t voluntary, involuntary;
	uint32_t uid, gid;				  /* real ones */
	struct procparse_text cpus_allowed, mems_allowed; /* the lists */
	struct procparse_text nspid; /* numbers with tabs between, as the kernel prints them */
};

/* status; what is missing is told by the members. 0, or -EINVAL when nothing was recognised. */
int procparse_status(const char *buf, size_t len, struct procparse_status *ret);

/* schedstat: "run_ns wait_ns slices". 0 or -EINVAL. */
int procparse_schedstat(const char *buf, size_t len, uint64_t *ret_run_ns, uint64_t *ret_wait_ns,
			uint64_t *ret_slices);

/*
 * Length of what is worth keeping of a command line of `len` bytes.
 *
 * A process that shows a title (setproctitle) writes one text over its arguments and zeroes over
 * the rest. So: one text that is not empty, then its NUL, then at least two more NULs and nothing
 * else, is one title, of which the text and one NUL are kept. Everything else is kept as it is,
 * `prog "" "" x ""` with all its empty arguments. (`prog "" ""` cannot be told from a title.)
 */
size_t procparse_argv_len(const char *buf, size_t len);

/* The number in "prefix:[123]"; false when the link has another form. */
bool procparse_link_number(const char *link, size_t len, const char *prefix, uint64_t *ret);

/* A name of digits only, without a leading zero, in the range of a pid. */
bool procparse_pid(const char *name, pid_t *ret);

/* True when the target of an exe link ends in the kernel's mark of a deleted file. */
#define PROCPARSE_DELETED " (deleted)"
bool procparse_marked_deleted(const char *link, size_t len);

/* The boot time (seconds since the epoch) in /proc/stat; false when it is not there. */
bool procparse_btime(const char *buf, size_t len, uint64_t *ret);
