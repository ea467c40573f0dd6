/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/builder.h"
#include "view/json.h"
#include "view/jsonscan.h"

/* --- helpers ---------------------------------------------------------------------------------- */
static void quoted(const char *data, size_t len, const char *want)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	json_quote(&b, data, len);
	assert_string_equal(strbuf_cstr(&b), want);
}

static struct snapshot *finish(struct builder *b)
{
	struct snapshot *s;

	assert_int_equal(builder_finish(b, state_new(), &s), 0);
	return s;
}

static void check_entity(const struct snapshot *s, uint64_t ident, const char *want)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	json_entity(&b, s, snapshot_entity(s, ident));
	assert_string_equal(strbuf_cstr(&b), want);
}

static void indented(const char *compact, const char *want)
{
	for (size_t step = 1; step <= strlen(compact); step++) {
		_cleanup_strbuf_ struct strbuf b = {0};
		struct json_indent state = {0};

		for (size_t i = 0; i < strlen(compact); i += step)
			json_indent(&state, &b, compact + i, MIN(step, strlen(compact) - i));
		assert_string_equal(strbuf_cstr(&b), want);
	}
}

/* --- strings ---------------------------------------------------------------------------------- */
static void test_quote(void **unused)
{
	quoted("", 0, "\"\"");
	quoted("plain text of more than eight bytes", 35,
	       "\"plain text of more than eight bytes\"");
	quoted("a\"b\\c\n\t\r\b\f\x01\x1f\x7f", 13,
	       "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f\x7f\"");
	quoted("nul\0nul", 7, "\"nul\\u0000nul\"");
	quoted("gr\xc3\xb6\xc3\x9f"
	       "e \xf0\x9f\x98\x80",
	       12, "\"größe 😀\"");
	quoted("\xff\xfe", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	quoted("a\xe2\x82z", 4, "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
	quoted("\xc3\xb6\xff\xc3\xb6", 5, "\"ö\xef\xbf\xbdö\"");
	quoted("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* A special byte at each place of a word, beside each kind of plain byte. */
static void test_quote_every_place(void **unused)
{
	static const char plain[] = " !#[]~0a";

	for (unsigned int c = 1; c < 0x80; c++)
		for (size_t at = 0; at < 17; at++) {
			_cleanup_strbuf_ struct strbuf b = {0};
			bool special = c < 0x20 || c == '"' || c == '\\';
			char text[17];

			memset(text, plain[(c + at) % 8], sizeof(text));
			text[at] = (char)c;
			json_quote(&b, text, sizeof(text));
			assert_int_equal(b.len > sizeof(text) + 2, special);
			assert_memory_equal(b.data + 1, text, at);
			assert_memory_equal(b.data + b.len - 1 - (16 - at), text + at + 1, 16 - at);
		}
}

/* 64 KiB of bytes that are no UTF-8 must not take a quadratic time. */
static void test_quote_long_invalid(void **unused)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	static char bytes[1 << 20];

	memset(bytes, 0xff, sizeof(bytes));
	json_quote(&b, bytes, sizeof(bytes));
	assert_int_equal(b.len, 3 * sizeof(bytes) + 2);
}

/* --- objects ---------------------------------------------------------------------------------- */
static void test_entity(void **unused)
{
	_cleanup_builder_ struct builder *b = NULL;
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	uint64_t process, thread;

	assert_int_equal(builder_new(NULL, (struct builder_limits){0}, &b), 0);
	draft_begin(&d, &entity_types[ENTITY_PROCESS]);
	draft_s64(&d, PROCESS_PID, 5);
	draft_s64(&d, PROCESS_PPID, 1);
	draft_bytes(&d, PROCESS_NAME, "a\xff\nb", 4);
	draft_str(&d, PROCESS_CMDLINE, "x y");
	draft_bytes(&d, PROCESS_ARGV, "x\0\0y z\0", 7);
	draft_u64(&d, PROCESS_START_TIME_TICKS, 77);
	draft_mark(&d, PROCESS_RSS_BYTES, VALUE_UNKNOWN);
	draft_bool(&d, PROCESS_KERNEL_THREAD, false);
	draft_ref(&d, PROCESS_PARENT, 123);
	assert_int_equal(builder_add(b, &d, &process), 0);
	draft_begin(&d, &entity_types[ENTITY_THREAD]);
	draft_s64(&d, THREAD_TID, 6);
	draft_ref(&d, THREAD_PROCESS, process);
	draft_str(&d, THREAD_NAME, "t");
	draft_s64(&d, THREAD_NICE, -3);
	assert_int_equal(builder_add(b, &d, &thread), 0);
	s = finish(b);
	check_entity(s, process,
		     "{\"entity_namespace\":\"local\",\"entity_type\":\"ProcessEntity\","
		     "\"details\":{},\"pid\":5,\"ppid\":1,\"name\":\"a\xef\xbf\xbd\\nb\","
		     "\"name_hex\":\"61ff0a62\",\"cmdline\":\"x y\",\"argv\":[\"x\",\"\",\"y z\"],"
		     "\"kernel_thread\":false,\"start_time_ticks\":77,\"rss_bytes\":null}");
	/* Nested: the fields of the reference, and what makes the identity. */
	check_entity(s, thread,
		     "{\"entity_namespace\":\"local\",\"entity_type\":\"ThreadEntity\","
		     "\"details\":{},\"tid\":6,\"process\":{\"entity_namespace\":\"local\","
		     "\"entity_type\":\"ProcessEntity\",\"details\":{},\"pid\":5,\"ppid\":1,"
		     "\"name\":\"a\xef\xbf\xbd\\nb\",\"name_hex\":\"61ff0a62\",\"cmdline\":\"x y\","
		     "\"start_time_ticks\":77},\"name\":\"t\",\"nice\":-3}");
}

/* A thread whose process is not in the graph, and a circle of references. */
static void test_nesting_is_bounded(void **unused)
{
	_cleanup_builder_ struct builder *b = NULL;
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	_cleanup_strbuf_ struct strbuf out = {0};
	uint64_t ident;

	assert_int_equal(builder_new(NULL, (struct builder_limits){0}, &b), 0);
	draft_begin(&d, &entity_types[ENTITY_THREAD]);
	draft_s64(&d, THREAD_TID, 6);
	draft_ref(&d, THREAD_PROCESS, draft_ident(&d));
	assert_int_equal(builder_add(b, &d, &ident), 0);
	draft_s64(&d, THREAD_TID, 7);
	draft_ref(&d, THREAD_PROCESS, 4711);
	assert_int_equal(builder_add(b, &d, NULL), 0);
	s = finish(b);
	json_entity(&out, s, snapshot_entity(s, ident));
	assert_non_null(strstr(strbuf_cstr(&out), "\"process\":null"));
	assert_true(out.len < 1000);
	strbuf_reset(&out);
	json_entity(&out, s, s->entities[s->entities[0]->ident == ident]);
	assert_non_null(strstr(strbuf_cstr(&out), "\"tid\":7,\"process\":null,"));
}

static struct snapshot *with_edge(enum edge_type type, struct draft *edge)
{
	_cleanup_builder_ struct builder *b = NULL;
	_cleanup_draft_ struct draft d = {0};
	uint64_t x, y;

	assert_int_equal(builder_new(NULL, (struct builder_limits){0}, &b), 0);
	draft_begin(&d, &entity_types[ENTITY_NUMA_SET]);
	draft_str(&d, NUMA_SET_NUMA_ID_STR, "0");
	assert_int_equal(builder_add(b, &d, &x), 0);
	draft_str(&d, NUMA_SET_NUMA_ID_STR, "1");
	assert_int_equal(builder_add(b, &d, &y), 0);
	assert_int_equal(builder_add_edge(b, edge, x, y), 0);
	return finish(b);
}

#define SET(n)                                                                                     \
	"{\"entity_namespace\":\"local\",\"entity_type\":\"NumaSetEntity\",\"details\":{},"        \
	"\"numa_id_str\":\"" n "\"}"

static void check_edge(const struct snapshot *s, const char *want)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	json_edge(&b, s, s->edges[0]);
	assert_string_equal(strbuf_cstr(&b), want);
}

static void test_edge_groups(void **unused)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;

	draft_begin(&d, &edge_types[EDGE_SEND_TO_SOCKET]);
	draft_s64(&d, EDGE_SEND_TO_SOCKET_DATA_SIZE, INT64_MIN);
	draft_mark(&d, EDGE_SEND_TO_SOCKET_PACKETS_CNT, VALUE_UNKNOWN);
	draft_str(&d, EDGE_SEND_TO_SOCKET_EXACTNESS, "exact");
	draft_f64(&d, EDGE_WEIGHT_ATTR, 0.1);
	s = with_edge(EDGE_SEND_TO_SOCKET, &d);
	check_edge(s,
		   "{\"edge_type\":\"SendToSocketEdge\",\"weight\":0.1,\"source_node\":" SET(
			   "0") ",\"target_node\":" SET("1") ",\"connection_type\":\"TCP\",\"data_"
							     "flow\":{"
							     "\"start_time\":-1,\"end_time\":-1,"
							     "\"data_size\":-9223372036854775808,"
							     "\"packets_cnt\":null},"
							     "\"exactness\":\"exact\"}");
}

/* Groups within groups, one of them without any attribute; members beside the schema. */
static void test_edge_deep_groups(void **unused)
{
	static const char extra[] =
		"{\"numa_access_info\":{\"proc_status\":{\"more\":1},\"numa_affinity_info\":null},"
		"\"top\":[2]}";
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;

	draft_begin_bare(&d, &edge_types[EDGE_NUMA_ACCESS]);
	draft_s64(&d, EDGE_NUMA_ACCESS_VOLUNTARY_CTXT_SWITCHES, 1);
	draft_json(&d, EDGE_NUMA_ACCESS_TOTAL_PAGES, "{\"0\":5}", 7);
	draft_json(&d, EDGE_EXTRA_ATTR, extra, strlen(extra));
	s = with_edge(EDGE_NUMA_ACCESS, &d);
	check_edge(s, "{\"edge_type\":\"NumaAccessEdge\",\"source_node\":" SET(
			      "0") ",\"target_node\":" SET("1") ","
								"\"numa_access_info\":{"
								"\"proc_status\":{\"voluntary_ctxt_"
								"switches\":1,\"more\":1},"
								"\"total_pages\":{\"0\":5},"
								"\"numa_affinity_info\":null},"
								"\"top\":[2]}");
}

static void test_undirected(void **unused)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;

	draft_begin(&d, &edge_types[EDGE_UNDIRECTED]);
	s = with_edge(EDGE_UNDIRECTED, &d);
	check_edge(s, "{\"edge_type\":\"UndirectedEdge\",\"weight\":null,\"nodes\":[" SET(
			      "0") "," SET("1") "]}");
}

