/* SPDX-License-Identifier: MIT */
#include "daemon/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_COMPARED 160

const char *suggest_quote(const char *text, char buf[SUGGEST_QUOTED])
{
	size_t len = 0;

	buf[len++] = '\'';
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		/* room for one more escape, the dots and the closing quote */
		if (len + 4 + 3 + 2 > SUGGEST_QUOTED) {
			memcpy(buf + len, "...", 3);
			len += 3;
			break;
		}
		if (isascii(*p) && isprint(*p))
			buf[len++] = (char)*p;
		else
			len += (size_t)sprintf(buf + len, "\\x%02x", *p);
	}
	buf[len++] = '\'';
	buf[len] = '\0';
	return buf;
}

unsigned int suggest_distance(const char *a, const char *b)
{
	/* rows of the table for i - 2, i - 1 and i letters of a */
	unsigned int rows[3][MAX_COMPARED + 1];
	size_t la = strnlen(a, MAX_COMPARED), lb = strnlen(b, MAX_COMPARED);

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int *row = rows[i % 3], *above = rows[(i - 1) % 3];
		unsigned int *above2 = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned int d = MIN(above[j], row[j - 1]) + 1;

			d = MIN(d, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = MIN(d, above2[j - 2] + 1);
			row[j] = d;
		}
	}
	return rows[la % 3][lb];
}
