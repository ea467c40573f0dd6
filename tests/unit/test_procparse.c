/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/procparse.h"
#include "util/macro.h"

#define TAIL                                                                                       \
	" S 7 8 9 0 -1 4194560 100 200 3 400 50 60 70 80 20 -5 3 0 12345 8192000 25 "              \
	"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 11 0 0\n"

static int parse(const char *text, size_t len, struct procparse_stat *st)
{
	/* A buffer of the exact size: AddressSanitizer sees a step beyond it. */
	char *copy = malloc(MAX(len, (size_t)1));
	int r;

	assert_non_null(copy);
	memcpy(copy, text, len);
	r = procparse_stat(copy, len, st);
	if (r == 0)
		st->name.data = text + (st->name.data - copy);
	free(copy);
	return r;
}

static void test_stat_names(void **state)
{
	static const char *const names[] = {
		"a b", "x) S 1 (y", ")) R 99 99 (", "line1\nline2", "\xff\xfe\x80", "",
		"(",   ")",	    "kworker/0:0",  "()",	    ") S 1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct procparse_stat st;
		char text[512];
		int n = snprintf(text, sizeof(text), "42 (%s)%s", names[i], TAIL);

		print_message("name '%s'\n", names[i]);
		assert_int_equal(parse(text, (size_t)n, &st), 0);
		assert_int_equal(st.name.len, strlen(names[i]));
		assert_memory_equal(st.name.data, names[i], st.name.len);
		assert_int_equal(st.state, 'S');
		assert_int_equal(st.ppid, 7);
		assert_int_equal(st.flags, 4194560);
		assert_int_equal(st.minor_faults, 100);
		assert_int_equal(st.major_faults, 3);
		assert_int_equal(st.user_ticks, 50);
		assert_int_equal(st.system_ticks, 60);
		assert_int_equal(st.nice, -5);
		assert_int_equal(st.threads, 3);
		assert_int_equal(st.start_ticks, 12345);
		assert_int_equal(st.vsize_bytes, 8192000);
		assert_int_equal(st.rss_pages, 25);
		assert_int_equal(st.last_cpu, 11);
	}
}

static void test_stat_cut(void **state)
{
	static const char whole[] = "42 (name)" TAIL;
	struct procparse_stat st;
	size_t shortest = 0;

	for (size_t len = 0; len < sizeof(whole) - 1; len++)
		if (parse(whole, len, &st) == 0 && !shortest)
			shortest = len;
	/* Up to the resident size it must be there. */
	assert_int_equal(shortest, strstr(whole, " 8192000 ") - whole + 10);
	assert_int_equal(parse(whole, shortest, &st), 0);
	assert_int_equal(st.last_cpu, -1);
	assert_int_equal(parse("", 0, &st), -EINVAL);
	assert_int_equal(parse(")(", 2, &st), -EINVAL);
}

static void test_status(void **state)
{
	static const char text[] =
		"Name:\tUid:\\n\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t1000\t0\t0\t0\n"
		"Gid:\t100\t0\t0\t0\nNSpid:\t1234\t17\t1\nThreads:\t1\nCpus_allowed:\tff\n"
		"Cpus_allowed_list:\t0-3,8\nMems_allowed:\t1\nMems_allowed_list:\t0\n"
		"voluntary_ctxt_switches:\t18446744073709551615\n"
		"nonvoluntary_ctxt_switches:\t3\n";
	struct procparse_status s;

	assert_int_equal(procparse_status(text, sizeof(text) - 1, &s), 0);
	assert_true(s.ids_known && s.switches_known);
	assert_int_equal(s.uid, 1000);
	assert_int_equal(s.gid, 100);
	assert_true(s.voluntary == UINT64_MAX);
	assert_int_equal(s.involuntary, 3);
	assert_int_equal(s.nspid.len, 9);
	assert_memory_equal(s.nspid.data, "1234\t17\t1", 9);
	assert_int_equal(s.cpus_allowed.len, 5);
	assert_memory_equal(s.cpus_allowed.data, "0-3,8", 5);
	assert_int_equal(s.mems_allowed.len, 1);
	assert_int_equal(procparse_status("Name:\tx\n", 8, &s), -EINVAL);
	/* What is missing is said to be missing. */
	assert_int_equal(procparse_status(text, 80, &s), 0);
	assert_false(s.switches_known);
	assert_null(s.mems_allowed.data);
}

