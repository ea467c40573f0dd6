/* SPDX-License-Identifier: MIT */
/*
 * Placement: the sets of NUMA nodes from which processes and threads may take memory, and the edges
 * to them (NumaAccessEdge, AccessWithProcStatusEdge) with what is known of where they ran.
 *
 * Only what the process table has is used: smaps and numa_maps stall their process and are never
 * opened here. So pages by node are known on a machine with one memory node (all of them are
 * there), and run time by node on a machine with one node that has CPUs; else they are left out.
 *
 * Cost: about 2 µs per thread. Lists are interned by the table, so a set is looked up by pointer.
 */
#pragma once

#include "collect/numa_topology.h"
#include "collect/proctable.h"

/* Known sets by the pointer of their list; only within one collection. */
struct numa_set_row {
	const char *list; /* NULL: free slot */
	uint64_t ident;	  /* 0: no node of the list exists */
};

struct numa_place {
	const struct numa_topology *topology;
	int cpu_node; /* index in topology.nodes of the only one with CPUs, -1: none or several */
	int memory_node; /* the same of memory */
	struct numa_set_row *sets;
	uint32_t sets_size, sets_used;
	struct draft draft;
	struct strbuf text;
	uint64_t cpus_seen[NUMA_CPU_WORDS]; /* of one process */
};

void numa_place_deinit(struct numa_place *p);

/*
 * Adds sets and edges of all processes. 0 or -ENOMEM; what the builder's limits left out is counted
 * there.
 */
int numa_place_all(struct numa_place *p, const struct proctable *procs, struct builder *b);
