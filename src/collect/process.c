/* SPDX-License-Identifier: MIT */
/*
 * Processes. Brings the process table up to date, which the collectors after it use, and adds a
 * node for each process. Idents of all processes are known before the first is added, so that
 * parents can be referred to in any order.
 */
#include "collect/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collect/container.h"
#include "collect/cpunodes.h"
#include "collect/procparse.h"
#include "collect/proctable.h"
#include "util/fdio.h"

struct processes {
	struct draft draft, scratch;
	struct cpunodes *nodes;
	uint64_t boot_ns; /* of the boot, since the epoch; 0: not known */
	struct strbuf line;
};

/* --- attributes ------------------------------------------------------------------------------- */
/* Arguments joined by blanks, as the reference has them. */
static void put_command(struct processes *s, const struct proc_process *p)
{
	struct draft *d = &s->draft;
	size_t len = p->argv_len;

	if (!p->argv_known)
		return;
	draft_bytes(d, PROCESS_ARGV, p->argv, p->argv_len);
	if (p->argv_total > p->argv_len)
		draft_u64(d, PROCESS_ARGV_CUT_BYTES, p->argv_total - p->argv_len);
	while (len > 0 && p->argv[len - 1] == '\0')
		len--;
	strbuf_reset(&s->line);
	for (size_t i = 0; i < len; i++)
		strbuf_char(&s->line, p->argv[i] ? p->argv[i] : ' ');
	if (strbuf_error(&s->line))
		d->heap.error = strbuf_error(&s->line); /* the builder tells */
	draft_bytes(d, PROCESS_CMDLINE, s->line.data, s->line.len);
}

static void put_exe(struct draft *d, const struct proc_process *p)
{
	if (p->exe)
		draft_str(d, PROCESS_EXE, p->exe);
	if (p->exe && p->exe_deleted_known)
		draft_bool(d, PROCESS_EXE_DELETED, p->exe_deleted);
	else if (!p->exe_known)
		draft_mark(d, PROCESS_EXE, VALUE_UNKNOWN);
}

static void put_usage(struct draft *d, const struct proc_process *p)
{
	draft_u64(d, PROCESS_THREADS, p->n_threads_kernel);
	draft_u64(d, PROCESS_CPU_USER_NS, p->user_ticks * proctable_tick_ns());
	draft_u64(d, PROCESS_CPU_SYSTEM_NS, p->system_ticks * proctable_tick_ns());
	draft_u64(d, PROCESS_RSS_BYTES, p->rss_bytes);
	draft_u64(d, PROCESS_VSIZE_BYTES, p->vsize_bytes);
	draft_u64(d, PROCESS_MINOR_FAULTS, p->minor_faults);
	draft_u64(d, PROCESS_MAJOR_FAULTS, p->major_faults);
	draft_s64(d, PROCESS_NICE, p->nice);
	if (p->last_cpu >= 0)
		draft_u64(d, PROCESS_LAST_CPU, (uint64_t)p->last_cpu);
	if (p->fds_known)
		draft_u64(d, PROCESS_FDS, p->n_fds);
	else
		draft_mark(d, PROCESS_FDS, VALUE_UNKNOWN);
}

/* Switches of the process: of all its living threads, when all are known. */
static void put_switches(struct draft *d, const struct proc_process *p)
{
	uint64_t voluntary = 0, involuntary = 0;

	for (uint32_t i = 0; i < p->n_threads; i++) {
		if (!p->threads[i].status.known)
			return;
		voluntary += p->threads[i].status.voluntary;
		involuntary += p->threads[i].status.involuntary;
	}
	if (p->n_threads == 0)
		return;
	draft_u64(d, PROCESS_VOLUNTARY_CTXT_SWITCHES, voluntary);
	draft_u64(d, PROCESS_INVOLUNTARY_CTXT_SWITCHES, involuntary);
}

