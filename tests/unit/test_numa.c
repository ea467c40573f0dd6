/* SPDX-License-Identifier: MIT */
/*
 * The numa collector on fake machines (tests/golden/numa/fake_root.h), on this machine, and, where
 * WITTYFS_SHARED names the shared inputs, on hwloc's recorded machines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../golden/numa/fake_root.h"
#include "collect/cpunodes.h"
#include "collect/numa.h"
#include "collect/numa_counters.h"
#include "collect/numa_hwloc.h"
#include "collect/numa_place.h"
#include "collect/proctable.h"
#include "util/fdio.h"
#include "util/text.h"

enum {
	METHOD_HWLOC,
	METHOD_SYSFS,
};

/* --- harness ---------------------------------------------------------------------------------- */
struct run {
	struct collect_context ctx;
	void *state;
	struct snapshot *snapshot;
	struct collect_report report;
};

static void run_init(struct run *r, int proc_fd, int sys_fd, bool live, unsigned int method)
{
	*r = (struct run){.ctx = {.proc_fd = proc_fd, .sys_fd = sys_fd, .live = live}};
	assert_int_equal(collector_numa.start(&r->ctx, method, &r->state), 0);
}

/* Gives the processes of the table their idents, as the process collector would. */
static void add_processes(struct run *r, struct builder *b)
{
	_cleanup_draft_ struct draft d = {0};

	for (uint32_t i = 0; r->ctx.procs && i < proctable_count(r->ctx.procs); i++) {
		struct proc_process *p = proctable_at(r->ctx.procs, i);

		draft_begin(&d, &entity_types[ENTITY_PROCESS]);
		draft_s64(&d, PROCESS_PID, p->pid);
		draft_u64(&d, PROCESS_START_TIME_TICKS, p->start_ticks);
		assert_int_equal(builder_add(b, &d, &p->ident), 0);
		for (uint32_t k = 0; k < p->n_threads; k++) {
			draft_begin(&d, &entity_types[ENTITY_THREAD]);
			draft_s64(&d, THREAD_TID, p->threads[k].tid);
			draft_u64(&d, THREAD_START_TIME_TICKS, p->threads[k].start_ticks);
			assert_int_equal(builder_add(b, &d, &p->threads[k].ident), 0);
		}
	}
}

static void run_collect(struct run *r)
{
	struct builder_limits limits = {0};
	struct snapshot *previous = r->snapshot;
	struct builder *b;

	r->ctx.cycle++;
	r->report = (struct collect_report){0};
	assert_int_equal(builder_new(previous, limits, &b), 0);
	if (r->ctx.procs) {
		struct collect_report ignored = {0};

		assert_int_equal(proctable_update(r->ctx.procs, &ignored), 0);
	}
	add_processes(r, b);
	assert_int_equal(collector_numa.collect(&r->ctx, r->state, b, &r->report), 0);
	assert_int_equal(builder_finish(b, state_new(), &r->snapshot), 0);
	assert_int_equal(builder_counts(b).dangling, 0);
	builder_free(b);
	snapshot_unref(previous);
}

static void run_deinit(struct run *r)
{
	collector_numa.stop(r->state);
	snapshot_unref(r->snapshot);
}

static uint32_t count_entities(const struct run *r, enum entity_type type)
{
	return r->snapshot->entity_start[type + 1] - r->snapshot->entity_start[type];
}

static const struct object *node(const struct run *r, unsigned int id)
{
	char key[16];
	const struct object *o;

	snprintf(key, sizeof(key), "%u", id);
	o = snapshot_entity_by_key(r->snapshot, ENTITY_NUMA, key, strlen(key));
	if (!o)
		fail_msg("node %u is not in the graph", id);
	return o;
}

static const struct object *set(const struct run *r, const char *nodes)
{
	const struct object *o =
		snapshot_entity_by_key(r->snapshot, ENTITY_NUMA_SET, nodes, strlen(nodes));

	if (!o)
		fail_msg("set {%s} is not in the graph", nodes);
	return o;
}

/* The text of an attribute; "(kind N)" when it has none. A few results stay valid. */
static const char *text(const struct object *o, unsigned int attr)
{
	static char buf[8][16384];
	static unsigned int turn;
	char *out = buf[turn++ % 8];
	size_t len;
	const char *s = object_bytes(o, attr, &len);

	if (s)
		snprintf(out, sizeof(buf[0]), "%.*s", (int)len, s);
	else
		snprintf(out, sizeof(buf[0]), "(kind %u)", object_value(o, attr)->kind);
	return out;
}

