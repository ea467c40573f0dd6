/* SPDX-License-Identifier: MIT */
/* Threads from the process table, which the process collector has brought up to date. */
#include "collect/thread.h"

#include <errno.h>

#include "collect/process.h"
#include "collect/proctable.h"

static void put_status(struct draft *d, const struct proc_status *s)
{
	if (!s->known)
		return;
	draft_u64(d, THREAD_VOLUNTARY_CTXT_SWITCHES, s->voluntary);
	draft_u64(d, THREAD_INVOLUNTARY_CTXT_SWITCHES, s->involuntary);
	if (s->cpus_allowed)
		draft_str(d, THREAD_CPUS_ALLOWED_LIST, s->cpus_allowed);
	if (s->mems_allowed)
		draft_str(d, THREAD_MEMS_ALLOWED_LIST, s->mems_allowed);
	if (s->nspid)
		draft_str(d, THREAD_NSTID, s->nspid);
}

static int add_thread(struct draft *d, const struct proc_process *p, struct proc_thread *t,
		      struct builder *b)
{
	const char state[] = {t->state, '\0'};
	int r;

	draft_begin(d, &entity_types[ENTITY_THREAD]);
	draft_s64(d, THREAD_TID, t->tid);
	draft_ref(d, THREAD_PROCESS, p->ident);
	draft_bytes(d, THREAD_NAME, t->name, t->name_len);
	draft_str(d, THREAD_STATE, state);
	draft_u64(d, THREAD_START_TIME_TICKS, t->start_ticks);
	if (t->sched_known) {
		draft_u64(d, THREAD_RUN_TIME_NS, t->run_ns);
		draft_u64(d, THREAD_RUN_QUEUE_WAIT_NS, t->wait_ns);
		draft_u64(d, THREAD_TIMESLICES, t->slices);
	}
	draft_u64(d, THREAD_CPU_USER_NS, t->user_ticks * proctable_tick_ns());
	draft_u64(d, THREAD_CPU_SYSTEM_NS, t->system_ticks * proctable_tick_ns());
	if (t->last_cpu >= 0)
		draft_u64(d, THREAD_LAST_CPU, (uint64_t)t->last_cpu);
	draft_s64(d, THREAD_NICE, t->nice);
	put_status(d, &t->status);
	r = builder_add(b, d, &t->ident);
	if (r < 0) {
		t->ident = 0;
		return r;
	}
	return builder_connect(b, EDGE_OWN, p->ident, t->ident);
}

static int thread_collect(struct collect_context *ctx, void *state, struct builder *b,
			  struct collect_report *report)
{
	struct draft *d = state;

	for (uint32_t i = 0; i < proctable_count(ctx->procs); i++) {
		struct proc_process *p = proctable_at(ctx->procs, i);

		for (uint32_t k = 0; p->ident && k < p->n_threads; k++) {
			int r = add_thread(d, p, &p->threads[k], b);

			if (r < 0 && r != -ENOSPC)
				return r;
		}
	}
	return 0;
}

static int thread_start(struct collect_context *ctx, unsigned int method, void **ret_state)
{
	*ret_state = calloc(1, sizeof(struct draft));
	return *ret_state ? 0 : -ENOMEM;
}

static void thread_stop(void *state)
{
	draft_deinit(state);
	free(state);
}

static const struct collector_method methods[] = {
	{"proc", "/proc/<pid>/task", process_probe_proc},
};

const struct collector collector_thread = {
	.name = "thread",
	.doc = "threads of all processes, with their exact run time",
	.methods = methods,
	.n_methods = ARRAY_SIZE(methods),
	.start = thread_start,
	.stop = thread_stop,
	.collect = thread_collect,
};
