/* SPDX-License-Identifier: MIT */
/*
 * Complete scans of threads and descriptors by BPF iterators: a pass over 1,000 processes takes
 * some 20 ms of CPU where a walk of /proc takes 450. Records: bpf/scan.h.
 *
 * What a pass sees: every thread that is in the reader's pid namespace; of descriptors one row per
 * descriptor of a table (threads that share the table of their group leader have no rows of their
 * own; a thread with its own table has, with tid != tgid). A pass is not atomic: it lists what was
 * there when its cursor came by, like a walk of /proc.
 *
 * Limits, all documented in scan.h: run time of a thread that is on a CPU right now is up to a tick
 * old; names of kernel threads are the 15 bytes of comm where /proc shows longer ones; uid and gid
 * are those of the initial user namespace; cpus_allowed is not given (/proc/<pid>/status has it).
 * A sandbox can hide processes from BPF that are in /proc (seen: process 1 of a managed guest), so
 * compare the numbers with those of a readdir() of /proc and read the missing ones there.
 * Unlike a walk of /proc it is not restricted by hidepid or ptrace rights.
 */
#pragma once

#include "bpf/scan.h"
#include "collect/probe.h"

struct probe_scan;

struct probe_scan_result {
	uint64_t records;
	uint64_t doubles; /* rows left out: the table had been seen at another thread */
	uint64_t reads;	  /* system calls */
};

/* Loads the programs. 0 or -errno with one line in `reason`: what is missing and what mends it. */
int probe_scan_open(struct probe_scan **ret, char *reason, size_t size);
struct probe_scan *probe_scan_close(struct probe_scan *s);
static inline void probe_scan_closep(struct probe_scan **s)
{
	*s = probe_scan_close(*s);
}
#define _cleanup_probe_scan_ _cleanup_(probe_scan_closep)

/* True when that pass can be run; else `*ret_reason` (borrowed) says why not. Both may fail alone.
 */
bool probe_scan_has_tasks(const struct probe_scan *s, const char **ret_reason);
bool probe_scan_has_fds(const struct probe_scan *s, const char **ret_reason);

/*
 * One pass. The callback gets each record, valid during the call; a result other than 0 ends the
 * pass and is returned. Else 0, -EOPNOTSUPP when the program was refused, or -errno.
 */
int probe_scan_tasks(struct probe_scan *s, int (*fn)(void *arg, const struct scan_task *task),
		     void *arg, struct probe_scan_result *ret);
int probe_scan_fds(struct probe_scan *s, int (*fn)(void *arg, const struct scan_fd *fd), void *arg,
		   struct probe_scan_result *ret);

/* Name of the implementation of a descriptor ("eventfd", "epoll", "inotify", "pipe", "socket",
 * "timerfd", "signalfd", "pidfd"), told by comparison with descriptors of our own; NULL: another.
 */
const char *probe_scan_class(const struct probe_scan *s, const struct scan_fd *fd);

/* The state letter of /proc/<pid>/stat. */
char probe_scan_state(const struct scan_task *task);
/* Field 22 of /proc/<pid>/stat, as this process would read it (its time namespace). */
uint64_t probe_scan_start_ticks(const struct probe_scan *s, const struct scan_task *task);
/*
 * User and system time as /proc scales them: run_ns divided in the ratio of the sampled times. The
 * sum is exact, the division is not; /proc in addition never lets one of the two go back, which
 * needs the values of earlier reads (clamp, if you show them as counters). For a process add up
 * run, utime and stime of its threads and of scan_task.group first.
 */
void probe_scan_cputime(uint64_t run_ns, uint64_t utime_ns, uint64_t stime_ns,
			uint64_t *ret_user_ns, uint64_t *ret_system_ns);
