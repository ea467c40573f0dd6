/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "util/fdio.h"
#include "view/document.h"
#include "view/json.h"
#include "view/load.h"
#include "view/write.h"

/* --- helpers ---------------------------------------------------------------------------------- */
static const char *golden(const char *name)
{
	static char path[512];
	const char *root = getenv("WITTYFS_SOURCE");

	snprintf(path, sizeof(path), "%s/tests/golden/graph/%s", root ? root : ".", name);
	return path;
}

static char *read_file(const char *path, size_t *ret_len)
{
	char *data;

	if (fdio_read_all_at(AT_FDCWD, path, 64 << 20, &data, ret_len, NULL) < 0)
		fail_msg("cannot read %s (WITTYFS_SOURCE is the source tree)", path);
	return data;
}

static struct snapshot *load(const char *path)
{
	struct snapshot *s;
	char error[1024] = "";

	if (load_graph_file(path, &s, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	return s;
}

static int append(void *userdata, const char *data, size_t len)
{
	strbuf_add(userdata, data, len);
	return 0;
}

static json_t *dumped(const struct snapshot *s, bool indent)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	json_error_t error;
	json_t *j;

	assert_int_equal(write_document(s, &document_graph_json, indent, append, &b), 0);
	j = json_loadb(b.data, b.len, JSON_ALLOW_NUL, &error);
	if (!j)
		fail_msg("our own JSON: line %d: %s", error.line, error.text);
	return j;
}

/* Both arrays hold equal items, in any order. */
static void same_items(json_t *want, json_t *got, const char *what)
{
	size_t n = json_array_size(want);
	_cleanup_free_ bool *used = calloc(n + 1, 1);

	assert_int_equal(json_array_size(got), n);
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < n &&
		       (used[k] || !json_equal(json_array_get(want, i), json_array_get(got, k))))
			k++;
		if (k == n) {
			char *text = json_dumps(json_array_get(want, i), JSON_COMPACT);

			print_error("%s[%zu] of the input is not in the dump: %s\n", what, i, text);
			free(text);
			fail();
		}
		used[k] = true;
	}
}

/* The file, loaded and dumped (compact and indented), is what it was but for order. */
static void round_trip(const char *path, unsigned int nodes, unsigned int edges)
{
	_cleanup_snapshot_ struct snapshot *s = load(path);
	json_t *want = json_load_file(path, 0, NULL), *content = json_object_get(want, "content");

	assert_int_equal(s->n_entities, nodes);
	assert_int_equal(s->n_edges, edges);
	for (int indent = 0; indent < 2; indent++) {
		json_t *got = dumped(s, indent), *graph = content ? content : want;

		same_items(json_object_get(graph, "nodes"), json_object_get(got, "nodes"), "nodes");
		same_items(json_object_get(graph, "edges"), json_object_get(got, "edges"), "edges");
		assert_int_equal(json_object_size(got), 2);
		json_decref(got);
	}
	json_decref(want);
}

static void refused(const char *text, const char *expect)
{
	struct snapshot *s = NULL;
	char error[1024] = "";
	int r = load_graph("g.json", text, strlen(text), &s, error, sizeof(error));

	assert_null(s);
	assert_int_equal(r, -EINVAL);
	if (!strstr(error, expect) || strncmp(error, "g.json:", 7) != 0)
		fail_msg("'%s' is not in the message: %s", expect, error);
}

/* --- what is loaded --------------------------------------------------------------------------- */
static void test_small(void **unused)
{
	round_trip(golden("small.json"), 9, 7);
}

static void test_reference(void **unused)
{
	const char *shared = getenv("WITTYFS_SHARED");
	char path[512];

	snprintf(path, sizeof(path), "%s/data/reference-graph-ascend8.json", shared ? shared : "");
	if (!shared || access(path, R_OK) < 0) {
		print_message("skipped: the reference's graph is not here (%s)\n",
			      shared ? path : "WITTYFS_SHARED is not set");
		skip();
	}
	round_trip(path, 129, 259);
}

