/* SPDX-License-Identifier: MIT */
/*
 * The kernel's types as far as the probes read them, for CO-RE: only names matter here, offsets are
 * relocated at load against the BTF of the running kernel. So no vmlinux.h and no BTF is needed to
 * build, and one object runs on all kernels that have these members. `___name` after a type is a
 * flavour (another kernel's shape of the same type), to be used behind bpf_core_field_exists().
 *
 * Also the few constants of the kernel's interface that are needed (include/uapi), so that the
 * objects do not depend on headers of the build machine's architecture.
 */
#pragma once

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define S_IFMT	     0170000
#define S_IFSOCK     0140000
#define S_IFIFO	     0010000
#define AF_UNIX	     1
#define AF_INET	     2
#define AF_INET6     10
#define SOCK_STREAM  1
#define SOCK_DGRAM   2
#define IPPROTO_TCP  6
#define SOCKFS_MAGIC 0x534F434B
#define MSG_PEEK     0x2
#define MSG_ERRQUEUE 0x2000
#define EAGAIN	     11
#define E2BIG	     7
#define ENOMEM	     12

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
	unsigned int level;
};
struct uts_namespace {
	struct ns_common ns;
};
struct ipc_namespace {
	struct ns_common ns;
};
struct mnt_namespace {
	struct ns_common ns;
};
struct time_namespace {
	struct ns_common ns;
};
struct cgroup_namespace {
	struct ns_common ns;
};
struct user_namespace {
	struct ns_common ns;
};
struct net {
	struct ns_common ns;
};
struct nsproxy {
	struct uts_namespace *uts_ns;
	struct ipc_namespace *ipc_ns;
	struct mnt_namespace *mnt_ns;
	struct net *net_ns;
	struct time_namespace *time_ns;
	struct cgroup_namespace *cgroup_ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	__u32 val;
} kuid_t;
typedef struct {
	__u32 val;
} kgid_t;
struct cred {
	kuid_t uid, euid;
	kgid_t gid, egid;
	struct user_namespace *user_ns;
};

typedef struct {
	__s64 counter;
} atomic64_t;
typedef struct {
	long counter;
} atomic_long_t;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	atomic_t refs;
} refcount_t;

struct percpu_counter {
	__s64 count;
};
/* 6.2 and later. */
struct mm_struct {
	unsigned long total_vm;
	struct percpu_counter rss_stat[4];
};
/* Before: struct mm_rss_stat. */
struct mm_rss_stat {
	atomic_long_t count[4];
};
struct mm_struct___old {
	struct mm_rss_stat rss_stat;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
};
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

struct signal_struct {
	atomic_t live;
	int nr_threads;
	int group_exit_code;
	__u64 utime, stime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	unsigned long long sum_sched_runtime;
	struct pid *pids[4]; /* PIDTYPE_PID, TGID, PGID, SID */
};

struct inode;
struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};
struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_rdev;
};
struct file_operations {
	void *owner;
};
struct file {
	struct inode *f_inode;
	const struct file_operations *f_op;
	unsigned int f_flags;
	unsigned int f_mode;
	void *private_data;
};
struct eventfd_ctx {
	int id;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};

struct thread_info {
	__u32 cpu;
};
struct css_set;
struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int prio, static_prio;
	unsigned int rt_priority, policy;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_state, exit_code;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	__u64 utime, stime;
	unsigned long nvcsw, nivcsw;
	__u64 start_time, start_boottime;
	unsigned long min_flt, maj_flt;
	const struct cred *real_cred;
	char comm[16];
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
};
/* Before 5.14 / 5.16. */
struct task_struct___old {
	volatile long state;
	unsigned int cpu;
};

struct in6_addr {
	__u8 in6_u[16];
};
typedef struct {
	struct net *net;
} possible_net_t;
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	int skc_bound_dev_if;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
};
struct socket;
struct sock_backlog_members {
	atomic_t rmem_alloc;
};
struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	int sk_rcvbuf, sk_sndbuf;
	int sk_wmem_queued;
	refcount_t sk_wmem_alloc;
	struct sock_backlog_members sk_backlog;
	__u32 sk_ack_backlog, sk_max_ack_backlog;
	__u16 sk_protocol, sk_type;
	unsigned long sk_ino; /* 6.17 and later */
};
struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};
struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};
struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};
struct unix_address {
	int len;
	struct sockaddr_un name[1];
};
struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};
struct tcp_sock {
	__u64 bytes_sent, bytes_retrans, bytes_acked, bytes_received;
	__u32 segs_out, segs_in, total_retrans, srtt_us;
	__u32 write_seq, snd_una, rcv_nxt, copied_seq;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* The number of the inode of a struct socket: that of /proc/<pid>/fd and sock_diag. */
static __always_inline __u64 core_socket_ino(const struct socket *socket)
{
	const struct socket_alloc *alloc = (const void *)socket;

	return socket ? BPF_CORE_READ(alloc, vfs_inode.i_ino) : 0;
}

/* That of a struct sock, 0 when it has none (in-kernel, not yet accepted, orphaned). */
static __always_inline __u64 core_sock_ino(const struct sock *sk)
{
	return sk ? core_socket_ino(BPF_CORE_READ(sk, sk_socket)) : 0;
}

/* Of an AF_UNIX socket: the inode of the peer, 0 when there is none (yet). */
static __always_inline __u64 core_unix_peer_ino(const struct sock *sk)
{
	const struct unix_sock *u = (const void *)sk;

	return core_sock_ino(BPF_CORE_READ(u, peer));
}

/*
 * The registers of the running system call. At its exit they still hold number and arguments, so
 * no program at its entry is needed. 32-bit (compat) calls have other numbers and registers: system
 * call tracepoints do not fire for them.
 */
#if defined(__TARGET_ARCH_x86)
struct core_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
};
#define CORE_SYSCALL_NR(regs) ((regs)->orig_ax)
#define CORE_ARG1(regs)	      ((regs)->di)
#define CORE_ARG2(regs)	      ((regs)->si)
#define CORE_ARG3(regs)	      ((regs)->dx)
#define CORE_ARG4(regs)	      ((regs)->r10)
#define CORE_ARG5(regs)	      ((regs)->r8)
#define CORE_NR_sendto	      44
#define CORE_NR_sendmsg	      46
#elif defined(__TARGET_ARCH_arm64)
struct core_regs {
	unsigned long regs[31], sp, pc, pstate, orig_x0;
	int syscallno;
};
#define CORE_SYSCALL_NR(regs) ((regs)->syscallno)
#define CORE_ARG1(regs)	      ((regs)->orig_x0)
#define CORE_ARG2(regs)	      ((regs)->regs[1])
#define CORE_ARG3(regs)	      ((regs)->regs[2])
#define CORE_ARG4(regs)	      ((regs)->regs[3])
#define CORE_ARG5(regs)	      ((regs)->regs[4])
#define CORE_NR_sendto	      206
#define CORE_NR_sendmsg	      211
#else
#error "registers of this architecture: add them here"
#endif

/* What a program of tracepoint syscalls/sys_exit_* gets. */
struct core_sys_exit {
	__u64 common;
	__s64 nr;
	__s64 ret;
};

/* The open file of a descriptor of the running thread, or NULL. */
static __always_inline struct file *core_file_of_fd(long fd)
{
	struct task_struct *me = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(me, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd < 0 || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}
