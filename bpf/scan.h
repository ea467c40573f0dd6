/* SPDX-License-Identifier: MIT */
/*
 * Records of the scan (scan.bpf.c), as read from the iterators. Every record begins with its size
 * and is a multiple of 8 bytes. Plain fixed-width types: shared by BPF and user space.
 */
#pragma once

#include <stdint.h>

#define SCAN_LEVELS    8   /* pid namespaces below the reader's that are told */
#define SCAN_UNIX_NAME 108 /* sizeof sun_path */

struct scan_ns {
	uint32_t pid, net, mnt, ipc, uts, user, cgroup, time; /* inode numbers; 0: exiting */
};

/*
 * One thread. Numbers `tid, tgid, ppid` are those of the reader's pid namespace (0: not visible
 * there), `init_tid, init_tgid` those of the initial one: the key of the counting probes.
 */
struct scan_task {
	uint32_t size, tid, tgid, ppid;
	uint32_t init_tid, init_tgid;
	uint32_t n_levels;	  /* number of `nr`; more levels than SCAN_LEVELS: the first ones */
	uint32_t nr[SCAN_LEVELS]; /* from the reader's namespace inwards, as NSpid of status */
	uint32_t flags;		  /* PF_* */
	uint32_t state;		  /* raw __state; see probe_scan_state() */
	uint32_t exit_state;	  /* raw */
	uint32_t exit_code;	  /* as wait(2) */
	uint32_t cpu;		  /* last */
	int32_t prio, nice;	  /* prio as in the kernel: 0..99 real-time, 100..139 */
	uint32_t rt_priority, policy;
	uint32_t uid, euid, gid, egid; /* in the initial user namespace */
	struct scan_ns ns;
	char comm[16];	 /* up to the first NUL; kernel threads may have longer ones in /proc */
	uint32_t leader; /* 1: the members of `group` are given */
	uint64_t start_boottime_ns;  /* in the initial time namespace; probe_scan_start_ticks() */
	uint64_t run_ns;	     /* of a running thread up to one tick (1/HZ) old */
	uint64_t wait_ns, slices;    /* run-queue wait and count of time slices, as schedstat */
	uint64_t utime_ns, stime_ns; /* sampled by ticks: probe_scan_cputime() scales as /proc */
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t min_faults, maj_faults;
	struct {
		/* What the threads that are gone left to the process. */
		uint64_t run_ns, utime_ns, stime_ns, voluntary, involuntary, min_faults, maj_faults;
		uint64_t vsize_pages, rss_pages; /* as /proc/<pid>/stat; both 0 without an mm */
		uint32_t n_threads, pgid, sid, has_mm;
	} group;
};

enum scan_fd_kind {
	SCAN_FD_OTHER,
	SCAN_FD_SOCKET,	 /* `sock` is given */
	SCAN_FD_EVENTFD, /* `object` is the eventfd-id of fdinfo */
};

struct scan_sock {
	uint16_t family, type, protocol, state; /* state: TCP_* also of unix and udp sockets */
	uint16_t local_port, remote_port;	/* host order */
	uint32_t netns;
	uint8_t local[16], remote[16]; /* IPv4 in the first four bytes */
	uint64_t cookie;	       /* 0: never asked for */
	uint64_t unix_peer;	       /* inode; 0: none */
	uint32_t bound_dev;
	uint32_t rmem, wmem; /* bytes in the queues, as skmeminfo */
	uint32_t rcvbuf, sndbuf;
	uint32_t backlog, max_backlog; /* of a listening socket */
	uint32_t name_len;	       /* of unix_name; may begin with NUL (abstract) */
	char unix_name[SCAN_UNIX_NAME];
	uint32_t pad;
};

/* One descriptor. Up to `sock` for everything that is not a socket. */
struct scan_fd {
	uint32_t size, tgid, tid, fd; /* in the reader's pid namespace */
	uint32_t kind, mode;	      /* enum scan_fd_kind; st_mode */
	uint32_t dev, rdev;	  /* kernel encoding: major = dev >> 20, minor = dev & 0xfffff */
	uint32_t open_flags, pad; /* O_* */
	uint64_t ino, object;
	uint64_t class; /* opaque: equal for files of one implementation (struct file_operations) */
	uint64_t table; /* opaque: equal for threads that share a descriptor table */
	struct scan_sock sock;
};

#define SCAN_FD_BARE_SIZE ((uint32_t) __builtin_offsetof(struct scan_fd, sock))