/* Unknown members, in the object and in its groups, and values of unexpected kinds come back. An
 * end that is in no list of nodes becomes a node. */
static void test_unknown_members(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = load(golden("envelope.json"));
	json_t *want = json_load_file(golden("envelope.json"), 0, NULL), *got = dumped(s, false);

	assert_int_equal(s->n_entities, 4);
	same_items(json_object_get(json_object_get(want, "content"), "edges"),
		   json_object_get(got, "edges"), "edges");
	json_array_append(json_object_get(json_object_get(want, "content"), "nodes"),
			  json_object_get(json_array_get(json_object_get(got, "edges"),
							 s->edge_start[EDGE_NUMA_ACCESS]),
					  "target_node"));
	same_items(json_object_get(json_object_get(want, "content"), "nodes"),
		   json_object_get(got, "nodes"), "nodes");
	json_decref(want);
	json_decref(got);
}

/* Additions of ours: bytes that are no text, and two sockets of one address. */
static void test_ours(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = load(golden("ours.json"));
	const struct object *p;
	const char *name;
	size_t len;

	round_trip(golden("ours.json"), 3, 1);
	p = snapshot_entity_by_key(s, ENTITY_PROCESS, "5", 1);
	assert_non_null(p);
	name = object_bytes(p, PROCESS_NAME, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(name,
			    "a\xff"
			    "b",
			    3);
	name = object_bytes(p, PROCESS_ARGV, &len);
	assert_int_equal(len, 7);
	assert_memory_equal(name, "x\0\0y z", 7);
	assert_int_equal(object_value(p, PROCESS_START_TIME_TICKS)->kind, VALUE_U64);
	assert_int_equal(object_value(snapshot_entity(s, s->edges[0]->target), SOCKET_INODE)->u64,
			 12);
}

static const struct object *first_edge(const struct snapshot *s, enum edge_type type)
{
	assert_int_equal(s->edge_start[type + 1] - s->edge_start[type], 1);
	return s->edges[s->edge_start[type]];
}

/* The first of equal nodes wins, the last of equal edges. */
static void test_repeated(void **unused)
{
	_cleanup_snapshot_ struct snapshot *s = load(golden("repeated.json"));
	const struct object *p, *e = first_edge(s, EDGE_SEND_TO_SOCKET);
	const char *name;
	size_t len;

	assert_int_equal(s->n_entities, 4);
	assert_int_equal(s->n_edges, 2);
	p = snapshot_entity_by_key(s, ENTITY_PROCESS, "5", 1);
	name = object_bytes(p, PROCESS_NAME, &len);
	assert_memory_equal(name, "first", len);
	assert_int_equal(object_value(p, PROCESS_CMDLINE)->kind, VALUE_NULL);
	assert_true(object_value(e, EDGE_WEIGHT_ATTR)->f64 == 3.0);
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_DATA_SIZE)->s64, 3);
	assert_int_equal(object_value(e, EDGE_SEND_TO_SOCKET_PACKETS_CNT)->kind, VALUE_ABSENT);
	assert_non_null(snapshot_entity_by_key(s, ENTITY_PROCESS, "7", 1));
}

static void test_empty_graph(void **unused)
{
	static const char *const texts[] = {
		"{\"nodes\":[],\"edges\":[]}", " \n{ \"edges\" : [ ] , \"nodes\" : [ ] }\n",
		"\xef\xbb\xbf{\"env\":{},\"content\":{\"nodes\":[],\"edges\":[]}}"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_snapshot_ struct snapshot *s = NULL;
		char error[512] = "";

		assert_int_equal(
			load_graph("g", texts[i], strlen(texts[i]), &s, error, sizeof(error)), 0);
		assert_int_equal(s->n_entities + s->n_edges, 0);
		assert_true(s->state->recorded);
	}
}

/* --- what is refused -------------------------------------------------------------------------- */
#define POD "{\"entity_type\":\"PodEntity\",\"pod_id\":\"p\"}"

