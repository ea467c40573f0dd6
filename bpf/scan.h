/* SPDX-License-Identifier: MIT */
/*
 * Records of the scan (scan.bpf.c), as read from the iterators. Every record begins with its size
 * and is a multiple of 8 bytes. Plain fixed-width types: shared by BPF and user space.
 */
#pragma once

#define SCAN_LEVELS    8   /* pid namespaces below the reader's that are told */
#define SCAN_UNIX_NAME 108 /* sizeof sun_path */

struct scan_ns {
	__u32 pid, net, mnt, ipc, uts, user, cgroup, time; /* inode numbers; 0: exiting */
};

/*
 * One thread. Numbers `tid, tgid, ppid` are those of the reader's pid namespace (0: not visible
 * there), `init_tid, init_tgid` those of the initial one: the key of the counting probes.
 */
struct scan_task {
	__u32 size, tid, tgid, ppid;
	__u32 init_tid, init_tgid;
	__u32 n_levels;		/* number of `nr`; more levels than SCAN_LEVELS: the first ones */
	__u32 nr[SCAN_LEVELS];	/* from the reader's namespace inwards, as NSpid of status */
	__u32 flags;		/* PF_* */
	__u32 state;		/* raw __state; see probe_scan_state() */
	__u32 exit_state;	/* raw */
	__u32 exit_code;	/* as wait(2) */
	__u32 cpu;		/* last */
	__s32 prio, nice;	/* prio as in the kernel: 0..99 real-time, 100..139 */
	__u32 rt_priority, policy;
	__u32 uid, euid, gid, egid; /* in the initial user namespace */
	struct scan_ns ns;
	char comm[16]; /* up to the first NUL; kernel threads may have longer ones in /proc */
	__u32 leader;  /* 1: the members of `group` are given */
	__u64 start_boottime_ns; /* in the initial time namespace; probe_scan_start_ticks() */
	__u64 run_ns;		 /* of a running thread up to one tick (1/HZ) old */
	__u64 wait_ns, slices;	 /* run-queue wait and count of time slices, as schedstat */
	__u64 utime_ns, stime_ns;	/* sampled by ticks: probe_scan_cputime() scales as /proc */
	__u64 voluntary, involuntary;	/* context switches */
	__u64 min_faults, maj_faults;
	struct {
		/* What the threads that are gone left to the process. */
		__u64 run_ns, utime_ns, stime_ns, voluntary, involuntary, min_faults, maj_faults;
		__u64 vsize_pages, rss_pages; /* as /proc/<pid>/stat; both 0 without an mm */
		__u32 n_threads, pgid, sid, has_mm;
	} group;
};

enum scan_fd_kind {
	SCAN_FD_OTHER,
	SCAN_FD_SOCKET, /* `sock` is given */
	SCAN_FD_EVENTFD, /* `object` is the eventfd-id of fdinfo */
};

struct scan_sock {
	__u16 family, type, protocol, state; /* state: TCP_* also of unix and udp sockets */
	__u16 local_port, remote_port;	     /* host order */
	__u32 netns;
	__u8 local[16], remote[16]; /* IPv4 in the first four bytes */
	__u64 cookie;		    /* 0: never asked for */
	__u64 unix_peer;	    /* inode; 0: none */
	__u32 bound_dev;
	__u32 rmem, wmem; /* bytes in the queues, as skmeminfo */
	__u32 rcvbuf, sndbuf;
	__u32 backlog, max_backlog; /* of a listening socket */
	__u32 name_len;		    /* of unix_name; may begin with NUL (abstract) */
	char unix_name[SCAN_UNIX_NAME];
	__u32 pad;
};

/* One descriptor. Up to `sock` for everything that is not a socket. */
struct scan_fd {
	__u32 size, tgid, tid, fd; /* in the reader's pid namespace */
	__u32 kind, mode;	   /* enum scan_fd_kind; st_mode */
	__u32 dev, rdev;	   /* kernel encoding: major = dev >> 20, minor = dev & 0xfffff */
	__u32 open_flags, pad;	   /* O_* */
	__u64 ino, object;
	__u64 class; /* opaque: equal for files of one implementation (struct file_operations) */
	__u64 table; /* opaque: equal for threads that share a descriptor table */
	struct scan_sock sock;
};

#define SCAN_FD_BARE_SIZE ((__u32) __builtin_offsetof(struct scan_fd, sock))