#define assert_attr(o, attr, want) assert_string_equal(text(o, attr), want)

static const struct object *out_edge(const struct run *r, const struct object *from,
				     enum edge_type type)
{
	struct edge_run run = snapshot_out(r->snapshot, from->ident);

	for (uint32_t i = 0; i < run.n; i++)
		if (r->snapshot->edges[run.edges[i]]->type == &edge_types[type])
			return r->snapshot->edges[run.edges[i]];
	fail_msg("no edge of type %s", edge_types[type].name);
	return NULL;
}

static const struct object *by_key(const struct run *r, enum entity_type type, int number)
{
	char key[16];
	const struct object *o;

	snprintf(key, sizeof(key), "%d", number);
	o = snapshot_entity_by_key(r->snapshot, type, key, strlen(key));
	if (!o)
		fail_msg("%s %d is not in the graph", entity_types[type].name, number);
	return o;
}

/* --- text of the counters --------------------------------------------------------------------- */
static void test_meminfo(void **state)
{
	static const char meminfo[] =
		"Node 0 MemTotal:       131507688 kB\nNode 0 MemFree:        101135084 kB\n"
		"Node 0 Active(anon):    1180328 kB\nNode 0 HugePages_Total:     0\n"
		"Node 0 Bad\"name:  1 kB\nNode 0 NoValue: kB\nNode 0 MemUsed: 12x kB\n\n:\nNode";
	_cleanup_strbuf_ struct strbuf b = {0};
	struct numa_memory m;

	numa_parse_meminfo(meminfo, strlen(meminfo), &b, &m);
	assert_string_equal(strbuf_cstr(&b), "{\"MemTotal\":\"131507688 kB\","
					     "\"MemFree\":\"101135084 kB\","
					     "\"Active(anon)\":\"1180328 kB\","
					     "\"HugePages_Total\":\"0\"}");
	assert_true(m.known && m.free_known);
	assert_int_equal(m.total_bytes, 131507688ULL * 1024);
	assert_int_equal(m.free_bytes, 101135084ULL * 1024);
	strbuf_reset(&b);
	numa_parse_meminfo("", 0, &b, &m);
	assert_string_equal(strbuf_cstr(&b), "{}");
	assert_false(m.known);
}

static void test_numastat(void **state)
{
	static const char stat[] = "numa_hit 664496298\nnuma_miss 18446744073709551615\n"
				   "other_node 18446744073709551616\nbad\xff 1\nlocal_node 0";
	_cleanup_strbuf_ struct strbuf b = {0};

	numa_parse_numastat(stat, strlen(stat), &b);
	assert_string_equal(strbuf_cstr(&b), "{\"numa_hit\":664496298,"
					     "\"numa_miss\":18446744073709551615,"
					     "\"local_node\":0}");
}

/* --- fake machines ---------------------------------------------------------------------------- */
static const struct fake_node two_nodes[] = {
	{0, "1-2", 4096, "10 20", "memory0 memory1 memory3 memory130 memory131"},
	{1, "4-6", 4096, "20 10", "memory4"},
	{-1},
};
static const struct fake_node cxl_nodes[] = {
	{0, "0-1", 4096, "10 20 20 30", "memory0"},
	{1, "2-3", 4096, "20 10 30 20", "memory1"},
	{2, "", 65536, "20 30 10 40", "memory2"},
	{3, "", 0, "30 20 40 10", NULL},
	{-1},
};

static void check_offline(unsigned int method)
{
	struct fake_root root;
	struct run r;

	fake_root_init(&root);
	fake_numa(&root, "1-2,4-6", "0-1", two_nodes);
	run_init(&r, root.proc_fd, root.sys_fd, false, method);
	run_collect(&r);
	assert_int_equal(count_entities(&r, ENTITY_NUMA), 2);
	assert_attr(node(&r, 0), NUMA_CPU_SET, "1-2");
	assert_attr(node(&r, 1), NUMA_CPU_SET, "4-6");
	assert_attr(node(&r, 0), NUMA_MEMORY_SET, "0-1,3,130-131");
	assert_attr(node(&r, 0), NUMA_DISTANCE_TO_ALL_NUMA, "{\"0\":10,\"1\":20}");
	assert_attr(node(&r, 1), NUMA_DISTANCE_TO_ALL_NUMA, "{\"0\":20,\"1\":10}");
	assert_attr(node(&r, 0), NUMA_NUMA_STATS,
		    "{\"numa_hit\":7,\"numa_miss\":0,\"numa_foreign\":0}");
	assert_int_equal(object_value(node(&r, 0), NUMA_MEMORY_TOTAL_BYTES)->u64, 4096ULL << 20);
	assert_int_equal(object_value(node(&r, 0), NUMA_MEMORY_FREE_BYTES)->u64, 2048ULL << 20);
	assert_false(r.report.degraded);
	assert_string_equal(r.report.reason, "");
	run_deinit(&r);
	fake_root_deinit(&root);
}

