/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "util/strbuf.h"

static void test_append(void **state)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	assert_string_equal(strbuf_cstr(&b), "");
	strbuf_str(&b, "a");
	strbuf_add(&b, "b\0c", 3);
	strbuf_char(&b, 'd');
	strbuf_printf(&b, "%d%s", 7, "x");
	assert_int_equal(b.len, 7);
	assert_memory_equal(b.data, "ab\0cd7x", 7);
	strbuf_add(&b, NULL, 0);
	assert_int_equal(b.len, 7);
	strbuf_reset(&b);
	assert_string_equal(strbuf_cstr(&b), "");
	assert_int_equal(strbuf_error(&b), 0);
}

static void test_growth(void **state)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	for (int i = 0; i < 100000; i++)
		strbuf_char(&b, (char)('a' + i % 26));
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_true(b.data[i] == (char)('a' + i % 26));
	/* Longer than what is free. */
	strbuf_printf(&b, "%0*d", 5000, 1);
	assert_int_equal(b.len, 105000);
	assert_true(b.data[104999] == '1' && b.data[100000] == '0');
}

static void test_integers(void **state)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	strbuf_u64(&b, 0);
	strbuf_char(&b, ' ');
	strbuf_u64(&b, UINT64_MAX);
	strbuf_char(&b, ' ');
	strbuf_s64(&b, INT64_MIN);
	strbuf_char(&b, ' ');
	strbuf_s64(&b, -1);
	assert_string_equal(strbuf_cstr(&b), "0 18446744073709551615 -9223372036854775808 -1");
}

/* Expected texts are Python's repr(), which the reference's JSON has. */
static void test_doubles(void **state)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{0.0, "0.0"},
		{-0.0, "-0.0"},
		{1, "1.0"},
		{0.1, "0.1"},
		{0.1 + 0.2, "0.30000000000000004"},
		{1.0 / 3, "0.3333333333333333"},
		{8774810, "8774810.0"},
		{1e15, "1000000000000000.0"},
		{9007199254740993.0, "9007199254740992.0"},
		{1e300, "1e+300"},
		{5e-324, "5e-324"},
		{2.2250738585072014e-308, "2.2250738585072014e-308"},
		{1.7976931348623157e308, "1.7976931348623157e+308"},
		{-0.304, "-0.304"},
		{NAN, "null"},
		{INFINITY, "null"},
		{-INFINITY, "null"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf b = {0};

		strbuf_f64(&b, rows[i].v);
		assert_string_equal(strbuf_cstr(&b), rows[i].text);
	}
}

/* Any double comes back, and a text one digit shorter would not. */
static void test_doubles_round_trip(void **state)
{
	uint64_t bits = 88172645463325252ULL;
	_cleanup_strbuf_ struct strbuf b = {0};

	for (int i = 0; i < 20000; i++) {
		char shorter[40];
		unsigned int digits = 0;
		double v;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		strbuf_reset(&b);
		strbuf_f64(&b, v);
		assert_true(strtod(strbuf_cstr(&b), NULL) == v);
		for (const char *p = strbuf_cstr(&b); *p && *p != 'e'; p++)
			digits += *p >= (digits ? '0' : '1') && *p <= '9';
		if (digits < 2 || digits > 17)
			continue;
		snprintf(shorter, sizeof(shorter), "%.*g", (int)digits - 1, v);
		if (strstr(strbuf_cstr(&b), ".0") == NULL)
			assert_false(strtod(shorter, NULL) == v);
	}
}

static void test_steal(void **state)
{
	struct strbuf b = {0};
	char *text;
	size_t len;

	strbuf_str(&b, "abc");
	assert_int_equal(strbuf_steal(&b, &text, &len), 0);
	assert_string_equal(text, "abc");
	assert_int_equal(len, 3);
	assert_null(b.data);
	free(text);
	/* Of nothing: an empty string, not NULL. */
	assert_int_equal(strbuf_steal(&b, &text, NULL), 0);
	assert_string_equal(text, "");
	free(text);
}

static void test_no_memory(void **state)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	char *text = NULL;

	strbuf_str(&b, "kept");
	b.error = -ENOMEM;
	strbuf_printf(&b, "%300d", 1);
	assert_false(strbuf_reserve(&b, 100000));
	assert_int_equal(b.len, 4);
	assert_int_equal(strbuf_error(&b), -ENOMEM);
	assert_string_equal(strbuf_cstr(&b), "");
	assert_int_equal(strbuf_steal(&b, &text, NULL), -ENOMEM);
	assert_null(text);
	strbuf_reset(&b);
	assert_int_equal(strbuf_error(&b), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_doubles_round_trip),
		cmocka_unit_test(test_steal),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
