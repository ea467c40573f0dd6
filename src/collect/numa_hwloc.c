/* SPDX-License-Identifier: MIT */
#include "collect/numa_hwloc.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <stdio.h>

#include "util/strbuf.h"

void numa_hwloc_deinit(struct numa_hwloc *h)
{
	for (uint32_t i = 0; i < h->n_nodes; i++)
		free(h->nodes[i].distances);
	free(h->nodes);
	*h = (struct numa_hwloc){0};
}

const struct numa_hwloc_node *numa_hwloc_find(const struct numa_hwloc *h, uint32_t id)
{
	for (uint32_t i = 0; i < h->n_nodes; i++)
		if (h->nodes[i].id == id)
			return &h->nodes[i];
	return NULL;
}

/* --- environment of a recorded machine -------------------------------------------------------- */
static const char *const env_names[] = {"HWLOC_FSROOT", "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"};
#define N_ENV ARRAY_SIZE(env_names)

static void set_env(const char *const values[N_ENV])
{
	for (size_t i = 0; i < N_ENV; i++) {
		if (values[i])
			setenv(env_names[i], values[i], 1);
		else
			unsetenv(env_names[i]);
	}
}

/* --- loading ---------------------------------------------------------------------------------- */
static void free_topology(hwloc_topology_t *t)
{
	if (*t)
		hwloc_topology_destroy(*t);
}

static int load_topology(hwloc_topology_t *ret)
{
	_cleanup_(free_topology) hwloc_topology_t t = NULL;

	/* Its own texts on stderr would stand between ours; a failure comes back as a result. */
	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	if (hwloc_topology_init(&t) < 0)
		return errno ? -errno : -EIO;
	hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
	/* A node takes the CPUs of its parent, so without groups all nodes would have all CPUs. */
	hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
	hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	if (hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
	    hwloc_topology_load(t) < 0)
		return errno ? -errno : -EIO;
	*ret = t;
	t = NULL;
	return 0;
}

static int load_recorded(hwloc_topology_t *ret, int sys_fd)
{
	char *before[N_ENV] = {NULL}, root[64];
	int r = 0;

	for (size_t i = 0; i < N_ENV && r == 0; i++) {
		const char *v = getenv(env_names[i]);

		before[i] = v ? strdup(v) : NULL;
		r = v && !before[i] ? -ENOMEM : 0;
	}
	if (r == 0) {
		snprintf(root, sizeof(root), "/proc/self/fd/%d/..", sys_fd);
		set_env((const char *const[N_ENV]){root, "0", "linux,stop"});
		r = load_topology(ret);
		set_env((const char *const *)before);
	}
	for (size_t i = 0; i < N_ENV; i++)
		free(before[i]);
	return r;
}

/* Row of the node in hwloc's matrix of latencies, as JSON. */
static char *row_of(const struct hwloc_distances_s *d, unsigned int row)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	char *ret = NULL;

	for (unsigned int i = 0; i < d->nbobjs; i++)
		strbuf_printf(&b, "%s\"%u\":%llu", i ? "," : "{", d->objs[i]->os_index,
			      (unsigned long long)d->values[row * d->nbobjs + i]);
	strbuf_char(&b, '}');
	return strbuf_steal(&b, &ret, NULL) == 0 ? ret : NULL;
}

static void take_distances(struct numa_hwloc *h, hwloc_topology_t t)
{
	struct hwloc_distances_s *d = NULL;
	unsigned int n = 1;

	if (hwloc_distances_get_by_name(t, "NUMALatency", &n, &d, 0) < 0 || n == 0 || !d)
		return;
	for (unsigned int row = 0; row < d->nbobjs; row++)
		for (uint32_t i = 0; i < h->n_nodes; i++)
			if (h->nodes[i].id == d->objs[row]->os_index && !h->nodes[i].distances)
				h->nodes[i].distances = row_of(d, row);
	hwloc_distances_release(t, d);
}

static void take_cpus(struct numa_hwloc_node *node, hwloc_const_bitmap_t set)
{
	for (int cpu = hwloc_bitmap_first(set); cpu >= 0 && cpu < NUMA_MAX_CPUS;
	     cpu = hwloc_bitmap_next(set, cpu))
		node->cpus[cpu / 64] |= 1ULL << (cpu % 64);
}

int numa_hwloc_load(struct numa_hwloc *h, const struct collect_context *ctx)
{
	_cleanup_(free_topology) hwloc_topology_t t = NULL;
	hwloc_obj_t obj = NULL;
	int n, r;

	if (hwloc_get_api_version() >> 16 != HWLOC_API_VERSION >> 16)
		return -ENOTSUP;
	r = ctx->live ? load_topology(&t) : load_recorded(&t, ctx->sys_fd);
	if (r < 0)
		return r;
	n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
	if (n <= 0)
		return -ENODATA;
	h->nodes = calloc((size_t)n, sizeof(*h->nodes));
	if (!h->nodes)
		return -ENOMEM;
	while ((obj = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, obj))) {
		if (obj->os_index >= NUMA_MAX_NODES || h->n_nodes == (uint32_t)n)
			continue;
		h->nodes[h->n_nodes].id = obj->os_index;
		take_cpus(&h->nodes[h->n_nodes++], obj->cpuset);
	}
	take_distances(h, t);
	return 0;
}
