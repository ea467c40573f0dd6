/* SPDX-License-Identifier: MIT */
#include "collect/probe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/fdio.h"
#include "util/text.h"

#define SYSCALL_SECTION "tracepoint/syscalls/"

/* The last warning of libbpf: the best explanation there is of a refusal. */
static _Thread_local char last_warning[PROBE_REASON];
static const char *refused;

void probe_refuse(const char *program)
{
	refused = program;
}

static int keep_warning(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[PROBE_REASON];
	int n;

	if (level != LIBBPF_WARN)
		return 0;
	n = vsnprintf(line, sizeof(line), fmt, ap);
	if (n <= 0)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	/* The first says what, the rest that therefore the whole failed. */
	if (!last_warning[0] && strncmp(line, "libbpf: ", 8) == 0)
		memcpy(last_warning, line + 8, sizeof(line) - 8);
	return 0;
}

void probe_explain(int error, const char *detail, char *reason, size_t size)
{
	const char *text;

	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		text = "the kernel has no BTF: it needs CONFIG_DEBUG_INFO_BTF=y";
	else if (error == -EPERM || error == -EACCES)
		text = "BPF is refused: give CAP_BPF and CAP_PERFMON (setcap "
		       "cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace+ep, or run as "
		       "root)";
	else if (error == -ENOSYS)
		text = "the kernel has no BPF: it needs CONFIG_BPF_SYSCALL=y";
	else
		text = strerror(-error);
	/* What libbpf says of a lack of rights is no news. */
	if (detail && detail[0] && error != -EPERM)
		snprintf(reason, size, "%s (%s)", text, detail);
	else
		snprintf(reason, size, "%s", text);
}

static int open_object(const void *elf, size_t elf_size,
		       void (*prepare)(struct bpf_object *obj, void *arg), void *arg,
		       struct bpf_object **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "wittyfs");
	struct bpf_object *obj = bpf_object__open_mem(elf, elf_size, &opts);

	if (!obj)
		return errno ? -errno : -EINVAL;
	if (prepare)
		prepare(obj, arg);
	*ret = obj;
	return 0;
}

/* Loads the object with the programs of which states[] has no error. */
static int load_some(const void *elf, size_t elf_size,
		     void (*prepare)(struct bpf_object *obj, void *arg), void *arg,
		     const struct probe_program *states, struct bpf_object **ret)
{
	struct bpf_object *obj = NULL;
	struct bpf_program *prog;
	unsigned int i = 0;
	int r;

	last_warning[0] = '\0';
	r = open_object(elf, elf_size, prepare, arg, &obj);
	if (r < 0)
		return r;
	bpf_object__for_each_program(prog, obj)
	{
		if (i < PROBE_MAX_PROGRAMS && states[i].error)
			bpf_program__set_autoload(prog, false);
		i++;
	}
	r = bpf_object__load(obj);
	if (r < 0) {
		bpf_object__close(obj);
		return r;
	}
	*ret = obj;
	return 0;
}

/* Tries each program alone and notes which are refused; the number that passed. */
static unsigned int try_each(const void *elf, size_t elf_size,
			     void (*prepare)(struct bpf_object *obj, void *arg), void *arg,
			     struct probe_object *o)
{
	struct probe_program only[PROBE_MAX_PROGRAMS];
	unsigned int good = 0;

	for (unsigned int i = 0; i < o->n_programs; i++) {
		struct probe_program *p = &o->programs[i];
		struct bpf_object *obj = NULL;
		int r;

		if (p->error)
			continue;
		for (unsigned int j = 0; j < PROBE_MAX_PROGRAMS; j++)
			only[j].error = j == i ? 0 : -ECANCELED;
		r = load_some(elf, elf_size, prepare, arg, only, &obj);
		if (r == 0) {
			bpf_object__close(obj);
			good++;
			continue;
		}
		p->error = r;
		probe_explain(r, last_warning, p->reason, sizeof(p->reason));
	}
	return good;
}

