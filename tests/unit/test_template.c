/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/template.h"

static const char *render(const char *tmpl, const struct template_source *src)
{
	static struct strbuf b;

	strbuf_reset(&b);
	strbuf_str(&b, "<");
	if (!template_render(&b, tmpl, src))
		strbuf_str(&b, "FAILED");
	strbuf_str(&b, ">");
	return strbuf_cstr(&b);
}

static const char *key_of(const struct draft *d)
{
	static struct strbuf b;
	struct template_source src = template_of_draft(d);

	strbuf_reset(&b);
	template_key(&b, &src);
	return strbuf_cstr(&b);
}

static const char *id_of(const struct draft *d)
{
	static struct strbuf b;
	struct object_identity id = {.ident = 1};
	struct object *o;

	assert_int_equal(draft_pack(d, &id, NULL, &o), 0);
	strbuf_reset(&b);
	template_global_id(&b, o);
	object_unref(o);
	return strbuf_cstr(&b);
}

static void process(struct draft *d, int pid, int ppid, const char *name, const char *cmdline)
{
	draft_begin(d, &entity_types[ENTITY_PROCESS]);
	draft_s64(d, PROCESS_PID, pid);
	draft_s64(d, PROCESS_PPID, ppid);
	if (name)
		draft_str(d, PROCESS_NAME, name);
	if (cmdline)
		draft_str(d, PROCESS_CMDLINE, cmdline);
}

static void test_fields(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	struct template_source src;

	process(&d, 12, 1, "a b/c", NULL);
	src = template_of_draft(&d);
	assert_string_equal(render("x {pid} {ppid}{name}", &src), "<x 12 1a b/c>");
	assert_string_equal(render("{{{pid}}}", &src), "<{12}>");
	assert_string_equal(render("[{pid}] ? { }", &src), "<FAILED>"); /* "{ }": no such field */
	assert_string_equal(render("[{pid}]?", &src), "<[12]?>");
	assert_string_equal(render("", &src), "<>");
	assert_string_equal(render("{nothing}", &src), "<FAILED>");
	assert_string_equal(render("a{cmdline}b", &src), "<FAILED>");
	assert_string_equal(render("{uid}", &src), "<FAILED>");
	src.lenient = true;
	assert_string_equal(render("a{cmdline}b{uid}", &src), "<aNonebNone>");
	src.lenient = false;
	src.escape = true;
	assert_string_equal(render("{name}", &src), "<a%20b%2Fc>");
	assert_string_equal(render("{name:lower}", &src), "<a%20b%2Fc>");
	assert_string_equal(render("{name:raw}", &src), "<a%20b%2Fc>");
}

static void test_optional_parts(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	struct template_source src;

	process(&d, 12, 1, "n", NULL);
	src = template_of_draft(&d);
	assert_string_equal(render("{pid}?[-{name}]", &src), "<12-n>");
	assert_string_equal(render("{pid}?[-{uid}]", &src), "<12>");
	assert_string_equal(render("{pid}?[-{name}-{uid}]?[+{ppid}]", &src), "<12+1>");
	/* Left out also where an absent value would be printed as None. */
	src.lenient = true;
	assert_string_equal(render("{pid}?[-{uid}]", &src), "<12>");
	draft_mark(&d, PROCESS_UID, VALUE_UNKNOWN);
	assert_string_equal(render("{pid}?[-{uid}]", &src), "<12>");
	draft_u64(&d, PROCESS_UID, 0);
	assert_string_equal(render("{pid}?[-{uid}]", &src), "<12-0>");
}

static void test_specs(void **state)
{
	static const char at30[] = "123456789012345678901234567890";
	static const char at31[] = "1234567890123456789012345678901";
	/* 31 characters of two bytes: cut after 27 characters, not bytes. */
	char wide[63] = "", want[64] = "<";
	_cleanup_draft_ struct draft d = {0};
	struct template_source src;

	process(&d, 1, 0, "ABC", at30);
	src = template_of_draft(&d);
	assert_string_equal(render("{cmdline:cut}", &src), "<123456789012345678901234567890>");
	assert_string_equal(render("{name:lower}", &src), "<abc>");
	process(&d, 1, 0, "ABC", at31);
	src = template_of_draft(&d);
	assert_string_equal(render("{cmdline:cut}", &src), "<123456789012345678901234567...>");
	for (int i = 0; i < 31; i++)
		strcat(wide, "\xc3\xa4");
	for (int i = 0; i < 27; i++)
		strcat(want, "\xc3\xa4");
	strcat(want, "...>");
	process(&d, 1, 0, "ABC", wide);
	src = template_of_draft(&d);
	assert_string_equal(render("{cmdline:cut}", &src), want);
	process(&d, 1, 0, "ABC", "");
	src = template_of_draft(&d);
	assert_string_equal(render("{cmdline:cut}", &src), "<>");
}

