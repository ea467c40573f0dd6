/* SPDX-License-Identifier: MIT */
/* The state of the daemon as text for people and as JSON for programs. */
#pragma once

#include "graph/snapshot.h"

/* A page of at most 80 columns: running or not, how old, counts by type, collectors with method and
 * reason when something is missing, losses. */
void status_text(struct strbuf *b, const struct snapshot *s);
/* The members of the reference's GET /status content (running, graph, collectors, subscribers)
 * first, then ours: generation, interval_ns, pids, log_level, started_ns, collected_ns, cost_ns …;
 * compact JSON and a newline. */
void status_json(struct strbuf *b, const struct snapshot *s);