static void test_offline_cpus(void **state)
{
	check_offline(METHOD_HWLOC);
	check_offline(METHOD_SYSFS);
}

/* Memory without CPUs, and a node without anything, which hwloc leaves out. */
static void check_memory_only(unsigned int method)
{
	struct fake_root root;
	struct run r;

	fake_root_init(&root);
	fake_numa(&root, "0-3", "0-3", cxl_nodes);
	run_init(&r, root.proc_fd, root.sys_fd, false, method);
	run_collect(&r);
	assert_int_equal(count_entities(&r, ENTITY_NUMA), 4);
	assert_attr(node(&r, 0), NUMA_CPU_SET, "0-1");
	assert_attr(node(&r, 2), NUMA_CPU_SET, "");
	assert_attr(node(&r, 3), NUMA_CPU_SET, "");
	assert_attr(node(&r, 3), NUMA_MEMORY_SET, "");
	assert_int_equal(object_value(node(&r, 2), NUMA_MEMORY_TOTAL_BYTES)->u64, 65536ULL << 20);
	assert_int_equal(object_value(node(&r, 3), NUMA_MEMORY_TOTAL_BYTES)->u64, 0);
	assert_int_equal(object_value(node(&r, 3), NUMA_MEMORY_TOTAL_BYTES)->kind, VALUE_U64);
	assert_attr(node(&r, 3), NUMA_DISTANCE_TO_ALL_NUMA,
		    "{\"0\":30,\"1\":20,\"2\":40,\"3\":10}");
	run_deinit(&r);
	fake_root_deinit(&root);
}

static void test_memory_only(void **state)
{
	check_memory_only(METHOD_HWLOC);
	check_memory_only(METHOD_SYSFS);
}

/* W2: what the files say now, not what they said first; unchanged nodes stay the same object. */
static void test_live_values(void **state)
{
	struct fake_node changed[3] = {{0, "1-2", 4096, "10 20", "memory2"}, two_nodes[1], {-1}};
	const struct object *before;
	struct fake_root root;
	struct run r;

	fake_root_init(&root);
	fake_numa(&root, "1-2,4-6", "0-1", two_nodes);
	run_init(&r, root.proc_fd, root.sys_fd, false, METHOD_HWLOC);
	run_collect(&r);
	before = node(&r, 0);
	run_collect(&r);
	assert_ptr_equal(node(&r, 0), before);
	fake_node_memory(&root, 0, 4096 * 1024, 77, 99);
	run_collect(&r);
	assert_attr(node(&r, 0), NUMA_NUMA_STATS,
		    "{\"numa_hit\":99,\"numa_miss\":0,\"numa_foreign\":0}");
	assert_int_equal(object_value(node(&r, 0), NUMA_MEMORY_FREE_BYTES)->u64, 77 * 1024);
	assert_attr(node(&r, 0), NUMA_MEMORY_SET, "0-1,3,130-131");
	/* A block comes on line; then CPU 2 goes, and node 1 with its CPUs. */
	changed[0].mib = 5000;
	fake_numa(&root, "1-2,4-6", "0-1", changed);
	run_collect(&r);
	assert_attr(node(&r, 0), NUMA_MEMORY_SET, "0-3,130-131");
	changed[0] = (struct fake_node){0, "1", 5000, "10", NULL};
	changed[1] = (struct fake_node){-1};
	fake_numa(&root, "1", "0", changed);
	run_collect(&r);
	assert_int_equal(count_entities(&r, ENTITY_NUMA), 1);
	assert_attr(node(&r, 0), NUMA_CPU_SET, "1");
	assert_attr(node(&r, 0), NUMA_DISTANCE_TO_ALL_NUMA, "{\"0\":10}");
	run_deinit(&r);
	fake_root_deinit(&root);
}

