/* SPDX-License-Identifier: MIT */
#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

int text_parse_u64(const char *s, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return -ERANGE;
	}
	*ret = v;
	return 0;
}

size_t text_scan_u64(const char *s, const char *end, uint64_t *ret)
{
	const char *p = s;
	uint64_t v = 0;

	while (p < end && *p >= '0' && *p <= '9')
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p > s)
		*ret = v;
	return (size_t)(p - s);
}

static const struct duration_unit {
	const char *name;
	uint64_t ns;
} duration_units[] = {
	{"h", 3600 * NSEC_PER_SEC},
	{"m", 60 * NSEC_PER_SEC},
	{"s", NSEC_PER_SEC},
	{"ms", NSEC_PER_MSEC},
	{"us", 1000},
	{"ns", 1},
	{"", NSEC_PER_SEC},
};

/* Digits and at most one point, times unit, in nanoseconds: no floating point, so no rounding. */
static int duration_value(const char *s, size_t len, uint64_t unit, uint64_t *ret_ns)
{
	uint64_t whole = 0, fraction = 0, scale = unit;
	const char *point = memchr(s, '.', len);
	size_t int_len = point ? (size_t)(point - s) : len;
	int r;

	if (int_len > 0) {
		r = text_parse_u64(s, int_len, &whole);
		if (r < 0)
			return r;
	}
	for (size_t i = int_len + 1; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		scale /= 10;
		fraction += scale * (uint64_t)(s[i] - '0');
	}
	if (int_len == 0 && (!point || len == 1))
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return -ERANGE;
	*ret_ns = whole;
	return 0;
}

int text_parse_duration(const char *s, uint64_t *ret_ns)
{
	size_t len = strspn(s, "0123456789.");

	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++)
		if (strcmp(s + len, duration_units[i].name) == 0)
			return duration_value(s, len, duration_units[i].ns, ret_ns);
	return -EINVAL;
}

void text_format_duration(struct strbuf *b, uint64_t ns)
{
	if (ns % NSEC_PER_SEC == 0)
		strbuf_printf(b, "%llu", (unsigned long long)(ns / NSEC_PER_SEC));
	else if (ns % NSEC_PER_MSEC == 0)
		strbuf_printf(b, "%llums", (unsigned long long)(ns / NSEC_PER_MSEC));
	else
		strbuf_printf(b, "%lluns", (unsigned long long)ns);
}

bool text_name_safe(unsigned char c)
{
	return isascii(c) && (isalnum(c) || (c && strchr("._,:@+-", c)));
}

void text_escape_name(struct strbuf *b, const void *data, size_t len)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *p = data;
	bool dots = (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.');

	for (size_t i = 0; i < len; i++) {
		if (text_name_safe(p[i]) && !dots) {
			strbuf_char(b, (char)p[i]);
		} else {
			char esc[3] = {'%', hex[p[i] >> 4], hex[p[i] & 15]};

			strbuf_add(b, esc, sizeof(esc));
		}
	}
}

/* Length of the valid multi-byte sequence at p, 0 when it is not one. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t n;

	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (n > left)
		return 0;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	if (p[1] < lo || p[1] > hi)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

size_t text_utf8_span(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0;

	while (i < len) {
		size_t n;

		if (p[i] < 0x80) {
			i++;
			continue;
		}
		n = utf8_sequence(p + i, len - i);
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

static bool bit_test(const uint64_t *map, size_t i)
{
	return map[i / 64] >> (i % 64) & 1;
}

void text_format_list(struct strbuf *b, const uint64_t *map, size_t bits)
{
	bool first = true;

	for (size_t i = 0; i < bits; i++) {
		size_t j = i;

		if (i % 64 == 0 && map[i / 64] == 0) {
			i += 63;
			continue;
		}
		if (!bit_test(map, i))
			continue;
		while (j + 1 < bits && bit_test(map, j + 1))
			j++;
		if (!first)
			strbuf_char(b, ',');
		first = false;
		strbuf_u64(b, i);
		if (j > i) {
			strbuf_char(b, '-');
			strbuf_u64(b, j);
		}
		i = j;
	}
}

#define LIST_DIGITS_MAX 18 /* more may not fit 64 bits */

int text_parse_list(const char *s, uint64_t *map, size_t bits)
{
	const char *end = s + strlen(s);

	while (isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	while (s < end) {
		uint64_t a, z;
		size_t n = text_scan_u64(s, end, &a);

		if (n == 0)
			return -EINVAL;
		if (n > LIST_DIGITS_MAX)
			return -ERANGE;
		s += n;
		z = a;
		if (s < end && *s == '-') {
			n = text_scan_u64(s + 1, end, &z);
			if (n > LIST_DIGITS_MAX)
				return -ERANGE;
			if (n == 0 || z < a)
				return -EINVAL;
			s += n + 1;
		}
		if (z >= bits)
			return -ERANGE;
		for (uint64_t i = a; i <= z; i++)
			map[i / 64] |= 1ULL << (i % 64);
		if (s < end && *s++ != ',')
			return -EINVAL;
	}
	return 0;
}
