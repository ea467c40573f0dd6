/* SPDX-License-Identifier: MIT */
#include "view/text.h"

#include "graph/template.h"
#include "view/jsonscan.h"

/* --- lines ------------------------------------------------------------------------------------ */
static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static void add_visible(struct strbuf *b, char c)
{
	if (!is_control(c))
		strbuf_char(b, c);
	else if (c == '\n')
		strbuf_str(b, "\\n");
	else if (c == '\t')
		strbuf_str(b, "\\t");
	else
		strbuf_printf(b, "\\x%02x", (unsigned char)c);
}

/*
 * Control characters since `mark` become \n, \t and \xNN: an object stays one line, and a hostile
 * name cannot steer the terminal. They are rare, so the text is copied only when there is one.
 */
static void make_visible(struct strbuf *b, size_t mark)
{
	_cleanup_strbuf_ struct strbuf tail = {0};
	size_t i = mark;

	while (i < b->len && !is_control(b->data[i]))
		i++;
	if (i == b->len)
		return;
	strbuf_add(&tail, b->data + i, b->len - i);
	b->len = i;
	for (i = 0; i < tail.len; i++)
		add_visible(b, tail.data[i]);
	if (strbuf_error(&tail))
		b->error = strbuf_error(&tail);
}

static const struct object *resolve(void *userdata, uint64_t ident)
{
	return snapshot_entity(userdata, ident);
}

void text_entity(struct strbuf *b, const struct snapshot *s, const struct object *entity)
{
	struct template_source src = template_of_object(entity);
	size_t mark = b->len;

	src.lenient = true;
	src.resolve = resolve;
	src.userdata = (void *)s;
	if (entity->type->text)
		template_render(b, entity->type->text, &src);
	else
		template_global_id(b, entity);
	make_visible(b, mark);
}

/* --- what stands behind an edge's id ---------------------------------------------------------- */
static bool any_known(const struct object *o, unsigned int first, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++)
		if (object_has(o, i))
			return true;
	return false;
}

/* A value as Python prints it: 'text', 12, 0.5, None, {'a': 1}. */
static void python_value(struct strbuf *b, const struct object *o, unsigned int attr)
{
	static const char *const bools[] = {"False", "True"};
	const struct value *v = object_value(o, attr);
	const char *text = object_heap(o) + v->offset;
	char mark;

	if (object_number(b, v, bools))
		return;
	switch ((enum value_kind)v->kind) {
	case VALUE_BYTES:
		mark = memchr(text, '\'', v->len) ? '"' : '\'';
		strbuf_char(b, mark);
		strbuf_add(b, text, v->len);
		strbuf_char(b, mark);
		break;
	case VALUE_JSON:
		template_python(b, text, v->len);
		break;
	default:
		strbuf_str(b, "None");
	}
}

/* {'name': value, …} of some attributes. */
static void python_dict(struct strbuf *b, const struct object *o, const unsigned int *attrs,
			size_t n)
{
	strbuf_char(b, '{');
	for (size_t i = 0; i < n; i++) {
		strbuf_printf(b, "%s'%s': ", i ? ", " : "", o->type->attrs[attrs[i]].name);
		python_value(b, o, attrs[i]);
	}
	strbuf_char(b, '}');
}

static void number_or_unknown(struct strbuf *b, const struct object *o, unsigned int attr)
{
	if (object_has(o, attr))
		python_value(b, o, attr);
	else
		strbuf_str(b, "unknown");
}

static void flow_suffix(struct strbuf *b, const struct object *e)
{
	const struct value *start = object_value(e, EDGE_SEND_TO_SOCKET_START_TIME);
	const struct value *end = object_value(e, EDGE_SEND_TO_SOCKET_END_TIME);
	double seconds = 0;

	if (start->kind == VALUE_S64 && end->kind == VALUE_S64 && start->s64 >= 0 &&
	    end->s64 >= start->s64)
		seconds = (double)(end->s64 - start->s64) / 1e9;
	strbuf_str(b, "(total:data_size=");
	number_or_unknown(b, e, EDGE_SEND_TO_SOCKET_DATA_SIZE);
	strbuf_str(b, ",packets_cnt=");
	number_or_unknown(b, e, EDGE_SEND_TO_SOCKET_PACKETS_CNT);
	strbuf_str(b, " (in ");
	strbuf_f64(b, seconds);
	strbuf_str(b, " seconds))");
}

