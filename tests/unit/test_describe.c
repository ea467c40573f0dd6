/* SPDX-License-Identifier: MIT */
/* The pages for people (graph.txt, status) and status.json. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "graph/builder.h"
#include "util/fdio.h"
#include "util/text.h"
#include "util/timeutil.h"
#include "view/document.h"
#include "view/load.h"
#include "view/status.h"
#include "view/text.h"
#include "view/write.h"

/* --- helpers ---------------------------------------------------------------------------------- */
static const char *golden(const char *name)
{
	static char path[512];
	const char *root = getenv("WITTYFS_SOURCE");

	snprintf(path, sizeof(path), "%s/tests/golden/graph/%s", root ? root : ".", name);
	return path;
}

static struct snapshot *load(const char *name)
{
	struct snapshot *s;
	char error[1024] = "";

	if (load_graph_file(golden(name), &s, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	return s;
}

static int append(void *userdata, const char *data, size_t len)
{
	strbuf_add(userdata, data, len);
	return 0;
}

static char **lines_of(char *text, size_t *ret_n)
{
	char **lines = calloc(strlen(text) + 1, sizeof(*lines));

	*ret_n = 0;
	for (char *p = strtok(text, "\n"); p; p = strtok(NULL, "\n"))
		lines[(*ret_n)++] = p;
	return lines;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* --- describe() ------------------------------------------------------------------------------- */
/* Every line of the expectation is there; the order within nodes and edges is free. */
static void test_small(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = load("small.json");
	_cleanup_strbuf_ struct strbuf b = {0};
	_cleanup_free_ char *want = NULL, *got = NULL;
	_cleanup_free_ char **w = NULL, **g = NULL;
	size_t len, n_want, n_got;

	assert_int_equal(
		fdio_read_all_at(AT_FDCWD, golden("small.txt"), 1 << 20, &want, &len, NULL), 0);
	assert_int_equal(write_document(s, &document_graph_text, false, append, &b), 0);
	assert_int_equal(strbuf_steal(&b, &got, NULL), 0);
	assert_int_equal(strlen(got), len);
	assert_int_equal(got[len - 1], '\n');
	w = lines_of(want, &n_want);
	g = lines_of(got, &n_got);
	assert_string_equal(g[0], w[0]);
	assert_string_equal(g[1], "Nodes:");
	qsort(w, n_want, sizeof(*w), compare_lines);
	qsort(g, n_got, sizeof(*g), compare_lines);
	assert_int_equal(n_got, n_want);
	for (size_t i = 0; i < n_want; i++)
		assert_string_equal(g[i], w[i]);
}

static void test_empty(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = NULL;
	_cleanup_strbuf_ struct strbuf b = {0};
	uint32_t dangling;

	assert_int_equal(snapshot_new(NULL, 0, NULL, 0, state_new(), &s, &dangling), 0);
	assert_int_equal(write_document(s, &document_graph_text, false, append, &b), 0);
	assert_string_equal(strbuf_cstr(&b), "Graph with 0 nodes and 0 edges\nNodes:\nEdges:\n");
}

/* Nothing known of a flow, text with quotes, and ends of another namespace. */
static void test_edges(void **unused)
{
	static const char json[] =
		"{\"nodes\":[],\"edges\":[{\"edge_type\":\"SendToSocketEdge\",\"source_node\":"
		"{\"entity_type\":\"ThreadEntity\",\"tid\":3},\"target_node\":{\"entity_"
		"namespace\":"
		"\"b\",\"entity_type\":\"SocketEntity\",\"socket_type\":\"UDP\",\"socket_addr\":"
		"\"::1\",\"socket_port\":7}},"
		"{\"edge_type\":\"AccessWithProcStatusEdge\",\"source_node\":{\"entity_type\":"
		"\"ThreadEntity\",\"tid\":3},\"target_node\":{\"entity_type\":\"NumaSetEntity\","
		"\"numa_id_str\":\"0\"},\"proc_status\":{\"cpus_allowed_list\":\"it's\"}}]}";
	_cleanup_snapshot_ struct snapshot *s = NULL;
	_cleanup_strbuf_ struct strbuf b = {0};
	char error[512];

	assert_int_equal(load_graph("g", json, strlen(json), &s, error, sizeof(error)), 0);
	text_edge(&b, s, s->edges[s->edge_start[EDGE_SEND_TO_SOCKET]]);
	assert_string_equal(strbuf_cstr(&b),
			    "relation: Thread(tid=3) SendToSocket Socket(ns=b,::1:7(UDP))"
			    "(total:data_size=unknown,packets_cnt=unknown (in 0.0 seconds))");
	strbuf_reset(&b);
	text_edge(&b, s, s->edges[s->edge_start[EDGE_ACCESS_WITH_PROC_STATUS]]);
	assert_string_equal(strbuf_cstr(&b),
			    "relation: Thread(tid=3) AccessWithProcStatus NumaSet({0}) with "
			    "stats:([ProcStatus]{'voluntary_ctxt_switches': None, "
			    "'involuntary_ctxt_switches': None, 'cpus_allowed_list': \"it's\", "
			    "'cpus_accessed_list': None, 'numa_index_to_cpu_runtime': None})");
	strbuf_reset(&b);
	text_entity(&b, s, s->entities[s->entity_start[ENTITY_THREAD]]);
	assert_string_equal(strbuf_cstr(&b), "Thread(pid=None,tid=3,name=None)");
}

/* --- status ----------------------------------------------------------------------------------- */
static struct state *busy_state(void)
{
	static const struct collector_state collectors[] = {
		{.name = "process",
		 .method = "proc",
		 .reason = "all of /proc",
		 .health = COLLECTOR_OK,
		 .enabled = true,
		 .entities = 212,
		 .edges = 800,
		 .cost_ns = 3100000},
		{.name = "socket",
		 .method = "sock_diag",
		 .reason =
			 "3 network namespaces cannot be entered without CAP_SYS_ADMIN: run as "
			 "root, or give the daemon the capability with 'setcap "
			 "cap_sys_admin,cap_sys_ptrace+ep /usr/bin/wittyfs'; a-word-that-is-longer-"
			 "than-a-whole-line-of-the-page-and-has-no-blank-in-it-at-all-to-break-at",
		 .health = COLLECTOR_DEGRADED,
		 .enabled = true,
		 .entities = 80,
		 .edges = 120,
		 .cost_ns = 950000,
		 .lost = {{"sockets in namespaces that cannot be entered", 17}},
		 .n_lost = 1},
		{.name = "rdma_very_long_name",
		 .method = NULL,
		 .reason = "größe \n\"quoted\" \x1b[31m",
		 .health = COLLECTOR_FAILED,
		 .enabled = true},
		{.name = "gpu", .method = "nvml", .health = COLLECTOR_STALE, .enabled = true},
		{.name = "sysv_msg", .method = "none", .health = COLLECTOR_OFF},
	};
	struct state *s = state_new();

	s->running = true;
	s->interval_ns = 500 * NSEC_PER_MSEC;
	s->started_ns = time_realtime_ns() - 7400 * NSEC_PER_SEC;
	s->collected_ns = time_realtime_ns() - 2 * NSEC_PER_SEC;
	s->collections = 42;
	s->cost_ns = 85000000;
	s->elapsed_ns = 120000000;
	s->pid = 4711;
	s->n_pids = 40;
	for (int i = 0; i < 40; i++)
		s->pids[i] = 1000000 + i;
	s->log_level = "REPORT";
	s->lost = 9;
	s->n_collectors = ARRAY_SIZE(collectors);
	memcpy(s->collectors, collectors, sizeof(collectors));
	for (unsigned int i = 0; i < s->n_collectors; i++)
		s->collectors[i].collected_ns = time_monotonic_ns() - 1;
	return s;
}

static struct snapshot *busy(void)
{
	_cleanup_snapshot_ struct snapshot *loaded = load("small.json");
	struct snapshot *s;

	assert_int_equal(snapshot_with_state(loaded, busy_state(), &s), 0);
	s->generation = 43;
	return s;
}

static void check_page(const char *page)
{
	size_t column = 0;

	for (const char *p = page; *p; p++) {
		if (((unsigned char)*p & 0xc0) != 0x80)
			column++;
		if (*p == '\n')
			column = 0;
		assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
		if (column > 80)
			fail_msg("more than 80 columns in:\n%s", page);
	}
	assert_int_equal(text_utf8_span(page, strlen(page)), strlen(page));
	assert_int_equal(page[strlen(page) - 1], '\n');
}

static void contains(const char *page, const char *text)
{
	if (!strstr(page, text))
		fail_msg("'%s' is not in:\n%s", text, page);
}

static void test_status_text(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = busy();
	_cleanup_strbuf_ struct strbuf b = {0};
	const char *page;

	status_text(&b, s);
	page = strbuf_cstr(&b);
	if (getenv("WITTYFS_SHOW")) /* to look at it */
		fputs(page, stdout);
	check_page(page);
	contains(page, "running, every 500ms; daemon 4711, up 2 h 3 min\n");
	contains(page, "generation 43: 9 nodes, 7 edges\n");
	contains(page, "collection 42 took 120.0 ms, 85.0 ms of CPU\n");
	contains(page, "  process                           3");
	contains(page,
		 "  process        ok        proc                    212      800     3.1 ms\n");
	contains(page, "  socket         degraded  sock_diag");
	contains(page, "not shown: 17 sockets in namespaces");
	contains(page, "setcap");
	contains(page, "echo all > control/pid");
	contains(page, "--verify");
	contains(page, "9 nodes and edges did not fit");
	assert_null(strstr(page, "all of /proc"));
}

static void test_status_stopped(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = NULL;
	_cleanup_strbuf_ struct strbuf b = {0};
	uint32_t dangling;

	assert_int_equal(snapshot_new(NULL, 0, NULL, 0, state_new(), &s, &dangling), 0);
	status_text(&b, s);
	check_page(strbuf_cstr(&b));
	contains(strbuf_cstr(&b), "stopped\n");
	contains(strbuf_cstr(&b), "collected   not yet\n");
	contains(strbuf_cstr(&b), "echo 1 > control/start");
	s->state->recorded = true;
	strbuf_reset(&b);
	status_text(&b, s);
	contains(strbuf_cstr(&b), "recorded graph");
	assert_null(strstr(strbuf_cstr(&b), "control/"));
}

static json_t *member(json_t *j, const char *name)
{
	json_t *m = json_object_get(j, name);

	if (!m)
		fail_msg("status.json has no \"%s\"", name);
	return m;
}

static void test_status_json(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = busy();
	_cleanup_strbuf_ struct strbuf b = {0};
	json_error_t error;
	json_t *j, *c;

	status_json(&b, s);
	assert_int_equal(b.data[b.len - 1], '\n');
	assert_int_equal(strncmp(strbuf_cstr(&b), "{\"running\":true,\"graph\":", 24), 0);
	j = json_loads(strbuf_cstr(&b), 0, &error);
	if (!j)
		fail_msg("%s in %s", error.text, strbuf_cstr(&b));
	assert_int_equal(json_integer_value(member(member(j, "graph"), "node_count")), 9);
	assert_int_equal(json_integer_value(member(member(j, "graph"), "edge_count")), 7);
	c = member(j, "collectors");
	assert_int_equal(json_integer_value(member(c, "count")), 4);
	assert_int_equal(json_array_size(member(c, "types")), 4);
	assert_string_equal(json_string_value(json_array_get(member(c, "types"), 2)),
			    "RdmaVeryLongNameCollector");
	assert_int_equal(json_integer_value(member(member(j, "subscribers"), "count")), 0);
	assert_int_equal(json_integer_value(member(j, "generation")), 43);
	assert_int_equal(json_integer_value(member(j, "interval_ns")), 500000000);
	assert_int_equal(json_integer_value(member(j, "pid")), 4711);
	assert_int_equal(json_array_size(member(j, "pids")), 40);
	assert_int_equal(json_integer_value(member(member(j, "nodes"), "process")), 3);
	assert_int_equal(json_integer_value(member(member(j, "edges"), "send_to_socket")), 2);
	c = member(member(j, "collector_states"), "socket");
	assert_string_equal(json_string_value(member(c, "state")), "degraded");
	assert_int_equal(json_integer_value(member(json_array_get(member(c, "lost"), 0), "count")),
			 17);
	assert_true(json_is_object(member(j, "last_result")));
	json_decref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),	       cmocka_unit_test(test_empty),
		cmocka_unit_test(test_edges),	       cmocka_unit_test(test_status_text),
		cmocka_unit_test(test_status_stopped), cmocka_unit_test(test_status_json),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