/* Ids with holes, up to the last that the kernel can have, and beyond. */
static void test_holes(void **state)
{
	static const struct fake_node nodes[] = {
		{0, "0-1,8000", 64, "10 80", NULL}, {250, "5,8191", 64, "80 10", NULL}, {-1}};
	static const struct fake_node beyond[] = {
		{0, "0-1,8192", 64, "10", NULL}, {1024, "2", 64, "10", NULL}, {-1}};
	struct fake_root root;
	struct run r;

	fake_root_init(&root);
	fake_numa(&root, "0-1,5,8000,8191", "0,250", nodes);
	run_init(&r, root.proc_fd, root.sys_fd, false, METHOD_SYSFS);
	run_collect(&r);
	assert_int_equal(count_entities(&r, ENTITY_NUMA), 2);
	assert_attr(node(&r, 0), NUMA_CPU_SET, "0-1,8000");
	assert_attr(node(&r, 250), NUMA_CPU_SET, "5,8191");
	assert_attr(node(&r, 250), NUMA_DISTANCE_TO_ALL_NUMA, "{\"0\":80,\"250\":10}");
	/* Memory without blocks: not known, not "none". */
	assert_int_equal(object_value(node(&r, 0), NUMA_MEMORY_SET)->kind, VALUE_NULL);
	fake_numa(&root, "0-2,8192", "0,1024", beyond);
	run_collect(&r);
	assert_int_equal(r.report.n_lost, 1);
	assert_attr(node(&r, 0), NUMA_CPU_SET, "0-1");
	run_deinit(&r);
	fake_root_deinit(&root);
}

/* Distances that do not fit the nodes are nobody's; files that are not there leave attributes out.
 */
static void test_broken_files(void **state)
{
	static const struct fake_node nodes[] = {
		{0, "0", 64, "10", NULL}, {1, "1", 64, "20 10 30", NULL}, {-1}};
	char path[128];
	struct fake_root root;
	struct run r;

	fake_root_init(&root);
	fake_numa(&root, "0-1", "0-1", nodes);
	snprintf(path, sizeof(path), "%s/sys/devices/system/node/node1/meminfo", root.path);
	assert_int_equal(unlink(path), 0);
	run_init(&r, root.proc_fd, root.sys_fd, false, METHOD_SYSFS);
	run_collect(&r);
	assert_attr(node(&r, 0), NUMA_DISTANCE_TO_ALL_NUMA, "{}");
	assert_attr(node(&r, 1), NUMA_DISTANCE_TO_ALL_NUMA, "{}");
	assert_int_equal(object_value(node(&r, 1), NUMA_MEMORY_TOTAL_BYTES)->kind, VALUE_ABSENT);
	assert_true(r.report.degraded);
	assert_non_null(strstr(r.report.reason, "1 of 2 nodes"));
	run_deinit(&r);
	fake_root_deinit(&root);
}

