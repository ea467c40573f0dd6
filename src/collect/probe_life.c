/* SPDX-License-Identifier: MIT */
#include "collect/probe_life.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

#include "bpf/life.skel.h"

struct probe_life {
	struct probe_object object;
	struct ring_buffer *ring;
	size_t ring_bytes;
	int (*fn)(void *arg, const struct life_record *record);
	void *arg;
};

static void set_size(struct bpf_object *obj, void *arg)
{
	const struct probe_life *p = arg;
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "ring");

	if (map)
		bpf_map__set_max_entries(map, (uint32_t)p->ring_bytes);
}

static int give(void *arg, void *data, size_t size)
{
	struct probe_life *p = arg;

	/* Nobody listens while it is being opened or closed. */
	return p->fn && size >= sizeof(struct life_record) ? p->fn(p->arg, data) : 0;
}

static int load(struct probe_life *p, char *reason, size_t size)
{
	static const char *const needed[] = {"life_fork", "life_exit"};
	size_t elf_size;
	const void *elf = life_bpf__elf_bytes(&elf_size);
	int r;

	r = probe_object_load(&p->object, elf, elf_size, set_size, p, reason, size);
	if (r < 0)
		return r;
	p->ring = ring_buffer__new(probe_map_fd(&p->object, "ring"), give, p, NULL);
	if (!p->ring) {
		r = errno ? -errno : -ENOMEM;
		probe_explain(r, "ring buffer", reason, size);
		return r;
	}
	probe_attach_all(&p->object);
	for (unsigned int i = 0; i < ARRAY_SIZE(needed); i++) {
		const struct probe_program *prog = probe_find(&p->object, needed[i]);

		if (prog && !prog->error)
			continue;
		snprintf(reason, size, "%s: %s", needed[i],
			 prog ? prog->reason : "no such program");
		return prog ? prog->error : -ENOENT;
	}
	return 0;
}

int probe_life_open(struct probe_life **ret, size_t ring_bytes, char *reason, size_t size)
{
	_cleanup_probe_life_ struct probe_life *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->ring_bytes = ring_bytes ? ring_bytes : 1 << 20;
	r = load(p, reason, size);
	if (r < 0)
		return r;
	*ret = STEAL_PTR(p);
	return 0;
}

struct probe_life *probe_life_close(struct probe_life *p)
{
	if (!p)
		return NULL;
	ring_buffer__free(p->ring);
	probe_object_close(&p->object);
	free(p);
	return NULL;
}

struct probe_object *probe_life_object(struct probe_life *p)
{
	return &p->object;
}

int probe_life_fd(const struct probe_life *p)
{
	return ring_buffer__epoll_fd(p->ring);
}

int probe_life_drain(struct probe_life *p, int (*fn)(void *arg, const struct life_record *record),
		     void *arg)
{
	int r;

	p->fn = fn;
	p->arg = arg;
	r = ring_buffer__consume(p->ring);
	p->fn = NULL;
	return r;
}

int probe_life_lost(struct probe_life *p, uint64_t *ret)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct life_lost *each = NULL;
	uint32_t zero = 0;

	if (cpus < 0)
		return cpus;
	each = calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(probe_map_fd(&p->object, "lost"), &zero, each) < 0)
		return -errno;
	*ret = 0;
	for (int i = 0; i < cpus; i++)
		*ret += each[i].full;
	return 0;
}
