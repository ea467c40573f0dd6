/* SPDX-License-Identifier: MIT */
/*
 * Records of the life probe (life.bpf.c): beginnings and ends of threads and processes, in order.
 * Numbers are those of the initial pid namespace. Times are CLOCK_BOOTTIME of the initial time
 * namespace (start_boottime) or CLOCK_MONOTONIC (at_ns).
 */
#pragma once

#include <stdint.h>

enum life_kind {
	LIFE_FORK,   /* a process was made: tgid is the new one */
	LIFE_THREAD, /* a thread was made: tid is the new one */
	LIFE_EXEC,   /* comm is the new name */
	LIFE_EXIT,   /* the leader ended, or the last thread: the process is gone with `last` */
	LIFE_THREAD_EXIT,
};

struct life_record {
	uint32_t kind, tgid, tid, ppid; /* ppid: of the parent process */
	char comm[16];
	uint64_t at_ns, start_ns; /* start_ns: of the thread `tid` */
	/* Exits only: */
	/* Of the thread; with `last`: of the process, all its threads. What ran since the last tick
	 * of the scheduler (1/HZ at most) is not in it: of a very short process it may be 0. */
	uint64_t run_ns;
	uint32_t exit_code;  /* as wait(2); with `last`: of the group */
	uint32_t last;	     /* 1: no thread is left */
	uint32_t uid, pidns; /* pidns: inode number; 0: unknown */
};

struct life_lost {
	uint64_t full; /* records that found no room: look at all processes again */
};
