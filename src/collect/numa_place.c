/* SPDX-License-Identifier: MIT */
#include "collect/numa_place.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "util/hash.h"
#include "util/text.h"

void numa_place_deinit(struct numa_place *p)
{
	free(p->sets);
	draft_deinit(&p->draft);
	strbuf_deinit(&p->text);
	*p = (struct numa_place){0};
}

/* The builder counts what it leaves out for want of room: that is no reason to stop. */
static int tolerate(int r)
{
	return r == -ENOSPC ? 0 : r;
}

/* The text under construction becomes an attribute; what memory did not hold is told by the
 * builder. */
static void put_text(struct numa_place *p, unsigned int attr, enum value_kind kind)
{
	if (strbuf_error(&p->text))
		p->draft.heap.error = strbuf_error(&p->text);
	else if (kind == VALUE_JSON)
		draft_json(&p->draft, attr, p->text.data, p->text.len);
	else
		draft_bytes(&p->draft, attr, p->text.data, p->text.len);
}

/* --- sets ------------------------------------------------------------------------------------- */
/* Slot of the list, or the free slot where it belongs. */
static struct numa_set_row *find_row(struct numa_set_row *rows, uint32_t size, const char *list)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)list) & (size - 1);

	while (rows[i].list && rows[i].list != list)
		i = (i + 1) & (size - 1);
	return &rows[i];
}

static int grow_sets(struct numa_place *p)
{
	uint32_t size = p->sets_size ? p->sets_size * 2 : 64;
	struct numa_set_row *rows = calloc(size, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->sets_size; i++)
		if (p->sets[i].list)
			*find_row(rows, size, p->sets[i].list) = p->sets[i];
	free(p->sets);
	p->sets = rows;
	p->sets_size = size;
	return 0;
}

static uint64_t node_ident(struct numa_place *p, uint32_t id)
{
	draft_begin(&p->draft, &entity_types[ENTITY_NUMA]);
	draft_s64(&p->draft, NUMA_NUMA_ID, id);
	return draft_ident(&p->draft);
}

/* Adds the set of the nodes that exist of the list, with an edge to each of them. */
static int add_set(struct numa_place *p, const char *list, struct builder *b, uint64_t *ret_ident)
{
	uint64_t map[NUMA_MAX_NODES / 64] = {0}, any = 0;
	int r;

	/* A list that goes beyond the table keeps what is in it. */
	(void)text_parse_list(list, map, NUMA_MAX_NODES);
	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		any |= map[i] &= p->topology->id_map[i];
	if (!any) {
		*ret_ident = 0;
		return 0;
	}
	strbuf_reset(&p->text);
	text_format_list(&p->text, map, NUMA_MAX_NODES);
	draft_begin(&p->draft, &entity_types[ENTITY_NUMA_SET]);
	put_text(p, NUMA_SET_NUMA_ID_STR, VALUE_BYTES);
	r = builder_add(b, &p->draft, ret_ident);
	if (r < 0) {
		*ret_ident = 0;
		return tolerate(r);
	}
	for (uint32_t i = 0; i < p->topology->n_nodes && r == 0; i++) {
		uint32_t id = p->topology->nodes[i].id;

		if (map[id / 64] >> (id % 64) & 1)
			r = tolerate(builder_connect(b, EDGE_NUMA_SET_CONTAIN, *ret_ident,
						     node_ident(p, id)));
	}
	return r;
}

static int set_of(struct numa_place *p, const char *list, struct builder *b, uint64_t *ret_ident)
{
	struct numa_set_row *row;
	int r;

	if (!list || !list[0]) {
		*ret_ident = 0;
		return 0;
	}
	if (p->sets_used * 2 >= p->sets_size) {
		r = grow_sets(p);
		if (r < 0)
			return r;
	}
	row = find_row(p->sets, p->sets_size, list);
	if (!row->list) {
		uint64_t ident;

		r = add_set(p, list, b, &ident);
		if (r < 0)
			return r;
		*row = (struct numa_set_row){list, ident};
		p->sets_used++;
	}
	*ret_ident = row->ident;
	return 0;
}

