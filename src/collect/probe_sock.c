/* SPDX-License-Identifier: MIT */
#include "collect/probe_sock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/sock.skel.h"
#include "collect/probe_table.h"

#define BATCH 8192

struct probe_sock {
	struct probe_object object;
	struct probe_sock_limits limits;
	int counters, metas, owners, remotes, ledger;
	struct probe_table meta_cache;	/* ino -> struct sock_meta */
	struct probe_table owner_cache; /* struct sock_owner_key -> struct sock_owner */
	struct probe_table dead;	/* struct sock_key -> nothing: dead at the last reading */
	struct probe_sock_ledger last;
	/* For batches; of the largest key and value. */
	char *keys, *values;
	int (*fn)(void *arg, const struct probe_sock_row *row);
	void *arg;
};

static void set_sizes(struct bpf_object *obj, void *arg)
{
	const struct probe_sock_limits *l = arg;
	const struct {
		const char *map;
		uint32_t n;
	} sizes[] = {{"counters", l->keys},
		     {"metas", l->sockets},
		     {"inodes", l->sockets},
		     {"owners", l->owners},
		     {"remotes", l->remotes}};

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, sizes[i].map);

		if (map)
			bpf_map__set_max_entries(map, sizes[i].n);
	}
}

static int load(struct probe_sock *p, char *reason, size_t size)
{
	static const char *const needed[] = {"sock_send", "sock_recv"};
	size_t elf_size;
	const void *elf = sock_bpf__elf_bytes(&elf_size);
	int r;

	r = probe_object_load(&p->object, elf, elf_size, set_sizes, &p->limits, reason, size);
	if (r < 0)
		return r;
	probe_attach_all(&p->object);
	for (unsigned int i = 0; i < ARRAY_SIZE(needed); i++) {
		const struct probe_program *prog = probe_find(&p->object, needed[i]);

		if (!prog || prog->error) {
			snprintf(reason, size, "%s: %s", needed[i],
				 prog ? prog->reason : "no such program");
			return prog ? prog->error : -ENOENT;
		}
	}
	p->counters = probe_map_fd(&p->object, "counters");
	p->metas = probe_map_fd(&p->object, "metas");
	p->owners = probe_map_fd(&p->object, "owners");
	p->remotes = probe_map_fd(&p->object, "remotes");
	p->ledger = probe_map_fd(&p->object, "ledger");
	return 0;
}

int probe_sock_open(struct probe_sock **ret, const struct probe_sock_limits *limits, char *reason,
		    size_t size)
{
	_cleanup_probe_sock_ struct probe_sock *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->limits = (struct probe_sock_limits){
		.keys = limits && limits->keys ? limits->keys : 65536,
		.sockets = limits && limits->sockets ? limits->sockets : 65536,
		.owners = limits && limits->owners ? limits->owners : 16384,
		.remotes = limits && limits->remotes ? limits->remotes : 16384};
	probe_table_init(&p->meta_cache, sizeof(uint64_t), sizeof(struct sock_meta));
	probe_table_init(&p->owner_cache, sizeof(struct sock_owner_key), sizeof(struct sock_owner));
	probe_table_init(&p->dead, sizeof(struct sock_key), 0);
	p->keys = malloc(BATCH * MAX(sizeof(struct sock_key), sizeof(struct sock_remote_key)));
	p->values = malloc(BATCH * MAX(sizeof(struct sock_value), sizeof(struct sock_remote)));
	if (!p->keys || !p->values)
		return -ENOMEM;
	r = load(p, reason, size);
	if (r < 0)
		return r;
	*ret = STEAL_PTR(p);
	return 0;
}

struct probe_sock *probe_sock_close(struct probe_sock *p)
{
	if (!p)
		return NULL;
	probe_object_close(&p->object);
	probe_table_deinit(&p->meta_cache);
	probe_table_deinit(&p->owner_cache);
	probe_table_deinit(&p->dead);
	free(p->keys);
	free(p->values);
	free(p);
	return NULL;
}

struct probe_object *probe_sock_object(struct probe_sock *p)
{
	return &p->object;
}

/* Reads a hash map by batches into p->keys and p->values, and calls each(). */
static int read_map(struct probe_sock *p, int fd, size_t key_size, size_t value_size,
		    int (*each)(struct probe_sock *p, const void *key, const void *value))
{
	uint32_t position[16], n;
	void *in = NULL;
	int r = 0, end;

	for (;;) {
		n = BATCH;
		end = bpf_map_lookup_batch(fd, in, position, p->keys, p->values, &n, NULL);
		/* -ENOENT: this was the last batch. */
		if (end < 0 && errno != ENOENT)
			return -errno;
		for (uint32_t i = 0; i < n && r >= 0; i++)
			r = each(p, p->keys + i * key_size, p->values + i * value_size);
		if (r < 0 || end < 0)
			return r < 0 ? r : 0;
		in = position;
	}
}

/* The metadata, from the cache while that cannot have changed. */
static const struct sock_meta *meta_of(struct probe_sock *p, const struct sock_key *key,
				       const struct sock_value *v)
{
	struct sock_meta *m;
	bool fresh;

	m = probe_table_need(&p->meta_cache, &key->ino, &fresh);
	if (!m)
		return NULL;
	if (!fresh && m->ino && !(m->family == 1 && m->type != 2 && !m->unix_peer) &&
	    !((m->family == 2 || m->family == 10) && m->type != 2 && !m->remote_port) &&
	    !((v->flags & SOCK_INET_DGRAM) && v->remote_port != m->remote_port))
		return m;
	if (bpf_map_lookup_elem(p->metas, &key->ino, m) < 0)
		memset(m, 0, sizeof(*m));
	return m->ino ? m : NULL;
}

