/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/cgroup.h"
#include "util/macro.h"

#define ID    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define OTHER "1f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define UID   "91a8fc3a-0ecf-48b4-81bf-78a7275d348c"
#define UIDU  "91a8fc3a_0ecf_48b4_81bf_78a7275d348c"

#define HOST CGROUP_RUNTIME_COUNT /* no container */

static const struct row {
	const char *path, *id;
	enum cgroup_runtime runtime;
	const char *pod;
	enum cgroup_qos qos;
} rows[] = {
	{"/docker/" ID, ID, CGROUP_DOCKER},
	{"/docker/" ID "/init.scope", ID, CGROUP_DOCKER},
	{"/docker/" ID " (deleted)", ID, CGROUP_DOCKER},
	{"/system.slice/docker-" ID ".scope", ID, CGROUP_DOCKER},
	{"/ecs/task-1/" ID, ID, CGROUP_DOCKER},
	{"/machine.slice/libpod-" ID ".scope", ID, CGROUP_PODMAN},
	{"/machine.slice/libpod-" ID ".scope/container", ID, CGROUP_PODMAN},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	 ID, CGROUP_PODMAN},
	{"/libpod_parent/libpod-" ID, ID, CGROUP_PODMAN},
	{"/machine.slice/libpod-conmon-" ID ".scope", NULL, HOST},
	{"/system.slice/crio-conmon-" ID ".scope", NULL, HOST},
	{"/default/" ID, ID, CGROUP_CONTAINERD},
	{"/kubepods/besteffort/pod" UID "/" ID, ID, CGROUP_K8S, UID, CGROUP_QOS_BESTEFFORT},
	{"/kubepods/pod" UID "/" ID, ID, CGROUP_K8S, UID, CGROUP_QOS_GUARANTEED},
	{"/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID, ID, CGROUP_K8S,
	 "0123456789abcdef0123456789abcdef", CGROUP_QOS_BURSTABLE},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UIDU
	 ".slice/cri-containerd-" ID ".scope",
	 ID, CGROUP_CONTAINERD, UID, CGROUP_QOS_BESTEFFORT},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UIDU ".slice/crio-" ID
	 ".scope",
	 ID, CGROUP_CRIO, UID, CGROUP_QOS_BURSTABLE},
	{"/kubepods.slice/kubepods-pod" UIDU ".slice/docker-" ID ".scope", ID, CGROUP_DOCKER, UID,
	 CGROUP_QOS_GUARANTEED},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UIDU ".slice:cri-containerd:" ID,
	 ID, CGROUP_CONTAINERD, UID, CGROUP_QOS_BURSTABLE},
	/* kind: the kubelet runs in a container, the innermost counts */
	{"/docker/" OTHER "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UIDU
	 ".slice/cri-containerd-" ID ".scope",
	 ID, CGROUP_CONTAINERD, UID, CGROUP_QOS_GUARANTEED},
	{"/docker/" OTHER "/docker/" ID, ID, CGROUP_DOCKER},
	{"/kubepods.slice/kubepods-pod" UIDU ".slice", NULL, HOST},
	{"/lxc/web", "web", CGROUP_LXC},
	{"/lxc/web/system.slice/sshd.service", "web", CGROUP_LXC},
	{"/lxc.payload.web-1/init.scope", "web-1", CGROUP_LXC},
	{"/lxc.payload/web", "web", CGROUP_LXC},
	{"/lxc.monitor.web", NULL, HOST},
	{"/machine.slice/machine-lxc\\x2d12\\x2dold\\x2dbox.scope", "old-box", CGROUP_LXC},
	{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", NULL, HOST},
	{"/machine.slice/machine-my\\x2dbox.scope", "my-box", CGROUP_NSPAWN},
	{"/machine.slice/machine-box.scope/payload", "box", CGROUP_NSPAWN},
	{"/machine.slice/machine-box.scope/supervisor", NULL, HOST},
	{"/machine.slice/systemd-nspawn@my\\x2dbox.service", "my-box", CGROUP_NSPAWN},
	{"/machine.slice/systemd-nspawn@box.service/supervisor", NULL, HOST},
	{"/system.slice/docker.service", NULL, HOST},
	{"/system.slice/containerd.service", NULL, HOST},
	{"/system.slice/docker-registry.service", NULL, HOST},
	{"/system.slice/sshd.service", NULL, HOST},
	{"/user.slice/user-0.slice/session-3.scope", NULL, HOST},
	{"/sensor.falcon", NULL, HOST},
	{"/process_api/538d79e5a8fe1e4e727dec1cd835bf92", NULL, HOST},
	{"/anything/" ID, NULL, HOST},
	{"/docker/" ID "0", NULL, HOST},
	{"/docker/short", NULL, HOST},
	{"/docker", NULL, HOST},
	{"/lxc/", NULL, HOST},
	{"/", NULL, HOST},
	{"", NULL, HOST},
};