/* --- one row of status ------------------------------------------------------------------------ */
/* The attributes that both edges have, by edge. */
struct status_attrs {
	unsigned int voluntary, involuntary, cpus_allowed, cpus_accessed, mems_allowed, runtime;
};

static const struct status_attrs process_attrs = {
	.voluntary = EDGE_NUMA_ACCESS_VOLUNTARY_CTXT_SWITCHES,
	.involuntary = EDGE_NUMA_ACCESS_INVOLUNTARY_CTXT_SWITCHES,
	.cpus_allowed = EDGE_NUMA_ACCESS_CPUS_ALLOWED_LIST,
	.cpus_accessed = EDGE_NUMA_ACCESS_CPUS_ACCESSED_LIST,
	.mems_allowed = EDGE_NUMA_ACCESS_MEMS_ALLOWED_LIST,
	.runtime = EDGE_NUMA_ACCESS_NUMA_INDEX_TO_CPU_RUNTIME,
};

static const struct status_attrs thread_attrs = {
	.voluntary = EDGE_ACCESS_WITH_PROC_STATUS_VOLUNTARY_CTXT_SWITCHES,
	.involuntary = EDGE_ACCESS_WITH_PROC_STATUS_INVOLUNTARY_CTXT_SWITCHES,
	.cpus_allowed = EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ALLOWED_LIST,
	.cpus_accessed = EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ACCESSED_LIST,
	.mems_allowed = EDGE_ACCESS_WITH_PROC_STATUS_MEMS_ALLOWED_LIST,
	.runtime = EDGE_ACCESS_WITH_PROC_STATUS_NUMA_INDEX_TO_CPU_RUNTIME,
};

static void put_str(struct draft *d, unsigned int attr, const char *s)
{
	if (s)
		draft_str(d, attr, s);
}

static void put_status(struct numa_place *p, const struct status_attrs *a,
		       const struct proc_status *status)
{
	if (!status->known)
		return;
	draft_s64(&p->draft, a->voluntary, (int64_t)status->voluntary);
	draft_s64(&p->draft, a->involuntary, (int64_t)status->involuntary);
	put_str(&p->draft, a->cpus_allowed, status->cpus_allowed);
	put_str(&p->draft, a->mems_allowed, status->mems_allowed);
}

static void put_cpus_seen(struct numa_place *p, unsigned int attr, const uint64_t *map,
			  uint32_t words)
{
	if (!map || !words)
		return;
	strbuf_reset(&p->text);
	text_format_list(&p->text, map, (size_t)words * 64);
	put_text(p, attr, VALUE_BYTES);
}

/* {"1":8774810.0}: a float, as the reference has it. */
static void put_runtime(struct numa_place *p, unsigned int attr, uint64_t run_ns)
{
	if (p->cpu_node < 0)
		return;
	strbuf_reset(&p->text);
	strbuf_str(&p->text, "{\"");
	strbuf_u64(&p->text, p->topology->nodes[p->cpu_node].id);
	strbuf_str(&p->text, "\":");
	strbuf_u64(&p->text, run_ns);
	strbuf_str(&p->text, ".0}");
	put_text(p, attr, VALUE_JSON);
}

static int place_thread(struct numa_place *p, const struct proc_thread *t, struct builder *b)
{
	uint64_t set;
	int r;

	if (!t->ident || !t->status.known)
		return 0;
	r = set_of(p, t->status.mems_allowed, b, &set);
	if (r < 0 || !set)
		return r;
	draft_begin(&p->draft, &edge_types[EDGE_ACCESS_WITH_PROC_STATUS]);
	put_status(p, &thread_attrs, &t->status);
	put_cpus_seen(p, thread_attrs.cpus_accessed, t->cpus_seen, t->cpus_seen_words);
	if (t->sched_known)
		put_runtime(p, thread_attrs.runtime, t->run_ns);
	return tolerate(builder_add_edge(b, &p->draft, t->ident, set));
}

/* --- one process ------------------------------------------------------------------------------ */
struct process_sums {
	bool switches_known, run_known;
	uint64_t voluntary, involuntary, run_ns;
	uint32_t words; /* of p->cpus_seen */
};

