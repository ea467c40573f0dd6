/* SPDX-License-Identifier: MIT */
#include "collect/numa_topology.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "collect/numa_hwloc.h"
#include "util/fdio.h"
#include "util/strbuf.h"
#include "util/text.h"

#define MEMORY_BLOCKS_MAX (1U << 20)
#define LIST_MAX	  (64U << 10)

/* --- life cycle ------------------------------------------------------------------------------- */
static void forget_nodes(struct numa_topology *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		free(t->nodes[i].distances);
		free(t->nodes[i].memory_blocks);
	}
	free(t->nodes);
	t->nodes = NULL;
	t->n_nodes = 0;
	t->loaded = false;
	memset(t->id_map, 0, sizeof(t->id_map));
}

void numa_topology_deinit(struct numa_topology *t)
{
	forget_nodes(t);
	free(t->node_online);
	free(t->cpu_online);
	*t = (struct numa_topology){0};
}

/* --- sysfs: which nodes ----------------------------------------------------------------------- */
static void set_bit(uint64_t *map, uint64_t i)
{
	map[i / 64] |= 1ULL << (i % 64);
}

/* "node12" or "memory7": the number behind the word, false for any other name. */
static bool numbered_name(const char *name, const char *word, uint64_t *ret)
{
	size_t n = strlen(word);

	return strncmp(name, word, n) == 0 && text_parse_u64(name + n, strlen(name + n), ret) == 0;
}

static DIR *open_dir(int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		steal_fd(&fd);
	return d;
}

/* Sets a bit for each directory node<N>: 0, or -errno when this kernel shows no nodes. */
static int scan_node_dirs(struct numa_topology *t, int sys_fd)
{
	DIR *d = open_dir(sys_fd, NUMA_SYS_NODE);
	struct dirent *e;
	bool any = false;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		uint64_t id;

		if (!numbered_name(e->d_name, "node", &id))
			continue;
		if (id >= NUMA_MAX_NODES) {
			t->lost++;
			continue;
		}
		set_bit(t->id_map, id);
		any = true;
	}
	closedir(d);
	return any ? 0 : -ENODATA;
}

/* The list of online nodes; of kernels that have none (before 2.6.26) the directories. */
static int find_nodes(struct numa_topology *t, int sys_fd)
{
	int r;

	if (t->node_online[0]) {
		r = text_parse_list(t->node_online, t->id_map, NUMA_MAX_NODES);
		if (r == 0 && t->node_online[strspn(t->node_online, " \n")])
			return 0;
		memset(t->id_map, 0, sizeof(t->id_map));
	}
	return scan_node_dirs(t, sys_fd);
}

int numa_topology_try_sysfs(struct collect_context *ctx)
{
	struct numa_topology t = {0};

	return scan_node_dirs(&t, ctx->sys_fd);
}

int numa_topology_try_hwloc(struct collect_context *ctx)
{
	_cleanup_numa_hwloc_ struct numa_hwloc h = {0};

	return numa_hwloc_load(&h, ctx);
}

/* --- sysfs: one node -------------------------------------------------------------------------- */
/* The i-th number of `distance` is the distance to the i-th online node. */
static char *read_distances(const struct numa_topology *t, uint32_t id, int sys_fd)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	char path[64], text[8192], *ret = NULL;
	const char *p = text, *end;
	ssize_t len;

	snprintf(path, sizeof(path), NUMA_SYS_NODE "/node%u/distance", id);
	len = fdio_read_at(sys_fd, path, text, sizeof(text));
	if (len <= 0)
		return NULL;
	end = text + len;
	for (uint32_t to = 0; to < NUMA_MAX_NODES; to++) {
		uint64_t v;
		size_t n;

		if (!numa_topology_has(t, to))
			continue;
		p += strspn(p, " ");
		n = text_scan_u64(p, end, &v);
		if (n == 0)
			return NULL; /* fewer numbers than nodes: who is who is not known */
		p += n;
		strbuf_printf(&b, "%s\"%u\":%llu", b.len ? "," : "{", to, (unsigned long long)v);
	}
	if (*(p + strspn(p, " \n")) != '\0')
		return NULL;
	strbuf_char(&b, '}');
	return strbuf_steal(&b, &ret, NULL) == 0 ? ret : NULL;
}

static void read_cpus(struct numa_topology *t, struct numa_node *node, int sys_fd)
{
	uint64_t online[NUMA_CPU_WORDS] = {0};
	char path[64], text[32768];

	snprintf(path, sizeof(path), NUMA_SYS_NODE "/node%u/cpulist", node->id);
	if (fdio_read_at(sys_fd, path, text, sizeof(text)) >= 0) {
		memset(node->cpus, 0, sizeof(node->cpus));
		node->cpus_known = true;
		if (text_parse_list(text, node->cpus, NUMA_MAX_CPUS) < 0)
			t->lost++;
	}
	/* The kernel lists online CPUs only; a recorded machine may have been put together. */
	if (t->cpu_online[0] && text_parse_list(t->cpu_online, online, NUMA_MAX_CPUS) == 0)
		for (size_t i = 0; i < NUMA_CPU_WORDS; i++)
			node->cpus[i] &= online[i];
}

