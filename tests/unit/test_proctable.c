/* SPDX-License-Identifier: MIT */
/*
 * The process table over made-up /proc directories (so that each change is known), over the live
 * /proc with processes made here, and the collectors process, thread and container on top of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/container.h"
#include "collect/process.h"
#include "collect/proctable.h"
#include "collect/thread.h"
#include "util/fdio.h"

#define ID "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

/* --- a made-up /proc -------------------------------------------------------------------------- */
static char root[64];
static int root_fd;

static void put(const char *path, const void *data, size_t len)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void put_link(const char *path, const char *target)
{
	/* An old one first: it must not be written through. */
	assert_true(unlinkat(root_fd, path, 0) == 0 || errno == ENOENT);
	put(path, "", 0);
	assert_int_equal(unlinkat(root_fd, path, 0), 0);
	assert_int_equal(symlinkat(target, root_fd, path), 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static void take(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	nftw(full, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/wittyfs-proctable-XXXXXX");
	assert_non_null(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root_fd >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	close(root_fd);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

struct fake {
	int pid, ppid, threads, start;
	const char *name;
	char state;
	unsigned int flags;
};

static void put_stat(const char *dir, int id, const struct fake *f)
{
	char path[128], text[256];
	int n;

	n = snprintf(text, sizeof(text),
		     "%d (%s) %c %d 1 1 0 -1 %u 10 0 2 0 3 4 0 0 20 0 %d 0 %d 8192 25 "
		     "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n",
		     id, f->name, f->state, f->ppid, f->flags, f->threads, f->start);
	snprintf(path, sizeof(path), "%s/stat", dir);
	put(path, text, (size_t)n);
}

static void put_sched(int pid, int tid, unsigned int run_ns, unsigned int slices)
{
	char path[128], text[64];
	int n = snprintf(text, sizeof(text), "%u 5 %u\n", run_ns, slices);

	snprintf(path, sizeof(path), "%d/task/%d/schedstat", pid, tid);
	put(path, text, (size_t)n);
}

static void put_thread(const struct fake *f, int tid)
{
	char dir[64], path[128], text[512];
	int n;

	snprintf(dir, sizeof(dir), "%d/task/%d", f->pid, tid);
	put_stat(dir, tid, f);
	n = snprintf(text, sizeof(text),
		     "Name:\tfake\nUid:\t1000\t0\t0\t0\nGid:\t100\t0\t0\t0\nNSpid:\t%d\t1\n"
		     "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n"
		     "voluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t3\n",
		     tid, tid);
	snprintf(path, sizeof(path), "%s/status", dir);
	put(path, text, (size_t)n);
	put_sched(f->pid, tid, 1000, 7);
}

/* A process with its leader. Its pid modulo PROCTABLE_REREAD says when it is read again. */
static void put_process(const struct fake *f)
{
	char path[64], dir[16];

	snprintf(dir, sizeof(dir), "%d", f->pid);
	put_stat(dir, f->pid, f);
	put_thread(f, f->pid);
	snprintf(path, sizeof(path), "%d/cmdline", f->pid);
	put(path, "prog\0arg\0", 9);
	snprintf(path, sizeof(path), "%d/cgroup", f->pid);
	put(path, "0::/docker/" ID "\n", 76);
	snprintf(path, sizeof(path), "%d/exe", f->pid);
	put_link(path, "/nonexistent/bin/prog");
	snprintf(path, sizeof(path), "%d/ns/net", f->pid);
	put_link(path, "net:[4026531840]");
	snprintf(path, sizeof(path), "%d/fd/0", f->pid);
	put_link(path, "/dev/null");
	snprintf(path, sizeof(path), "%d/fd/1", f->pid);
	put_link(path, "socket:[77]");
	snprintf(path, sizeof(path), "%d/fd/2", f->pid);
	put_link(path, "socket:[5]");
	snprintf(path, sizeof(path), "%d/fd/3", f->pid);
	put_link(path, "socket:[77]");
}

static struct proctable *table(struct proctable_limits limits)
{
	struct proctable *t;

	assert_int_equal(proctable_new(root_fd, limits, &t), 0);
	return t;
}

static struct collect_report update(struct proctable *t)
{
	struct collect_report r = {0};

	assert_int_equal(proctable_update(t, &r), 0);
	return r;
}

static struct proc_process *must_find(struct proctable *t, pid_t pid)
{
	struct proc_process *p = proctable_find(t, pid);

	assert_non_null(p);
	assert_int_equal(p->pid, pid);
	return p;
}

static uint64_t lost(const struct collect_report *r, const char *part)
{
	for (unsigned int i = 0; i < r->n_lost; i++)
		if (strstr(r->lost[i].cause, part))
			return r->lost[i].count;
	return 0;
}

/* 1000 % 12 is 4, so it is read again whole in update 8. */
static const struct fake plain = {1000, 1, 1, 500, "a) S 1 (b", 'S', 0};

static void test_fields(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	struct proc_process *p;

	put_process(&plain);
	put("version", "no process", 10);
	assert_int_equal(update(t).n_lost, 0);
	assert_int_equal(proctable_count(t), 1);
	p = must_find(t, 1000);
	assert_ptr_equal(p, proctable_at(t, 0));
	assert_null(proctable_find(t, 999));
	assert_true(p->fresh && p->ran && p->fds_walked && !p->kernel_thread);
	assert_string_equal(p->name, "a) S 1 (b");
	assert_int_equal(p->ppid, 1);
	assert_int_equal(p->start_ticks, 500);
	assert_int_equal(p->rss_bytes, 25 * sysconf(_SC_PAGESIZE));
	assert_true(p->argv_known);
	assert_int_equal(p->argv_len, 9);
	assert_memory_equal(p->argv, "prog\0arg", 9);
	assert_string_equal(p->exe, "/nonexistent/bin/prog");
	assert_true(p->exe_known && p->exe_deleted_known && !p->exe_deleted);
	assert_string_equal(p->cgroup, "0::/docker/" ID "\n");
	assert_true(p->ns[PROC_NS_NET] == 4026531840);
	assert_int_equal(p->ns[PROC_NS_PID], 0);
	assert_true(p->fds_known);
	assert_int_equal(p->n_fds, 4);
	assert_int_equal(p->n_sockets, 2);
	assert_int_equal(p->sockets[0], 5);
	assert_int_equal(p->sockets[1], 77);
	assert_int_equal(p->n_threads, 1);
	assert_true(p->threads[0].sched_known && p->threads[0].ran);
	assert_int_equal(p->threads[0].run_ns, 1000);
	assert_int_equal(p->threads[0].slices, 7);
	assert_int_equal(p->threads[0].cpus_seen_words, 1);
	assert_int_equal(p->threads[0].cpus_seen[0], 2);
	assert_true(p->status.known);
	assert_int_equal(p->status.uid, 1000);
	assert_string_equal(p->status.nspid, "1000 1");
	assert_string_equal(p->status.cpus_allowed, "0-3");
	assert_ptr_equal(p->status.cpus_allowed, p->threads[0].status.cpus_allowed);
	assert_false(proctable_hidden(t));
	proctable_free(t);
}

static void test_only_what_ran(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	struct proc_process *p;

	put_process(&plain);
	update(t);
	p = must_find(t, 1000);
	p->ident = 12;
	p->threads[0].ident = 13;
	put("1000/cmdline", "new\0", 4);
	take("1000/fd/1");
	update(t); /* nothing ran: nothing is read */
	p = must_find(t, 1000);
	assert_true(!p->fresh && !p->ran && !p->fds_walked && !p->threads[0].ran);
	assert_string_equal(p->argv, "prog");
	assert_int_equal(p->n_fds, 4);
	put_sched(1000, 1000, 1001, 7);
	update(t);
	p = must_find(t, 1000);
	assert_true(!p->fresh && p->ran && p->fds_walked && p->threads[0].ran);
	assert_string_equal(p->argv, "new");
	assert_int_equal(p->n_fds, 3);
	assert_int_equal(p->ident, 12);
	assert_int_equal(p->threads[0].ident, 13);
	/* What others change is seen at the latest after PROCTABLE_REREAD updates. */
	put("1000/cgroup", "0::/elsewhere\n", 14);
	for (int i = 0; i < PROCTABLE_REREAD; i++)
		update(t);
	p = must_find(t, 1000);
	assert_string_equal(p->cgroup, "0::/elsewhere\n");
	/* And when somebody asks for the descriptors. */
	take("1000/fd");
	put_link("1000/fd/9", "socket:[9]");
	update(t);
	assert_int_equal(must_find(t, 1000)->n_fds, 3);
	proctable_walk_fds(t);
	p = must_find(t, 1000);
	assert_true(p->fds_walked);
	assert_int_equal(p->n_fds, 1);
	assert_int_equal(p->sockets[0], 9);
	proctable_free(t);
}

static void test_reuse(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	struct fake next = plain;
	struct proc_process *p;

	put_process(&plain);
	update(t);
	must_find(t, 1000)->ident = 12;
	next.start = 501;
	next.name = "next";
	put_process(&next);
	take("1000/fd");
	put("1000/cmdline", "", 0);
	put_sched(1000, 1000, 10, 1);
	update(t);
	p = must_find(t, 1000);
	assert_true(p->fresh && p->ran);
	assert_int_equal(p->ident, 0);
	assert_int_equal(p->threads[0].ident, 0);
	assert_string_equal(p->name, "next");
	assert_true(p->argv_known && p->argv_len == 0);
	assert_false(p->fds_known); /* no list of them: unknown, not none */
	assert_int_equal(p->n_sockets, 0);
	take("1000");
	update(t);
	assert_int_equal(proctable_count(t), 0);
	proctable_free(t);
}

static void test_threads(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	struct fake f = plain;
	struct proc_process *p;

	f.threads = 3;
	put_process(&f);
	put_thread(&f, 1002);
	put_thread(&f, 1005);
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->n_threads, 3);
	for (int i = 0; i < 3; i++)
		p->threads[i].ident = 100 + i;
	/* One goes, one comes: the number is the same, and one ran. */
	take("1000/task/1002");
	put_thread(&f, 1007);
	put_sched(1000, 1005, 2000, 8);
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->n_threads, 3);
	assert_int_equal(p->threads[0].tid, 1000);
	assert_int_equal(p->threads[0].ident, 100);
	assert_false(p->threads[0].ran);
	assert_int_equal(p->threads[1].tid, 1005);
	assert_int_equal(p->threads[1].ident, 102);
	assert_true(p->threads[1].ran);
	assert_int_equal(p->threads[2].tid, 1007);
	assert_int_equal(p->threads[2].ident, 0);
	assert_true(p->ran);
	/* The number of one is another thread now. */
	f.start = 900;
	put_thread(&f, 1007);
	put_sched(1000, 1007, 1, 1);
	p->threads[2].ident = 7;
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->threads[2].ident, 0);
	assert_int_equal(p->threads[2].start_ticks, 900);
	/* An exec by another thread leaves the leader alone. */
	f.start = 500;
	f.threads = 1;
	put_stat("1000", 1000, &f);
	take("1000/task/1005");
	take("1000/task/1007");
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->n_threads, 1);
	assert_int_equal(p->threads[0].ident, 100);
	proctable_free(t);
}

static void test_without_schedstat(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	struct proc_process *p;

	put_process(&plain);
	take("1000/task/1000/schedstat");
	update(t);
	assert_false(must_find(t, 1000)->threads[0].sched_known);
	put("1000/cmdline", "new\0", 4);
	update(t);
	p = must_find(t, 1000);
	assert_true(p->ran && !p->threads[0].sched_known);
	assert_string_equal(p->argv, "new");
	/* A kernel that says 0 0 0 of everybody does not count. */
	put_sched(1000, 1000, 0, 0);
	update(t);
	update(t);
	p = must_find(t, 1000);
	assert_true(p->ran && !p->threads[0].sched_known);
	proctable_free(t);
}

static void test_kinds(void **state)
{
	static const struct fake zombie = {1001, 1000, 1, 501, "z", 'Z', 0};
	static const struct fake kernel = {1002, 2, 1, 502, "kworker/0:1", 'I', 0x00200000};
	struct proctable *t = table((struct proctable_limits){0});
	struct proc_process *p;

	put_process(&zombie);
	take("1001/exe");
	take("1001/fd");
	put("1001/fd/x", "", 0);
	put("1001/cmdline", "", 0);
	put_process(&kernel);
	take("1002/exe");
	take("1002/fd");
	/* Not a process: its stat is no stat. */
	put("1003/stat", "1003 (x", 7);
	update(t);
	assert_int_equal(proctable_count(t), 2);
	p = must_find(t, 1001);
	assert_int_equal(p->state, 'Z');
	assert_true(p->argv_known && p->argv_len == 0 && p->exe_known && !p->exe);
	assert_true(p->fds_known && p->n_fds == 0);
	p = must_find(t, 1002);
	assert_true(p->kernel_thread && p->argv_known && p->argv_len == 0 && !p->exe);
	assert_true(p->fds_known);
	proctable_free(t);
}

static void test_command_lines(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	size_t big = 300000;
	char *text = malloc(big);
	struct proc_process *p;

	put_process(&plain);
	memset(text, 'a', big);
	text[big - 1] = '\0';
	put("1000/cmdline", text, big);
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->argv_len, 256 * 1024);
	assert_int_equal(p->argv_total, big);
	assert_int_equal(p->argv[p->argv_len - 1], '\0');
	/* Written full, no NUL at the end: one is added. */
	put("1000/cmdline", "TTTT", 4);
	put_sched(1000, 1000, 1001, 8);
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->argv_len, 5);
	assert_int_equal(p->argv_total, 5);
	put("1000/cmdline", "title\0\0\0\0", 9);
	put_sched(1000, 1000, 1002, 9);
	update(t);
	p = must_find(t, 1000);
	assert_int_equal(p->argv_len, 6);
	assert_int_equal(p->argv_total, 6);
	free(text);
	proctable_free(t);
}