/* The names and the number of programs, before anything is loaded. */
static int list_programs(struct probe_object *o, const void *elf, size_t elf_size)
{
	struct bpf_object *obj = NULL;
	struct bpf_program *prog;
	int r = open_object(elf, elf_size, NULL, NULL, &obj);

	if (r < 0)
		return r;
	bpf_object__for_each_program(prog, obj)
	{
		struct probe_program *p = &o->programs[o->n_programs];

		if (o->n_programs == PROBE_MAX_PROGRAMS) {
			r = -E2BIG;
			break;
		}
		p->event_fd = -1;
		if (refused && strcmp(refused, bpf_program__name(prog)) == 0) {
			p->error = -EACCES;
			snprintf(p->reason, sizeof(p->reason), "refused by a test");
		}
		o->n_programs++;
	}
	bpf_object__close(obj);
	return r;
}

/* libbpf maps them onto the running map only for skeletons; so do it here. */
static void map_variables(struct probe_object *o)
{
	struct bpf_map *map = bpf_object__find_map_by_name(o->obj, ".bss");
	void *p;

	if (!map)
		return;
	o->variables_size = bpf_map__value_size(map);
	p = mmap(NULL, o->variables_size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	o->variables = p == MAP_FAILED ? NULL : p;
}

static int load_object(struct probe_object *o, const void *elf, size_t elf_size,
		       void (*prepare)(struct bpf_object *obj, void *arg), void *arg, char *reason,
		       size_t size)
{
	struct bpf_program *prog;
	unsigned int i = 0;
	int r;

	r = list_programs(o, elf, elf_size);
	if (r == 0)
		r = load_some(elf, elf_size, prepare, arg, o->programs, &o->obj);
	/* A lack of rights is the same for all: no need to try each. */
	if (r < 0 && r != -EPERM && o->n_programs > 0) {
		char first[PROBE_REASON];

		snprintf(first, sizeof(first), "%s", last_warning);
		if (try_each(elf, elf_size, prepare, arg, o) > 0)
			r = load_some(elf, elf_size, prepare, arg, o->programs, &o->obj);
		else
			memcpy(last_warning, first, sizeof(first));
	}
	if (r < 0) {
		probe_explain(r, last_warning, reason, size);
		o->n_programs = 0;
		return r;
	}
	map_variables(o);
	bpf_object__for_each_program(prog, o->obj)
	{
		o->programs[i].name = bpf_program__name(prog);
		o->programs[i++].prog = prog;
	}
	return 0;
}

int probe_object_load(struct probe_object *o, const void *elf, size_t elf_size,
		      void (*prepare)(struct bpf_object *obj, void *arg), void *arg, char *reason,
		      size_t size)
{
	libbpf_print_fn_t before;
	int r;

	memset(o, 0, sizeof(*o));
	before = libbpf_set_print(keep_warning);
	r = load_object(o, elf, elf_size, prepare, arg, reason, size);
	libbpf_set_print(before);
	return r;
}

void probe_object_close(struct probe_object *o)
{
	if (!o->obj)
		return;
	probe_detach_all(o);
	if (o->variables)
		munmap(o->variables, o->variables_size);
	bpf_object__close(o->obj);
	memset(o, 0, sizeof(*o));
}

struct probe_program *probe_find(struct probe_object *o, const char *name)
{
	for (unsigned int i = 0; i < o->n_programs; i++) {
		if (o->programs[i].name && strcmp(o->programs[i].name, name) == 0)
			return &o->programs[i];
	}
	return NULL;
}

void *probe_variables(const struct probe_object *o)
{
	return o->variables;
}

int probe_map_fd(const struct probe_object *o, const char *name)
{
	return bpf_object__find_map_fd_by_name(o->obj, name);
}

/* Where tracefs is mounted; else an instance of it that is mounted nowhere. */
static int open_tracefs(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int fs, mnt, err;

	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
		int fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (faccessat(fd, "events/syscalls", F_OK, 0) == 0)
			return fd;
		err = errno;
		close(fd);
		if (err == EACCES)
			return -EACCES;
	}
	fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	mnt = syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
		      ? -errno
		      : (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mnt == -1)
		mnt = -errno;
	close(fs);
	return mnt;
}