static const struct sock_owner *owner_of(struct probe_sock *p, const struct sock_key *key,
					 const struct sock_value *v)
{
	struct sock_owner_key k = {.start_ns = v->start_ns, .tgid = key->tgid};
	struct sock_owner *o;
	bool fresh;

	o = probe_table_need(&p->owner_cache, &k, &fresh);
	if (o && fresh && bpf_map_lookup_elem(p->owners, &k, o) < 0)
		memset(o, 0, sizeof(*o));
	return o && o->comm[0] ? o : NULL;
}

/* Deletes a dead entry; what was counted since it was given is given now. */
static int forget(struct probe_sock *p, struct probe_sock_row *row)
{
	struct sock_value final;

	/* Kernels before 5.14 cannot do both at once; then it stays. */
	if (bpf_map_lookup_and_delete_elem(p->counters, row->key, &final) < 0)
		return 0;
	p->last.forgotten++;
	row->value = &final;
	row->last = true;
	return p->fn(p->arg, row);
}

static int give_row(struct probe_sock *p, const void *key, const void *value)
{
	struct probe_sock_row row = {.key = key, .value = value};
	bool fresh;
	int r;

	row.meta = meta_of(p, row.key, row.value);
	row.owner = owner_of(p, row.key, row.value);
	p->last.keys++;
	r = p->fn(p->arg, &row);
	if (r != PROBE_SOCK_DEAD)
		return r;
	if (probe_table_find(&p->dead, key)) {
		r = forget(p, &row);
		return r < 0 ? r : 0;
	}
	(void)probe_table_need(&p->dead, key, &fresh);
	return 0;
}

/* No key has that socket any more. A change since we read it is by a thread that has just come. */
static void drop_meta(void *arg, const void *key, const void *value)
{
	struct probe_sock *p = arg;
	const struct sock_meta *known = value;
	struct sock_meta now;

	if (bpf_map_lookup_and_delete_elem(p->metas, key, &now) < 0)
		return;
	if (now.version != known->version && !now.final.closed_ns)
		bpf_map_update_elem(p->metas, key, &now, BPF_NOEXIST);
}

static void drop_owner(void *arg, const void *key, const void *value)
{
	struct probe_sock *p = arg;

	bpf_map_delete_elem(p->owners, key);
}

int probe_sock_read(struct probe_sock *p, int (*fn)(void *arg, const struct probe_sock_row *row),
		    void *arg)
{
	int r;

	p->fn = fn;
	p->arg = arg;
	p->last.keys = 0;
	r = read_map(p, p->counters, sizeof(struct sock_key), sizeof(struct sock_value), give_row);
	if (r < 0)
		return r;
	probe_table_sweep(&p->dead, NULL, NULL);
	probe_table_sweep(&p->meta_cache, drop_meta, p);
	probe_table_sweep(&p->owner_cache, drop_owner, p);
	p->last.sockets = p->meta_cache.n;
	return 0;
}

int probe_sock_meta(struct probe_sock *p, uint64_t ino, struct sock_meta *ret)
{
	return bpf_map_lookup_elem(p->metas, &ino, ret) < 0 ? -errno : 0;
}

struct remotes_call {
	int (*fn)(void *arg, const struct sock_remote_key *key, const struct sock_remote *value);
	void *arg;
};

static int give_remote(struct probe_sock *p, const void *key, const void *value)
{
	const struct remotes_call *call = p->arg;
	int r = call->fn(call->arg, key, value);

	if (r == PROBE_SOCK_DEAD)
		bpf_map_delete_elem(p->remotes, key);
	return r < 0 ? r : 0;
}

int probe_sock_remotes(struct probe_sock *p,
		       int (*fn)(void *arg, const struct sock_remote_key *key,
				 const struct sock_remote *value),
		       void *arg)
{
	struct remotes_call call = {.fn = fn, .arg = arg};

	p->arg = &call;
	return read_map(p, p->remotes, sizeof(struct sock_remote_key), sizeof(struct sock_remote),
			give_remote);
}

int probe_sock_ledger(struct probe_sock *p, struct probe_sock_ledger *ret)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct sock_ledger *each = NULL;
	struct probe_sock_ledger sum = p->last;
	uint32_t zero = 0;

	if (cpus < 0)
		return cpus;
	each = calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(p->ledger, &zero, each) < 0)
		return -errno;
	/* The record is u64 throughout. */
	for (int i = 0; i < cpus; i++) {
		const uint64_t *from = (const uint64_t *)&each[i];
		uint64_t *to = (uint64_t *)&sum.lost;

		for (size_t j = 0; j < sizeof(*each) / sizeof(*from); j++)
			to[j] += from[j];
	}
	for (unsigned int i = 0; i < p->object.n_programs; i++) {
		struct probe_cost cost;

		if (probe_cost(&p->object.programs[i], &cost) == 0)
			sum.recursion_misses += cost.recursion_misses;
	}
	*ret = sum;
	return 0;
}