/* --- memory blocks ---------------------------------------------------------------------------- */
static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static char *format_ranges(uint64_t *v, uint32_t n)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	char *ret = NULL;

	if (n)
		qsort(v, n, sizeof(*v), compare_u64);
	for (uint32_t i = 0, j; i < n; i = j + 1) {
		for (j = i; j + 1 < n && v[j + 1] == v[j] + 1; j++)
			;
		if (b.len)
			strbuf_char(&b, ',');
		strbuf_u64(&b, v[i]);
		if (j > i) {
			strbuf_char(&b, '-');
			strbuf_u64(&b, v[j]);
		}
	}
	return strbuf_steal(&b, &ret, NULL) == 0 ? ret : NULL;
}

static char *read_memory_blocks(struct numa_topology *t, uint32_t id, int sys_fd, uint64_t total)
{
	_cleanup_free_ uint64_t *v = NULL;
	uint32_t n = 0, cap = 0;
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), NUMA_SYS_NODE "/node%u", id);
	d = open_dir(sys_fd, path);
	if (!d)
		return NULL;
	while ((e = readdir(d))) {
		uint64_t block;

		if (!numbered_name(e->d_name, "memory", &block))
			continue;
		if (n == MEMORY_BLOCKS_MAX) {
			t->lost++;
			break;
		}
		if (n == cap) {
			uint32_t want = cap ? cap * 2 : 256;
			uint64_t *grown = realloc(v, want * sizeof(*v));

			if (!grown)
				break;
			v = grown;
			cap = want;
		}
		v[n++] = block;
	}
	closedir(d);
	/* Memory without blocks: a kernel without memory hotplug does not show them. */
	return n == 0 && total > 0 ? NULL : format_ranges(v, n);
}

void numa_topology_memory_blocks(struct numa_topology *t, struct numa_node *node, int sys_fd,
				 uint64_t total)
{
	if (node->memory_blocks_read && node->memory_blocks_total == total)
		return;
	free(node->memory_blocks);
	node->memory_blocks = read_memory_blocks(t, node->id, sys_fd, total);
	node->memory_blocks_total = total;
	node->memory_blocks_read = true;
}

/* --- loading ---------------------------------------------------------------------------------- */
/*
 * What hwloc knows of the node, to be overwritten by what sysfs says: of memory without CPUs hwloc
 * names the CPUs near it.
 */
static void node_from_hwloc(struct numa_topology *t, struct numa_node *node,
			    const struct numa_hwloc *h)
{
	const struct numa_hwloc_node *found = numa_hwloc_find(h, node->id);

	if (!found) {
		t->hidden_by_hwloc += h->n_nodes > 0;
		return;
	}
	memcpy(node->cpus, found->cpus, sizeof(node->cpus));
	node->cpus_known = true;
	node->distances = found->distances ? strdup(found->distances) : NULL;
}

static int load_nodes(struct numa_topology *t, struct collect_context *ctx,
		      const struct numa_hwloc *h)
{
	uint32_t n = 0;

	t->in_sysfs = find_nodes(t, ctx->sys_fd) == 0;
	for (uint32_t i = 0; !t->in_sysfs && i < h->n_nodes; i++)
		set_bit(t->id_map, h->nodes[i].id);
	for (size_t i = 0; i < ARRAY_SIZE(t->id_map); i++)
		n += (uint32_t)__builtin_popcountll(t->id_map[i]);
	if (n == 0)
		return -ENODATA;
	t->nodes = calloc(n, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	for (uint32_t id = 0; id < NUMA_MAX_NODES; id++) {
		struct numa_node *node;
		char *distances;

		if (!numa_topology_has(t, id))
			continue;
		node = &t->nodes[t->n_nodes++];
		node->id = id;
		node_from_hwloc(t, node, h);
		read_cpus(t, node, ctx->sys_fd);
		distances = t->in_sysfs ? read_distances(t, id, ctx->sys_fd) : NULL;
		if (distances) {
			free(node->distances);
			node->distances = distances;
		}
	}
	return 0;
}

/* Reads a list; "" when there is none. NULL: out of memory. */
static char *read_list(int sys_fd, const char *path)
{
	char *text;
	size_t len;
	int r = fdio_read_all_at(sys_fd, path, LIST_MAX, &text, &len, NULL);

	return r == 0 ? text : r == -ENOMEM ? NULL : strdup("");
}

int numa_topology_update(struct numa_topology *t, struct collect_context *ctx, bool with_hwloc)
{
	_cleanup_numa_hwloc_ struct numa_hwloc h = {0};
	_cleanup_free_ char *nodes = read_list(ctx->sys_fd, NUMA_SYS_NODE "/online");
	_cleanup_free_ char *cpus = read_list(ctx->sys_fd, "devices/system/cpu/online");
	int r;

	if (!nodes || !cpus)
		return -ENOMEM;
	if (t->loaded && strcmp(nodes, t->node_online) == 0 && strcmp(cpus, t->cpu_online) == 0)
		return 0;
	numa_topology_deinit(t);
	t->node_online = STEAL_PTR(nodes);
	t->cpu_online = STEAL_PTR(cpus);
	/* Of hwloc's failing nothing is lost: sysfs says the rest. */
	if (with_hwloc)
		(void)numa_hwloc_load(&h, ctx);
	r = load_nodes(t, ctx, &h);
	if (r < 0) {
		forget_nodes(t);
		return r;
	}
	t->loaded = true;
	return 1;
}