static int event_id(int tracefs, const char *event)
{
	_cleanup_free_ char *text = NULL;
	char path[128];
	uint64_t id;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "events/syscalls/%s/id", event);
	r = fdio_read_all_at(tracefs, path, 64, &text, &len, NULL);
	if (r < 0)
		return r;
	while (len > 0 && text[len - 1] == '\n')
		len--;
	r = text_parse_u64(text, len, &id);
	return r < 0 ? r : (int)id;
}

/* One event on CPU 0 serves all CPUs: BPF programs hang on the tracepoint, not on the event. */
static int attach_syscall(struct probe_program *p, int tracefs)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
				       .size = sizeof(attr),
				       .sample_period = 1,
				       .wakeup_events = 1};
	const char *event = strrchr(bpf_program__section_name(p->prog), '/') + 1;
	int r, fd;

	if (tracefs < 0)
		return tracefs;
	r = event_id(tracefs, event);
	if (r < 0)
		return r;
	attr.config = (uint64_t)r;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(p->prog)) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	p->event_fd = fd;
	return 0;
}

static bool is_syscall(const struct probe_program *p)
{
	const char *section = bpf_program__section_name(p->prog);

	return strncmp(section, "tp/syscalls/", 12) == 0 ||
	       strncmp(section, SYSCALL_SECTION, strlen(SYSCALL_SECTION)) == 0;
}

static void attach_one(struct probe_program *p, int *tracefs)
{
	int r;

	if (strncmp(bpf_program__section_name(p->prog), "iter/", 5) == 0)
		return;
	if (is_syscall(p)) {
		if (*tracefs == -1)
			*tracefs = open_tracefs();
		r = attach_syscall(p, *tracefs);
		if (r < 0)
			snprintf(p->reason, sizeof(p->reason),
				 "tracefs: %s: mount it (mount -t tracefs tracefs "
				 "/sys/kernel/tracing), give CAP_DAC_READ_SEARCH, "
				 "CONFIG_FTRACE_SYSCALLS=y",
				 strerror(-r));
	} else {
		p->link = bpf_program__attach(p->prog);
		r = p->link ? 0 : -errno;
		if (r < 0)
			probe_explain(r, last_warning, p->reason, sizeof(p->reason));
	}
	p->error = r;
}

unsigned int probe_attach_all(struct probe_object *o)
{
	libbpf_print_fn_t before = libbpf_set_print(keep_warning);
	unsigned int n = 0;
	int tracefs = -1;

	for (unsigned int i = 0; i < o->n_programs; i++) {
		struct probe_program *p = &o->programs[i];

		if (!p->prog || bpf_program__fd(p->prog) < 0)
			continue;
		last_warning[0] = '\0';
		if (!p->link && p->event_fd < 0)
			attach_one(p, &tracefs);
		if (p->link || p->event_fd >= 0)
			n++;
	}
	if (tracefs >= 0)
		close(tracefs);
	libbpf_set_print(before);
	return n;
}

void probe_detach_all(struct probe_object *o)
{
	for (unsigned int i = 0; i < o->n_programs; i++) {
		struct probe_program *p = &o->programs[i];

		bpf_link__destroy(p->link);
		p->link = NULL;
		if (p->event_fd >= 0)
			close(p->event_fd);
		p->event_fd = -1;
	}
}

int probe_cost(const struct probe_program *p, struct probe_cost *ret)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	if (!p->prog || bpf_program__fd(p->prog) < 0)
		return -ENOENT;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(p->prog), &info, &len) < 0)
		return -errno;
	*ret = (struct probe_cost){.runs = info.run_cnt,
				   .run_ns = info.run_time_ns,
				   .recursion_misses = info.recursion_misses};
	return 0;
}

int probe_enable_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}