static void test_paths(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct cgroup_container c;
		bool found = cgroup_find_path(r->path, strlen(r->path), &c);

		print_message("%s\n", r->path);
		assert_int_equal(found, r->id != NULL);
		if (!found)
			continue;
		assert_int_equal(c.id_len, strlen(r->id));
		assert_memory_equal(c.id, r->id, c.id_len);
		assert_string_equal(cgroup_runtime_names[c.runtime],
				    cgroup_runtime_names[r->runtime]);
		assert_string_equal(c.pod_uid, r->pod ? r->pod : "");
		assert_string_equal(cgroup_qos_names[c.qos], cgroup_qos_names[r->qos]);
	}
}

static void check_text(const char *text, const char *id, const char *path)
{
	struct cgroup_container c;
	size_t len = 0;
	const char *shown = cgroup_path(text, strlen(text), &len);

	print_message("%s", text);
	assert_int_equal(cgroup_find(text, strlen(text), &c), id != NULL);
	if (id)
		assert_memory_equal(c.id, id, c.id_len);
	assert_int_equal(shown != NULL, path != NULL);
	if (path) {
		assert_int_equal(len, strlen(path));
		assert_memory_equal(shown, path, len);
	}
}

static void test_lines(void **state)
{
	/* Hybrid: only one controller of v1 names it. */
	check_text("9:name=systemd:/\n4:memory:/docker/" ID "\n1:cpu:/\n0::/\n", ID, "/docker/" ID);
	/* One odd controller is no container. */
	check_text("8:pids:/sensor.falcon\n0::/user.slice\n", NULL, "/user.slice");
	check_text("4:memory:/process_api/538d79e5a8fe1e4e727dec1cd835bf92\n0::/\n", NULL, "/");
	/* They disagree: v2, then systemd's, then the first. */
	check_text("4:memory:/docker/" OTHER "\n1:name=systemd:/docker/" OTHER "\n0::/docker/" ID
		   "/x\n",
		   ID, "/docker/" ID "/x");
	check_text("4:memory:/docker/" OTHER "\n1:name=systemd:/docker/" ID "\n0::/\n", ID,
		   "/docker/" ID);
	check_text("4:memory:/a\n1:name=systemd:/b\n", NULL, "/b");
	check_text("4:memory:/a\n3:cpu:/b\n", NULL, "/a");
	/* A colon in a path; a controller list; no newline at the end. */
	check_text(
		"0::/system.slice/containerd.service/kubepods-pod" UIDU ".slice:cri-containerd:" ID,
		ID,
		"/system.slice/containerd.service/kubepods-pod" UIDU ".slice:cri-containerd:" ID);
	check_text("2:cpu,cpuacct:/docker/" ID "\n", ID, "/docker/" ID);
	check_text("", NULL, NULL);
	check_text("nonsense\n", NULL, NULL);
}

static void test_where(void **state)
{
	static const char path[] = "/docker/" ID "/init.scope";
	struct cgroup_container c;

	assert_true(cgroup_find_path(path, strlen(path), &c));
	assert_ptr_equal(c.path, path);
	assert_int_equal(c.path_len, strlen("/docker/" ID));
}

/* Names are cut at the length of the longest file name, bytes stay bytes. */
static void test_long_name(void **state)
{
	char path[1024] = "/lxc/";
	struct cgroup_container c;

	memset(path + 5, '\xff', 600);
	assert_true(cgroup_find_path(path, 605, &c));
	assert_int_equal(c.id_len, CGROUP_ID_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
