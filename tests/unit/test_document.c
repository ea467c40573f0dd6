/* SPDX-License-Identifier: MIT */
/* Documents: exact sizes, reads at any place, one generation; and what they cost on a big graph. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/builder.h"
#include "util/timeutil.h"
#include "view/document.h"
#include "view/load.h"
#include "view/write.h"

static inline void document_freep(struct document **d)
{
	document_free(*d);
}
#define _cleanup_document_ _cleanup_(document_freep)

static const struct document_format *const formats[] = {&document_graph_json, &document_graph_text};

/* --- helpers ---------------------------------------------------------------------------------- */
static int append(void *userdata, const char *data, size_t len)
{
	strbuf_add(userdata, data, len);
	return 0;
}

static void whole(const struct snapshot *s, const struct document_format *f, struct strbuf *b)
{
	assert_int_equal(write_document(s, f, false, append, b), 0);
}

static uint64_t add_process(struct builder *b, struct draft *d, int pid)
{
	uint64_t ident;
	char text[200];

	draft_begin(d, &entity_types[ENTITY_PROCESS]);
	draft_s64(d, PROCESS_PID, pid);
	draft_s64(d, PROCESS_PPID, 1);
	draft_str(d, PROCESS_NAME, "python3");
	snprintf(text, sizeof(text),
		 "/usr/bin/python3 -m server --port %d --model /models/some-large-model/weights "
		 "--x \"%d\"",
		 pid % 60000, pid);
	draft_str(d, PROCESS_CMDLINE, text);
	draft_str(d, PROCESS_EXE, "/usr/bin/python3.11");
	draft_str(d, PROCESS_STATE, "S");
	draft_u64(d, PROCESS_START_TIME_TICKS, 100 + (uint64_t)pid);
	for (unsigned int a = PROCESS_UID; a <= PROCESS_INVOLUNTARY_CTXT_SWITCHES; a++)
		draft_u64(d, a, (uint64_t)pid * a * 1000);
	draft_str(d, PROCESS_CGROUP, "/system.slice/docker-0123456789abcdef.scope");
	assert_int_equal(builder_add(b, d, &ident), 0);
	return ident;
}

static uint64_t add_thread(struct builder *b, struct draft *d, int tid, uint64_t process)
{
	uint64_t ident;

	draft_begin(d, &entity_types[ENTITY_THREAD]);
	draft_s64(d, THREAD_TID, tid);
	draft_ref(d, THREAD_PROCESS, process);
	draft_str(d, THREAD_NAME, "worker");
	draft_u64(d, THREAD_RUN_TIME_NS, 123456789);
	draft_u64(d, THREAD_CPU_USER_NS, 1000000);
	assert_int_equal(builder_add(b, d, &ident), 0);
	return ident;
}

static uint64_t add_socket(struct builder *b, struct draft *d, int n)
{
	uint64_t ident;
	char text[32];

	snprintf(text, sizeof(text), "10.%d.%d.%d", n >> 16, n >> 8 & 255, n & 255);
	draft_begin(d, &entity_types[ENTITY_SOCKET]);
	draft_str(d, SOCKET_SOCKET_ADDR, text);
	draft_s64(d, SOCKET_SOCKET_PORT, 1024 + n % 60000);
	draft_str(d, SOCKET_STATE, "established");
	draft_u64(d, SOCKET_NETNS, 4026531840);
	draft_u64(d, SOCKET_INODE, 50000 + (uint64_t)n);
	assert_int_equal(builder_add(b, d, &ident), 0);
	return ident;
}

static void add_flow(struct builder *b, struct draft *d, uint64_t from, uint64_t to, int size)
{
	draft_begin(d, &edge_types[EDGE_SEND_TO_SOCKET]);
	draft_s64(d, EDGE_SEND_TO_SOCKET_START_TIME, 1772608557762327490);
	draft_s64(d, EDGE_SEND_TO_SOCKET_END_TIME, 1772608564774666280);
	draft_s64(d, EDGE_SEND_TO_SOCKET_DATA_SIZE, size);
	draft_s64(d, EDGE_SEND_TO_SOCKET_PACKETS_CNT, 5);
	assert_int_equal(builder_add_edge(b, d, from, to), 0);
}

/* n processes with 2 threads and a socket each: 4 n nodes and 5 n edges. */
static struct snapshot *graph_of(int n)
{
	_cleanup_builder_ struct builder *b = NULL;
	_cleanup_draft_ struct draft d = {0};
	struct snapshot *s;
	uint64_t before = 0;

	assert_int_equal(builder_new(NULL, (struct builder_limits){0}, &b), 0);
	for (int i = 0; i < n; i++) {
		uint64_t p = add_process(b, &d, 1000 + i), socket = add_socket(b, &d, i);

		for (int k = 0; k < 2; k++)
			assert_int_equal(builder_connect(b, EDGE_OWN, p,
							 add_thread(b, &d, 100000 + 2 * i + k, p)),
					 0);
		assert_int_equal(builder_connect(b, EDGE_OWN, p, socket), 0);
		assert_int_equal(builder_connect(b, EDGE_BELONG, socket, p), 0);
		add_flow(b, &d, p, before ? before : socket, i);
		before = socket;
	}
	assert_int_equal(builder_finish(b, state_new(), &s), 0);
	return s;
}