static void test_no_numa(void **state)
{
	char path[128], reason[256] = "";
	struct collect_context ctx = {0};
	struct fake_root root;
	struct run r;

	fake_root_init(&root);
	fake_numa(&root, "0-1", "0", (const struct fake_node[]){{-1}});
	fake_cpu(&root, 0, 0, "0-1");
	fake_cpu(&root, 1, 0, "0-1");
	snprintf(path, sizeof(path), "%s/sys/devices/system/node", root.path);
	nftw(path, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
	ctx.proc_fd = root.proc_fd;
	ctx.sys_fd = root.sys_fd;
	assert_true(collector_numa.methods[METHOD_SYSFS].probe(&ctx, reason, sizeof(reason)) < 0);
	assert_string_not_equal(reason, "");
	assert_int_equal(collector_numa.methods[METHOD_HWLOC].probe(&ctx, reason, sizeof(reason)),
			 0);
	run_init(&r, root.proc_fd, root.sys_fd, false, METHOD_HWLOC);
	run_collect(&r);
	assert_int_equal(count_entities(&r, ENTITY_NUMA), 1);
	assert_attr(node(&r, 0), NUMA_CPU_SET, "0-1");
	assert_int_equal(object_value(node(&r, 0), NUMA_MEMORY_TOTAL_BYTES)->u64, 16384 * 1024);
	assert_true(r.report.degraded);
	assert_null(getenv("HWLOC_FSROOT"));
	run_deinit(&r);
	fake_root_deinit(&root);
}

/* --- placement -------------------------------------------------------------------------------- */
static void place_init(struct run *r, struct fake_root *root, const struct fake_node *nodes,
		       const char *cpus, const char *online)
{
	fake_root_init(root);
	fake_numa(root, cpus, online, nodes);
	fake_thread(root, 40, 40, "0-3", "0-1", 1000, 0);
	fake_thread(root, 40, 41, "2", "0-63", 2000, 2);
	fake_thread(root, 50, 50, "1", "0", 8774810, 1);
	run_init(r, root->proc_fd, root->sys_fd, false, METHOD_SYSFS);
	assert_int_equal(proctable_new(root->proc_fd, (struct proctable_limits){0}, &r->ctx.procs),
			 0);
}

static void place_deinit(struct run *r, struct fake_root *root)
{
	run_deinit(r);
	proctable_free(r->ctx.procs);
	fake_root_deinit(root);
}

static void test_place_two_nodes(void **state)
{
	static const struct fake_node nodes[] = {
		{0, "0-1", 64, "10 20", NULL}, {1, "2-3", 64, "20 10", NULL}, {-1}};
	const struct object *e;
	struct fake_root root;
	struct run r;

	place_init(&r, &root, nodes, "0-3", "0-1");
	run_collect(&r);
	assert_int_equal(count_entities(&r, ENTITY_NUMA_SET), 2);
	assert_int_equal(snapshot_out(r.snapshot, set(&r, "0-1")->ident).n, 2);
	assert_int_equal(snapshot_out(r.snapshot, set(&r, "0")->ident).n, 1);
	e = out_edge(&r, by_key(&r, ENTITY_PROCESS, 40), EDGE_NUMA_ACCESS);
	assert_int_equal(e->target, set(&r, "0-1")->ident);
	assert_attr(e, EDGE_NUMA_ACCESS_CPUS_ALLOWED_LIST, "0-3");
	assert_attr(e, EDGE_NUMA_ACCESS_MEMS_ALLOWED_LIST, "0-1");
	assert_attr(e, EDGE_NUMA_ACCESS_CPUS_ACCESSED_LIST, "0,2");
	assert_int_equal(object_value(e, EDGE_NUMA_ACCESS_VOLUNTARY_CTXT_SWITCHES)->s64, 40 + 41);
	assert_int_equal(object_value(e, EDGE_NUMA_ACCESS_INVOLUNTARY_CTXT_SWITCHES)->s64, 6);
	/* Two nodes have CPUs and memory: what was where is not known. */
	assert_attr(e, EDGE_NUMA_ACCESS_NUMA_INDEX_TO_CPU_RUNTIME, "{}");
	assert_attr(e, EDGE_NUMA_ACCESS_TOTAL_PAGES, "{}");
	assert_attr(e, EDGE_NUMA_ACCESS_MEM_PAGES_IN_EACH_NUMA, "[]");
	assert_attr(e, EDGE_NUMA_ACCESS_CPU_RUNTIME_PCT_IN_EACH_NUMA, "[]");
	assert_int_equal(object_value(e, EDGE_NUMA_ACCESS_CPU_MEM_ACCESS_COSINE_SIMILARITY)->kind,
			 VALUE_NULL);
	/* The thread's own mask, and its own list of nodes, of which only two exist. */
	e = out_edge(&r, by_key(&r, ENTITY_THREAD, 41), EDGE_ACCESS_WITH_PROC_STATUS);
	assert_int_equal(e->target, set(&r, "0-1")->ident);
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ALLOWED_LIST, "2");
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ACCESSED_LIST, "2");
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_MEMS_ALLOWED_LIST, "0-63");
	assert_int_equal(object_value(e, EDGE_ACCESS_WITH_PROC_STATUS_VOLUNTARY_CTXT_SWITCHES)->s64,
			 41);
	place_deinit(&r, &root);
}