static void test_refused(void **unused)
{
	refused("", "g.json:1: not a JSON object");
	refused("hello", "not a JSON object");
	refused("[]", "not a JSON object");
	refused("{}", "no graph");
	refused("{\"nodes\":[]}", "no graph");
	refused("{\"nodes\":{},\"edges\":[]}", "\"nodes\" is not an array");
	refused("{\"nodes\":[],\"edges\":[]} x", "text after the end");
	refused("{\"nodes\":[1],\"edges\":[]}", "nodes[0]: a node must be an object");
	refused("{\"nodes\":[{\"entity_type\":3}],\"edges\":[]}", "nodes[0]: a node must be");
	refused("{\"nodes\":[" POD " " POD "],\"edges\":[]}", "nodes[1]: ',' or ']'");
	refused("{\"nodes\":[" POD ",\n{\"entity_type\":x}],\"edges\":[]}", "g.json:2: nodes[1]: ");
	refused("{\"nodes\":[\"\xff\"],\"edges\":[]}", "nodes[0]: ");
	refused("{\"nodes\":[],\"edges\":[{}]}", "edges[0]: an edge must be");
	refused("{\"nodes\":[],\"edges\":[{\"edge_type\":\"OwnEdge\"}]}", "\"source_node\"");
	refused("{\"nodes\":[],\"edges\":[{\"edge_type\":\"OwnEdge\",\"source_node\":" POD "}]}",
		"edges[0]: the edge has no object \"target_node\"");
	refused("{\"nodes\":[],\"edges\":[{\"edge_type\":\"UndirectedEdge\",\"nodes\":[" POD "]}]}",
		"array \"nodes\" of two");
	refused("{\"nodes\":[],\"edges\":[{\"edge_type\":\"FooEdge\"}]}",
		"unknown edge_type 'FooEdge'; known are: OwnEdge BelongEdge");
	/* Short names are ours, not the file's. */
	refused("{\"nodes\":[{\"entity_type\":\"process\"}],\"edges\":[]}", "unknown entity_type");
}

static void test_unknown_type(void **unused)
{
	struct snapshot *s = NULL;
	char error[1024] = "", small[20];

	assert_int_equal(load_graph_file(golden("unknown.json"), &s, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "unknown.json:4: nodes[2]: unknown entity_type "
				      "'ProcesEntity'; known are: ProcessEntity ThreadEntity"));
	/* A small buffer is not overrun. */
	assert_int_equal(load_graph_file(golden("unknown.json"), &s, small, sizeof(small)),
			 -EINVAL);
	assert_true(strlen(small) < sizeof(small));
}

static void test_files(void **unused)
{
	struct snapshot *s = NULL;
	char error[1024] = "";

	assert_int_equal(load_graph_file("/no/such/file", &s, error, sizeof(error)), -ENOENT);
	assert_string_equal(error, "/no/such/file: No such file or directory");
	assert_int_equal(load_graph_file("/", &s, error, sizeof(error)), -EISDIR);
	assert_int_equal(load_graph_file("/dev/null", &s, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "/dev/null: the file is empty");
}

static void test_deep(void **unused)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	strbuf_str(&b, "{\"edges\":[],\"nodes\":[");
	for (int i = 0; i < 40; i++)
		strbuf_printf(&b, "{\"entity_type\":\"ThreadEntity\",\"tid\":%d,\"process\":", i);
	strbuf_str(&b, POD);
	for (int i = 0; i < 40; i++)
		strbuf_char(&b, '}');
	strbuf_str(&b, "]}");
	refused(strbuf_cstr(&b), "nested more than");
	strbuf_reset(&b);
	strbuf_str(&b, "{\"edges\":[],\"nodes\":[");
	for (int i = 0; i < 1000000; i++)
		strbuf_char(&b, '[');
	refused(strbuf_cstr(&b), "g.json:1");
	for (int i = 0; i < 1000000; i++)
		strbuf_char(&b, ']');
	strbuf_str(&b, "]}");
	refused(strbuf_cstr(&b), "nodes[0]: maximum parsing depth");
}

