/* SPDX-License-Identifier: MIT */
/*
 * The NUMA nodes of a machine: which there are, their online CPUs, their distances, their memory
 * blocks. Read from hwloc and from /sys/devices/system/node; where they differ sysfs is right
 * (hwloc leaves nodes out that have no memory, or that are the memory of a GPU).
 *
 * Loaded at start and again when a node or a CPU went on or off line; what moves all the time
 * (counters, free memory) is not kept here but read by numa_counters.h.
 *
 * Cost: a check is two reads of a few bytes; a load is about 3 files per node and one hwloc
 * discovery (3 ms here, tens of ms on hundreds of CPUs).
 */
#pragma once

#include "collect/collector.h"

#define NUMA_MAX_NODES 1024 /* the kernel's MAX_NUMNODES is 2^10 at most */
#define NUMA_MAX_CPUS  8192 /* the kernel's NR_CPUS is 8192 at most */
#define NUMA_CPU_WORDS (NUMA_MAX_CPUS / 64)
#define NUMA_SYS_NODE  "devices/system/node"

struct numa_node {
	uint32_t id;
	bool cpus_known;
	uint64_t cpus[NUMA_CPU_WORDS]; /* online ones */
	char *distances;	       /* JSON {"0":10,…}; NULL: not known */
	char *memory_blocks;	       /* "0-1,130-255"; NULL: not known */
	uint64_t memory_blocks_total;  /* the node's memory (bytes) when memory_blocks was read */
	bool memory_blocks_read;
};

struct numa_topology {
	struct numa_node *nodes; /* ascending id */
	uint32_t n_nodes;
	bool in_sysfs; /* false: a kernel without NUMA; the one node is hwloc's word */
	bool loaded;
	uint32_t hidden_by_hwloc; /* nodes that only sysfs shows */
	uint32_t lost;		  /* ids of nodes or CPUs, and memory blocks, beyond the tables */
	char *node_online, *cpu_online;	      /* as read, never NULL: a change means load again */
	uint64_t id_map[NUMA_MAX_NODES / 64]; /* the nodes as a bitmap */
};

void numa_topology_deinit(struct numa_topology *t);

/* Nodes and CPUs as hwloc sees them; 0 or -errno. For the probe of the method. */
int numa_topology_try_hwloc(struct collect_context *ctx);
/* 0 when sysfs shows NUMA nodes, else -errno. */
int numa_topology_try_sysfs(struct collect_context *ctx);

/*
 * Loads the topology when it was not loaded or has changed. with_hwloc false: sysfs alone. hwloc of
 * a recorded machine needs the environment: ask for it only at start, when there are no other
 * threads. Returns 1 when it was loaded now, 0 when nothing had changed, or -errno (-ENODATA: there
 * are no nodes); then the topology is empty.
 */
int numa_topology_update(struct numa_topology *t, struct collect_context *ctx, bool with_hwloc);

/* Reads the memory blocks of the node again when its memory (bytes) is not what it was. */
void numa_topology_memory_blocks(struct numa_topology *t, struct numa_node *node, int sys_fd,
				 uint64_t total);

static inline bool numa_topology_has(const struct numa_topology *t, uint32_t id)
{
	return id < NUMA_MAX_NODES && (t->id_map[id / 64] >> (id % 64) & 1);
}
