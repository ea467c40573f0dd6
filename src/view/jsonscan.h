/* SPDX-License-Identifier: MIT */
/*
 * Walks over the members of a JSON object or the items of an array without parsing what is inside:
 * finds where each begins and ends. It checks the brackets, commas and colons of this level only;
 * who needs a value gives it to a real parser. Nothing is copied; cost is one look at each byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_slice {
	const char *data;
	size_t len;
};

struct json_scan {
	const char *p, *end;
	char close; /* '}' or ']' */
	bool first, error;
};

/* False when the text does not begin as an object or array. */
bool json_scan_begin(struct json_scan *scan, const char *text, size_t len);
/*
 * The next member (item: name is empty). Names are without quotes and as written, escapes
 * included. False at the end, and when the text is malformed: then scan.error is set and scan.p
 * stands where it is. After the end scan.p stands behind the closing bracket.
 */
bool json_scan_next(struct json_scan *scan, struct json_slice *ret_name,
		    struct json_slice *ret_value);
/* Value of the first member of that name in an object; false when there is none. */
bool json_scan_find(struct json_slice object, const char *name, struct json_slice *ret_value);

/* First byte that is no blank, or end. */
const char *json_skip_space(const char *p, const char *end);