/* --- mutations -------------------------------------------------------------------------------- */
static const char *const corpus[] = {"small.json", "envelope.json", "repeated.json", "ours.json",
				     "unknown.json"};

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_next(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* Whatever is taken as a graph is dumped as JSON, text and a graph that loads again. */
static void load_any(const char *data, size_t len)
{
	_cleanup_snapshot_ struct snapshot *s = NULL, *again = NULL;
	_cleanup_strbuf_ struct strbuf b = {0}, text = {0};
	char error[512] = "";
	int r = load_graph("m", data, len, &s, error, sizeof(error));

	assert_true(r <= 0);
	if (r < 0) {
		assert_null(s);
		assert_int_not_equal(error[0], '\0');
		assert_null(strchr(error, '\n'));
		return;
	}
	assert_int_equal(write_document(s, &document_graph_text, false, append, &text), 0);
	assert_int_equal(write_document(s, &document_graph_json, false, append, &b), 0);
	if (load_graph("again", b.data, b.len, &again, error, sizeof(error)) < 0)
		fail_msg("%s\nof\n%s\nfrom\n%.*s", error, strbuf_cstr(&b), (int)len, data);
	assert_int_equal(again->n_entities, s->n_entities);
	assert_int_equal(again->n_edges, s->n_edges);
}

static size_t mutate(char *data, size_t len)
{
	static const char bytes[] = "{}[]\",:\\0-1eE.ntu\x00\xff\x80 ";
	size_t at = random_next(len), n = random_next(MIN(len - at, (size_t)64)) + 1, to;

	switch (random_next(5)) {
	case 0:
		data[at] = bytes[random_next(sizeof(bytes) - 1)];
		return len;
	case 1:
		data[at] ^= (char)(1 << random_next(8));
		return len;
	case 2: /* cut out */
		memmove(data + at, data + at + n, len - at - n);
		return len - n;
	case 3: /* copy over */
		to = random_next(len - n + 1);
		memmove(data + to, data + at, n);
		return len;
	default: /* exchange two digits or letters of names: types and keys go wrong */
		to = random_next(len);
		if (data[at] > ' ' && data[to] > ' ') {
			char c = data[at];

			data[at] = data[to];
			data[to] = c;
		}
		return len;
	}
}

static void test_truncated(void **unused)
{
	for (size_t i = 0; i < ARRAY_SIZE(corpus); i++) {
		size_t len;
		_cleanup_free_ char *data = read_file(golden(corpus[i]), &len);

		while (len && data[len - 1] != '}')
			len--;
		for (size_t n = 0; n < len; n++) {
			/* A copy of its own: reading beyond is seen by ASan. */
			_cleanup_free_ char *copy = malloc(n ? n : 1);
			struct snapshot *s = NULL;
			char error[512] = "";

			memcpy(copy, data, n);
			assert_true(load_graph("t", copy, n, &s, error, sizeof(error)) < 0);
			assert_int_not_equal(error[0], '\0');
		}
	}
}

static void test_mutated(void **unused)
{
	for (size_t i = 0; i < ARRAY_SIZE(corpus); i++) {
		size_t len;
		_cleanup_free_ char *data = read_file(golden(corpus[i]), &len);

		for (int round = 0; round < 2000; round++) {
			_cleanup_free_ char *copy = malloc(len);
			_cleanup_free_ char *exact = NULL;
			size_t n = len;

			memcpy(copy, data, len);
			for (uint64_t k = random_next(4) + 1; k && n > 1; k--)
				n = mutate(copy, n);
			exact = malloc(n);
			memcpy(exact, copy, n);
			load_any(exact, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_unknown_members), cmocka_unit_test(test_ours),
		cmocka_unit_test(test_repeated),	cmocka_unit_test(test_empty_graph),
		cmocka_unit_test(test_refused),		cmocka_unit_test(test_unknown_type),
		cmocka_unit_test(test_files),		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_truncated),	cmocka_unit_test(test_mutated),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
