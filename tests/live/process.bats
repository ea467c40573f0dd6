# SPDX-License-Identifier: MIT
# Processes and threads as they are, also odd ones.
load common

setup_file() {
	wfs_need_mount || return 0
	wfs_start
}

teardown_file() { wfs_stop; }

check() {
	local rc=0
	python3 "$LIVE/process.py" "$1" "$MNT" >"$BATS_TEST_TMPDIR/out" || rc=$?
	[ "$rc" != 77 ] || skip "$(cat "$BATS_TEST_TMPDIR/out")"
	return "$rc"
}

@test "names with blanks, parentheses, newlines, invalid UTF-8, slashes are exact" { check names; }
@test "arguments: empty ones, 64 KiB, one of 128 KiB, more than is kept" { check cmdline; }
@test "a zombie is a node without arguments" { check zombie; }
@test "exec keeps the node and renews its name" { check exec; }
@test "a deleted executable is told from one whose name ends in (deleted)" { check deleted; }
@test "kernel threads are marked" { check kernel; }
@test "a process appears within an interval and is gone within one" { check gone; }
@test "a pid used again is another node, and old descriptors do not lead to it" { check reuse; }
@test "threads are owned by their process and have their names" { check threads; }
@test "a process of a nested PID namespace has the pid of the host" { check namespaces; }
@test "attributes agree with /proc" { check attributes; }
@test "affinity of an idle process, set from outside, is seen within 12 collections" { check outside; }
