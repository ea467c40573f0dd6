/* SPDX-License-Identifier: MIT */
#include "collect/procparse.h"

#include <errno.h>
#include <string.h>

#include "util/macro.h"
#include "util/text.h"

/* --- stat ------------------------------------------------------------------------------------- */
/* Numbers of proc(5). */
enum stat_field {
	STAT_STATE = 3,
	STAT_PPID = 4,
	STAT_FLAGS = 9,
	STAT_MINFLT = 10,
	STAT_MAJFLT = 12,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_NICE = 19,
	STAT_NUM_THREADS = 20,
	STAT_STARTTIME = 22,
	STAT_VSIZE = 23,
	STAT_RSS = 24,
	STAT_PROCESSOR = 39,
	STAT_FIELDS,
};

/* A number with a sign; what does not fit wraps, what is no number reads 0. */
static int64_t scan_s64(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	uint64_t v = 0;

	text_scan_u64(p + negative, end, &v);
	return (int64_t)(negative ? 0 - v : v);
}

/* Reads the fields after the name into values[] (by number); the number of the last one read. */
static int scan_fields(const char *p, const char *end, int64_t values[STAT_FIELDS])
{
	int field = STAT_STATE;

	while (field < STAT_FIELDS) {
		while (p < end && *p == ' ')
			p++;
		if (p >= end || *p == '\n')
			break;
		values[field] = field == STAT_STATE ? *p : scan_s64(p, end);
		while (p < end && *p != ' ' && *p != '\n')
			p++;
		field++;
	}
	return field - 1;
}

int procparse_stat(const char *buf, size_t len, struct procparse_stat *ret)
{
	const char *open = memchr(buf, '(', len), *close = memrchr(buf, ')', len);
	int64_t v[STAT_FIELDS] = {0};
	int last;

	if (!open || !close || close < open)
		return -EINVAL;
	last = scan_fields(close + 1, buf + len, v);
	if (last < STAT_RSS)
		return -EINVAL;
	*ret = (struct procparse_stat){
		.name = {open + 1, (size_t)(close - open - 1)},
		.ppid = (pid_t)v[STAT_PPID],
		.state = (char)v[STAT_STATE],
		.flags = (uint32_t)v[STAT_FLAGS],
		.minor_faults = (uint64_t)v[STAT_MINFLT],
		.major_faults = (uint64_t)v[STAT_MAJFLT],
		.user_ticks = (uint64_t)v[STAT_UTIME],
		.system_ticks = (uint64_t)v[STAT_STIME],
		.start_ticks = (uint64_t)v[STAT_STARTTIME],
		.vsize_bytes = (uint64_t)v[STAT_VSIZE],
		.rss_pages = v[STAT_RSS] > 0 ? (uint64_t)v[STAT_RSS] : 0,
		.threads = (uint32_t)v[STAT_NUM_THREADS],
		.nice = (int)v[STAT_NICE],
		.last_cpu = last >= STAT_PROCESSOR ? (int)v[STAT_PROCESSOR] : -1,
	};
	return 0;
}

/* --- status ----------------------------------------------------------------------------------- */
enum status_kind {
	STATUS_U64,
	STATUS_U32,
	STATUS_TEXT,
};

static const struct status_line {
	const char *key; /* with its colon */
	uint8_t key_len;
	uint8_t kind;
	uint16_t offset; /* in struct procparse_status */
} status_lines[] = {
#define LINE(key, kind, member)                                                                    \
	{                                                                                          \
		key, sizeof(key) - 1, kind, offsetof(struct procparse_status, member)              \
	}
	LINE("Uid:", STATUS_U32, uid),
	LINE("Gid:", STATUS_U32, gid),
	LINE("NSpid:", STATUS_TEXT, nspid),
	LINE("Cpus_allowed_list:", STATUS_TEXT, cpus_allowed),
	LINE("Mems_allowed_list:", STATUS_TEXT, mems_allowed),
	LINE("voluntary_ctxt_switches:", STATUS_U64, voluntary),
	LINE("nonvoluntary_ctxt_switches:", STATUS_U64, involuntary),
#undef LINE
};
enum {
	STATUS_FOUND_IDS = 1 << 0 | 1 << 1,
	STATUS_FOUND_SWITCHES = 1 << 5 | 1 << 6,
};