/* One node has all CPUs, one (another) all memory: then both are exact without any more reading. */
static void test_place_exact(void **state)
{
	static const struct fake_node nodes[] = {
		{0, "0-3", 0, "10 20", NULL}, {1, "", 64, "20 10", NULL}, {-1}};
	const struct object *e, *same;
	struct fake_root root;
	struct run r;
	char want[64];

	place_init(&r, &root, nodes, "0-3", "0-1");
	run_collect(&r);
	e = out_edge(&r, by_key(&r, ENTITY_PROCESS, 40), EDGE_NUMA_ACCESS);
	assert_attr(e, EDGE_NUMA_ACCESS_NUMA_INDEX_TO_CPU_RUNTIME, "{\"0\":3000.0}");
	assert_attr(e, EDGE_NUMA_ACCESS_CPU_RUNTIME_PCT_IN_EACH_NUMA, "[1.0,0.0]");
	snprintf(want, sizeof(want), "{\"1\":%u}", 25);
	assert_attr(e, EDGE_NUMA_ACCESS_TOTAL_PAGES, want);
	assert_attr(e, EDGE_NUMA_ACCESS_MEM_PAGES_IN_EACH_NUMA, "[0,25]");
	e = out_edge(&r, by_key(&r, ENTITY_THREAD, 50), EDGE_ACCESS_WITH_PROC_STATUS);
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_NUMA_INDEX_TO_CPU_RUNTIME, "{\"0\":8774810.0}");
	same = e;
	run_collect(&r);
	assert_ptr_equal(out_edge(&r, by_key(&r, ENTITY_THREAD, 50), EDGE_ACCESS_WITH_PROC_STATUS),
			 same);
	/* It runs on: the values move, on the same edge. */
	fake_thread(&root, 50, 50, "1,3", "0-1", 9000000, 3);
	run_collect(&r);
	e = out_edge(&r, by_key(&r, ENTITY_THREAD, 50), EDGE_ACCESS_WITH_PROC_STATUS);
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_NUMA_INDEX_TO_CPU_RUNTIME, "{\"0\":9000000.0}");
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ALLOWED_LIST, "1,3");
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ACCESSED_LIST, "1,3");
	assert_int_equal(e->target, set(&r, "0-1")->ident);
	place_deinit(&r, &root);
}

static void test_cpunodes(void **state)
{
	static const char one[] = "1", across[] = "0-3,8000", none[] = "9", bad[] = "1-x";
	static const struct fake_node nodes[] = {{0, "0-1", 64, "10 20", NULL},
						 {4, "2-3,8000", 64, "20 10", NULL},
						 {7, "", 64, "20 10", NULL},
						 {-1}};
	_cleanup_cpunodes_ struct cpunodes *c = NULL;
	struct fake_root root;

	fake_root_init(&root);
	assert_int_equal(cpunodes_new(root.sys_fd, &c), 0);
	cpunodes_refresh(c);
	assert_null(cpunodes_of(c, one));
	fake_numa(&root, "0-3,8000", "0,4,7", nodes);
	cpunodes_refresh(c);
	for (int again = 0; again < 2; again++) {
		assert_string_equal(cpunodes_of(c, one), "0");
		assert_string_equal(cpunodes_of(c, across), "0,4");
		assert_null(cpunodes_of(c, none));
		assert_null(cpunodes_of(c, bad));
		assert_null(cpunodes_of(c, NULL));
	}
	fake_root_deinit(&root);
}

/* --- this machine ----------------------------------------------------------------------------- */
static void test_live_topology(void **state)
{
	_cleanup_close_ int sys = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t map[NUMA_MAX_NODES / 64] = {0};
	char list[8192], want[8192];
	uint32_t n = 0;
	struct run r;

	if (fdio_read_at(sys, NUMA_SYS_NODE "/online", list, sizeof(list)) < 0) {
		print_message("SKIP: this kernel shows no NUMA nodes\n");
		skip();
	}
	assert_int_equal(text_parse_list(list, map, NUMA_MAX_NODES), 0);
	run_init(&r, proc, sys, true, METHOD_HWLOC);
	run_collect(&r);
	for (uint32_t id = 0; id < NUMA_MAX_NODES; id++) {
		char path[64];

		if (!(map[id / 64] >> (id % 64) & 1))
			continue;
		n++;
		snprintf(path, sizeof(path), NUMA_SYS_NODE "/node%u/cpulist", id);
		assert_true(fdio_read_at(sys, path, want, sizeof(want)) >= 0);
		want[strcspn(want, "\n")] = '\0';
		assert_attr(node(&r, id), NUMA_CPU_SET, want);
	}
	assert_int_equal(count_entities(&r, ENTITY_NUMA), n);
	run_deinit(&r);
}

static void *pinned_thread(void *arg)
{
	int *pipe_fd = arg;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		tid = -1;
	if (write(*pipe_fd, &tid, sizeof(tid)) < 0)
		_exit(1);
	pause();
	return NULL;
}