static void put_status(struct processes *s, const struct proc_process *p)
{
	struct draft *d = &s->draft;
	const char *nodes;

	put_switches(d, p);
	if (!p->status.known)
		return;
	draft_u64(d, PROCESS_UID, p->status.uid);
	draft_u64(d, PROCESS_GID, p->status.gid);
	if (p->status.nspid)
		draft_str(d, PROCESS_NSPID, p->status.nspid);
	if (p->status.mems_allowed)
		draft_str(d, PROCESS_MEMS_ALLOWED_LIST, p->status.mems_allowed);
	if (!p->status.cpus_allowed)
		return;
	draft_str(d, PROCESS_CPUS_ALLOWED_LIST, p->status.cpus_allowed);
	nodes = cpunodes_of(s->nodes, p->status.cpus_allowed);
	if (nodes)
		draft_str(d, PROCESS_NUMA_ALLOWED_LIST, nodes);
}

static void put_cgroup(struct processes *s, const struct proc_process *p)
{
	struct draft *d = &s->draft;
	struct cgroup_container c;
	const char *path;
	size_t len;

	if (!p->cgroup)
		return;
	path = cgroup_path(p->cgroup, strlen(p->cgroup), &len);
	if (path)
		draft_bytes(d, PROCESS_CGROUP, path, len);
	if (!cgroup_find(p->cgroup, strlen(p->cgroup), &c))
		return;
	draft_bytes(d, PROCESS_CONTAINER_ID, c.id, c.id_len);
	draft_ref(d, PROCESS_CONTAINER, container_ident(&s->scratch, &c));
}

static const unsigned int ns_attrs[PROC_NS_COUNT] = {
	[PROC_NS_CGROUP] = PROCESS_NS_CGROUP, [PROC_NS_IPC] = PROCESS_NS_IPC,
	[PROC_NS_MNT] = PROCESS_NS_MNT,	      [PROC_NS_NET] = PROCESS_NS_NET,
	[PROC_NS_PID] = PROCESS_NS_PID,	      [PROC_NS_TIME] = PROCESS_NS_TIME,
	[PROC_NS_USER] = PROCESS_NS_USER,     [PROC_NS_UTS] = PROCESS_NS_UTS,
};

/* --- identity --------------------------------------------------------------------------------- */
static void begin(struct draft *d, const struct proc_process *p)
{
	draft_begin(d, &entity_types[ENTITY_PROCESS]);
	draft_s64(d, PROCESS_PID, p->pid);
	draft_u64(d, PROCESS_START_TIME_TICKS, p->start_ticks);
}

static void set_idents(struct processes *s, struct proctable *t)
{
	for (uint32_t i = 0; i < proctable_count(t); i++) {
		struct proc_process *p = proctable_at(t, i);

		begin(&s->scratch, p);
		p->ident = draft_ident(&s->scratch);
	}
}

static int add_process(struct processes *s, struct proctable *t, struct proc_process *p,
		       struct builder *b)
{
	const struct proc_process *parent = p->ppid ? proctable_find(t, p->ppid) : NULL;
	const char state[] = {p->state, '\0'};
	struct draft *d = &s->draft;
	int r;

	begin(d, p);
	draft_s64(d, PROCESS_PPID, p->ppid);
	draft_bytes(d, PROCESS_NAME, p->name, p->name_len);
	put_command(s, p);
	put_exe(d, p);
	draft_str(d, PROCESS_STATE, state);
	draft_bool(d, PROCESS_KERNEL_THREAD, p->kernel_thread);
	if (s->boot_ns)
		draft_u64(d, PROCESS_START_TIME_NS,
			  s->boot_ns + p->start_ticks * proctable_tick_ns());
	put_usage(d, p);
	put_status(s, p);
	put_cgroup(s, p);
	if (parent)
		draft_ref(d, PROCESS_PARENT, parent->ident);
	for (unsigned int i = 0; i < PROC_NS_COUNT; i++)
		if (p->ns[i])
			draft_u64(d, ns_attrs[i], p->ns[i]);
	r = builder_add(b, d, NULL);
	if (r < 0)
		p->ident = 0;
	return r;
}