static bool take_status(const struct status_line *l, const char *p, const char *end, char *out)
{
	uint64_t v;

	while (p < end && (*p == '\t' || *p == ' '))
		p++;
	if (l->kind == STATUS_TEXT) {
		struct procparse_text text = {p, (size_t)(end - p)};

		memcpy(out, &text, sizeof(text));
		return true;
	}
	if (!text_scan_u64(p, end, &v))
		return false;
	if (l->kind == STATUS_U64) {
		memcpy(out, &v, sizeof(v));
	} else {
		uint32_t narrow = (uint32_t)v;

		memcpy(out, &narrow, sizeof(narrow));
	}
	return true;
}

/*
 * One pass; a line is compared only with the keys that were not found yet, in the order of the
 * file. (The name is the first line; the kernel escapes a newline in it.)
 */
int procparse_status(const char *buf, size_t len, struct procparse_status *ret)
{
	struct procparse_status s = {0};
	const char *p = buf, *end = buf + len;
	unsigned int found = 0;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n;

		if (!eol)
			eol = end;
		n = (size_t)(eol - p);
		for (unsigned int i = 0; i < ARRAY_SIZE(status_lines); i++) {
			const struct status_line *l = &status_lines[i];

			if (*p != l->key[0] || n < l->key_len || found & 1U << i ||
			    memcmp(p, l->key, l->key_len) != 0)
				continue;
			if (take_status(l, p + l->key_len, eol, (char *)&s + l->offset))
				found |= 1U << i;
			break;
		}
		p = eol + 1;
	}
	if (!found)
		return -EINVAL;
	s.ids_known = (found & STATUS_FOUND_IDS) == STATUS_FOUND_IDS;
	s.switches_known = (found & STATUS_FOUND_SWITCHES) == STATUS_FOUND_SWITCHES;
	*ret = s;
	return 0;
}

/* --- small ones ------------------------------------------------------------------------------- */
int procparse_schedstat(const char *buf, size_t len, uint64_t *ret_run_ns, uint64_t *ret_wait_ns,
			uint64_t *ret_slices)
{
	const char *p = buf, *end = buf + len;
	uint64_t v[3];

	for (int i = 0; i < 3; i++) {
		size_t n;

		while (p < end && *p == ' ')
			p++;
		n = text_scan_u64(p, end, &v[i]);
		if (!n)
			return -EINVAL;
		p += n;
	}
	*ret_run_ns = v[0];
	*ret_wait_ns = v[1];
	*ret_slices = v[2];
	return 0;
}

size_t procparse_argv_len(const char *buf, size_t len)
{
	const char *nul = memchr(buf, '\0', len);
	size_t text;

	if (!nul || nul == buf)
		return len;
	text = (size_t)(nul - buf);
	if (len - text < 3)
		return len;
	for (size_t i = text; i < len; i++)
		if (buf[i])
			return len;
	return text + 1;
}

bool procparse_link_number(const char *link, size_t len, const char *prefix, uint64_t *ret)
{
	size_t n = strlen(prefix);

	return len > n + 3 && memcmp(link, prefix, n) == 0 && link[n] == ':' &&
	       link[n + 1] == '[' && link[len - 1] == ']' &&
	       text_parse_u64(link + n + 2, len - n - 3, ret) == 0;
}

bool procparse_pid(const char *name, pid_t *ret)
{
	pid_t v = 0;

	if (*name < '1' || *name > '9')
		return false;
	for (; *name; name++) {
		if (*name < '0' || *name > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *name - '0', &v))
			return false;
	}
	*ret = v;
	return true;
}

bool procparse_marked_deleted(const char *link, size_t len)
{
	size_t n = sizeof(PROCPARSE_DELETED) - 1;

	return len > n && memcmp(link + len - n, PROCPARSE_DELETED, n) == 0;
}

bool procparse_btime(const char *buf, size_t len, uint64_t *ret)
{
	static const char key[] = "btime ";
	const char *p = buf, *end = buf + len;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		if ((size_t)(end - p) > sizeof(key) - 1 && memcmp(p, key, sizeof(key) - 1) == 0)
			return text_scan_u64(p + sizeof(key) - 1, end, ret) > 0;
		if (!eol)
			break;
		p = eol + 1;
	}
	return false;
}
