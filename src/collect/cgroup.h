/* SPDX-License-Identifier: MIT */
/*
 * The container in /proc/<pid>/cgroup: pure functions over its text.
 *
 * A container is named only by a known form of a path component, never by its being unusual:
 *   docker-ID.scope  libpod-ID.scope  cri-containerd-ID.scope  crio-ID.scope  nerdctl-ID.scope
 *   the same without .scope (cgroupfs), or in the colon form SLICE:PREFIX:ID
 *   docker/ID  (also ecs/TASK/ID)  default/ID moby/ID k8s.io/ID (containerd)
 *   a kubepods path, then ID: a runtime that is not named
 *   lxc/NAME  lxc.payload.NAME  lxc.payload/NAME  (LXC, libvirt: machine-lxc\x2dN\x2dNAME.scope)
 *   machine.slice/machine-NAME.scope  systemd-nspawn@NAME.service  (nspawn)
 * where ID is 64 hexadecimal digits. Daemons, monitors (conmon, lxc.monitor, the supervisor of
 * nspawn) and virtual machines (machine-qemu…) are not in a container. Of nested ones the innermost
 * counts. All lines are looked at, since on v1 and hybrid machines any controller may be the only
 * one that names it: the v2 line first, then systemd's, then the others in their order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum cgroup_runtime {
	CGROUP_DOCKER,
	CGROUP_PODMAN,
	CGROUP_CONTAINERD,
	CGROUP_CRIO,
	CGROUP_K8S, /* of a pod, runtime not named */
	CGROUP_LXC,
	CGROUP_NSPAWN,
	CGROUP_RUNTIME_COUNT,
};
/* Our words, and the reference's (docker, crio, containerd, unknown). */
extern const char *const cgroup_runtime_names[CGROUP_RUNTIME_COUNT];
extern const char *const cgroup_runtime_types[CGROUP_RUNTIME_COUNT];

enum cgroup_qos {
	CGROUP_QOS_NONE,
	CGROUP_QOS_GUARANTEED,
	CGROUP_QOS_BURSTABLE,
	CGROUP_QOS_BESTEFFORT,
	CGROUP_QOS_COUNT,
};
extern const char *const cgroup_qos_names[CGROUP_QOS_COUNT];

#define CGROUP_ID_MAX 256 /* longest file name */

struct cgroup_container {
	char id[CGROUP_ID_MAX]; /* 64 digits, or the name of the machine (bytes) */
	size_t id_len;
	enum cgroup_runtime runtime;
	char pod_uid[40]; /* canonical 8-4-4-4-12, or the 32 digits of a static pod; "" none */
	enum cgroup_qos qos;
	const char *path; /* that names it, up to and with the component; into the text */
	size_t path_len;
};

/* True, and *ret filled, when the text names a container. */
bool cgroup_find(const char *text, size_t len, struct cgroup_container *ret);
/* One path. */
bool cgroup_find_path(const char *path, size_t len, struct cgroup_container *ret);

/*
 * The path to show for a process: of the line that names its container, else of the v2 line, else
 * of systemd's, else of the first. NULL when there is none; into the text.
 */
const char *cgroup_path(const char *text, size_t len, size_t *ret_len);
