/* SPDX-License-Identifier: MIT */
/*
 * Every parser of /proc/<pid> files over any bytes. Besides "no step beyond the buffer" it checks
 * that what comes out lies inside of what went in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cgroup.h"
#include "collect/procparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void inside(const char *buf, size_t len, const char *part, size_t part_len)
{
	if (!part)
		return;
	require(part >= buf && part_len <= len && part - buf <= (ptrdiff_t)(len - part_len));
}

static void try_stat(const char *buf, size_t len)
{
	struct procparse_stat st;

	if (procparse_stat(buf, len, &st) < 0)
		return;
	inside(buf, len, st.name.data, st.name.len);
	/* The last parenthesis ends the name. */
	require(!memchr(st.name.data + st.name.len + 1, ')',
			len - (size_t)(st.name.data + st.name.len + 1 - buf)));
}

static void try_status(const char *buf, size_t len)
{
	struct procparse_status s;

	if (procparse_status(buf, len, &s) < 0)
		return;
	inside(buf, len, s.cpus_allowed.data, s.cpus_allowed.len);
	inside(buf, len, s.mems_allowed.data, s.mems_allowed.len);
	inside(buf, len, s.nspid.data, s.nspid.len);
}

static void try_cgroup(const char *buf, size_t len)
{
	struct cgroup_container c;
	size_t path_len = 0;
	const char *path = cgroup_path(buf, len, &path_len);

	inside(buf, len, path, path_len);
	if (cgroup_find(buf, len, &c)) {
		inside(buf, len, c.path, c.path_len);
		require(c.id_len > 0 && c.id_len <= sizeof(c.id));
		require(c.runtime < CGROUP_RUNTIME_COUNT && c.qos < CGROUP_QOS_COUNT);
		require(memchr(c.pod_uid, '\0', sizeof(c.pod_uid)) != NULL);
	}
	cgroup_find_path(buf, len, &c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *buf = (const char *)data;
	char *text = strndup(buf, size);
	uint64_t a, b, c;
	pid_t pid;

	require(text != NULL);
	try_stat(buf, size);
	try_status(buf, size);
	try_cgroup(buf, size);
	procparse_schedstat(buf, size, &a, &b, &c);
	require(procparse_argv_len(buf, size) <= size);
	procparse_link_number(buf, size, "socket", &a);
	procparse_marked_deleted(buf, size);
	procparse_btime(buf, size, &a);
	procparse_pid(text, &pid);
	free(text);
	return 0;
}