/* Of the living threads: what ended ones did is in no file by node. */
static void sum_threads(struct numa_place *p, const struct proc_process *proc,
			struct process_sums *s)
{
	*s = (struct process_sums){.switches_known = proc->n_threads > 0,
				   .run_known = proc->n_threads > 0};
	for (uint32_t i = 0; i < proc->n_threads; i++) {
		const struct proc_thread *t = &proc->threads[i];
		uint32_t words = MIN(t->cpus_seen_words, (uint32_t)NUMA_CPU_WORDS);

		s->switches_known = s->switches_known && t->status.known;
		s->run_known = s->run_known && t->sched_known;
		s->voluntary += t->status.voluntary;
		s->involuntary += t->status.involuntary;
		s->run_ns += t->run_ns;
		for (; s->words < words; s->words++)
			p->cpus_seen[s->words] = 0;
		for (uint32_t w = 0; w < words; w++)
			p->cpus_seen[w] |= t->cpus_seen[w];
	}
}

/* A list with a number for each node, which is `value` for the one node and 0 for the others. */
static void put_node_list(struct numa_place *p, unsigned int attr, int node, const char *value,
			  const char *zero)
{
	strbuf_reset(&p->text);
	for (uint32_t i = 0; i < p->topology->n_nodes; i++) {
		strbuf_char(&p->text, i ? ',' : '[');
		strbuf_str(&p->text, (int)i == node ? value : zero);
	}
	strbuf_char(&p->text, ']');
	put_text(p, attr, VALUE_JSON);
}

static void put_pages(struct numa_place *p, uint64_t rss_bytes)
{
	char pages[24];

	if (p->memory_node < 0)
		return;
	snprintf(pages, sizeof(pages), "%llu",
		 (unsigned long long)(rss_bytes / (uint64_t)sysconf(_SC_PAGESIZE)));
	strbuf_reset(&p->text);
	strbuf_printf(&p->text, "{\"%u\":%s}", p->topology->nodes[p->memory_node].id, pages);
	put_text(p, EDGE_NUMA_ACCESS_TOTAL_PAGES, VALUE_JSON);
	put_node_list(p, EDGE_NUMA_ACCESS_MEM_PAGES_IN_EACH_NUMA, p->memory_node, pages, "0");
}

static int place_process(struct numa_place *p, const struct proc_process *proc, struct builder *b)
{
	struct proc_status status = proc->status;
	struct process_sums sums;
	uint64_t set;
	int r;

	if (!proc->ident || !status.known)
		return 0;
	r = set_of(p, status.mems_allowed, b, &set);
	if (r < 0 || !set)
		return r;
	sum_threads(p, proc, &sums);
	draft_begin(&p->draft, &edge_types[EDGE_NUMA_ACCESS]);
	/* Not known of one thread, not known of their sum: -1. */
	status.voluntary = sums.switches_known ? sums.voluntary : UINT64_MAX;
	status.involuntary = sums.switches_known ? sums.involuntary : UINT64_MAX;
	put_status(p, &process_attrs, &status);
	put_cpus_seen(p, process_attrs.cpus_accessed, p->cpus_seen, sums.words);
	if (sums.run_known && p->cpu_node >= 0) {
		put_runtime(p, process_attrs.runtime, sums.run_ns);
		put_node_list(p, EDGE_NUMA_ACCESS_CPU_RUNTIME_PCT_IN_EACH_NUMA,
			      sums.run_ns ? p->cpu_node : -1, "1.0", "0.0");
	}
	put_pages(p, proc->rss_bytes);
	return tolerate(builder_add_edge(b, &p->draft, proc->ident, set));
}

int numa_place_all(struct numa_place *p, const struct proctable *procs, struct builder *b)
{
	uint32_t n = proctable_count(procs);
	int r = 0;

	/* The pointers were of the collection before. */
	if (p->sets)
		memset(p->sets, 0, p->sets_size * sizeof(*p->sets));
	p->sets_used = 0;
	for (uint32_t i = 0; i < n && r == 0; i++) {
		const struct proc_process *proc = proctable_at(procs, i);

		r = place_process(p, proc, b);
		for (uint32_t k = 0; k < proc->n_threads && r == 0; k++)
			r = place_thread(p, &proc->threads[k], b);
	}
	return r;
}
