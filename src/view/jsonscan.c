/* SPDX-License-Identifier: MIT */
#include "view/jsonscan.h"

#include <string.h>

const char *json_skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* p stands on the opening quote; returns what follows the closing one, or NULL. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : NULL;
}

static const char *skip_scalar(const char *p, const char *end)
{
	const char *from = p;

	while (p < end && !strchr(",]}: \n\t\r\"[{", *p))
		p++;
	return p > from ? p : NULL;
}

/* Returns what follows the value, or NULL when it does not end. */
static const char *skip_value(const char *p, const char *end)
{
	size_t depth = 0;

	if (p < end && *p != '{' && *p != '[')
		return *p == '"' ? skip_string(p, end) : skip_scalar(p, end);
	while (p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
			if (!p)
				return NULL;
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
			depth--;
		p++;
		if (depth == 0)
			return p;
	}
	return NULL;
}

bool json_scan_begin(struct json_scan *scan, const char *text, size_t len)
{
	const char *end = text + len, *p = json_skip_space(text, end);

	*scan = (struct json_scan){.p = p, .end = end, .first = true};
	if (p == end || (*p != '{' && *p != '[')) {
		scan->error = true;
		return false;
	}
	scan->close = *p == '{' ? '}' : ']';
	scan->p = p + 1;
	return true;
}

static bool malformed(struct json_scan *scan, const char *at)
{
	scan->p = at;
	scan->error = true;
	return false;
}

static bool scan_name(struct json_scan *scan, struct json_slice *ret_name)
{
	const char *p = scan->p, *after;

	after = p < scan->end && *p == '"' ? skip_string(p, scan->end) : NULL;
	if (!after)
		return malformed(scan, p);
	*ret_name = (struct json_slice){p + 1, (size_t)(after - p) - 2};
	p = json_skip_space(after, scan->end);
	if (p == scan->end || *p != ':')
		return malformed(scan, p);
	scan->p = json_skip_space(p + 1, scan->end);
	return true;
}

bool json_scan_next(struct json_scan *scan, struct json_slice *ret_name,
		    struct json_slice *ret_value)
{
	const char *p, *after;

	if (scan->error || !scan->close)
		return false;
	p = json_skip_space(scan->p, scan->end);
	if (p < scan->end && *p == scan->close) {
		scan->p = p + 1;
		scan->close = '\0';
		return false;
	}
	if (!scan->first) {
		if (p == scan->end || *p != ',')
			return malformed(scan, p);
		p = json_skip_space(p + 1, scan->end);
	}
	scan->first = false;
	scan->p = p;
	*ret_name = (struct json_slice){p, 0};
	if (scan->close == '}' && !scan_name(scan, ret_name))
		return false;
	p = scan->p;
	after = skip_value(p, scan->end);
	if (!after)
		return malformed(scan, p);
	*ret_value = (struct json_slice){p, (size_t)(after - p)};
	scan->p = after;
	return true;
}

bool json_scan_find(struct json_slice object, const char *name, struct json_slice *ret_value)
{
	struct json_slice member, value;
	struct json_scan scan;
	size_t len = strlen(name);

	if (!json_scan_begin(&scan, object.data, object.len) || scan.close != '}')
		return false;
	while (json_scan_next(&scan, &member, &value))
		if (member.len == len && memcmp(member.data, name, len) == 0) {
			*ret_value = value;
			return true;
		}
	return false;
}