/* Processes of which only what everybody may see is known. */
static uint32_t count_closed(const struct proctable *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < proctable_count(t); i++) {
		const struct proc_process *p = proctable_at(t, i);

		n += !p->exe_known && !p->kernel_thread && p->state != 'Z';
	}
	return n;
}

static void report_hidden(const struct proctable *t, struct collect_report *report)
{
	uint32_t closed = count_closed(t);

	if (proctable_hidden(t)) {
		report->degraded = true;
		snprintf(report->reason, sizeof(report->reason),
			 "/proc is mounted with hidepid, which hides the processes of other users: "
			 "run as root");
	} else if (closed && geteuid() == 0) {
		/* What guards a process even against root is no lack of ours, and nobody can mend
		 * it. */
		snprintf(report->reason, sizeof(report->reason),
			 "descriptors, executable and namespaces of %u processes are guarded even "
			 "against root",
			 closed);
	} else if (closed) {
		report->degraded = true;
		snprintf(report->reason, sizeof(report->reason),
			 "descriptors, executable and namespaces of %u processes may not be read: "
			 "run as root or with CAP_SYS_PTRACE",
			 closed);
	}
}

static int process_collect(struct collect_context *ctx, void *state, struct builder *b,
			   struct collect_report *report)
{
	struct processes *s = state;
	int r = proctable_update(ctx->procs, report);

	if (r < 0)
		return r;
	cpunodes_refresh(s->nodes);
	set_idents(s, ctx->procs);
	for (uint32_t i = 0; i < proctable_count(ctx->procs); i++) {
		r = add_process(s, ctx->procs, proctable_at(ctx->procs, i), b);
		if (r < 0 && r != -ENOSPC)
			return r;
	}
	report_hidden(ctx->procs, report);
	return 0;
}

/* --- start ------------------------------------------------------------------------------------ */
/* btime of /proc/stat: seconds since the epoch. Read once: a clock that jumps moves no start time.
 */
static uint64_t read_boot_time(int proc_fd)
{
	_cleanup_free_ char *text = NULL;
	uint64_t seconds;
	size_t len;

	if (fdio_read_all_at(proc_fd, "stat", 4 << 20, &text, &len, NULL) < 0 ||
	    !procparse_btime(text, len, &seconds))
		return 0;
	return seconds * NSEC_PER_SEC;
}

static void process_stop(void *state)
{
	struct processes *s = state;

	if (!s)
		return;
	draft_deinit(&s->draft);
	draft_deinit(&s->scratch);
	strbuf_deinit(&s->line);
	cpunodes_free(s->nodes);
	free(s);
}

static int process_start(struct collect_context *ctx, unsigned int method, void **ret_state)
{
	struct processes *s = calloc(1, sizeof(*s));

	if (!s || cpunodes_new(ctx->sys_fd, &s->nodes) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->boot_ns = read_boot_time(ctx->proc_fd);
	*ret_state = s;
	return 0;
}

int process_probe_proc(struct collect_context *ctx, char *reason, size_t size)
{
	char text[16];
	ssize_t n;

	/* A recording has no "self". */
	if (!ctx->live)
		return 0;
	n = fdio_read_at(ctx->proc_fd, "self/stat", text, sizeof(text));
	if (n >= 0)
		return 0;
	snprintf(reason, size, "/proc/self/stat: %s: mount proc", strerror((int)-n));
	return (int)n;
}

static const struct collector_method methods[] = {
	{"proc", "/proc/<pid>", process_probe_proc},
};

const struct collector collector_process = {
	.name = "process",
	.doc = "processes, with what /proc tells of each",
	.methods = methods,
	.n_methods = ARRAY_SIZE(methods),
	.start = process_start,
	.stop = process_stop,
	.collect = process_collect,
};
