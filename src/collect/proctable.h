/* SPDX-License-Identifier: MIT */
/*
 * The table of processes and threads, read from /proc and kept between collections.
 *
 * Cost: an update touches every process once (stat, and schedstat of each thread); status, cmdline,
 * links and descriptors are read again only of a process of which a thread ran since the last
 * update (its count of time slices or its run time moved), which is new, or whose start time, name
 * or number of threads changed. A thread that did not run cannot have changed them itself; for what
 * others change (cgroup, affinity, nice, a descriptor table shared with another process) everything
 * is read again every PROCTABLE_REREAD updates, spread over the processes. Where the kernel has no
 * schedstat everything is read each time. /proc/<pid>/task/<tid>/fd is never walked per thread;
 * smaps and numa_maps are never opened here.
 *
 * Identity is (pid, start time in ticks): never the wall clock. A process that vanishes in
 * mid-scan, or that may not be read, costs nothing but its own fields ("known" flags below).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/collector.h"

enum proc_ns {
	PROC_NS_CGROUP,
	PROC_NS_IPC,
	PROC_NS_MNT,
	PROC_NS_NET,
	PROC_NS_PID,
	PROC_NS_TIME,
	PROC_NS_USER,
	PROC_NS_UTS,
	PROC_NS_COUNT,
};

#define PROC_NAME_MAX	 64
#define PROCTABLE_REREAD 12

/*
 * Fields of status that process and thread share. The lists are interned: equal text, equal
 * pointer, until the next update.
 */
struct proc_status {
	bool known;
	uint64_t voluntary, involuntary;	 /* context switches */
	const char *cpus_allowed, *mems_allowed; /* lists as the kernel prints them */
	const char *nspid; /* "1234 1", outermost first; owned by the thread */
	uint32_t uid, gid;
};

struct proc_thread {
	pid_t tid;
	uint64_t start_ticks;
	uint64_t ident; /* of its entity, set by the thread collector; 0 before */
	char name[PROC_NAME_MAX];
	uint8_t name_len;
	char state;
	bool sched_known;
	bool ran;			  /* since the update before, or new */
	uint64_t run_ns, wait_ns, slices; /* schedstat */
	uint64_t user_ticks, system_ticks;
	int nice;
	int last_cpu;
	uint64_t *cpus_seen; /* bitmap of the CPUs on which it was seen since its first update */
	uint32_t cpus_seen_words;
	struct proc_status status;
	/* Private: */
	bool gone; /* vanished in this update */
	char *nspid;
};

struct proc_process {
	pid_t pid, ppid;
	uint64_t start_ticks;
	uint64_t ident; /* of its entity, set by the process collector; 0 before */
	char name[PROC_NAME_MAX];
	uint8_t name_len;
	char state;
	bool kernel_thread;
	bool fresh; /* first seen in this update */
	bool ran; /* a thread ran since the update before, or new: the fields below were read again
		   */
	uint64_t user_ticks, system_ticks, minor_faults, major_faults, vsize_bytes, rss_bytes;
	int nice, last_cpu;
	uint32_t n_threads_kernel; /* as stat says */

	struct proc_thread *threads; /* ascending tid; the leader is one of them */
	uint32_t n_threads;

	struct proc_status status; /* of the leader; voluntary, involuntary: of the leader alone */

	char *argv;		     /* raw, NUL-separated; NULL when not readable */
	size_t argv_len, argv_total; /* kept, and what was there */
	bool argv_known;
	char *exe; /* without the mark of deletion; NULL when there is none or it may not be read */
	bool exe_known, exe_deleted, exe_deleted_known;
	char *cgroup;		    /* all lines of /proc/<pid>/cgroup; NULL when not readable */
	uint64_t ns[PROC_NS_COUNT]; /* 0: not readable */

	bool fds_known;	 /* false: descriptors may not be read (then they are unknown, not none) */
	bool fds_walked; /* in this update */
	uint32_t n_fds;
	uint64_t *sockets; /* inodes, ascending, without doubles */
	uint32_t n_sockets;
};

struct proctable_limits {
	uint32_t processes, threads_each, sockets_each; /* 0: default (65536, 32768, 262144) */
};

/* proc_fd is borrowed and must outlive the table. */
int proctable_new(int proc_fd, struct proctable_limits limits, struct proctable **ret);
struct proctable *proctable_free(struct proctable *t);
static inline void proctable_freep(struct proctable **t)
{
	*t = proctable_free(*t);
}

/* One incremental scan. Losses (limits, unreadable processes) go to the report. 0 or -errno when
 * /proc itself cannot be read. */
int proctable_update(struct proctable *t, struct collect_report *report);
/* Walks the descriptors of every process not walked in this update. */
void proctable_walk_fds(struct proctable *t);
/* Forgets everything. */
void proctable_clear(struct proctable *t);

/* Processes of the last update, ascending pid. The pointers hold until the next update. */
uint32_t proctable_count(const struct proctable *t);
struct proc_process *proctable_at(const struct proctable *t, uint32_t i);
struct proc_process *proctable_find(const struct proctable *t, pid_t pid);

/* Nanoseconds of one clock tick (sysconf(_SC_CLK_TCK)). */
uint64_t proctable_tick_ns(void);
/* True when the mount of /proc hides the processes of other users (hidepid) from this daemon. */
bool proctable_hidden(const struct proctable *t);
