/* SPDX-License-Identifier: MIT */
/*
 * The page `status`: what an engineer wants to know first, in at most 80 columns. Blocks: a head of
 * "name  value" lines, the counts by type, the collectors, and what to do when something is
 * missing. It is rendered once per generation, so times are points in time; an age is that at the
 * moment when the page was made.
 */
#include <stdio.h>
#include <time.h>

#include "util/text.h"
#include "util/timeutil.h"
#include "view/status.h"

#define WIDTH 80
#define LABEL 12 /* columns of the names in the head */

/* --- pieces ----------------------------------------------------------------------------------- */
static bool continues_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes of s that fill at most `room` columns (a character is a column), cut at a blank if any. */
static size_t line_length(const char *s, unsigned int room)
{
	size_t i = 0, blank = 0;

	for (unsigned int column = 0; s[i]; i++) {
		if (continues_character(s[i]))
			continue;
		if (s[i] == '\n')
			return i;
		if (column == room)
			return blank ? blank : i;
		if (s[i] == ' ')
			blank = i;
		column++;
	}
	return i;
}

/* Text broken into lines; the first goes on where the buffer stands, the others are indented. */
static void wrapped(struct strbuf *b, unsigned int indent, const char *s)
{
	for (bool first = true; *s; first = false) {
		size_t n = line_length(s, WIDTH - indent), shown = n;

		while (shown && s[shown - 1] == ' ')
			shown--;
		if (!first)
			strbuf_printf(b, "%*s", (int)indent, "");
		for (size_t i = 0; i < shown; i++)
			strbuf_char(b, (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i]);
		strbuf_char(b, '\n');
		s += n;
		while (*s == ' ' || *s == '\n')
			s++;
	}
}

static void head(struct strbuf *b, const char *label, const char *text)
{
	strbuf_printf(b, "%-*s", LABEL, label);
	wrapped(b, LABEL, text);
}

