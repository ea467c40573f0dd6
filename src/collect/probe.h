/* SPDX-License-Identifier: MIT */
/*
 * Loading and attaching BPF objects: what all probes share.
 *
 * An object is loaded with all its programs; when the kernel refuses one of them, each is tried
 * alone and the object is loaded again with those that passed. So a refused program costs only
 * itself, and its state says why. Nothing is pinned: closing the object detaches and frees all.
 *
 * Needs CAP_BPF + CAP_PERFMON (or CAP_SYS_ADMIN); system call tracepoints also need tracefs, which
 * is found where it is mounted or opened without mounting it anywhere (CAP_SYS_ADMIN).
 *
 * Not thread-safe: one thread opens, reads and closes.
 */
#pragma once

#include <bpf/libbpf.h>

#include "util/macro.h"

#define PROBE_MAX_PROGRAMS 16
#define PROBE_REASON	   512

struct probe_program {
	const char *name; /* owned by the object */
	struct bpf_program *prog;
	struct bpf_link *link;
	int event_fd; /* of a system call tracepoint, while attached; else -1 */
	int error;    /* 0, or -errno: refused at load or attach */
	char reason[PROBE_REASON];
};

struct probe_object {
	struct bpf_object *obj;
	struct probe_program programs[PROBE_MAX_PROGRAMS];
	unsigned int n_programs;
	void *variables; /* .bss */
	size_t variables_size;
};

/* What the kernel says a program has cost; run_* only count while statistics are enabled. */
struct probe_cost {
	uint64_t runs, run_ns, recursion_misses;
};

/*
 * Loads the object of an ELF image. `prepare` (may be NULL) is called on the opened object before
 * every load (sizes of maps, constants). Returns 0 when at least one program was loaded, else
 * -errno with one line in `reason`: what is missing and what mends it. Replaces the
 * log callback of libbpf for the duration.
 */
int probe_object_load(struct probe_object *o, const void *elf, size_t elf_size,
		      void (*prepare)(struct bpf_object *obj, void *arg), void *arg, char *reason,
		      size_t size);
void probe_object_close(struct probe_object *o);

/* Tests: the program of that name is treated as refused by the kernel. NULL: none. */
void probe_refuse(const char *program);

struct probe_program *probe_find(struct probe_object *o, const char *name);
/* The global variables (.bss) of a loaded object, shared with its programs; NULL: it has none. */
void *probe_variables(const struct probe_object *o);
/* Descriptor of a map; -ENOENT. */
int probe_map_fd(const struct probe_object *o, const char *name);

/*
 * Attaches every loaded program that is attachable by itself (not iterators). Failures go to the
 * programs' states; returns the number attached.
 */
unsigned int probe_attach_all(struct probe_object *o);
/* Detaches and keeps maps and programs; attach again with probe_attach_all(). */
void probe_detach_all(struct probe_object *o);

int probe_cost(const struct probe_program *p, struct probe_cost *ret);
/* Counts runs and time of all BPF programs while the descriptor is open (about 70 ns per run).
 * Descriptor or -errno. */
int probe_enable_stats(void);

/* One line for an error of the kernel: what is missing, what mends it. */
void probe_explain(int error, const char *detail, char *reason, size_t size);
