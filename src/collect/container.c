/* SPDX-License-Identifier: MIT */
/*
 * Containers by the cgroups of their processes; pods by the path that holds them. After the process
 * collector: its idents are the ends of the edges. O(processes).
 */
#include "collect/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "collect/proctable.h"
#include "util/fdio.h"

#define SHORT_ID 8  /* characters of the id that the reference keeps */
#define NAME_ID	 12 /* … and shows in the name */

/* A container (or a pod) of this collection, with the number of what belongs to it. */
struct member {
	uint64_t ident;
	uint64_t count;
	struct cgroup_container container;
	uint64_t pod; /* ident, 0: none */
	UT_hash_handle hh;
};

struct containers {
	struct draft draft;
	struct member *containers, *pods;
};

static void free_members(struct member **table)
{
	struct member *m, *next;

	HASH_ITER (hh, *table, m, next) {
		HASH_DEL(*table, m);
		free(m);
	}
}

/* The member of this ident, a new one if need be; NULL when memory ran out. */
static struct member *member_of(struct member **table, uint64_t ident,
				const struct cgroup_container *c)
{
	struct member *m;

	HASH_FIND(hh, *table, &ident, sizeof(ident), m);
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->ident = ident;
	m->container = *c;
	HASH_ADD(hh, *table, ident, sizeof(m->ident), m);
	return m;
}

static void begin_container(struct draft *d, const struct cgroup_container *c)
{
	draft_begin(d, &entity_types[ENTITY_CONTAINER]);
	draft_bytes(d, CONTAINER_FULL_ID, c->id, c->id_len);
}

uint64_t container_ident(struct draft *scratch, const struct cgroup_container *c)
{
	begin_container(scratch, c);
	return draft_ident(scratch);
}

static void begin_pod(struct draft *d, const struct cgroup_container *c)
{
	draft_begin(d, &entity_types[ENTITY_POD]);
	draft_str(d, POD_POD_ID, c->pod_uid);
}

/* --- counting --------------------------------------------------------------------------------- */
static int count_process(struct containers *s, const struct proc_process *p, struct builder *b)
{
	struct cgroup_container c;
	struct member *m;
	int r;

	if (!p->cgroup || !p->ident || !cgroup_find(p->cgroup, strlen(p->cgroup), &c))
		return 0;
	m = member_of(&s->containers, container_ident(&s->draft, &c), &c);
	if (!m)
		return -ENOMEM;
	if (m->count++ == 0 && c.pod_uid[0]) {
		struct member *pod;

		begin_pod(&s->draft, &c);
		pod = member_of(&s->pods, draft_ident(&s->draft), &c);
		if (!pod)
			return -ENOMEM;
		pod->count++;
		m->pod = pod->ident;
	}
	r = builder_connect(b, EDGE_HOST, m->ident, p->ident);
	if (r == 0)
		r = builder_connect(b, EDGE_RUN_ON, p->ident, m->ident);
	return r == -ENOSPC ? 0 : r;
}

/* --- entities --------------------------------------------------------------------------------- */
/* The reference's word where it has one, as it begins the names of its containers with it. */
static const char *name_of(enum cgroup_runtime runtime)
{
	const char *type = cgroup_runtime_types[runtime];

	return strcmp(type, "unknown") == 0 ? cgroup_runtime_names[runtime] : type;
}

static int add_container(struct containers *s, const struct member *m, struct builder *b)
{
	const struct cgroup_container *c = &m->container;
	struct draft *d = &s->draft;
	char name[64];
	int r;

	begin_container(d, c);
	draft_bytes(d, CONTAINER_CONTAINER_ID, c->id, MIN(c->id_len, (size_t)SHORT_ID));
	snprintf(name, sizeof(name), "%s-%.*s", name_of(c->runtime),
		 (int)MIN(c->id_len, (size_t)NAME_ID), c->id);
	draft_str(d, CONTAINER_CONTAINER_NAME, name);
	draft_str(d, CONTAINER_CONTAINER_TYPE, cgroup_runtime_types[c->runtime]);
	draft_str(d, CONTAINER_RUNTIME, cgroup_runtime_names[c->runtime]);
	draft_u64(d, CONTAINER_PROCESSES, m->count);
	if (c->qos != CGROUP_QOS_NONE)
		draft_str(d, CONTAINER_QOS, cgroup_qos_names[c->qos]);
	if (m->pod) {
		draft_str(d, CONTAINER_POD_UID, c->pod_uid);
		draft_ref(d, CONTAINER_POD, m->pod);
	}
	draft_bytes(d, CONTAINER_CGROUP, c->path, c->path_len);
	r = builder_add(b, d, NULL);
	if (r == 0 && m->pod)
		r = builder_connect(b, EDGE_OWN, m->pod, m->ident);
	return r;
}

static int add_pod(struct containers *s, const struct member *m, struct builder *b)
{
	begin_pod(&s->draft, &m->container);
	if (m->container.qos != CGROUP_QOS_NONE)
		draft_str(&s->draft, POD_QOS, cgroup_qos_names[m->container.qos]);
	draft_u64(&s->draft, POD_CONTAINERS, m->count);
	return builder_add(b, &s->draft, NULL);
}

static int container_collect(struct collect_context *ctx, void *state, struct builder *b,
			     struct collect_report *report)
{
	struct containers *s = state;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < proctable_count(ctx->procs); i++)
		r = count_process(s, proctable_at(ctx->procs, i), b);
	for (struct member *m = s->containers; (r == 0 || r == -ENOSPC) && m; m = m->hh.next)
		r = add_container(s, m, b);
	for (struct member *m = s->pods; (r == 0 || r == -ENOSPC) && m; m = m->hh.next)
		r = add_pod(s, m, b);
	free_members(&s->containers);
	free_members(&s->pods);
	return r == -ENOSPC ? 0 : r;
}

static int container_start(struct collect_context *ctx, unsigned int method, void **ret_state)
{
	*ret_state = calloc(1, sizeof(struct containers));
	return *ret_state ? 0 : -ENOMEM;
}

static void container_stop(void *state)
{
	struct containers *s = state;

	draft_deinit(&s->draft);
	free(s);
}

static int probe_proc(struct collect_context *ctx, char *reason, size_t size)
{
	char text[16];

	if (fdio_read_at(ctx->proc_fd, "self/cgroup", text, sizeof(text)) >= 0 || !ctx->live)
		return 0;
	snprintf(reason, size, "/proc/self/cgroup cannot be read: this kernel has no cgroups");
	return -ENOENT;
}

static const struct collector_method methods[] = {
	{"cgroup", "cgroup paths of the processes; no runtime is asked", probe_proc},
};

const struct collector collector_container = {
	.name = "container",
	.doc = "containers and pods",
	.methods = methods,
	.n_methods = ARRAY_SIZE(methods),
	.start = container_start,
	.stop = container_stop,
	.collect = container_collect,
};