/* 85 us, 1.2 ms, 3.4 s. */
static void format_cost(char *out, size_t size, uint64_t ns)
{
	if (ns >= NSEC_PER_SEC)
		snprintf(out, size, "%.1f s", (double)ns / 1e9);
	else if (ns >= NSEC_PER_MSEC)
		snprintf(out, size, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(out, size, "%llu us", (unsigned long long)(ns / 1000));
}

/* The two largest units: 12 s, 5 min 3 s, 2 h 7 min, 3 d 4 h. */
static void format_age(char *out, size_t size, uint64_t ns)
{
	unsigned long long s = ns / NSEC_PER_SEC;

	if (s < 10)
		snprintf(out, size, "%.1f s", (double)ns / 1e9);
	else if (s < 60)
		snprintf(out, size, "%llu s", s);
	else if (s < 3600)
		snprintf(out, size, "%llu min %llu s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, size, "%llu h %llu min", s / 3600, s / 60 % 60);
	else
		snprintf(out, size, "%llu d %llu h", s / 86400, s / 3600 % 24);
}

static void format_time(char *out, size_t size, uint64_t ns)
{
	time_t t = (time_t)(ns / NSEC_PER_SEC);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(out, size, "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(out, size, "%lld", (long long)t);
}

/* How long ago, at the moment of rendering; 0 when the clock was set back. */
static uint64_t age_of(uint64_t ns, uint64_t now)
{
	return now > ns ? now - ns : 0;
}

/* --- the head --------------------------------------------------------------------------------- */
static void put_running(struct strbuf *b, const struct state *st)
{
	_cleanup_strbuf_ struct strbuf line = {0};
	char age[32];

	if (st->recorded) {
		strbuf_str(&line, "recorded graph: nothing is collected");
	} else if (st->running) {
		strbuf_str(&line, "running, every ");
		text_format_duration(&line, st->interval_ns);
		strbuf_str(&line, st->interval_ns % NSEC_PER_SEC ? "" : " s");
	} else {
		strbuf_str(&line, "stopped");
	}
	if (st->started_ns) {
		format_age(age, sizeof(age), age_of(st->started_ns, time_realtime_ns()));
		strbuf_printf(&line, "; daemon %d, up %s", st->pid, age);
	}
	head(b, "state", strbuf_cstr(&line));
}

static void put_scope(struct strbuf *b, const struct state *st)
{
	_cleanup_strbuf_ struct strbuf line = {0};

	strbuf_str(&line, st->source ? st->source : "this machine");
	for (unsigned int i = 0; i < st->n_pids; i++)
		strbuf_printf(&line, "%s%d", i ? " " : "; only what is reached from pid ",
			      st->pids[i]);
	head(b, "source", strbuf_cstr(&line));
}

static void put_collected(struct strbuf *b, const struct state *st)
{
	char at[48], age[32], took[24], cost[24], line[200];

	if (st->recorded)
		return;
	if (!st->collected_ns) {
		head(b, "collected", "not yet");
		return;
	}
	format_time(at, sizeof(at), st->collected_ns);
	format_age(age, sizeof(age), age_of(st->collected_ns, time_realtime_ns()));
	format_cost(took, sizeof(took), st->elapsed_ns);
	format_cost(cost, sizeof(cost), st->cost_ns);
	snprintf(line, sizeof(line), "%s (%s before this page was made)", at, age);
	head(b, "collected", line);
	snprintf(line, sizeof(line), "collection %llu took %s, %s of CPU",
		 (unsigned long long)st->collections, took, cost);
	head(b, "", line);
}

static void put_graph(struct strbuf *b, const struct snapshot *s)
{
	char line[120];

	snprintf(line, sizeof(line), "generation %llu: %u nodes, %u edges",
		 (unsigned long long)s->generation, s->n_entities, s->n_edges);
	head(b, "graph", line);
}

/* --- counts by type --------------------------------------------------------------------------- */
struct count_column {
	const struct type_schema *types;
	const uint32_t *start;
	unsigned int n, next;
};

/* The next type that has any; false when there is none left. */
static bool next_count(struct strbuf *b, struct count_column *c)
{
	while (c->next < c->n && c->start[c->next] == c->start[c->next + 1])
		c->next++;
	if (c->next == c->n)
		return false;
	strbuf_printf(b, "  %-24s %10u", c->types[c->next].short_name,
		      c->start[c->next + 1] - c->start[c->next]);
	c->next++;
	return true;
}

static void put_counts(struct strbuf *b, const struct snapshot *s)
{
	struct count_column nodes = {entity_types, s->entity_start, ENTITY_TYPE_COUNT, 0};
	struct count_column edges = {edge_types, s->edge_start, EDGE_TYPE_COUNT, 0};
	bool more;

	if (!s->n_entities)
		return;
	strbuf_printf(b, "\n%-37s  %s\n", "NODES", "EDGES");
	do {
		size_t mark = b->len;
		bool left = next_count(b, &nodes);

		if (!left)
			strbuf_printf(b, "%37s", "");
		more = next_count(b, &edges);
		if (!left && !more)
			b->len = mark;
		else
			strbuf_char(b, '\n');
		more = more || left;
	} while (more && !strbuf_error(b));
}

/* --- collectors ------------------------------------------------------------------------------- */
static void put_lost(struct strbuf *b, const struct collector_state *c)
{
	for (unsigned int i = 0; i < c->n_lost; i++) {
		_cleanup_strbuf_ struct strbuf line = {0};

		strbuf_printf(&line, "not shown: %llu %s", (unsigned long long)c->lost[i].count,
			      c->lost[i].cause);
		strbuf_str(b, "    ");
		wrapped(b, 6, strbuf_cstr(&line));
	}
}

static void put_collector(struct strbuf *b, const struct collector_state *c)
{
	char cost[24], age[32];

	format_cost(cost, sizeof(cost), c->cost_ns);
	strbuf_printf(b, "  %-14.14s %-9s %-18.18s %8llu %8llu %10s\n", c->name,
		      collector_health_names[c->health], c->method ? c->method : "none",
		      (unsigned long long)c->entities, (unsigned long long)c->edges,
		      c->enabled ? cost : "-");
	if (c->health == COLLECTOR_STALE && c->collected_ns) {
		format_age(age, sizeof(age), age_of(c->collected_ns, time_monotonic_ns()));
		strbuf_printf(b, "    its data are %s old\n", age);
	}
	if (c->health != COLLECTOR_OK && c->reason[0]) {
		strbuf_str(b, "    ");
		wrapped(b, 4, c->reason);
	}
	put_lost(b, c);
}

static void put_collectors(struct strbuf *b, const struct state *st)
{
	if (!st->n_collectors)
		return;
	strbuf_printf(b, "\n%-16s %-9s %-18s %8s %8s %10s\n", "COLLECTORS", "STATE", "METHOD",
		      "NODES", "EDGES", "CPU");
	for (unsigned int i = 0; i < st->n_collectors; i++)
		put_collector(b, &st->collectors[i]);
}

/* --- advice ----------------------------------------------------------------------------------- */
static void advice(struct strbuf *b, bool *any, const char *text)
{
	if (!*any)
		strbuf_str(b, "\nTO DO\n");
	*any = true;
	strbuf_str(b, "  ");
	wrapped(b, 4, text);
}

static bool some_collector_is(const struct state *st, bool (*is)(const struct collector_state *c))
{
	for (unsigned int i = 0; i < st->n_collectors; i++)
		if (st->collectors[i].enabled && is(&st->collectors[i]))
			return true;
	return false;
}

static bool sees_less(const struct collector_state *c)
{
	return c->health == COLLECTOR_DEGRADED || c->health == COLLECTOR_FAILED;
}

static bool is_late(const struct collector_state *c)
{
	return c->health == COLLECTOR_STALE;
}

static void put_advice(struct strbuf *b, const struct snapshot *s)
{
	const struct state *st = s->state;
	char line[200];
	bool any = false;

	if (!st->recorded && !st->running)
		advice(b, &any, "collection is stopped: echo 1 > control/start");
	if (!st->recorded && !st->collected_ns)
		advice(b, &any, "nothing is collected yet: echo 1 > control/trigger");
	if (st->n_pids)
		advice(b, &any, "for the whole machine: echo all > control/pid");
	if (some_collector_is(st, sees_less))
		advice(b, &any,
		       "a collector sees less than it could: the line below it says why; "
		       "'wittyfs --verify' lists what would improve it");
	if (some_collector_is(st, is_late))
		advice(b, &any,
		       "a collector is late (a driver or /sys may hang): what it shows is old");
	if (st->lost) {
		snprintf(line, sizeof(line),
			 "%llu nodes and edges did not fit into the graph: show less with "
			 "control/pid",
			 (unsigned long long)st->lost);
		advice(b, &any, line);
	}
}

void status_text(struct strbuf *b, const struct snapshot *s)
{
	strbuf_printf(b, "wittyfs %s\n\n", WITTYFS_VERSION);
	put_running(b, s->state);
	put_scope(b, s->state);
	put_collected(b, s->state);
	put_graph(b, s);
	put_counts(b, s);
	put_collectors(b, s->state);
	put_advice(b, s);
}
