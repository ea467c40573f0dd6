/* SPDX-License-Identifier: MIT */
#include "collect/collector.h"

#include <string.h>

void collect_lost(struct collect_report *r, const char *cause, uint64_t n)
{
	unsigned int i = 0;

	while (i < r->n_lost && strcmp(r->lost[i].cause, cause) != 0)
		i++;
	if (i == r->n_lost && r->n_lost < STATE_MAX_LOST)
		r->lost[r->n_lost++] = (struct state_lost){.cause = cause};
	else if (i == r->n_lost)
		i = STATE_MAX_LOST - 1;
	r->lost[i].count += n;
}
