/* SPDX-License-Identifier: MIT */
/*
 * The scan: iterators over threads and descriptors. Pointers of an iterator are typed, so members
 * are plain loads (a wild pointer reads 0); only what lies behind casts and variable indexes needs
 * bpf_probe_read_kernel.
 */
#include "wittyfs_core.h"
#include "scan.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set at the first row of a pass: the pid namespace of the reader. One pass runs at a time. */
static __u32 reader_level;
static struct pid_namespace *reader_ns;

/* Set by user space. */
__u64 eventfd_class; /* 0: not calibrated */

static __always_inline void note_reader(const struct bpf_iter_meta *meta)
{
	struct task_struct *me;
	struct pid *pid;
	struct upid up;

	if (meta->seq_num)
		return;
	me = (void *)bpf_get_current_task();
	pid = BPF_CORE_READ(me, thread_pid);
	reader_level = BPF_CORE_READ(pid, level) & 31;
	if (!bpf_core_read(&up, sizeof(up), &pid->numbers[reader_level]))
		reader_ns = up.ns;
}

static __always_inline struct upid upid_at(struct pid *pid, __u32 level)
{
	struct upid up = {};

	/* The member is an array of the kernel's size of struct upid: 16 on all 64-bit kernels. */
	bpf_probe_read_kernel(&up, sizeof(up),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      (level & 31) * sizeof(up));
	return up;
}

/* The number of pid in the reader's namespace, 0 when it is not visible there. */
static __always_inline __u32 number_of(struct pid *pid)
{
	struct upid up;

	if (!pid || pid->level < reader_level)
		return 0;
	up = upid_at(pid, reader_level);
	return up.ns == reader_ns ? (__u32)up.nr : 0;
}

static __always_inline void fill_pids(struct scan_task *r, struct task_struct *task)
{
	struct pid *pid = task->thread_pid;
	struct upid up;
	__u32 level;

	r->init_tid = task->pid;
	r->init_tgid = task->tgid;
	if (!pid)
		return;
	level = pid->level;
	if (reader_level) {
		r->tid = number_of(pid);
		r->tgid = number_of(task->group_leader->thread_pid);
		r->ppid = number_of(task->real_parent->group_leader->thread_pid);
	} else {
		r->tid = task->pid;
		r->tgid = task->tgid;
		r->ppid = task->real_parent->tgid;
	}
	r->nr[0] = r->tid;
	r->n_levels = 1;
	if (level > reader_level) {
#pragma unroll
		for (int i = 1; i < SCAN_LEVELS; i++) {
			if (reader_level + i > level)
				break;
			up = upid_at(pid, reader_level + i);
			r->nr[i] = up.nr;
			r->n_levels = i + 1;
		}
	}
	up = upid_at(pid, level);
	r->ns.pid = BPF_CORE_READ(up.ns, ns.inum);
}

static __always_inline void fill_ns(struct scan_ns *r, struct task_struct *task)
{
	struct nsproxy *p = task->nsproxy;
	const struct cred *cred = task->real_cred;

	if (cred)
		r->user = cred->user_ns->ns.inum;
	if (!p)
		return;
	r->net = p->net_ns->ns.inum;
	r->mnt = p->mnt_ns->ns.inum;
	r->ipc = p->ipc_ns->ns.inum;
	r->uts = p->uts_ns->ns.inum;
	r->cgroup = p->cgroup_ns->ns.inum;
	if (bpf_core_field_exists(p->time_ns))
		r->time = p->time_ns->ns.inum;
}

static __always_inline __u64 rss_of(struct mm_struct *mm)
{
	/* MM_FILEPAGES, MM_ANONPAGES, MM_SHMEMPAGES; the swapped (2) do not count. The same sum as
	 * get_mm_rss(): each part may be off by a batch per CPU and is not below 0. */
	__s64 sum = 0, n;
	struct mm_struct___old *old = (void *)mm;

	if (bpf_core_field_exists(mm->rss_stat)) {
		n = mm->rss_stat[0].count;
		sum += n > 0 ? n : 0;
		n = mm->rss_stat[1].count;
		sum += n > 0 ? n : 0;
		n = mm->rss_stat[3].count;
		sum += n > 0 ? n : 0;
	} else {
		n = BPF_CORE_READ(old, rss_stat.count[0].counter);
		sum += n > 0 ? n : 0;
		n = BPF_CORE_READ(old, rss_stat.count[1].counter);
		sum += n > 0 ? n : 0;
		n = BPF_CORE_READ(old, rss_stat.count[3].counter);
		sum += n > 0 ? n : 0;
	}
	return sum;
}

static __always_inline void fill_group(struct scan_task *r, struct task_struct *task)
{
	struct signal_struct *sig = task->signal;
	struct mm_struct *mm = task->mm;

	r->leader = 1;
	if (sig) {
		r->group.run_ns = sig->sum_sched_runtime;
		r->group.utime_ns = sig->utime;
		r->group.stime_ns = sig->stime;
		r->group.voluntary = sig->nvcsw;
		r->group.involuntary = sig->nivcsw;
		r->group.min_faults = sig->min_flt;
		r->group.maj_faults = sig->maj_flt;
		r->group.n_threads = sig->nr_threads;
		r->group.pgid = number_of(sig->pids[2]);
		r->group.sid = number_of(sig->pids[3]);
	}
	if (mm) {
		r->group.has_mm = 1;
		r->group.vsize_pages = mm->total_vm;
		r->group.rss_pages = rss_of(mm);
	}
}