/* N03: a thread pinned apart from its process; neither is this test's own affinity. */
static void test_live_pinned(void **state)
{
	_cleanup_close_ int sys = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fds[2];
	char whole[4096], *line;
	const struct object *e;
	pid_t child, tid = -1;
	struct run r;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		pthread_t t;

		/* A test that fails leaves nothing behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&t, NULL, pinned_thread, &fds[1]);
		pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &tid, sizeof(tid)), sizeof(tid));
	if (tid < 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		print_message("SKIP: one CPU, or no right to pin a thread\n");
		skip();
	}
	run_init(&r, proc, sys, true, METHOD_HWLOC);
	assert_int_equal(proctable_new(proc, (struct proctable_limits){0}, &r.ctx.procs), 0);
	run_collect(&r);
	snprintf(whole, sizeof(whole), "%d/status", child);
	assert_true(fdio_read_at(proc, whole, whole, sizeof(whole)) > 0);
	line = strstr(whole, "Cpus_allowed_list:\t") + strlen("Cpus_allowed_list:\t");
	line[strcspn(line, "\n")] = '\0';
	e = out_edge(&r, by_key(&r, ENTITY_PROCESS, child), EDGE_NUMA_ACCESS);
	assert_attr(e, EDGE_NUMA_ACCESS_CPUS_ALLOWED_LIST, line);
	e = out_edge(&r, by_key(&r, ENTITY_THREAD, tid), EDGE_ACCESS_WITH_PROC_STATUS);
	assert_attr(e, EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ALLOWED_LIST, "0");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	run_deinit(&r);
	proctable_free(r.ctx.procs);
}

/* --- hwloc's recorded machines ---------------------------------------------------------------- */
static const char *const machines[] = {"256ia64-64n2s2c", "32intel64-2p8co2t+8ve",
				       "40intel64-2g2n4c+pci", "fakeheteromemtiers",
				       "nvidiagpunumanodes"};

static char *slurp(const char *cmd)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	FILE *f = popen(cmd, "re");
	char buf[65536], *ret = NULL;
	size_t n;

	if (!f)
		return NULL;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&b, buf, n);
	pclose(f);
	return strbuf_steal(&b, &ret, NULL) == 0 ? ret : NULL;
}

/* Nodes of lstopo's own text, `NUMANode L#0 (P#0 local=8064400KB …)`, are ours with that memory. */
static unsigned int check_output(const struct run *r, const char *output)
{
	unsigned int n = 0;

	for (const char *p = output; (p = strstr(p, "NUMANode")); p++) {
		const char *at = strstr(p, "(P#"), *eol = p + strcspn(p, "\n");
		unsigned long long kb;
		unsigned int id;

		if (!at || at > eol || sscanf(at, "(P#%u local=%lluKB", &id, &kb) != 2)
			continue;
		assert_int_equal(object_value(node(r, id), NUMA_MEMORY_TOTAL_BYTES)->u64, kb << 10);
		n++;
	}
	return n;
}

/* 0x000000ff,0xffffffff -> list */
static void mask_to_list(const char *mask, struct strbuf *b)
{
	uint64_t map[NUMA_CPU_WORDS] = {0};
	uint32_t words[NUMA_MAX_CPUS / 32];
	unsigned int n = 0;

	for (const char *p = mask; *p != '"' && n < ARRAY_SIZE(words); p++) {
		words[n++] = *p == ',' ? 0 : (uint32_t)strtoul(p, (char **)&p, 16);
		if (*p == '"')
			break;
	}
	for (unsigned int i = 0; i < n; i++)
		map[i / 2] |= (uint64_t)words[n - 1 - i] << (i % 2 * 32);
	strbuf_reset(b);
	text_format_list(b, map, NUMA_MAX_CPUS);
}

static unsigned int check_xml_nodes(const struct run *r, const char *xml)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	unsigned int n = 0, id;

	for (const char *p = xml; (p = strstr(p, "type=\"NUMANode\" os_index=\"")); p++) {
		const char *set_at = strstr(p, " cpuset=\"");

		assert_int_equal(sscanf(p, "type=\"NUMANode\" os_index=\"%u\"", &id), 1);
		mask_to_list(set_at + strlen(" cpuset=\""), &b);
		n++;
		/* hwloc gives memory without CPUs the CPUs that are near it: they are not its own.
		 */
		if (text(node(r, id), NUMA_CPU_SET)[0] != '\0')
			assert_attr(node(r, id), NUMA_CPU_SET, strbuf_cstr(&b));
	}
	return n;
}

/* All numbers of the elements <tag …>1 2 3</tag> between two places. */
static unsigned int xml_numbers(const char *p, const char *end, const char *tag, unsigned int *ret,
				unsigned int max)
{
	unsigned int n = 0;

	while ((p = strstr(p, tag)) && p < end) {
		p = strchr(p, '>') + 1;
		while (*p != '<' && n < max)
			ret[n++] = (unsigned int)strtoul(p, (char **)&p, 10), p += *p == ' ';
	}
	return n;
}

