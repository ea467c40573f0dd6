/* SPDX-License-Identifier: MIT */
/*
 * --offline: collects at the interval for a while, then writes topology_graph.json (indented as the
 * reference's) and topology_graph.txt. SIGTERM and SIGINT end the wait and write what there is.
 * Files are replaced whole; nothing else in the directory is touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/actions.h"
#include "daemon/collection.h"
#include "util/fdio.h"
#include "util/log.h"
#include "util/timeutil.h"
#include "view/document.h"
#include "view/write.h"

static volatile sig_atomic_t ended;

static void end(int number)
{
	ended = 1;
}

/* --- output ----------------------------------------------------------------------------------- */
/* Makes the directory and those above it. */
static int make_directory(const char *path)
{
	char copy[4096];

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	strcpy(copy, path);
	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(copy, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static const struct output {
	const char *name;
	const struct document_format *format;
	bool indent;
} outputs[] = {
	{"topology_graph.json", &document_graph_json, true},
	{"topology_graph.txt", &document_graph_text, false},
};

/* The whole file appears at once, or the old one stays: a full disk leaves no half JSON. */
static int write_output(int dir, const struct output *out, struct snapshot *s)
{
	_cleanup_close_ int fd = -1;
	char tmp[128];
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.%d.tmp", out->name, (int)getpid());
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = write_document(s, out->format, out->indent, write_to_fd, &fd);
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	if (r == 0 && renameat(dir, tmp, dir, out->name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, tmp, 0);
	return r;
}

static int write_outputs(int dir, const char *path, struct snapshot *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		int r = write_output(dir, &outputs[i], s);

		if (r < 0)
			return fail("%s/%s: %s", path, outputs[i].name, strerror(-r));
		printf("%s%s%s\n", path, path[strlen(path) - 1] == '/' ? "" : "/", outputs[i].name);
	}
	return 0;
}

/* --- collecting ------------------------------------------------------------------------------- */
static void show_progress(const struct snapshot *s, uint64_t left_ns)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rcollected %llu times: %u nodes, %u edges, %llu s left   ",
		(unsigned long long)s->state->collections, s->n_entities, s->n_edges,
		(unsigned long long)(left_ns / NSEC_PER_SEC));
	if (left_ns == 0)
		fputc('\n', stderr);
}

static void sleep_until(uint64_t until_ns)
{
	struct timespec ts = {(time_t)(until_ns / NSEC_PER_SEC), (long)(until_ns % NSEC_PER_SEC)};

	/* A signal ends it early: that is the point. */
	if (!ended)
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Collects at least once, and a last time at the end. */
static int collect_for(struct collection *c, const struct options *o, struct state *base,
		       struct snapshot **ret)
{
	uint64_t interval = config_duration_ns(&o->config, CONFIG_COLLECTOR_INTERVAL);
	uint64_t end_ns = time_monotonic_ns() + o->duration_ns, now;
	_cleanup_snapshot_ struct snapshot *s = NULL;

	do {
		struct state *state = state_dup(s ? s->state : base);
		struct snapshot *next;
		int r = state ? collection_run(c, s, state, &next) : -ENOMEM;

		if (r < 0)
			return r;
		snapshot_unref(s);
		s = next;
		now = time_monotonic_ns();
		show_progress(s, now < end_ns && !ended ? end_ns - now : 0);
		if (now < end_ns)
			sleep_until(MIN(now + interval, end_ns));
	} while (now < end_ns && !ended);
	*ret = STEAL_PTR(s);
	return 0;
}

static int check_pids(struct collection *c, const struct options *o, struct state *state)
{
	if (o->n_pids > STATE_MAX_PIDS)
		return fail("--pid: at most %d processes", STATE_MAX_PIDS);
	for (size_t i = 0; i < o->n_pids; i++) {
		if (o->fast_fail && !collection_pid_exists(c, o->pids[i]))
			return fail("--pid: there is no process %d (--no-fast-fail waits for it)",
				    (int)o->pids[i]);
		state->pids[state->n_pids++] = o->pids[i];
	}
	return 0;
}

/* What could not be seen is said; without processes there is nothing to record. */
static int warn_of_failures(const struct state *s)
{
	int r = 0;

	for (unsigned int i = 0; i < s->n_collectors; i++) {
		const struct collector_state *c = &s->collectors[i];

		if (c->health != COLLECTOR_FAILED)
			continue;
		fail("collector %s: %s", c->name, c->reason);
		r = strcmp(c->name, "process") == 0 ? 1 : r;
	}
	return r;
}

static void collection_freep(struct collection **c)
{
	collection_free(*c);
}

int action_offline(const struct options *o)
{
	const char *path = config_string(&o->config, CONFIG_TMP_DIR);
	_cleanup_(collection_freep) struct collection *c = NULL;
	_cleanup_(state_unrefp) struct state *state = state_new();
	_cleanup_snapshot_ struct snapshot *s = NULL;
	struct sigaction action = {.sa_handler = end};
	_cleanup_close_ int dir = -1;
	char error[512] = "";
	int r;

	if (!state)
		return fail("out of memory");
	/* Before the time is spent: a directory that cannot be written is told at once. */
	r = make_directory(path);
	if (r == 0 && access(path, W_OK) < 0)
		r = -errno;
	if (r == 0 && (dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = -errno;
	if (r < 0)
		return fail("%s: %s: give a directory that can be written with --output", path,
			    strerror(-r));
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	r = collection_new(&o->config, o->fsroot, &c, error, sizeof(error));
	if (r < 0)
		return fail("%s", error[0] ? error : strerror(-r));
	if (check_pids(c, o, state))
		return 1;
	collection_describe(c, state);
	r = collect_for(c, o, state, &s);
	if (r < 0)
		return fail("collection: %s", strerror(-r));
	r = write_outputs(dir, path, s);
	return warn_of_failures(s->state) || r;
}
