/* SPDX-License-Identifier: MIT */
#include "graph/state.h"

#include <stdio.h>

const char *const collector_health_names[COLLECTOR_HEALTH_COUNT] = {
	[COLLECTOR_OFF] = "off",	   [COLLECTOR_OK] = "ok",
	[COLLECTOR_DEGRADED] = "degraded", [COLLECTOR_FAILED] = "failed",
	[COLLECTOR_STALE] = "stale",
};
_Static_assert(ARRAY_SIZE(collector_health_names) == COLLECTOR_HEALTH_COUNT,
	       "a health without a name");

struct state *state_new(void)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->source = "this machine";
	s->log_level = "";
	snprintf(s->last_result, sizeof(s->last_result), "{}");
	return s;
}

struct state *state_dup(const struct state *s)
{
	struct state *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *s;
	atomic_init(&copy->refs, 1);
	return copy;
}

struct state *state_unref(struct state *s)
{
	if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		free(s);
	return NULL;
}
