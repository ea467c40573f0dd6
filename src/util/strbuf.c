/* SPDX-License-Identifier: MIT */
#include "util/strbuf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

void strbuf_deinit(struct strbuf *b)
{
	free(b->data);
	*b = (struct strbuf){0};
}

bool strbuf_reserve(struct strbuf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	char *data;

	if (b->error)
		return false;
	if (b->cap - b->len >= n)
		return true;
	while (cap - b->len < n)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->error = -ENOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0 && strbuf_reserve(b, (size_t)n + 1)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(b, fmt, ap);
	va_end(ap);
}

void strbuf_u64(struct strbuf *b, uint64_t v)
{
	char tmp[20];
	size_t i = sizeof(tmp);

	do {
		tmp[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	strbuf_add(b, tmp + i, sizeof(tmp) - i);
}

void strbuf_s64(struct strbuf *b, int64_t v)
{
	if (v < 0)
		strbuf_char(b, '-');
	strbuf_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void strbuf_f64(struct strbuf *b, double v)
{
	char tmp[40];
	int digits;

	/* JSON has no text for them; callers turn a value that is no number into null before. */
	if (!isfinite(v)) {
		strbuf_str(b, "null");
		return;
	}
	/* Whole numbers without an exponent as far as Python prints them so. */
	if (fabs(v) < 1e16 && v == trunc(v)) {
		strbuf_printf(b, "%.1f", v);
		return;
	}
	/* Numbers next to 0 have fewer significant digits than the others. */
	for (digits = fpclassify(v) == FP_SUBNORMAL ? 1 : 15; digits <= 17; digits++) {
		snprintf(tmp, sizeof(tmp), "%.*g", digits, v);
		if (strtod(tmp, NULL) == v)
			break;
	}
	strbuf_str(b, tmp);
	if (!strpbrk(tmp, ".e"))
		strbuf_str(b, ".0");
}

void strbuf_reset(struct strbuf *b)
{
	b->len = 0;
	b->error = 0;
}

const char *strbuf_cstr(struct strbuf *b)
{
	if (!strbuf_reserve(b, 1))
		return "";
	b->data[b->len] = '\0';
	return b->data;
}

int strbuf_steal(struct strbuf *b, char **ret, size_t *ret_len)
{
	if (!strbuf_reserve(b, 1))
		return -ENOMEM;
	b->data[b->len] = '\0';
	*ret = b->data;
	if (ret_len)
		*ret_len = b->len;
	*b = (struct strbuf){0};
	return 0;
}
