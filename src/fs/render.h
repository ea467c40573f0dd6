/* SPDX-License-Identifier: MIT */
/* Contents of the fixed files; each is named by an entry of fs-layout/dirs. */
#pragma once

#include "fs/tree.h"

extern const struct tree_render render_readme, render_version, render_status, render_status_json,
	render_generation, render_graph_json, render_graph_text, render_last_result;

void render_collector_state(struct strbuf *b, const struct collector_state *c);
void render_collector_method(struct strbuf *b, const struct collector_state *c);
void render_collector_reason(struct strbuf *b, const struct collector_state *c);
void render_collector_entities(struct strbuf *b, const struct collector_state *c);
void render_collector_edges(struct strbuf *b, const struct collector_state *c);
void render_collector_lost(struct strbuf *b, const struct collector_state *c);
void render_collector_cost(struct strbuf *b, const struct collector_state *c);
void render_collector_enabled(struct strbuf *b, const struct collector_state *c);

/* What a control file reads: the present value. */
void render_control(struct strbuf *b, const struct state *state, enum tree_control control);