static void check_xml_distances(const struct run *r, const char *xml)
{
	static unsigned int ids[64], values[64 * 64];
	const char *from = strstr(xml, "name=\"NUMALatency\""), *to;
	unsigned int n, hits = 0;

	if (!from)
		return;
	to = strstr(from, "</distances2>");
	n = xml_numbers(from, to, "<indexes", ids, 64);
	assert_int_equal(xml_numbers(from, to, "<u64values", values, 64 * 64), n * n);
	for (unsigned int i = 0; i < n * n; i++) {
		char want[32];

		snprintf(want, sizeof(want), "\"%u\":%u", ids[i % n], values[i]);
		if (!strstr(text(node(r, ids[i / n]), NUMA_DISTANCE_TO_ALL_NUMA), want))
			fail_msg("node %u lacks %s", ids[i / n], want);
		hits++;
	}
	assert_true(hits > 0);
}

static void check_machine(const char *shared, const char *name, const char *tmp)
{
	char cmd[1024], dir[512];
	_cleanup_free_ char *output = NULL, *xml = NULL;
	_cleanup_close_ int proc = -1, sys = -1;
	unsigned int shown, dirs;
	struct run r;

	snprintf(dir, sizeof(dir), "%s/%s", tmp, name);
	snprintf(cmd, sizeof(cmd),
		 "cd '%s' && tar xjf '%s/data/hwloc/%s.tar.bz2' && chmod -R u+rwX .", tmp, shared,
		 name);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof(cmd), "cat '%s/data/hwloc/%s.output'", shared, name);
	output = slurp(cmd);
	snprintf(cmd, sizeof(cmd), "%s/proc", dir);
	proc = open(cmd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(cmd, sizeof(cmd), "%s/sys", dir);
	sys = open(cmd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc >= 0 && sys >= 0);

	run_init(&r, proc, sys, false, METHOD_HWLOC);
	run_collect(&r);
	shown = check_output(&r, output);
	snprintf(cmd, sizeof(cmd), "ls -d '%s'/sys/devices/system/node/node[0-9]* | wc -l", dir);
	free(output);
	output = slurp(cmd);
	dirs = (unsigned int)atoi(output);
	assert_int_equal(count_entities(&r, ENTITY_NUMA), dirs);
	snprintf(cmd, sizeof(cmd),
		 "HWLOC_FSROOT='%s' HWLOC_THISSYSTEM=0 HWLOC_COMPONENTS=linux,stop "
		 "lstopo-no-graphics --of xml --disallowed 2>/dev/null",
		 dir);
	xml = slurp(cmd);
	if (xml && strstr(xml, "<topology")) {
		shown = check_xml_nodes(&r, xml);
		check_xml_distances(&r, xml);
	} else {
		print_message("SKIP part: no lstopo-no-graphics\n");
	}
	print_message("%s: %u nodes, %u of them shown by hwloc\n", name, dirs, shown);
	assert_true(shown > 0 && shown <= dirs);
	run_deinit(&r);
}

static void test_recorded_machines(void **state)
{
	const char *shared = getenv("WITTYFS_SHARED");
	char tmp[] = "/tmp/wittyfs-hwloc-XXXXXX", probe[1024];

	snprintf(probe, sizeof(probe), "%s/data/hwloc/%s.tar.bz2", shared ? shared : "",
		 machines[0]);
	if (!shared || access(probe, R_OK) < 0) {
		print_message("SKIP: WITTYFS_SHARED has no data/hwloc\n");
		skip();
	}
	assert_non_null(mkdtemp(tmp));
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		check_machine(shared, machines[i], tmp);
	nftw(tmp, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meminfo),		cmocka_unit_test(test_numastat),
		cmocka_unit_test(test_offline_cpus),	cmocka_unit_test(test_memory_only),
		cmocka_unit_test(test_live_values),	cmocka_unit_test(test_holes),
		cmocka_unit_test(test_broken_files),	cmocka_unit_test(test_no_numa),
		cmocka_unit_test(test_place_two_nodes), cmocka_unit_test(test_place_exact),
		cmocka_unit_test(test_cpunodes),	cmocka_unit_test(test_live_topology),
		cmocka_unit_test(test_live_pinned),	cmocka_unit_test(test_recorded_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
