/* SPDX-License-Identifier: MIT */
#include "collect/cpunodes.h"

#include <errno.h>

#include "collect/numa_topology.h"
#include "util/hash.h"
#include "util/strbuf.h"
#include "util/text.h"

struct answer {
	const char *list; /* NULL: free slot */
	char *nodes;	  /* NULL: not known */
};

struct cpunodes {
	int sys_fd;
	struct numa_topology topology;
	struct answer *answers;
	uint32_t size, used;
};

int cpunodes_new(int sys_fd, struct cpunodes **ret)
{
	struct cpunodes *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->sys_fd = sys_fd;
	*ret = c;
	return 0;
}

static void forget_answers(struct cpunodes *c)
{
	for (uint32_t i = 0; i < c->size; i++)
		free(c->answers[i].nodes);
	if (c->size)
		memset(c->answers, 0, c->size * sizeof(*c->answers));
	c->used = 0;
}

struct cpunodes *cpunodes_free(struct cpunodes *c)
{
	if (!c)
		return NULL;
	forget_answers(c);
	free(c->answers);
	numa_topology_deinit(&c->topology);
	free(c);
	return NULL;
}

void cpunodes_refresh(struct cpunodes *c)
{
	struct collect_context ctx = {.proc_fd = -1, .sys_fd = c->sys_fd};

	forget_answers(c);
	/* hwloc would make up a node where sysfs shows none: here that is "not known". */
	(void)numa_topology_update(&c->topology, &ctx, false);
}

static struct answer *find_answer(struct answer *a, uint32_t size, const char *list)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)list) & (size - 1);

	while (a[i].list && a[i].list != list)
		i = (i + 1) & (size - 1);
	return &a[i];
}

static bool grow(struct cpunodes *c)
{
	uint32_t size = c->size ? c->size * 2 : 64;
	struct answer *bigger = calloc(size, sizeof(*bigger));

	if (!bigger)
		return false;
	for (uint32_t i = 0; i < c->size; i++)
		if (c->answers[i].list)
			*find_answer(bigger, size, c->answers[i].list) = c->answers[i];
	free(c->answers);
	c->answers = bigger;
	c->size = size;
	return true;
}

static char *make_answer(const struct cpunodes *c, const char *list)
{
	uint64_t cpus[NUMA_CPU_WORDS] = {0}, nodes[NUMA_MAX_NODES / 64] = {0};
	_cleanup_strbuf_ struct strbuf b = {0};
	char *ret = NULL;
	int r = text_parse_list(list, cpus, NUMA_MAX_CPUS);

	/* CPUs beyond the table are owned by no node that is known. */
	if (r < 0 && r != -ERANGE)
		return NULL;
	for (uint32_t i = 0; i < c->topology.n_nodes; i++) {
		const struct numa_node *n = &c->topology.nodes[i];
		uint64_t any = 0;

		if (!n->cpus_known)
			return NULL;
		for (size_t w = 0; w < NUMA_CPU_WORDS; w++)
			any |= n->cpus[w] & cpus[w];
		if (any)
			nodes[n->id / 64] |= 1ULL << (n->id % 64);
	}
	text_format_list(&b, nodes, NUMA_MAX_NODES);
	return b.len && strbuf_steal(&b, &ret, NULL) == 0 ? ret : NULL;
}

const char *cpunodes_of(struct cpunodes *c, const char *cpus_allowed)
{
	struct answer *a;

	if (!cpus_allowed || !c->topology.loaded)
		return NULL;
	if (c->used * 2 >= c->size && !grow(c))
		return NULL;
	a = find_answer(c->answers, c->size, cpus_allowed);
	if (!a->list) {
		a->list = cpus_allowed;
		a->nodes = make_answer(c, cpus_allowed);
		c->used++;
	}
	return a->nodes;
}
