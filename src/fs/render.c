/* SPDX-License-Identifier: MIT */
#include "fs/render.h"

#include "util/text.h"
#include "view/status.h"

static void number_line(struct strbuf *b, uint64_t v)
{
	strbuf_u64(b, v);
	strbuf_char(b, '\n');
}

static void text_line(struct strbuf *b, const char *s)
{
	strbuf_str(b, s);
	strbuf_char(b, '\n');
}

static void small_readme(struct strbuf *b, const struct snapshot *s)
{
	strbuf_str(b, tree_readme);
}

static void small_version(struct strbuf *b, const struct snapshot *s)
{
	text_line(b, WITTYFS_VERSION);
}

static void small_generation(struct strbuf *b, const struct snapshot *s)
{
	number_line(b, s->generation);
}

static void small_last_result(struct strbuf *b, const struct snapshot *s)
{
	text_line(b, s->state->last_result);
}

const struct tree_render render_readme = {.small = small_readme};
const struct tree_render render_version = {.small = small_version};
const struct tree_render render_generation = {.small = small_generation};
const struct tree_render render_last_result = {.small = small_last_result};
const struct tree_render render_status = {.small = status_text};
const struct tree_render render_status_json = {.small = status_json};
const struct tree_render render_graph_json = {.document = &document_graph_json};
const struct tree_render render_graph_text = {.document = &document_graph_text};

/* --- collectors/<name>/ ----------------------------------------------------------------------- */
void render_collector_state(struct strbuf *b, const struct collector_state *c)
{
	text_line(b, collector_health_names[c->health]);
}

void render_collector_method(struct strbuf *b, const struct collector_state *c)
{
	text_line(b, c->method ? c->method : "none");
}

void render_collector_reason(struct strbuf *b, const struct collector_state *c)
{
	text_line(b, c->reason);
}

void render_collector_entities(struct strbuf *b, const struct collector_state *c)
{
	number_line(b, c->entities);
}

void render_collector_edges(struct strbuf *b, const struct collector_state *c)
{
	number_line(b, c->edges);
}

void render_collector_lost(struct strbuf *b, const struct collector_state *c)
{
	for (unsigned int i = 0; i < c->n_lost; i++)
		strbuf_printf(b, "%llu %s\n", (unsigned long long)c->lost[i].count,
			      c->lost[i].cause);
}

void render_collector_cost(struct strbuf *b, const struct collector_state *c)
{
	number_line(b, c->cost_ns);
}

void render_collector_enabled(struct strbuf *b, const struct collector_state *c)
{
	number_line(b, c->enabled);
}

/* --- control/ --------------------------------------------------------------------------------- */
static void show_running(struct strbuf *b, const struct state *s)
{
	text_line(b, s->running ? "running" : "stopped");
}

static void show_collections(struct strbuf *b, const struct state *s)
{
	number_line(b, s->collections);
}

static void show_interval(struct strbuf *b, const struct state *s)
{
	text_format_duration(b, s->interval_ns);
	strbuf_char(b, '\n');
}

static void show_pid(struct strbuf *b, const struct state *s)
{
	for (unsigned int i = 0; i < s->n_pids; i++)
		strbuf_printf(b, "%s%d", i ? " " : "", s->pids[i]);
	text_line(b, s->n_pids ? "" : "all");
}

static void show_log_level(struct strbuf *b, const struct state *s)
{
	text_line(b, s->log_level);
}

static void (*const control_show[CONTROL_COUNT])(struct strbuf *b, const struct state *s) = {
	[CONTROL_START] = show_running,	      [CONTROL_STOP] = show_running,
	[CONTROL_TRIGGER] = show_collections, [CONTROL_CLEAR] = show_collections,
	[CONTROL_INTERVAL] = show_interval,   [CONTROL_PID] = show_pid,
	[CONTROL_LOG_LEVEL] = show_log_level,
};

void render_control(struct strbuf *b, const struct state *state, enum tree_control control)
{
	control_show[control](b, state);
}
