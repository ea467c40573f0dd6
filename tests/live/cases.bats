# SPDX-License-Identifier: MIT
# Hard cases of the shared folder, where it is there: WITTYFS_SHARED, or ../shared beside the checkout.
load common

setup_file() {
	wfs_need_mount || return 0
	if [ -z "${WITTYFS_SHARED:-}" ] && [ -d "$SOURCE/../shared/cases" ]; then
		WITTYFS_SHARED=$(readlink -f "$SOURCE/../shared")
	fi
	if [ ! -d "${WITTYFS_SHARED:-/nonexistent}/cases" ]; then
		WFS_SKIP="no folder of shared cases (WITTYFS_SHARED)"
		return 0
	fi
	[ -e /tmp/wfc-build ] || touch "$BATS_FILE_TMPDIR/no-wfc-build" # made by the generators
	export WITTYFS_SHARED BATS_TEST_TIMEOUT=300
	wfs_start
}

teardown_file() {
	if [ -e "$BATS_FILE_TMPDIR/no-wfc-build" ]; then
		rm -rf /tmp/wfc-build
	fi
	rm -f /tmp/.wfc-k # of the control battery
	wfs_stop
}

check() {
	local rc=0
	python3 "$LIVE/cases.py" "$1" "$MNT" "$WITTYFS_SHARED" >"$BATS_TEST_TMPDIR/out" || rc=$?
	[ "$rc" != 77 ] || skip "$(tail -n 1 "$BATS_TEST_TMPDIR/out")"
	return "$rc"
}

@test "P01: names with hostile bytes" { check P01; }
@test "P02: exec by a thread that is not the leader" { check P02; }
@test "P04: zombie" { check P04; }
@test "P05: shapes of command lines" { check P05; }
@test "P06: kernel threads" { check P06; }
@test "P07: executables deleted and replaced" { check P07; }
@test "P08: pid reuse" { check P08; }
@test "P09: hidepid" { check P09; }
@test "P10: nested PID namespaces" { check P10; }
@test "P11: 5,000 threads" { check P11; }
@test "S02: v4-mapped" { check S02; }
@test "S03: SO_REUSEPORT" { check S03; }
@test "S04: TIME_WAIT and orphans" { check S04; }
@test "S05: a listener shared by 8 workers" { check S05; }
@test "S10: one address in two network namespaces" { check S10; }
@test "S12: UDP shapes" { check S12; }
@test "S13: other families" { check S13; }
@test "S14: 20,000 sockets" { check S14; }
@test "C01: table of cgroup paths" { check C01; }
@test "C03: a real OCI container" { check C03; }
@test "C06: hybrid cgroups that disagree" { check C06; }
@test "C07: sandboxes without a cgroup" { check C07; }
@test "N01: offline CPUs and memory-only nodes" { check N01; }
@test "N03: cpuset and thread affinity" { check N03; }
@test "L01: a file that hangs" { check L01; }
@test "L02: no BPF, other user, user namespace" { check L02; }
@test "L03: the clock jumps" { check L03; }
@test "L06: poor environments" { check L06; }
@test "the reference's recorded graph loads whole and comes out equal" { check reference; }
@test "battery: life cycle L1 L2 L4 L5 L6" { check lifecycle; }
@test "battery: control files" { check control; }
@test "battery: readers, walkers, links, refusals F01 to F15" { check fuse_battery; }