static const struct object *resolve(void *userdata, uint64_t ident)
{
	return ident == 77 ? userdata : NULL;
}

static void test_references(void **state)
{
	_cleanup_object_ struct object *o = NULL;
	struct object_identity id = {.ident = 77};
	_cleanup_draft_ struct draft d = {0};
	struct template_source src;

	process(&d, 698, 1, "p", NULL);
	assert_int_equal(draft_pack(&d, &id, NULL, &o), 0);
	draft_begin(&d, &entity_types[ENTITY_THREAD]);
	draft_s64(&d, THREAD_TID, 700);
	draft_ref(&d, THREAD_PROCESS, 77);
	src = template_of_draft(&d);
	src.resolve = resolve;
	src.userdata = o;
	assert_string_equal(render("{process.pid}:{tid}", &src), "<698:700>");
	assert_string_equal(render("{process.uid}", &src), "<FAILED>");
	draft_ref(&d, THREAD_PROCESS, 78);
	assert_string_equal(render("{process.pid}", &src), "<FAILED>");
	src.lenient = true;
	assert_string_equal(render("{process.pid}", &src), "<None>");
	src.resolve = NULL;
	assert_string_equal(render("{process.pid}", &src), "<None>");
}

static void socket_draft(struct draft *d, const char *addr, int port)
{
	draft_begin(d, &entity_types[ENTITY_SOCKET]);
	draft_str(d, SOCKET_SOCKET_ADDR, addr);
	draft_s64(d, SOCKET_SOCKET_PORT, port);
}

static void test_keys(void **state)
{
	_cleanup_draft_ struct draft d = {0};

	process(&d, 1234, 1, "x", NULL);
	assert_string_equal(key_of(&d), "1234");
	socket_draft(&d, "10.0.0.8", 8000);
	assert_string_equal(key_of(&d), "tcp-10.0.0.8,8000");
	socket_draft(&d, "fe80::1%3", 8000);
	assert_string_equal(key_of(&d), "tcp-fe80::1%3,8000");
	draft_str(&d, SOCKET_PEER_ADDR, "fe80::2");
	assert_string_equal(key_of(&d), "tcp-fe80::1%3,8000"); /* half a peer is none */
	draft_s64(&d, SOCKET_PEER_PORT, 9);
	draft_u64(&d, SOCKET_KEY_NETNS, 4026532000);
	assert_string_equal(key_of(&d), "tcp-fe80::1%3,8000-fe80::2,9@4026532000");
	/* A loaded file may say anything: never a path. */
	socket_draft(&d, "../../etc\n", 1);
	draft_str(&d, SOCKET_SOCKET_TYPE, "T/P");
	assert_string_equal(key_of(&d), "t%2Fp-..%2F..%2Fetc%0A,1");
	/* The second alternative. */
	draft_begin(&d, &entity_types[ENTITY_SOCKET]);
	draft_mark(&d, SOCKET_SOCKET_ADDR, VALUE_ABSENT);
	draft_u64(&d, SOCKET_INODE, 55);
	assert_string_equal(key_of(&d), "tcp-55");
	/* Empty and dot names. */
	draft_begin(&d, &entity_types[ENTITY_SHM]);
	draft_str(&d, SHM_SHM_NAME, "");
	assert_string_equal(key_of(&d), "%");
	draft_str(&d, SHM_SHM_NAME, "..");
	assert_string_equal(key_of(&d), "%2E%2E");
	draft_bytes(&d, SHM_SHM_NAME, "a\0b", 3);
	assert_string_equal(key_of(&d), "a%00b");
}