static void test_value(void **unused)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_snapshot_ struct snapshot *s = NULL;
	_cleanup_strbuf_ struct strbuf b = {0};

	draft_begin_bare(&d, &edge_types[EDGE_SEND_TO_SOCKET]);
	draft_str(&d, EDGE_SEND_TO_SOCKET_CONNECTION_TYPE, "T\"");
	s = with_edge(EDGE_SEND_TO_SOCKET, &d);
	json_value(&b, s, s->edges[0], EDGE_SEND_TO_SOCKET_CONNECTION_TYPE);
	json_value(&b, s, s->edges[0], EDGE_SEND_TO_SOCKET_DATA_SIZE);
	assert_string_equal(strbuf_cstr(&b), "\"T\\\"\"null");
}

/* --- indentation and scanning ----------------------------------------------------------------- */
static void test_indent(void **unused)
{
	indented("{}", "{}");
	indented("[[],{},[{}]]", "[\n  [],\n  {},\n  [\n    {}\n  ]\n]");
	indented("{\"a\":1,\n\"b{[,:\\\"}\":[true,null,-1.5],\"c\":{\"d\":\"\"}}\n",
		 "{\n  \"a\": 1,\n  \"b{[,:\\\"}\": [\n    true,\n    null,\n    -1.5\n  ],\n"
		 "  \"c\": {\n    \"d\": \"\"\n  }\n}");
}

