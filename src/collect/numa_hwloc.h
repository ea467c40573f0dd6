/* SPDX-License-Identifier: MIT */
/*
 * What hwloc says of the NUMA nodes. Only numa_hwloc.c includes hwloc's headers.
 *
 * The whole machine is asked for, also what this daemon itself may not use (its own cpuset is no
 * fact of the machine), without caches and devices, and without hwloc's x86 component, which would
 * move the calling thread over all CPUs.
 */
#pragma once

#include "collect/numa_topology.h"

struct numa_hwloc_node {
	uint32_t id;
	uint64_t cpus[NUMA_CPU_WORDS];
	char *distances; /* JSON {"0":10,…}; NULL: not known */
};

struct numa_hwloc {
	struct numa_hwloc_node *nodes;
	uint32_t n_nodes;
};

/*
 * Of the live machine, or of the recorded one whose /sys is ctx->sys_fd (its root is the directory
 * above). For a recorded machine HWLOC_FSROOT and HWLOC_THISSYSTEM are set during the call: no
 * other thread may use the environment then. 0 or -errno.
 */
int numa_hwloc_load(struct numa_hwloc *h, const struct collect_context *ctx);
void numa_hwloc_deinit(struct numa_hwloc *h);
#define _cleanup_numa_hwloc_ _cleanup_(numa_hwloc_deinit)

/* NULL when hwloc does not show that node. */
const struct numa_hwloc_node *numa_hwloc_find(const struct numa_hwloc *h, uint32_t id);