static void test_limits(void **state)
{
	struct proctable *t = table(
		(struct proctable_limits){.processes = 2, .threads_each = 2, .sockets_each = 2});
	struct fake f = plain;
	struct collect_report r;

	f.threads = 3;
	put_process(&f);
	put_thread(&f, 1004);
	put_thread(&f, 1005);
	for (f.pid = 1001; f.pid < 1004; f.pid++)
		put_process(&f);
	r = update(t);
	assert_int_equal(proctable_count(t), 2);
	assert_int_equal(lost(&r, "processes beyond"), 2);
	assert_int_equal(lost(&r, "sockets of one"), 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(proctable_at(t, i)->n_sockets <= 2, 1);
	proctable_clear(t);
	assert_int_equal(proctable_count(t), 0);
	update(t);
	assert_int_equal(proctable_count(t), 2);
	proctable_free(t);
}

/* Lists that change for ever do not make the table grow, and what is in use stays. */
static void test_intern(void **state)
{
	struct proctable *t = table((struct proctable_limits){0});
	struct proc_process *p;

	put_process(&plain);
	update(t);
	for (unsigned int i = 0; i < 1000; i++) {
		char text[256], want[16];
		int n;

		snprintf(want, sizeof(want), "0-%u", i);
		n = snprintf(text, sizeof(text),
			     "Uid:\t0\t0\nGid:\t0\t0\nCpus_allowed_list:\t%s\n"
			     "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n",
			     want);
		put("1000/task/1000/status", text, (size_t)n);
		put_sched(1000, 1000, 2000 + i, 7);
		update(t);
		p = must_find(t, 1000);
		assert_string_equal(p->status.cpus_allowed, want);
		assert_ptr_equal(p->status.cpus_allowed, p->threads[0].status.cpus_allowed);
		assert_null(p->status.nspid);
	}
	proctable_free(t);
}

/* --- collectors on top ------------------------------------------------------------------------ */
struct world {
	struct collect_context ctx;
	void *states[3];
	struct snapshot *snapshot;
};

static const struct collector *const under_test[] = {&collector_process, &collector_thread,
						     &collector_container};

static void world_init(struct world *w, int proc_fd, bool live)
{
	*w = (struct world){.ctx = {.proc_fd = proc_fd, .sys_fd = root_fd, .live = live}};
	assert_int_equal(proctable_new(proc_fd, (struct proctable_limits){0}, &w->ctx.procs), 0);
	for (int i = 0; i < 3; i++) {
		char reason[256] = "";

		assert_int_equal(under_test[i]->methods[0].probe(&w->ctx, reason, sizeof(reason)),
				 0);
		assert_int_equal(under_test[i]->start(&w->ctx, 0, &w->states[i]), 0);
	}
}

static void world_collect(struct world *w)
{
	struct snapshot *previous = w->snapshot;
	struct builder *b;

	assert_int_equal(builder_new(previous, (struct builder_limits){0}, &b), 0);
	for (int i = 0; i < 3; i++) {
		struct collect_report r = {0};

		assert_int_equal(under_test[i]->collect(&w->ctx, w->states[i], b, &r), 0);
	}
	assert_int_equal(builder_finish(b, state_new(), &w->snapshot), 0);
	assert_int_equal(builder_counts(b).dangling, 0);
	builder_free(b);
	snapshot_unref(previous);
}

static void world_deinit(struct world *w)
{
	for (int i = 0; i < 3; i++)
		under_test[i]->stop(w->states[i]);
	snapshot_unref(w->snapshot);
	proctable_free(w->ctx.procs);
}

static void assert_text(const struct object *o, unsigned int attr, const char *want)
{
	size_t len = 0;
	const char *text = object_bytes(o, attr, &len);

	print_message("%s: want '%s'\n", o->type->attrs[attr].name, want);
	assert_non_null(text);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

static const struct object *by_key(const struct world *w, enum entity_type type, const char *key)
{
	const struct object *o = snapshot_entity_by_key(w->snapshot, type, key, strlen(key));

	print_message("entity %s\n", key);
	assert_non_null(o);
	return o;
}

static uint32_t n_entities(const struct world *w, enum entity_type type)
{
	return w->snapshot->entity_start[type + 1] - w->snapshot->entity_start[type];
}

static uint32_t n_edges(const struct world *w, enum edge_type type)
{
	return w->snapshot->edge_start[type + 1] - w->snapshot->edge_start[type];
}

static void test_collectors(void **state)
{
	static const struct fake init = {1, 0, 1, 1, "init", 'S', 0};
	struct fake child = plain;
	const struct object *p, *t, *c;
	struct world w;

	child.threads = 2;
	put("stat", "cpu 1\nbtime 1700000000\n", 23);
	put_process(&init);
	put("1/cgroup", "4:memory:/process_api/538d79e5a8fe1e4e727dec1cd835bf92\n0::/\n", 60);
	put_process(&child);
	put_thread(&child, 1001);
	child = (struct fake){1002, 1000, 1, 500, "pod", 'S', 0};
	put_process(&child);
	put("1002/cgroup",
	    "0::/kubepods/besteffort/pod91a8fc3a-0ecf-48b4-81bf-78a7275d348c/"
	    "1f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n",
	    129);
	world_init(&w, root_fd, false);
	world_collect(&w);
	assert_int_equal(n_entities(&w, ENTITY_PROCESS), 3);
	assert_int_equal(n_entities(&w, ENTITY_THREAD), 4);
	assert_int_equal(n_entities(&w, ENTITY_CONTAINER), 2);
	assert_int_equal(n_entities(&w, ENTITY_POD), 1);
	assert_int_equal(n_edges(&w, EDGE_OWN), 5);
	assert_int_equal(n_edges(&w, EDGE_HOST), 2);
	assert_int_equal(n_edges(&w, EDGE_RUN_ON), 2);
	p = by_key(&w, ENTITY_PROCESS, "1000");
	assert_text(p, PROCESS_NAME, "a) S 1 (b");
	assert_text(p, PROCESS_CMDLINE, "prog arg");
	assert_text(p, PROCESS_CONTAINER_ID, ID);
	assert_text(p, PROCESS_CGROUP, "/docker/" ID);
	assert_true(object_value(p, PROCESS_PARENT)->ident ==
		    by_key(&w, ENTITY_PROCESS, "1")->ident);
	assert_int_equal(object_value(p, PROCESS_VOLUNTARY_CTXT_SWITCHES)->u64, 2001);
	assert_true(object_value(p, PROCESS_START_TIME_NS)->u64 ==
		    1700000000 * NSEC_PER_SEC + 500 * proctable_tick_ns());
	assert_false(object_has(p, PROCESS_ARGV_CUT_BYTES));
	c = by_key(&w, ENTITY_CONTAINER, ID);
	assert_true(object_value(p, PROCESS_CONTAINER)->ident == c->ident);
	assert_text(c, CONTAINER_CONTAINER_ID, "9f86d081");
	assert_text(c, CONTAINER_CONTAINER_NAME, "docker-9f86d081884c");
	assert_text(c, CONTAINER_CONTAINER_TYPE, "docker");
	assert_false(object_has(c, CONTAINER_POD_UID));
	t = by_key(&w, ENTITY_THREAD, "1001");
	assert_true(object_value(t, THREAD_PROCESS)->ident == p->ident);
	assert_int_equal(object_value(t, THREAD_RUN_TIME_NS)->u64, 1000);
	assert_text(t, THREAD_NSTID, "1001 1");
	p = by_key(&w, ENTITY_PROCESS, "1");
	assert_text(p, PROCESS_CGROUP, "/");
	assert_false(object_has(p, PROCESS_CONTAINER) || object_has(p, PROCESS_PARENT));
	c = by_key(&w, ENTITY_POD, "91a8fc3a-0ecf-48b4-81bf-78a7275d348c");
	assert_text(c, POD_QOS, "besteffort");
	/* Nothing changed: the very objects. */
	p = by_key(&w, ENTITY_PROCESS, "1000");
	object_ref((struct object *)p);
	world_collect(&w);
	assert_ptr_equal(p, by_key(&w, ENTITY_PROCESS, "1000"));
	object_unref((struct object *)p);
	world_deinit(&w);
}

/* --- the live /proc --------------------------------------------------------------------------- */
static pid_t start_child(const char *name, int sockets)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		for (int i = 0; i < sockets; i++)
			if (socket(AF_INET, SOCK_STREAM, 0) < 0)
				_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_live(void **state)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = start_child(") R 1\n(", 3);
	siginfo_t info;
	struct world w;
	struct proc_process *p;

	assert_true(proc >= 0);
	world_init(&w, proc, true);
	world_collect(&w);
	p = must_find(w.ctx.procs, pid);
	assert_string_equal(p->name, ") R 1\n(");
	assert_int_equal(p->ppid, getpid());
	assert_int_equal(p->state, 'S');
	assert_int_equal(p->n_sockets, 3);
	assert_int_equal(p->n_threads, 1);
	assert_true(p->status.known && p->status.uid == getuid());
	assert_true(p->exe_known && !p->exe_deleted && p->ns[PROC_NS_NET]);
	assert_true(p->ident && p->threads[0].ident);
	assert_int_equal(p->fds_known, true);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	world_collect(&w);
	p = must_find(w.ctx.procs, pid);
	assert_int_equal(p->state, 'Z');
	assert_true(!p->fresh && p->argv_known && p->argv_len == 0 && p->exe_known && !p->exe);
	assert_int_equal(p->n_sockets, 0);
	end_child(pid);
	world_collect(&w);
	assert_null(proctable_find(w.ctx.procs, pid));
	world_deinit(&w);
	close(proc);
}

/* Want of our own descriptors is no news about processes, and is mended when it is over. */
static void test_starved(void **state)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = start_child("starved", 2), other;
	struct proctable *t;
	struct collect_report r;
	struct rlimit all, none;
	int fds[2], next;

	assert_int_equal(proctable_new(proc, (struct proctable_limits){0}, &t), 0);
	update(t);
	assert_int_equal(must_find(t, pid)->n_sockets, 2);
	other = start_child("fresh", 1);
	next = dup(0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	/* First none at all, then one (for the directory of the process, but no file in it). */
	for (int room = 0; room < 2; room++) {
		none = (struct rlimit){(rlim_t)(next + room), all.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		r = update(t);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
		assert_true(lost(&r, "no descriptor") > 0);
		assert_int_equal(must_find(t, pid)->n_sockets, 2);
		assert_null(proctable_find(t, other));
	}
	/* Enough for files, but not for a directory and a file: descriptors are unknown. */
	none = (struct rlimit){(rlim_t)(next + 2), all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	update(t);
	proctable_walk_fds(t);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	r = update(t);
	assert_int_equal(lost(&r, "no descriptor"), 0);
	assert_true(must_find(t, pid)->fds_known);
	assert_int_equal(must_find(t, pid)->n_sockets, 2);
	assert_int_equal(must_find(t, other)->n_sockets, 1);
	proctable_free(t);
	end_child(pid);
	end_child(other);
	/* No descriptor was left open. */
	close(proc);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fds[0], proc);
	close(fds[0]);
	close(fds[1]);
}

#define FAKE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE(test_fields),
		FAKE(test_only_what_ran),
		FAKE(test_reuse),
		FAKE(test_threads),
		FAKE(test_without_schedstat),
		FAKE(test_kinds),
		FAKE(test_command_lines),
		FAKE(test_limits),
		FAKE(test_intern),
		FAKE(test_collectors),
		FAKE(test_live),
		FAKE(test_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
