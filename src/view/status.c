/* SPDX-License-Identifier: MIT */
/* status.json; the page for people is in status_text.c. */
#include "view/status.h"

#include <ctype.h>

#include "view/json.h"

static void quote_str(struct strbuf *b, const char *s)
{
	json_quote(b, s ? s : "", s ? strlen(s) : 0);
}

static void member_u64(struct strbuf *b, const char *name, uint64_t v)
{
	strbuf_printf(b, ",\"%s\":%llu", name, (unsigned long long)v);
}

static void member_bool(struct strbuf *b, const char *name, bool v)
{
	strbuf_printf(b, ",\"%s\":%s", name, v ? "true" : "false");
}

static void member_str(struct strbuf *b, const char *name, const char *v)
{
	strbuf_printf(b, ",\"%s\":", name);
	quote_str(b, v);
}

/* "sysv_msg" -> "SysvMsgCollector": the form of the names in the reference. */
static void collector_class(struct strbuf *b, const char *name)
{
	bool start = true;

	strbuf_char(b, '"');
	for (; *name; name++) {
		if (*name != '_')
			strbuf_char(b, start ? (char)toupper((unsigned char)*name) : *name);
		start = *name == '_';
	}
	strbuf_str(b, "Collector\"");
}

/* Those that run here, under the names of the reference; the rest is in collector_states. */
static void collector_types(struct strbuf *b, const struct state *st)
{
	_cleanup_strbuf_ struct strbuf types = {0};
	unsigned int n = 0;

	for (unsigned int i = 0; i < st->n_collectors; i++) {
		if (!st->collectors[i].enabled)
			continue;
		if (n++)
			strbuf_char(&types, ',');
		collector_class(&types, st->collectors[i].name);
	}
	strbuf_printf(b, ",\"collectors\":{\"count\":%u,\"types\":[%s]}", n, strbuf_cstr(&types));
}

static void type_counts(struct strbuf *b, const char *name, const struct type_schema *types,
			const uint32_t *start, unsigned int n)
{
	const char *comma = "";

	strbuf_printf(b, ",\"%s\":{", name);
	for (unsigned int i = 0; i < n; i++) {
		if (start[i] == start[i + 1])
			continue;
		strbuf_printf(b, "%s\"%s\":%u", comma, types[i].short_name,
			      start[i + 1] - start[i]);
		comma = ",";
	}
	strbuf_char(b, '}');
}

static void collector_state(struct strbuf *b, const struct collector_state *c)
{
	quote_str(b, c->name);
	strbuf_printf(b, ":{\"state\":\"%s\"", collector_health_names[c->health]);
	member_str(b, "method", c->method ? c->method : "none");
	member_str(b, "reason", c->reason);
	member_bool(b, "enabled", c->enabled);
	member_u64(b, "entities", c->entities);
	member_u64(b, "edges", c->edges);
	member_u64(b, "cost_ns", c->cost_ns);
	strbuf_str(b, ",\"lost\":[");
	for (unsigned int i = 0; i < c->n_lost; i++) {
		strbuf_str(b, i ? ",{\"cause\":" : "{\"cause\":");
		quote_str(b, c->lost[i].cause);
		member_u64(b, "count", c->lost[i].count);
		strbuf_char(b, '}');
	}
	strbuf_str(b, "]}");
}

void status_json(struct strbuf *b, const struct snapshot *s)
{
	const struct state *st = s->state;

	strbuf_printf(b, "{\"running\":%s,\"graph\":{\"node_count\":%u,\"edge_count\":%u}",
		      st->running ? "true" : "false", s->n_entities, s->n_edges);
	collector_types(b, st);
	strbuf_str(b, ",\"subscribers\":{\"count\":0,\"names\":[]}");
	member_u64(b, "generation", s->generation);
	member_str(b, "source", st->source);
	member_bool(b, "recorded", st->recorded);
	strbuf_printf(b, ",\"pid\":%d,\"pids\":[", st->pid);
	for (unsigned int i = 0; i < st->n_pids; i++)
		strbuf_printf(b, "%s%d", i ? "," : "", st->pids[i]);
	strbuf_char(b, ']');
	member_u64(b, "interval_ns", st->interval_ns);
	member_u64(b, "started_ns", st->started_ns);
	/* A time that was not yet is null, not 1970. */
	if (st->collected_ns)
		member_u64(b, "collected_ns", st->collected_ns);
	else
		strbuf_str(b, ",\"collected_ns\":null");
	member_u64(b, "collections", st->collections);
	member_u64(b, "cost_ns", st->cost_ns);
	member_u64(b, "elapsed_ns", st->elapsed_ns);
	member_str(b, "log_level", st->log_level);
	member_u64(b, "lost", st->lost);
	type_counts(b, "nodes", entity_types, s->entity_start, ENTITY_TYPE_COUNT);
	type_counts(b, "edges", edge_types, s->edge_start, EDGE_TYPE_COUNT);
	strbuf_str(b, ",\"collector_states\":{");
	for (unsigned int i = 0; i < st->n_collectors; i++) {
		if (i)
			strbuf_char(b, ',');
		collector_state(b, &st->collectors[i]);
	}
	strbuf_str(b, "},\"last_result\":");
	strbuf_str(b, st->last_result[0] ? st->last_result : "{}");
	strbuf_str(b, "}\n");
}
