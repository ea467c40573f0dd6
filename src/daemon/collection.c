/* SPDX-License-Identifier: MIT */
#include "daemon/collection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/proctable.h"
#include "util/fdio.h"
#include "util/log.h"
#include "util/timeutil.h"

struct running {
	const struct collector *collector;
	void *state;
	bool enabled;
	int method; /* index, or -1: none works */
	char reason[512];
};

struct collection {
	struct collect_context ctx;
	struct running running[STATE_MAX_COLLECTORS];
	unsigned int n;
};

/* --- start ------------------------------------------------------------------------------------ */
static int open_roots(struct collection *c, const char *fsroot, char *error, size_t size)
{
	char path[4096];

	c->ctx.live = fsroot == NULL;
	for (unsigned int i = 0; i < 2; i++) {
		int *fd = i ? &c->ctx.sys_fd : &c->ctx.proc_fd;

		snprintf(path, sizeof(path), "%s/%s", fsroot ? fsroot : "", i ? "sys" : "proc");
		*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* A container may have no /sys: the collectors that need it say so. */
		if (*fd < 0 && i == 0) {
			int r = -errno;

			snprintf(error, size,
				 "%s: %s: mount proc there, or give --fsroot a directory "
				 "with a recorded proc",
				 path, strerror(-r));
			return r;
		}
	}
	return 0;
}

/* Adds a part to a list of reasons; what does not fit is cut. */
static void add_reason(char *reason, size_t size, const char *part)
{
	size_t len = strlen(reason);

	if (*part)
		snprintf(reason + len, size - len, "%s%s", len ? "; " : "", part);
}

static int try_method(struct collection *c, struct running *r, unsigned int i)
{
	const struct collector_method *m = &r->collector->methods[i];
	char why[256] = "", part[384];
	int result = m->probe ? m->probe(&c->ctx, why, sizeof(why)) : 0;

	if (result == 0 && r->collector->start)
		result = r->collector->start(&c->ctx, i, &r->state);
	if (result == 0) {
		r->method = (int)i;
		return 0;
	}
	snprintf(part, sizeof(part), "%s: %s", m->name, *why ? why : strerror(-result));
	add_reason(r->reason, sizeof(r->reason), part);
	return result;
}

/* The best method that works here. */
static void start_collector(struct collection *c, struct running *r)
{
	r->method = -1;
	for (unsigned int i = 0; i < r->collector->n_methods; i++)
		if (try_method(c, r, i) == 0)
			return;
}

int collection_new(const struct config *config, const char *fsroot, struct collection **ret,
		   char *error, size_t error_size)
{
	struct collection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->ctx.proc_fd = c->ctx.sys_fd = -1;
	r = open_roots(c, fsroot, error, error_size);
	if (r == 0)
		r = proctable_new(c->ctx.proc_fd, (struct proctable_limits){0}, &c->ctx.procs);
	if (r < 0) {
		collection_free(c);
		return r;
	}
	for (unsigned int i = 0; collectors[i] && c->n < STATE_MAX_COLLECTORS; i++) {
		struct running *run = &c->running[c->n++];

		run->collector = collectors[i];
		run->method = -1;
		run->enabled = !config_lists_collector(config, CONFIG_COLLECTOR_DISABLED_COLLECTORS,
						       collectors[i]->name);
		if (run->enabled)
			start_collector(c, run);
	}
	*ret = c;
	return 0;
}

struct collection *collection_free(struct collection *c)
{
	if (!c)
		return NULL;
	for (unsigned int i = 0; i < c->n; i++)
		if (c->running[i].method >= 0 && c->running[i].collector->stop)
			c->running[i].collector->stop(c->running[i].state);
	proctable_free(c->ctx.procs);
	close_fd(&c->ctx.proc_fd);
	close_fd(&c->ctx.sys_fd);
	free(c);
	return NULL;
}

void collection_describe(const struct collection *c, struct state *state)
{
	state->n_collectors = c->n;
	for (unsigned int i = 0; i < c->n; i++) {
		const struct running *r = &c->running[i];
		struct collector_state *s = &state->collectors[i];

		s->name = r->collector->name;
		s->enabled = r->enabled;
		s->method = r->method >= 0 ? r->collector->methods[r->method].name : "none";
		snprintf(s->reason, sizeof(s->reason), "%s",
			 r->enabled ? r->reason
				    : "disabled by collector_config.disabled_collectors");
		s->health = !r->enabled	    ? COLLECTOR_OFF
			    : r->method < 0 ? COLLECTOR_FAILED
			    : r->method > 0 ? COLLECTOR_DEGRADED
					    : COLLECTOR_OK;
	}
}

