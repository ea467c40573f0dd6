/* SPDX-License-Identifier: MIT */
#include "collect/numa.h"

#include <errno.h>
#include <stdio.h>

#include "collect/numa_counters.h"
#include "collect/numa_place.h"
#include "util/fdio.h"
#include "util/text.h"

#define NODE_FILE_MAX 65536

enum numa_method {
	NUMA_METHOD_HWLOC,
	NUMA_METHOD_SYSFS,
};

struct numa {
	unsigned int method;
	struct numa_topology topology;
	struct numa_place place;
	struct draft draft;
	struct strbuf json;
	char file[NODE_FILE_MAX];
};

static int probe_hwloc(struct collect_context *ctx, char *reason, size_t size)
{
	int r = numa_topology_try_hwloc(ctx);

	if (r < 0)
		snprintf(reason, size, "hwloc cannot read the topology: %s", strerror(-r));
	return r;
}

static int probe_sysfs(struct collect_context *ctx, char *reason, size_t size)
{
	int r = numa_topology_try_sysfs(ctx);

	if (r < 0)
		snprintf(reason, size, "no NUMA nodes in /sys/" NUMA_SYS_NODE ": %s", strerror(-r));
	return r;
}

static void numa_stop(void *state)
{
	struct numa *n = state;

	if (!n)
		return;
	numa_topology_deinit(&n->topology);
	numa_place_deinit(&n->place);
	draft_deinit(&n->draft);
	strbuf_deinit(&n->json);
	free(n);
}

static int numa_start(struct collect_context *ctx, unsigned int method, void **ret_state)
{
	struct numa *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->method = method;
	/* The only place where hwloc may be asked about a recorded machine: see numa_hwloc.h. */
	r = numa_topology_update(&n->topology, ctx, method == NUMA_METHOD_HWLOC);
	if (r < 0) {
		numa_stop(n);
		return r;
	}
	*ret_state = n;
	return 0;
}

static void numa_clear(void *state)
{
	struct numa *n = state;

	for (uint32_t i = 0; i < n->topology.n_nodes; i++)
		n->topology.nodes[i].memory_blocks_read = false;
}

/* The text under construction becomes an attribute; what memory did not hold the builder tells. */
static void put_text(struct numa *n, unsigned int attr, enum value_kind kind)
{
	if (strbuf_error(&n->json))
		n->draft.heap.error = strbuf_error(&n->json);
	else if (kind == VALUE_JSON)
		draft_json(&n->draft, attr, n->json.data, n->json.len);
	else
		draft_bytes(&n->draft, attr, n->json.data, n->json.len);
}

/* --- nodes ------------------------------------------------------------------------------------ */
/* Reads a file of the node into n->file; length or -errno. */
static ssize_t read_node_file(struct numa *n, int sys_fd, uint32_t id, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), NUMA_SYS_NODE "/node%u/%s", id, name);
	return fdio_read_at(sys_fd, path, n->file, sizeof(n->file));
}

static struct numa_memory put_memory(struct numa *n, const struct collect_context *ctx, uint32_t id)
{
	struct numa_memory m = {0};
	ssize_t len;

	strbuf_reset(&n->json);
	if (n->topology.in_sysfs) {
		len = read_node_file(n, ctx->sys_fd, id, "meminfo");
		if (len < 0)
			return m;
		numa_parse_meminfo(n->file, (size_t)len, &n->json, &m);
		put_text(n, NUMA_MEM_INFO, VALUE_JSON);
	} else {
		/* One node, so the memory of the machine is the memory of the node. */
		len = fdio_read_at(ctx->proc_fd, "meminfo", n->file, sizeof(n->file));
		if (len < 0)
			return m;
		numa_parse_meminfo(n->file, (size_t)len, NULL, &m);
	}
	if (m.known)
		draft_u64(&n->draft, NUMA_MEMORY_TOTAL_BYTES, m.total_bytes);
	if (m.free_known)
		draft_u64(&n->draft, NUMA_MEMORY_FREE_BYTES, m.free_bytes);
	return m;
}

static void put_numastat(struct numa *n, const struct collect_context *ctx, uint32_t id)
{
	ssize_t len =
		n->topology.in_sysfs ? read_node_file(n, ctx->sys_fd, id, "numastat") : -ENOENT;

	if (len < 0)
		return;
	strbuf_reset(&n->json);
	numa_parse_numastat(n->file, (size_t)len, &n->json);
	put_text(n, NUMA_NUMA_STATS, VALUE_JSON);
}

static int add_node(struct numa *n, const struct collect_context *ctx, struct numa_node *node,
		    struct builder *b, struct numa_memory *ret_memory)
{
	struct draft *d = &n->draft;