static __always_inline void fill_sched(struct scan_task *r, struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	r->flags = task->flags;
	if (bpf_core_field_exists(task->__state))
		r->state = task->__state;
	else
		r->state = old->state;
	if (bpf_core_field_exists(task->thread_info.cpu))
		r->cpu = task->thread_info.cpu;
	else
		r->cpu = old->cpu;
	r->exit_state = task->exit_state;
	r->exit_code = task->exit_code;
	r->prio = task->prio;
	r->nice = task->static_prio - 120;
	r->rt_priority = task->rt_priority;
	r->policy = task->policy;
	r->start_boottime_ns = task->start_boottime;
	r->run_ns = task->se.sum_exec_runtime;
	r->wait_ns = task->sched_info.run_delay;
	r->slices = task->sched_info.pcount;
	r->utime_ns = task->utime;
	r->stime_ns = task->stime;
	r->voluntary = task->nvcsw;
	r->involuntary = task->nivcsw;
	r->min_faults = task->min_flt;
	r->maj_faults = task->maj_flt;
}

SEC("iter/task")
int scan_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	const struct cred *cred;
	struct scan_task r = {.size = sizeof(r)};

	if (!task)
		return 0;
	note_reader(ctx->meta);
	fill_pids(&r, task);
	fill_sched(&r, task);
	fill_ns(&r.ns, task);
	cred = task->real_cred;
	if (cred) {
		r.uid = cred->uid.val;
		r.euid = cred->euid.val;
		r.gid = cred->gid.val;
		r.egid = cred->egid.val;
	}
	bpf_probe_read_kernel(r.comm, sizeof(r.comm), task->comm);
	if (task->pid == task->tgid)
		fill_group(&r, task);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

static __always_inline void fill_unix(struct scan_sock *s, struct sock *sk)
{
	struct unix_sock *u = (void *)sk;
	struct unix_address *addr = BPF_CORE_READ(u, addr);
	int len;

	s->unix_peer = core_unix_peer_ino(sk);
	if (!addr)
		return;
	len = BPF_CORE_READ(addr, len) - 2; /* less sun_family */
	if (len <= 0)
		return;
	s->name_len = len < SCAN_UNIX_NAME ? len : SCAN_UNIX_NAME;
	bpf_core_read(s->unix_name, sizeof(s->unix_name), &addr->name[0].sun_path);
}

static __always_inline void fill_sock(struct scan_sock *s, struct sock *sk)
{
	s->family = sk->__sk_common.skc_family;
	s->state = sk->__sk_common.skc_state;
	s->type = sk->sk_type;
	s->protocol = sk->sk_protocol;
	s->netns = sk->__sk_common.skc_net.net->ns.inum;
	s->cookie = sk->__sk_common.skc_cookie.counter;
	s->rmem = sk->sk_backlog.rmem_alloc.counter;
	s->wmem = sk->sk_wmem_queued;
	s->rcvbuf = sk->sk_rcvbuf;
	s->sndbuf = sk->sk_sndbuf;
	s->backlog = sk->sk_ack_backlog;
	s->max_backlog = sk->sk_max_ack_backlog;
	if (s->family == AF_UNIX) {
		/* Of a datagram socket the sent bytes are in sk_wmem_alloc. */
		s->wmem = sk->sk_wmem_alloc.refs.counter - 1;
		fill_unix(s, sk);
		return;
	}
	if (s->family != AF_INET && s->family != AF_INET6)
		return;
	s->bound_dev = sk->__sk_common.skc_bound_dev_if;
	s->local_port = sk->__sk_common.skc_num;
	s->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (s->family == AF_INET) {
		*(__u32 *)s->local = sk->__sk_common.skc_rcv_saddr;
		*(__u32 *)s->remote = sk->__sk_common.skc_daddr;
	} else {
		bpf_core_read(s->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(s->remote, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

SEC("iter/task_file")
int scan_fds(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct scan_fd r = {.size = SCAN_FD_BARE_SIZE};
	struct files_struct *files;
	struct eventfd_ctx *ev;
	struct socket *socket;
	struct inode *inode;

	if (!task || !file)
		return 0;
	note_reader(ctx->meta);
	files = task->files;
	/* Newer kernels do not visit these at all. */
	if (task->pid != task->tgid && files == task->group_leader->files)
		return 0;
	if (reader_level) {
		r.tid = number_of(task->thread_pid);
		r.tgid = number_of(task->group_leader->thread_pid);
	} else {
		r.tid = task->pid;
		r.tgid = task->tgid;
	}
	inode = file->f_inode;
	r.fd = ctx->fd;
	r.mode = inode->i_mode;
	r.ino = inode->i_ino;
	r.dev = inode->i_sb->s_dev;
	r.rdev = inode->i_rdev;
	r.open_flags = file->f_flags;
	r.class = (__u64)file->f_op;
	r.table = (__u64)files;
	if (eventfd_class && r.class == eventfd_class) {
		ev = file->private_data;
		r.kind = SCAN_FD_EVENTFD;
		r.object = BPF_CORE_READ(ev, id);
	} else if ((r.mode & S_IFMT) == S_IFSOCK) {
		/* NULL for a socket's name opened with O_PATH: that is a file, not a socket. */
		socket = bpf_sock_from_file(file);
		if (socket && socket->sk) {
			r.kind = SCAN_FD_SOCKET;
			fill_sock(&r.sock, socket->sk);
			r.size = sizeof(r);
			bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
			return 0;
		}
	}
	bpf_seq_write(ctx->meta->seq, &r, SCAN_FD_BARE_SIZE);
	return 0;
}
