/* SPDX-License-Identifier: MIT */
/*
 * FAKE machines for tests: directories with a made-up /sys/devices/system/{node,cpu} and /proc,
 * written at test time. They are not recordings; only the forms of the files are the kernel's.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_node {
	int id;
	const char *cpus; /* cpulist */
	unsigned long long mib;
	const char *distance;
	const char *blocks; /* names below, with blanks between: "memory0 memory1" */
};

struct fake_root {
	char path[64];
	int proc_fd, sys_fd;
};

static inline void fake_die(const char *what)
{
	fprintf(stderr, "fake root: %s: %s\n", what, strerror(errno));
	abort();
}

static inline void fake_parents(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			fake_die(path);
		*p = '/';
	}
}

/* Writes root/path, with its directories. */
__attribute__((format(printf, 3, 4))) static inline void fake_file(const struct fake_root *r,
								   const char *path,
								   const char *fmt, ...)
{
	char full[512];
	va_list ap;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", r->path, path);
	fake_parents(full);
	f = fopen(full, "we");
	if (!f)
		fake_die(full);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static inline void fake_dir(const struct fake_root *r, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s/", r->path, path);
	fake_parents(full);
}

static inline int fake_open(const struct fake_root *r, const char *path)
{
	char full[512];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", r->path, path);
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fake_die(full);
	return fd;
}

static inline void fake_root_init(struct fake_root *r)
{
	snprintf(r->path, sizeof(r->path), "/tmp/wittyfs-fake-XXXXXX");
	if (!mkdtemp(r->path))
		fake_die("mkdtemp");
	fake_dir(r, "proc");
	fake_dir(r, "sys");
	r->proc_fd = fake_open(r, "proc");
	r->sys_fd = fake_open(r, "sys");
}

static inline int fake_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void fake_root_deinit(struct fake_root *r)
{
	close(r->proc_fd);
	close(r->sys_fd);
	nftw(r->path, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Bytes of "cpumap" for CPUs 0..31 of a list without ranges beyond; hwloc reads it. */
static inline unsigned int fake_mask(const char *list)
{
	unsigned int mask = 0, a, z;
	int n;

	while (*list) {
		if (sscanf(list, "%u-%u%n", &a, &z, &n) == 2)
			;
		else if (sscanf(list, "%u%n", &a, &n) == 1)
			z = a;
		else
			break;
		for (; a <= z && a < 32; a++)
			mask |= 1U << a;
		list += n + (list[n] == ',');
	}
	return mask;
}

static inline void fake_cpu(const struct fake_root *r, unsigned int cpu, int package,
			    const char *siblings)
{
	static const char *const files[] = {"thread_siblings", "core_cpus", "core_siblings",
					    "package_cpus"};
	char path[128];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/%s", cpu,
			 files[i]);
		fake_file(r, path, "%08x\n", i < 2 ? 1U << cpu : fake_mask(siblings));
	}
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/physical_package_id",
		 cpu);
	fake_file(r, path, "%d\n", package);
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
	fake_file(r, path, "%u\n", cpu);
}

static inline void fake_node_memory(const struct fake_root *r, int id, unsigned long long total_kb,
				    unsigned long long free_kb, unsigned long long hits)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/devices/system/node/node%d/meminfo", id);
	fake_file(r, path,
		  "Node %d MemTotal:       %8llu kB\nNode %d MemFree:        %8llu kB\n"
		  "Node %d Active(anon):   %8llu kB\nNode %d HugePages_Total:     0\n",
		  id, total_kb, id, free_kb, id, 12ULL, id);
	snprintf(path, sizeof(path), "sys/devices/system/node/node%d/numastat", id);
	fake_file(r, path, "numa_hit %llu\nnuma_miss 0\nnuma_foreign 0\n", hits);
}

/* nodes ends with id -1. online: of CPUs; node_online: of nodes. */
static inline void fake_numa(const struct fake_root *r, const char *online, const char *node_online,
			     const struct fake_node *nodes)
{
	unsigned int mask = fake_mask(online);
	char path[128];

	fake_file(r, "sys/devices/system/cpu/online", "%s\n", online);
	fake_file(r, "sys/devices/system/cpu/possible", "%s\n", online);
	fake_file(r, "sys/devices/system/cpu/present", "%s\n", online);
	fake_file(r, "sys/devices/system/cpu/kernel_max", "8191\n");
	fake_file(r, "sys/devices/system/node/online", "%s\n", node_online);
	fake_file(r, "sys/devices/system/node/possible", "%s\n", node_online);
	fake_file(r, "proc/meminfo", "MemTotal: 16384 kB\nMemFree: 8192 kB\n");
	fake_file(r, "proc/cpuinfo", "processor\t: 0\n");
	for (; nodes->id >= 0; nodes++) {
		const char *p = nodes->blocks ? nodes->blocks : "";

		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", nodes->id);
		fake_file(r, path, "%s\n", nodes->cpus);
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpumap", nodes->id);
		fake_file(r, path, "%08x\n", fake_mask(nodes->cpus));
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/distance", nodes->id);
		fake_file(r, path, "%s\n", nodes->distance);
		fake_node_memory(r, nodes->id, nodes->mib * 1024, nodes->mib * 512, 7);
		while (*p) {
			size_t n = strcspn(p, " ");

			snprintf(path, sizeof(path), "sys/devices/system/node/node%d/%.*s",
				 nodes->id, (int)n, p);
			fake_dir(r, path);
			p += n + (p[n] == ' ');
		}
		for (unsigned int cpu = 0; cpu < 32; cpu++)
			if (mask & fake_mask(nodes->cpus) & 1U << cpu)
				fake_cpu(r, cpu, nodes->id, nodes->cpus);
	}
}

/* One thread of a process; the leader has tid == pid. */
static inline void fake_thread(const struct fake_root *r, int pid, int tid, const char *cpus,
			       const char *mems, unsigned long long run_ns, unsigned int cpu)
{
	char path[128];
	static const char *const dirs[] = {"proc/%d", "proc/%d/task/%d"};

	for (int i = tid == pid ? 0 : 1; i < 2; i++) {
		char dir[64];

		snprintf(dir, sizeof(dir), dirs[i], pid, tid);
		snprintf(path, sizeof(path), "%s/stat", dir);
		fake_file(r, path,
			  "%d (fake) S 1 %d %d 0 -1 4194304 10 0 0 0 3 4 0 0 20 0 2 0 500 8192000 "
			  "25 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 %u 0 0 0 0 0 0 0 0 "
			  "0 0 0 0 0\n",
			  tid, pid, pid, cpu);
		snprintf(path, sizeof(path), "%s/status", dir);
		fake_file(r, path,
			  "Name:\tfake\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\n"
			  "Pid:\t%d\nPPid:\t1\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
			  "FDSize:\t64\nGroups:\t\nNStgid:\t%d\nNSpid:\t%d\nThreads:\t2\n"
			  "Cpus_allowed:\tff\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n"
			  "Mems_allowed_list:\t%s\nvoluntary_ctxt_switches:\t%d\n"
			  "nonvoluntary_ctxt_switches:\t3\n",
			  pid, tid, pid, tid, cpus, mems, tid);
		snprintf(path, sizeof(path), "%s/schedstat", dir);
		fake_file(r, path, "%llu 5 6\n", run_ns);
		snprintf(path, sizeof(path), "%s/comm", dir);
		fake_file(r, path, "fake\n");
		snprintf(path, sizeof(path), "%s/cmdline", dir);
		fake_file(r, path, "fake");
	}
}