/* --- one collection --------------------------------------------------------------------------- */
static void note_report(const struct running *r, const struct collect_report *report, int result,
			struct collector_state *s)
{
	s->health = r->method > 0 ? COLLECTOR_DEGRADED : COLLECTOR_OK;
	if (report->degraded)
		s->health = COLLECTOR_DEGRADED;
	if (result < 0)
		s->health = COLLECTOR_FAILED;
	snprintf(s->reason, sizeof(s->reason), "%s", r->reason);
	add_reason(s->reason, sizeof(s->reason),
		   report->reason[0] ? report->reason
		   : result < 0	     ? strerror(-result)
				     : "");
	memcpy(s->lost, report->lost, sizeof(s->lost));
	s->n_lost = report->n_lost;
}

static void run_collector(struct collection *c, struct running *r, struct builder *b,
			  struct collector_state *s)
{
	struct collect_report report = {0};
	struct builder_counts before = builder_counts(b), after;
	uint64_t start = time_thread_cpu_ns();
	int result = r->collector->collect(&c->ctx, r->state, b, &report);

	after = builder_counts(b);
	s->cost_ns = time_thread_cpu_ns() - start;
	s->entities = after.entities - before.entities;
	s->edges = after.edges - before.edges;
	s->collected_ns = time_monotonic_ns();
	note_report(r, &report, result, s);
	if (result < 0)
		log_debug("collector %s: %s", s->name, strerror(-result));
}

/* Keeps the chosen processes and what is reached from them. */
static int restrict_to_pids(struct collection *c, struct builder *b, const struct state *state)
{
	uint64_t seeds[STATE_MAX_PIDS];
	unsigned int n = 0;

	if (state->n_pids == 0)
		return 0;
	for (unsigned int i = 0; i < state->n_pids; i++) {
		const struct proc_process *p = proctable_find(c->ctx.procs, state->pids[i]);

		if (p && p->ident)
			seeds[n++] = p->ident;
	}
	return builder_restrict(b, seeds, n);
}

int collection_run(struct collection *c, const struct snapshot *previous, struct state *state,
		   struct snapshot **ret)
{
	_cleanup_builder_ struct builder *b = NULL;
	uint64_t wall = time_monotonic_ns(), cpu = time_thread_cpu_ns();
	int r = builder_new(previous, (struct builder_limits){0}, &b);

	if (r < 0) {
		state_unref(state);
		return r;
	}
	c->ctx.cycle++;
	for (unsigned int i = 0; i < c->n; i++)
		if (c->running[i].enabled && c->running[i].method >= 0)
			run_collector(c, &c->running[i], b, &state->collectors[i]);
	r = restrict_to_pids(c, b, state);
	if (r < 0) {
		state_unref(state);
		return r;
	}
	state->lost = builder_counts(b).lost;
	state->collections++;
	state->collected_ns = time_realtime_ns();
	state->cost_ns = time_thread_cpu_ns() - cpu;
	state->elapsed_ns = time_monotonic_ns() - wall;
	return builder_finish(b, state, ret);
}

void collection_clear(struct collection *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->running[i].method >= 0 && c->running[i].collector->clear)
			c->running[i].collector->clear(c->running[i].state);
	proctable_clear(c->ctx.procs);
}

bool collection_pid_exists(const struct collection *c, pid_t pid)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "%d", (int)pid);
	return fstatat(c->ctx.proc_fd, name, &st, 0) == 0;
}

void collection_methods(struct collection *c, collection_method_fn fn, void *userdata)
{
	for (unsigned int i = 0; i < c->n; i++) {
		const struct running *r = &c->running[i];

		for (unsigned int k = 0; k < r->collector->n_methods; k++) {
			struct collection_method m = {
				.collector = r->collector,
				.method = &r->collector->methods[k],
				.used = r->method == (int)k,
			};
			int result = m.method->probe
					     ? m.method->probe(&c->ctx, m.reason, sizeof(m.reason))
					     : 0;

			m.works = result == 0;
			if (result < 0 && !m.reason[0])
				snprintf(m.reason, sizeof(m.reason), "%s", strerror(-result));
			fn(userdata, &m);
		}
	}
}
