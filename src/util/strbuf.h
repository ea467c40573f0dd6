/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer. Appending never fails visibly: when memory runs out the buffer remembers
 * it, further appends do nothing, and strbuf_error() (or strbuf_steal()) says -ENOMEM. So a
 * renderer appends freely and checks once.
 */
#pragma once

#include <stdarg.h>
#include <string.h>

#include "util/macro.h"

struct strbuf {
	char *data; /* not NUL-terminated unless strbuf_cstr() is asked */
	size_t len, cap;
	int error; /* 0 or -ENOMEM */
};

void strbuf_deinit(struct strbuf *b);
#define _cleanup_strbuf_ _cleanup_(strbuf_deinit)

/* Makes room for n more bytes; false when memory ran out. */
bool strbuf_reserve(struct strbuf *b, size_t n);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) _printf_(2, 3);
void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap) _printf_(2, 0);
void strbuf_u64(struct strbuf *b, uint64_t v);
void strbuf_s64(struct strbuf *b, int64_t v);
/* The shortest decimal text that reads back as the same double, always with a point or exponent. */
void strbuf_f64(struct strbuf *b, double v);
/* Forgets the content, keeps the memory and clears the error. */
void strbuf_reset(struct strbuf *b);
/* The content as a NUL-terminated string, "" when empty or out of memory; owned by the buffer. */
const char *strbuf_cstr(struct strbuf *b);
/* Moves the NUL-terminated content out; 0 or -ENOMEM. The caller frees *ret. */
int strbuf_steal(struct strbuf *b, char **ret, size_t *ret_len);

static inline void strbuf_add(struct strbuf *b, const void *data, size_t n)
{
	if (__builtin_expect(b->cap - b->len < n, 0) && !strbuf_reserve(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, data, n);
	b->len += n;
}

static inline void strbuf_str(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

static inline void strbuf_char(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

static inline int strbuf_error(const struct strbuf *b)
{
	return b->error;
}