/* --- tests ------------------------------------------------------------------------------------ */
static void test_empty(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = graph_of(0);
	_cleanup_strbuf_ struct strbuf b = {0};
	_cleanup_document_ struct document *d = NULL;
	char buf[100];

	whole(s, &document_graph_json, &b);
	assert_string_equal(strbuf_cstr(&b), "{\"nodes\":[\n],\"edges\":[\n]}\n");
	assert_int_equal(document_new(s, &document_graph_json, &d), 0);
	assert_int_equal(document_size(d), b.len);
	assert_int_equal(document_read(d, 0, buf, sizeof(buf)), b.len);
	strbuf_reset(&b);
	assert_int_equal(write_document(s, &document_graph_json, true, append, &b), 0);
	assert_string_equal(strbuf_cstr(&b), "{\n  \"nodes\": [],\n  \"edges\": []\n}\n");
}

/* Every piece at every place is that of the whole text. Sizes around the step of the offsets. */
static void test_reads(void **unused)
{
	static const int sizes[] = {1, 2, 3, 4, 5, 30};
	static const size_t pieces[] = {1, 7, 512, 4096, 1 << 20};

	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(formats); i++) {
		_cleanup_snapshot_ struct snapshot *s = graph_of(sizes[i / 2]);
		_cleanup_strbuf_ struct strbuf b = {0};
		_cleanup_document_ struct document *d = NULL;
		_cleanup_free_ char *buf = malloc(1 << 20);

		whole(s, formats[i % 2], &b);
		assert_int_equal(document_new(s, formats[i % 2], &d), 0);
		assert_ptr_equal(document_snapshot(d), s);
		assert_int_equal(document_size(d), b.len);
		for (size_t k = 0; k < ARRAY_SIZE(pieces); k++)
			for (size_t at = 0; at < b.len; at += MAX(pieces[k], (size_t)13)) {
				size_t n = MIN(pieces[k], b.len - at);

				assert_int_equal(document_read(d, at, buf, pieces[k]), n);
				assert_memory_equal(buf, b.data + at, n);
			}
		assert_int_equal(document_read(d, b.len, buf, 10), 0);
		assert_int_equal(document_read(d, UINT64_MAX, buf, 10), 0);
		assert_int_equal(document_read(d, 0, buf, 0), 0);
	}
}

/* The document holds its generation. */
static void test_outlives(void **unused)
{
	struct snapshot *s = graph_of(3);
	_cleanup_document_ struct document *d = NULL;
	char buf[64];

	assert_int_equal(document_new(s, &document_graph_text, &d), 0);
	snapshot_unref(s);
	assert_int_equal(document_read(d, 0, buf, 32), 32);
	assert_memory_equal(buf, "Graph with 12 nodes and 15 edges", 32);
}

static int refuse_second(void *userdata, const char *data, size_t len)
{
	return ++*(int *)userdata == 2 ? -ENOSPC : 0;
}

static void test_write_error(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = graph_of(500);
	int calls = 0;

	assert_int_equal(write_document(s, &document_graph_json, true, refuse_second, &calls),
			 -ENOSPC);
	assert_int_equal(calls, 2);
}

/* What we write we can load: the same nodes and edges, and the same text again. */
static void test_load_again(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = graph_of(200), *again = NULL;
	_cleanup_strbuf_ struct strbuf a = {0}, b = {0};
	char error[512];

	whole(s, &document_graph_json, &a);
	if (load_graph("a", a.data, a.len, &again, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	assert_int_equal(again->n_entities, s->n_entities);
	assert_int_equal(again->n_edges, s->n_edges);
	whole(again, &document_graph_json, &b);
	assert_string_equal(strbuf_cstr(&a), strbuf_cstr(&b));
}

static void report(const char *what, uint64_t start, size_t bytes)
{
	double s = (double)(time_thread_cpu_ns() - start) / 1e9;

	print_message("  %-42s %7.1f ms %7.0f MB/s\n", what, s * 1e3, (double)bytes / s / 1e6);
}

/* 4,000 processes, 16,000 nodes, 20,000 edges. Numbers are printed, not judged: scripts/bench does.
 */
static void test_big(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = graph_of(4000), *again = NULL;
	_cleanup_free_ char *buf = malloc(128 << 10);
	_cleanup_strbuf_ struct strbuf json = {0};
	uint64_t start;
	char error[512];

	assert_int_equal(s->n_entities, 16000);
	assert_int_equal(s->n_edges, 20000);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		_cleanup_document_ struct document *d = NULL;
		uint64_t at = 0;
		ssize_t n;

		start = time_thread_cpu_ns();
		assert_int_equal(document_new(s, formats[i], &d), 0);
		print_message("%s: %.1f MB\n", formats[i]->name, (double)document_size(d) / 1e6);
		report("making", start, document_size(d));
		start = time_thread_cpu_ns();
		while ((n = document_read(d, at, buf, 128 << 10)) > 0)
			at += (uint64_t)n;
		report("reading in pieces of 128 KiB", start, at);
		assert_int_equal(at, document_size(d));
	}
	whole(s, &document_graph_json, &json);
	start = time_thread_cpu_ns();
	if (load_graph("big", json.data, json.len, &again, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	report("loading graph.json", start, json.len);
	assert_int_equal(again->n_edges, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	   cmocka_unit_test(test_reads),
		cmocka_unit_test(test_outlives),   cmocka_unit_test(test_write_error),
		cmocka_unit_test(test_load_again), cmocka_unit_test(test_big),
	};

	return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
