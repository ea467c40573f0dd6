/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "util/text.h"

static void test_parse_u64(void **state)
{
	uint64_t v = 5;

	assert_int_equal(text_parse_u64("0", 1, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(text_parse_u64("18446744073709551615", 20, &v), 0);
	assert_true(v == UINT64_MAX);
	v = 5;
	assert_int_equal(text_parse_u64("18446744073709551616", 20, &v), -ERANGE);
	assert_int_equal(text_parse_u64("99999999999999999999999", 23, &v), -ERANGE);
	assert_int_equal(text_parse_u64("", 0, &v), -EINVAL);
	assert_int_equal(text_parse_u64("-1", 2, &v), -EINVAL);
	assert_int_equal(text_parse_u64("+1", 2, &v), -EINVAL);
	assert_int_equal(text_parse_u64(" 1", 2, &v), -EINVAL);
	assert_int_equal(text_parse_u64("1x", 2, &v), -EINVAL);
	assert_int_equal(v, 5); /* written on success only */
	assert_int_equal(text_parse_u64("12x", 2, &v), 0);
	assert_int_equal(v, 12);
}

static void test_scan_u64(void **state)
{
	const char *s = "123 45";
	uint64_t v = 9;

	assert_int_equal(text_scan_u64(s, s + 6, &v), 3);
	assert_int_equal(v, 123);
	assert_int_equal(text_scan_u64(s, s + 2, &v), 2);
	assert_int_equal(v, 12);
	assert_int_equal(text_scan_u64(s + 3, s + 6, &v), 0);
	assert_int_equal(text_scan_u64(s, s, &v), 0);
	assert_int_equal(v, 12);
}

static void test_parse_duration(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ns;
	} rows[] = {
		{"5", 0, 5 * NSEC_PER_SEC},
		{"0.5", 0, 500 * NSEC_PER_MSEC},
		{".5", 0, 500 * NSEC_PER_MSEC},
		{"5.", 0, 5 * NSEC_PER_SEC},
		{"500ms", 0, 500 * NSEC_PER_MSEC},
		{"1.5ms", 0, 1500000},
		{"2s", 0, 2 * NSEC_PER_SEC},
		{"1m", 0, 60 * NSEC_PER_SEC},
		{"1h", 0, 3600 * NSEC_PER_SEC},
		{"0", 0, 0},
		{"0.000000001", 0, 1},
		{"", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1.2.3", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"5\n", -EINVAL, 0},
		{"18446744073709551615", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"6000000h", -ERANGE, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 77;
		int r = text_parse_duration(rows[i].text, &ns);

		if (r != rows[i].r)
			fail_msg("'%s': %d, not %d", rows[i].text, r, rows[i].r);
		if (ns != (r == 0 ? rows[i].ns : 77))
			fail_msg("'%s' is %llu ns", rows[i].text, (unsigned long long)ns);
	}
}

static void test_format_duration(void **state)
{
	static const uint64_t rows[] = {0,
					1,
					999,
					1500000,
					500 * NSEC_PER_MSEC,
					5 * NSEC_PER_SEC,
					3600 * NSEC_PER_SEC,
					UINT64_MAX};
	_cleanup_strbuf_ struct strbuf b = {0};

	text_format_duration(&b, 5 * NSEC_PER_SEC);
	strbuf_char(&b, ' ');
	text_format_duration(&b, 500 * NSEC_PER_MSEC);
	strbuf_char(&b, ' ');
	text_format_duration(&b, 1500000);
	assert_string_equal(strbuf_cstr(&b), "5 500ms 1500000ns");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t back = 1;

		strbuf_reset(&b);
		text_format_duration(&b, rows[i]);
		assert_int_equal(text_parse_duration(strbuf_cstr(&b), &back), 0);
		assert_true(back == rows[i]);
	}
}

static void check_name(const char *in, size_t len, const char *want)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	text_escape_name(&b, in, len);
	assert_string_equal(strbuf_cstr(&b), want);
}

static void test_escape_name(void **state)
{
	check_name("abcXYZ019._,:@+-", 16, "abcXYZ019._,:@+-");
	check_name("a/b c%d", 7, "a%2Fb%20c%25d");
	check_name(".", 1, "%2E");
	check_name("..", 2, "%2E%2E");
	check_name("...", 3, "...");
	check_name(".a", 2, ".a");
	check_name("\0\n\x7f\x80\xff", 5, "%00%0A%7F%80%FF");
	check_name("\xc3\xa4~*", 4, "%C3%A4%7E%2A");
	check_name("", 0, "");
	for (unsigned int c = 0; c < 256; c++) {
		_cleanup_strbuf_ struct strbuf b = {0};
		char byte = (char)c;

		text_escape_name(&b, &byte, 1);
		assert_int_equal(b.len, text_name_safe((unsigned char)c) && c != '.' ? 1 : 3);
		assert_null(memchr(b.data, '/', b.len));
		assert_null(memchr(b.data, '\0', b.len));
	}
}

#define SPAN(text, want) assert_int_equal(text_utf8_span(text, sizeof(text) - 1), want)

static void test_utf8_span(void **state)
{
	SPAN("", 0);
	SPAN("abc", 3);
	SPAN("a\0b", 3);
	SPAN("\xc3\xa4", 2);
	SPAN("\xe2\x82\xac!", 4);
	SPAN("\xf0\x9f\x98\x80", 4);
	SPAN("\xf4\x8f\xbf\xbf", 4); /* U+10FFFF */
	SPAN("\xee\x80\x80", 3);     /* U+E000, the first after the surrogates */
	SPAN("\xed\x9f\xbf", 3);     /* U+D7FF, the last before them */
	SPAN("ab\xff", 2);
	SPAN("ab\x80", 2);		  /* a continuation without a start */
	SPAN("ab\xc3", 2);		  /* cut */
	SPAN("ab\xe2\x82", 2);		  /* cut */
	SPAN("ab\xf0\x9f\x98", 2);	  /* cut */
	SPAN("\xc3z", 0);		  /* no continuation */
	SPAN("\xe2\x82z", 0);		  /* no continuation */
	SPAN("\xc0\x80", 0);		  /* overlong */
	SPAN("\xc1\xbf", 0);		  /* overlong */
	SPAN("\xe0\x9f\xbf", 0);	  /* overlong */
	SPAN("\xf0\x8f\xbf\xbf", 0);	  /* overlong */
	SPAN("x\xed\xa0\x80", 1);	  /* surrogate */
	SPAN("x\xed\xbf\xbf", 1);	  /* surrogate */
	SPAN("x\xf4\x90\x80\x80", 1);	  /* beyond U+10FFFF */
	SPAN("x\xf5\x80\x80\x80", 1);	  /* beyond */
	SPAN("x\xf8\x88\x80\x80\x80", 1); /* five bytes */
}

static void check_list(const char *in, int want_r, const char *want)
{
	uint64_t map[4] = {0};
	_cleanup_strbuf_ struct strbuf b = {0};
	int r = text_parse_list(in, map, 256);

	if (r != want_r)
		fail_msg("'%s': %d, not %d", in, r, want_r);
	if (r < 0)
		return;
	text_format_list(&b, map, 256);
	assert_string_equal(strbuf_cstr(&b), want);
}

static void test_lists(void **state)
{
	check_list("", 0, "");
	check_list("\n", 0, "");
	check_list("0", 0, "0");
	check_list("0-3,5\n", 0, "0-3,5");
	check_list(" 0-39\n", 0, "0-39"); /* some recorded machines */
	check_list("3,2,1", 0, "1-3");
	check_list("0-1,1-4", 0, "0-4");
	check_list("63-64", 0, "63-64");
	check_list("0-255", 0, "0-255");
	check_list("0,2,64,130,255", 0, "0,2,64,130,255");
	check_list("5-5", 0, "5");
	check_list("256", -ERANGE, NULL);
	check_list("0-256", -ERANGE, NULL);
	check_list("18446744073709551616", -ERANGE, NULL); /* 2^64 is not 0 */
	check_list("0-18446744073709551617", -ERANGE, NULL);
	check_list("3-1", -EINVAL, NULL);
	check_list("a", -EINVAL, NULL);
	check_list("1,,2", -EINVAL, NULL);
	check_list("1-", -EINVAL, NULL);
	check_list("-1", -EINVAL, NULL);
	check_list("1 2", -EINVAL, NULL);
}

/* Any bitmap, of any length, comes back. */
static void test_lists_round_trip(void **state)
{
	uint64_t seed = 42;

	for (int i = 0; i < 2000; i++) {
		uint64_t map[4], back[4] = {0}, last = 0;
		size_t bits = (size_t)(i % 256) + 1;
		_cleanup_strbuf_ struct strbuf b = {0};

		for (size_t w = 0; w < 4; w++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			map[w] = i % 3 == 0 ? seed & seed << 7 & seed >> 9 : seed | seed << 11;
			if (bits <= w * 64)
				map[w] = 0;
			else if (bits < (w + 1) * 64)
				map[w] &= (1ULL << (bits - w * 64)) - 1;
			last |= map[w];
		}
		text_format_list(&b, map, bits);
		assert_true((b.len > 0) == (last != 0));
		assert_int_equal(text_parse_list(strbuf_cstr(&b), back, bits), 0);
		assert_memory_equal(map, back, sizeof(map));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_u64),      cmocka_unit_test(test_scan_u64),
		cmocka_unit_test(test_parse_duration), cmocka_unit_test(test_format_duration),
		cmocka_unit_test(test_escape_name),    cmocka_unit_test(test_utf8_span),
		cmocka_unit_test(test_lists),	       cmocka_unit_test(test_lists_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