static void test_long_keys(void **state)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_free_ char *first = NULL;
	char name[5000];

	memset(name, 'a', sizeof(name));
	draft_begin(&d, &entity_types[ENTITY_SHM]);
	draft_bytes(&d, SHM_SHM_NAME, name, 200);
	assert_int_equal(strlen(key_of(&d)), 200);
	assert_null(strchr(key_of(&d), '~'));
	draft_bytes(&d, SHM_SHM_NAME, name, 201);
	first = strdup(key_of(&d));
	assert_int_equal(strlen(first), 200);
	assert_int_equal(first[183], '~');
	assert_string_equal(key_of(&d), first); /* the same every time */
	/* What differs only behind the cut keeps apart. */
	name[4999] = 'b';
	draft_bytes(&d, SHM_SHM_NAME, name, sizeof(name));
	assert_int_equal(strlen(key_of(&d)), 200);
	assert_string_not_equal(key_of(&d), first);
	/* Escapes count as they are written. */
	memset(name, '/', sizeof(name));
	draft_bytes(&d, SHM_SHM_NAME, name, 100);
	assert_int_equal(strlen(key_of(&d)), 200);
}

/* Forms of compat.md 4.1. */
static void test_global_ids(void **state)
{
	_cleanup_draft_ struct draft d = {0};

	process(&d, 698, -1, "my proc x", NULL);
	assert_string_equal(id_of(&d), "Process(pid=698,ppid=-1)");
	draft_str(&d, ENTITY_ENTITY_NAMESPACE_ATTR, "10.0.0.2");
	assert_string_equal(id_of(&d), "Process(ns=10.0.0.2,pid=698,ppid=-1)");
	socket_draft(&d, "127.0.0.1", 5000);
	assert_string_equal(id_of(&d), "Socket(127.0.0.1:5000(TCP))");
	draft_begin(&d, &entity_types[ENTITY_NUMA]);
	draft_s64(&d, NUMA_NUMA_ID, 0);
	assert_string_equal(id_of(&d), "Numa(numa0)");
	draft_begin(&d, &entity_types[ENTITY_NUMA_SET]);
	draft_str(&d, NUMA_SET_NUMA_ID_STR, "0,2-4");
	assert_string_equal(id_of(&d), "NumaSet({0,2-4})");
	draft_begin(&d, &entity_types[ENTITY_SHM]);
	draft_str(&d, SHM_SHM_NAME, "wpload");
	draft_s64(&d, SHM_SHM_SIZE, 4096);
	assert_string_equal(id_of(&d), "SharedMemory(name=wpload,size=4096)");
	draft_begin(&d, &entity_types[ENTITY_NPU]);
	draft_s64(&d, NPU_ID, 0);
	draft_str(&d, NPU_CPU_AFFINITY, "144-167");
	assert_string_equal(id_of(&d), "NPU(id=0,cpu_affinity=144-167)");
	/* Without the attribute in the id: None, never nothing. */
	draft_begin_bare(&d, &entity_types[ENTITY_PROCESS]);
	draft_s64(&d, PROCESS_PID, 3);
	assert_string_equal(id_of(&d), "Process(pid=3,ppid=None)");
}

static void check_python(const char *json, const char *want)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	template_python(&b, json, strlen(json));
	assert_string_equal(strbuf_cstr(&b), want);
}

static void test_python(void **state)
{
	check_python("{}", "{}");
	check_python("{\"0\":10,\"12\":20}", "{0: 10, 12: 20}");
	check_python("{\"a\":1,\"b\":[0.0,1e+16],\"c\":\"1\"}",
		     "{'a': 1, 'b': [0.0, 1e+16], 'c': '1'}");
	check_python("{\"a\":null,\"b\":true,\"c\":false}", "{'a': None, 'b': True, 'c': False}");
	check_python("{ \"a\" : \"x,y: null\" }", "{'a': 'x,y: null'}");
	check_python("[]", "[]");
	check_python("\"\"", "''");
	/* Cut text ends, it does not run away. */
	check_python("{\"a", "{'a'");
	check_python("{\"a\\", "{'a\\'");
	check_python("nul", "nul");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),	   cmocka_unit_test(test_optional_parts),
		cmocka_unit_test(test_specs),	   cmocka_unit_test(test_references),
		cmocka_unit_test(test_keys),	   cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_global_ids), cmocka_unit_test(test_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
