/* SPDX-License-Identifier: MIT */
#include "collect/numa_counters.h"

#include <ctype.h>

#include "util/text.h"

#define ROWS_MAX 512 /* meminfo has about 50 */

struct span {
	const char *p;
	size_t len;
};

/* Takes the next word (no blanks) of the line. */
static struct span next_word(const char **p, const char *end)
{
	struct span w;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	w.p = *p;
	while (*p < end && **p != ' ' && **p != '\t')
		(*p)++;
	w.len = (size_t)(*p - w.p);
	return w;
}

static bool is_word(struct span w, const char *s)
{
	return w.len == strlen(s) && memcmp(w.p, s, w.len) == 0;
}

static bool good_name(struct span w)
{
	for (size_t i = 0; i < w.len; i++)
		if (!isalnum((unsigned char)w.p[i]) && !strchr("_()", w.p[i] ? w.p[i] : ' '))
			return false;
	return w.len > 0 && w.len < 64;
}

static void meminfo_line(const char *p, const char *end, struct strbuf *json,
			 struct numa_memory *ret, unsigned int *rows)
{
	struct span name = next_word(&p, end), value, unit;
	uint64_t v;

	if (is_word(name, "Node")) {
		next_word(&p, end);
		name = next_word(&p, end);
	}
	value = next_word(&p, end);
	unit = next_word(&p, end);
	if (name.len < 2 || name.p[name.len - 1] != ':')
		return;
	name.len--;
	if (!good_name(name) || text_parse_u64(value.p, value.len, &v) < 0)
		return;
	if (is_word(name, "MemTotal")) {
		ret->known = true;
		ret->total_bytes = v * 1024;
	} else if (is_word(name, "MemFree")) {
		ret->free_known = true;
		ret->free_bytes = v * 1024;
	}
	if (!json || ++*rows > ROWS_MAX)
		return;
	strbuf_str(json, *rows > 1 ? ",\"" : "\"");
	strbuf_add(json, name.p, name.len);
	strbuf_str(json, "\":\"");
	strbuf_u64(json, v);
	strbuf_str(json, is_word(unit, "kB") ? " kB\"" : "\"");
}

void numa_parse_meminfo(const char *text, size_t len, struct strbuf *json, struct numa_memory *ret)
{
	const char *end = text + len;
	unsigned int rows = 0;

	*ret = (struct numa_memory){0};
	if (json)
		strbuf_char(json, '{');
	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl ? nl : end;

		meminfo_line(text, stop, json, ret, &rows);
		text = stop + 1;
	}
	if (json)
		strbuf_char(json, '}');
}

void numa_parse_numastat(const char *text, size_t len, struct strbuf *json)
{
	const char *end = text + len;
	unsigned int rows = 0;

	strbuf_char(json, '{');
	while (text < end && rows < ROWS_MAX) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl ? nl : end;
		struct span name = next_word(&text, stop), value = next_word(&text, stop);
		uint64_t v;

		if (good_name(name) && text_parse_u64(value.p, value.len, &v) == 0) {
			strbuf_str(json, rows++ ? ",\"" : "\"");
			strbuf_add(json, name.p, name.len);
			strbuf_str(json, "\":");
			strbuf_u64(json, v);
		}
		text = stop + 1;
	}
	strbuf_char(json, '}');
}