static void test_schedstat(void **state)
{
	uint64_t run, wait, slices;

	assert_int_equal(procparse_schedstat("5542206 7 1\n", 12, &run, &wait, &slices), 0);
	assert_true(run == 5542206 && wait == 7 && slices == 1);
	assert_int_equal(procparse_schedstat("5542206 7", 9, &run, &wait, &slices), -EINVAL);
	assert_int_equal(procparse_schedstat("", 0, &run, &wait, &slices), -EINVAL);
}

static void test_argv(void **state)
{
	static const struct {
		const char *text;
		size_t len, kept;
	} rows[] = {
		{"", 0, 0},
		{"\0", 1, 1},			    /* no argument at all: one empty string */
		{"\0\0\0\0", 4, 4},		    /* empty arguments only */
		{"prog\0", 5, 5},		    /* one */
		{"prog\0\0", 6, 6},		    /* prog "" */
		{"prog\0\0\0", 7, 5},		    /* cannot be told from a title */
		{"prog\0\0\0x\0\0", 10, 10},	    /* prog "" "" x "" */
		{"prog\0x\0\0\0\0\0", 11, 11},	    /* two texts: no title */
		{"worker: idle\0\0\0\0\0", 17, 13}, /* setproctitle */
		{"TTTT", 4, 4},			    /* the area written full */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("row %zu\n", i);
		assert_int_equal(procparse_argv_len(rows[i].text, rows[i].len), rows[i].kept);
	}
}

static void test_links(void **state)
{
	uint64_t n = 7;

	assert_true(procparse_link_number("socket:[123]", 12, "socket", &n));
	assert_int_equal(n, 123);
	assert_false(procparse_link_number("socket:[]", 9, "socket", &n));
	assert_false(procparse_link_number("socket:[12", 10, "socket", &n));
	assert_false(procparse_link_number("sockets:[12]", 12, "socket", &n));
	assert_false(procparse_link_number("/tmp/socket:[12]", 16, "socket", &n));
	assert_false(procparse_link_number("socket:[1x]", 11, "socket", &n));
	assert_false(procparse_link_number("socket:[99999999999999999999]", 29, "socket", &n));
	assert_int_equal(n, 123);
	assert_true(procparse_marked_deleted("/a (deleted)", 12));
	assert_false(procparse_marked_deleted(" (deleted)", 10));
	assert_false(procparse_marked_deleted("/a(deleted)", 11));
}

static void test_numbers(void **state)
{
	pid_t pid = -1;
	uint64_t n;

	assert_true(procparse_pid("2147483647", &pid));
	assert_int_equal(pid, 2147483647);
	assert_false(procparse_pid("2147483648", &pid));
	assert_false(procparse_pid("0", &pid));
	assert_false(procparse_pid("", &pid));
	assert_false(procparse_pid("12a", &pid));
	assert_false(procparse_pid("self", &pid));
	assert_true(procparse_btime("cpu 1\nbtime 1700000000\nx", 24, &n));
	assert_int_equal(n, 1700000000);
	assert_false(procparse_btime("cpu 1\nbtime", 11, &n));
	assert_false(procparse_btime("xbtime 17\n", 10, &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_names), cmocka_unit_test(test_stat_cut),
		cmocka_unit_test(test_status),	   cmocka_unit_test(test_schedstat),
		cmocka_unit_test(test_argv),	   cmocka_unit_test(test_links),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
