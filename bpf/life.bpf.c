/* SPDX-License-Identifier: MIT */
/*
 * Who was born, renamed and died, in a ring buffer. Some 1-2 us per event; nothing runs in between.
 */
#include "wittyfs_core.h"
#include "life.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Size is set by user space before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct life_lost);
} lost SEC(".maps");

/* Room for a record with what is the same in all; NULL: full, and counted. */
static __always_inline struct life_record *begin(enum life_kind kind, struct task_struct *task)
{
	struct life_record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	struct life_lost *l;
	__u32 zero = 0;
	struct pid *pid;
	struct upid up = {};

	if (!r) {
		l = bpf_map_lookup_elem(&lost, &zero);
		if (l)
			l->full++;
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->ppid = task->real_parent->tgid;
	r->at_ns = bpf_ktime_get_ns();
	r->start_ns = task->start_boottime;
	r->uid = task->real_cred->uid.val;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
	pid = task->thread_pid;
	if (pid) {
		bpf_probe_read_kernel(&up, sizeof(up),
				      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
					      (pid->level & 31) * sizeof(up));
		r->pidns = BPF_CORE_READ(up.ns, ns.inum);
	}
	return r;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(life_fork, struct task_struct *parent, struct task_struct *child)
{
	struct life_record *r;

	r = begin(child->pid == child->tgid ? LIFE_FORK : LIFE_THREAD, child);
	if (r)
		bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(life_exec, struct task_struct *task)
{
	struct life_record *r = begin(LIFE_EXEC, task);

	if (r)
		bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(life_exit, struct task_struct *task)
{
	struct signal_struct *sig = task->signal;
	bool leader = task->pid == task->tgid;
	bool last = sig->live.counter == 0;
	struct life_record *r;

	/* The process ends with its last thread, be that its leader or not. */
	r = begin(last || leader ? LIFE_EXIT : LIFE_THREAD_EXIT, task);
	if (!r)
		return 0;
	r->last = last;
	r->run_ns = task->se.sum_exec_runtime;
	r->exit_code = task->exit_code;
	if (last) {
		/* The other threads are reaped and summed up here already. */
		r->run_ns += sig->sum_sched_runtime;
		if (sig->group_exit_code)
			r->exit_code = sig->group_exit_code;
	}
	bpf_ringbuf_submit(r, 0);
	return 0;
}