	draft_begin(d, &entity_types[ENTITY_NUMA]);
	draft_s64(d, NUMA_NUMA_ID, node->id);
	if (node->cpus_known) {
		strbuf_reset(&n->json);
		text_format_list(&n->json, node->cpus, NUMA_MAX_CPUS);
		put_text(n, NUMA_CPU_SET, VALUE_BYTES);
	}
	if (node->distances)
		draft_json(d, NUMA_DISTANCE_TO_ALL_NUMA, node->distances, strlen(node->distances));
	*ret_memory = put_memory(n, ctx, node->id);
	put_numastat(n, ctx, node->id);
	if (n->topology.in_sysfs && ret_memory->known)
		numa_topology_memory_blocks(&n->topology, node, ctx->sys_fd,
					    ret_memory->total_bytes);
	if (node->memory_blocks)
		draft_str(d, NUMA_MEMORY_SET, node->memory_blocks);
	return builder_add(b, d, NULL);
}

static bool has_cpus(const struct numa_node *node)
{
	uint64_t any = 0;

	for (size_t i = 0; i < NUMA_CPU_WORDS; i++)
		any |= node->cpus[i];
	return any != 0;
}

/* Adds all nodes, and finds out whether only one has CPUs, and only one memory. */
static int add_nodes(struct numa *n, const struct collect_context *ctx, struct builder *b,
		     unsigned int *ret_unreadable)
{
	int cpu_node = -1, memory_node = -1, with_cpus = 0, with_memory = 0;
	bool cpus_known = true;

	for (uint32_t i = 0; i < n->topology.n_nodes; i++) {
		struct numa_node *node = &n->topology.nodes[i];
		struct numa_memory memory;
		int r = add_node(n, ctx, node, b, &memory);

		if (r < 0 && r != -ENOSPC)
			return r;
		*ret_unreadable += !memory.known;
		cpus_known = cpus_known && node->cpus_known;
		if (has_cpus(node)) {
			cpu_node = (int)i;
			with_cpus++;
		}
		if (!memory.known || memory.total_bytes > 0) {
			memory_node = (int)i;
			with_memory++;
		}
	}
	n->place.cpu_node = cpus_known && with_cpus == 1 ? cpu_node : -1;
	n->place.memory_node = with_memory == 1 ? memory_node : -1;
	return 0;
}

/* --- the collector ---------------------------------------------------------------------------- */
static void report_topology(const struct numa *n, struct collect_report *report,
			    unsigned int unreadable)
{
	const struct numa_topology *t = &n->topology;

	if (!t->in_sysfs) {
		report->degraded = true;
		snprintf(report->reason, sizeof(report->reason),
			 "this kernel has no NUMA support (CONFIG_NUMA): one node with all CPUs, "
			 "without counters");
	} else if (unreadable) {
		report->degraded = true;
		snprintf(report->reason, sizeof(report->reason),
			 "meminfo of %u of %u nodes cannot be read", unreadable, t->n_nodes);
	} else if (t->hidden_by_hwloc) {
		snprintf(report->reason, sizeof(report->reason),
			 "hwloc leaves %u of %u nodes out (no memory of their own); sysfs has them",
			 t->hidden_by_hwloc, t->n_nodes);
	}
	if (t->lost)
		collect_lost(report, "NUMA nodes, CPUs or memory blocks beyond the tables",
			     t->lost);
}

static int numa_collect(struct collect_context *ctx, void *state, struct builder *b,
			struct collect_report *report)
{
	struct numa *n = state;
	unsigned int unreadable = 0;
	int r;

	r = numa_topology_update(&n->topology, ctx, n->method == NUMA_METHOD_HWLOC && ctx->live);
	if (r < 0) {
		snprintf(report->reason, sizeof(report->reason), "no NUMA nodes any more: %s",
			 strerror(-r));
		return r;
	}
	n->place.topology = &n->topology;
	r = add_nodes(n, ctx, b, &unreadable);
	if (r < 0)
		return r;
	report_topology(n, report, unreadable);
	return ctx->procs ? numa_place_all(&n->place, ctx->procs, b) : 0;
}

static const struct collector_method numa_methods[] = {
	[NUMA_METHOD_HWLOC] = {"hwloc", "hwloc and /sys/" NUMA_SYS_NODE, probe_hwloc},
	[NUMA_METHOD_SYSFS] = {"sysfs", "/sys/" NUMA_SYS_NODE " alone", probe_sysfs},
};

const struct collector collector_numa = {
	.name = "numa",
	.doc = "NUMA nodes, and where processes may run and take memory",
	.methods = numa_methods,
	.n_methods = ARRAY_SIZE(numa_methods),
	.start = numa_start,
	.stop = numa_stop,
	.clear = numa_clear,
	.collect = numa_collect,
};
