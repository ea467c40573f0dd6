/* SPDX-License-Identifier: MIT */
/*
 * Text and numbers at the border. Strings from the kernel are bytes: they are escaped here, and
 * only here, for names of files (%XX), and validated for JSON by text_utf8_span().
 */
#pragma once

#include <sys/types.h>

#include "util/macro.h"
#include "util/strbuf.h"

/* Decimal text, all of [s, s+len), no sign, no blank; 0, -EINVAL or -ERANGE. */
int text_parse_u64(const char *s, size_t len, uint64_t *ret);
/* A leading decimal number; returns the bytes used, 0 when there is none. For hot /proc parsing. */
size_t text_scan_u64(const char *s, const char *end, uint64_t *ret);
/* "5", "0.5" (seconds), "500ms", "2s", "1m", "1h"; 0, -EINVAL (not a duration) or -ERANGE. */
int text_parse_duration(const char *s, uint64_t *ret_ns);
/* The shortest of those forms that says the same. */
void text_format_duration(struct strbuf *b, uint64_t ns);

/* Bytes that may stand in a file name of the tree as they are: [A-Za-z0-9._,:%@+-] without '%'. */
bool text_name_safe(unsigned char c);
/* Appends bytes as a file name: unsafe ones (and '%') as %XX. "." and ".." come out escaped. */
void text_escape_name(struct strbuf *b, const void *data, size_t len);

/*
 * Length of the longest valid UTF-8 prefix of [s, s+len). The rest, if any, begins with a byte that
 * is not valid there. (Unicode 15, table 3-7: no surrogates, no overlong forms.)
 */
size_t text_utf8_span(const char *s, size_t len);

/* "0-3,5" of a bitmap of `bits` bits; and back: sets bits, 0, -EINVAL, or -ERANGE beyond `bits`. */
void text_format_list(struct strbuf *b, const uint64_t *map, size_t bits);
int text_parse_list(const char *s, uint64_t *map, size_t bits);
