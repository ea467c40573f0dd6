/* SPDX-License-Identifier: MIT */
/*
 * Which NUMA nodes own the CPUs of a list: "0-3,64" -> "0,2". Read from sysfs alone, again only
 * when a CPU or a node went on or off line; answers are remembered by the pointer of the list
 * (lists are interned by the process table), within one collection.
 */
#pragma once

#include "util/macro.h"

struct cpunodes;

/* sys_fd is borrowed and must outlive it. 0 or -ENOMEM; a kernel without NUMA is no error. */
int cpunodes_new(int sys_fd, struct cpunodes **ret);
struct cpunodes *cpunodes_free(struct cpunodes *c);
static inline void cpunodes_freep(struct cpunodes **c)
{
	*c = cpunodes_free(*c);
}
#define _cleanup_cpunodes_ _cleanup_(cpunodes_freep)

/* To be called once at the begin of a collection: forgets the answers, looks for changes. */
void cpunodes_refresh(struct cpunodes *c);

/*
 * The nodes of an interned list of CPUs, as "0,2-3"; NULL when that is not known (no NUMA in this
 * kernel, NULL or a bad list). Owned by c until the next refresh.
 */
const char *cpunodes_of(struct cpunodes *c, const char *cpus_allowed);