static void test_scan(void **unused)
{
	static const char text[] = " {\"a\" : [1,\"]}\"] ,\"b\":{\"x\\\"\":{}},\"c\":-1.5e3} tail";
	static const char *const bad[] = {"{",	       "{\"a\"", "{\"a\":",    "{\"a\":1",
					  "{\"a\":1,", "{a:1}",	 "{\"a\":[1}", "[1 2]",
					  "[,]",       "[\"x]",	 "[1,",	       "{\"a\\"};
	struct json_slice name, value, found;
	struct json_scan scan;
	unsigned int n = 0;

	assert_true(json_scan_begin(&scan, text, strlen(text)));
	while (json_scan_next(&scan, &name, &value))
		n++;
	assert_false(scan.error);
	assert_int_equal(n, 3);
	assert_string_equal(scan.p, " tail");
	assert_true(json_scan_find((struct json_slice){text, strlen(text)}, "b", &found));
	assert_memory_equal(found.data, "{\"x\\\"\":{}}", found.len);
	assert_false(json_scan_find((struct json_slice){text, strlen(text)}, "d", &found));
	assert_false(json_scan_begin(&scan, "12", 2));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (json_scan_begin(&scan, bad[i], strlen(bad[i])))
			while (json_scan_next(&scan, &name, &value))
				;
		if (!scan.error)
			fail_msg("taken as good: %s", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_quote_every_place),
		cmocka_unit_test(test_quote_long_invalid),
		cmocka_unit_test(test_entity),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_edge_groups),
		cmocka_unit_test(test_edge_deep_groups),
		cmocka_unit_test(test_undirected),
		cmocka_unit_test(test_value),
		cmocka_unit_test(test_indent),
		cmocka_unit_test(test_scan),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