static void status_suffix(struct strbuf *b, const struct object *e)
{
	/* As the reference: without mems_allowed_list and cpus_preferred_list. */
	static const unsigned int shown[] = {
		EDGE_ACCESS_WITH_PROC_STATUS_VOLUNTARY_CTXT_SWITCHES,
		EDGE_ACCESS_WITH_PROC_STATUS_INVOLUNTARY_CTXT_SWITCHES,
		EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ALLOWED_LIST,
		EDGE_ACCESS_WITH_PROC_STATUS_CPUS_ACCESSED_LIST,
		EDGE_ACCESS_WITH_PROC_STATUS_NUMA_INDEX_TO_CPU_RUNTIME,
	};

	if (!any_known(e, shown[0], shown[ARRAY_SIZE(shown) - 1]))
		return;
	strbuf_str(b, " with stats:([ProcStatus]");
	python_dict(b, e, shown, ARRAY_SIZE(shown));
	strbuf_char(b, ')');
}

/* 'llc_miss': [..]: one number per node in the order of all_numa_ids. */
static void miss_list(struct strbuf *b, struct json_slice stats, const char *text_name,
		      const char *json_name)
{
	struct json_slice ids, misses, name, id, n;
	struct json_scan scan;
	char key[24];
	bool first = true;

	strbuf_printf(b, "'%s': [", text_name);
	if (json_scan_find(stats, json_name, &misses) &&
	    json_scan_find(stats, "all_numa_ids", &ids) &&
	    json_scan_begin(&scan, ids.data, ids.len)) {
		while (json_scan_next(&scan, &name, &id)) {
			if (id.len >= sizeof(key))
				continue;
			memcpy(key, id.data, id.len);
			key[id.len] = '\0';
			if (!first)
				strbuf_str(b, ", ");
			first = false;
			if (json_scan_find(misses, key, &n))
				template_python(b, n.data, n.len);
			else
				strbuf_str(b, "None");
		}
	}
	strbuf_char(b, ']');
}

static void numa_suffix(struct strbuf *b, const struct object *e)
{
	static const unsigned int affinity[] = {
		EDGE_NUMA_ACCESS_CPU_RUNTIME_PCT_IN_EACH_NUMA,
		EDGE_NUMA_ACCESS_MEM_PAGES_IN_EACH_NUMA,
		EDGE_NUMA_ACCESS_TOTAL_DIRTY_ANON_PAGES,
		EDGE_NUMA_ACCESS_CPU_MEM_ACCESS_COSINE_SIMILARITY,
	};
	struct json_slice stats;

	if (!any_known(e, affinity[0], affinity[ARRAY_SIZE(affinity) - 1]))
		return;
	strbuf_str(b, "([NumaAffinity]");
	python_dict(b, e, affinity, ARRAY_SIZE(affinity));
	stats.data = object_bytes(e, EDGE_NUMA_ACCESS_CACHE_MISS_STATS, &stats.len);
	if (stats.data) {
		strbuf_str(b, ", [CacheMissStats]{");
		miss_list(b, stats, "l1i_miss", "numa_id_to_l1i_miss");
		strbuf_str(b, ", ");
		miss_list(b, stats, "llc_miss", "numa_id_to_llc_miss");
		strbuf_str(b, ", ");
		miss_list(b, stats, "total_miss", "numa_id_to_total_miss");
		strbuf_char(b, '}');
	}
	strbuf_char(b, ')');
}

static void (*const edge_suffix[EDGE_TYPE_COUNT])(struct strbuf *b, const struct object *e) = {
	[EDGE_SEND_TO_SOCKET] = flow_suffix,
	[EDGE_NUMA_ACCESS] = numa_suffix,
	[EDGE_ACCESS_WITH_PROC_STATUS] = status_suffix,
};

/* --- edges ------------------------------------------------------------------------------------ */
static void put_id(struct strbuf *b, const struct snapshot *s, uint64_t ident)
{
	const struct object *o = snapshot_entity(s, ident);

	if (o)
		template_global_id(b, o);
	else
		strbuf_str(b, "None");
}

/* [UndirectedEdge]['a', 'b'], a and b in the order of their texts. */
static void undirected_id(struct strbuf *b, const struct snapshot *s, const struct object *e)
{
	_cleanup_strbuf_ struct strbuf x = {0}, y = {0};
	const char *first, *second;

	put_id(&x, s, e->source);
	put_id(&y, s, e->target);
	first = strbuf_cstr(&x);
	second = strbuf_cstr(&y);
	if (strcmp(first, second) > 0) {
		const char *swap = first;

		first = second;
		second = swap;
	}
	strbuf_printf(b, "[%s]['%s', '%s']", e->type->name, first, second);
}

void text_edge(struct strbuf *b, const struct snapshot *s, const struct object *edge)
{
	size_t mark = b->len;

	if (edge->type->directed) {
		strbuf_str(b, "relation: ");
		put_id(b, s, edge->source);
		strbuf_char(b, ' ');
		strbuf_str(b, edge->type->abbr);
		strbuf_char(b, ' ');
		put_id(b, s, edge->target);
	} else {
		undirected_id(b, s, edge);
	}
	if (edge_suffix[edge->type->index])
		edge_suffix[edge->type->index](b, edge);
	make_visible(b, mark);
}
