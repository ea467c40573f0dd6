# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What every live test uses. A test file starts one daemon in setup_file with wfs_start and ends it
# with wfs_stop in teardown_file; wfs_start exports MNT (mountpoint), WPID (daemon) and WLOG (output).
#
# Environment: WITTYFS_BUILD (default build/ of the checkout), WITTYFS_TEST_DIR (where mountpoints go).

LIVE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SOURCE=$(cd "$LIVE/../.." && pwd)
BUILD=${WITTYFS_BUILD:-$SOURCE/build}
WITTYFS=$BUILD/src/daemon/wittyfs
export LIVE SOURCE BUILD WITTYFS
export PYTHONPATH=$LIVE PYTHONDONTWRITEBYTECODE=1
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-120}
: "${WITTYFS_TEST_DIR:=${BATS_RUN_TMPDIR:-/tmp}}"
export WITTYFS_TEST_DIR
# shellcheck source=tests/live/guard.bash
. "$LIVE/guard.bash"

# Why the tests of this file cannot run here; empty when they can. Use in setup_file:
#   wfs_need_mount || return 0
# The tests are then skipped by setup (a file with a setup of its own calls wfs_skip there).
export WFS_SKIP=${WFS_SKIP:-}
wfs_need_program() {
	[ -x "$WITTYFS" ] || WFS_SKIP="$WITTYFS is not built"
	[ -z "$WFS_SKIP" ]
}

wfs_need_mount() {
	wfs_need_program || return 1
	[ -c /dev/fuse ] || WFS_SKIP="no /dev/fuse here"
	[ "$(id -u)" = 0 ] || WFS_SKIP="needs root"
	[ -z "$WFS_SKIP" ]
}

wfs_skip() { [ -z "$WFS_SKIP" ] || skip "$WFS_SKIP"; }
setup() { wfs_skip; }

say() { printf '%s\n' "$*" >&2; }

# A plain "! command" never fails a test.
refute() {
	if "$@"; then
		say "succeeded, but should not: $*"
		return 1
	fi
}

# wait_until SECONDS COMMAND...: polls; fails when it never succeeds.
wait_until() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
		sleep 0.05
	done
}

is_mounted() {
	awk -v m="$1" '{ gsub(/\\040/, " ", $5); if ($5 == m) n++ } END { exit !n }' /proc/self/mountinfo
}

generation() { timeout -s KILL 10 cat "${1:-$MNT}/generation"; }
generation_past() { [ "$(generation)" -gt "$1" ]; }
has_generation() { [ "$(generation "$1" 2>/dev/null || echo 0)" -ge 1 ]; }

new_dir() { mktemp -d "$WITTYFS_TEST_DIR/mnt.XXXXXX"; }

# wfs_launch MOUNTPOINT [options]: starts the daemon without waiting. Sets WPID and WLOG.
wfs_launch() {
	local mnt=$1
	shift
	WLOG=$mnt.log
	(
		close_holds
		exec setsid "$WITTYFS" "$@" "$mnt"
	) >"$WLOG" 2>&1 </dev/null 3>&- 4>&- &
	WPID=$!
	export WPID WLOG
}

# wfs_start [options]: daemon on a fresh mountpoint with a short interval, first generation awaited.
wfs_start() {
	MNT=$(new_dir)
	export MNT
	wfs_start_at "$MNT" --interval 500ms "$@"
}

wfs_start_at() {
	wfs_launch "$@"
	if ! wait_until 20 wfs_ready_or_dead "$1" || ! has_generation "$1"; then
		say "the daemon did not publish a generation; its output:"
		cat "$WLOG" >&2
		wfs_stop "$1" || :
		return 1
	fi
}

wfs_ready_or_dead() { has_generation "$1" || ! kill -0 "$WPID" 2>/dev/null; }

gone() { [ ! -d "/proc/$1" ] || grep -qs '^State:.Z' "/proc/$1/status"; }

# Ends the daemon; fails when it does not end and unmount by itself in 10 s (then it is forced).
wfs_stop() {
	local mnt=${1:-${MNT:-}} rc=0
	[ -n "$mnt" ] || return 0
	kill -TERM "$WPID" 2>/dev/null || :
	if ! wait_until 10 gone "$WPID"; then
		say "the daemon (pid $WPID) did not end in 10 s"
		timeout -s KILL 10 umount -f "$mnt" 2>/dev/null || :
		kill -9 "$WPID" 2>/dev/null || :
		rc=1
	fi
	if is_mounted "$mnt"; then
		say "$mnt is still mounted after the end of the daemon"
		umount -l "$mnt" || :
		rc=1
	fi
	if [ -s "$mnt.log" ] && grep -E 'Sanitizer|runtime error|Assertion' "$mnt.log" >&2; then
		rc=1
	fi
	rm -f "$mnt.log"
	rmdir "$mnt" 2>/dev/null || :
	return "$rc"
}

# A new generation, published when this returns.
trigger() { echo trigger >"${1:-$MNT}/control/trigger"; }
freeze() { echo stop >"$MNT/control/stop"; }
thaw() { echo start >"$MNT/control/start"; }

# A copy of the program that another user can reach, wherever the checkout is.
nobody_wittyfs() {
	chmod 711 "$WITTYFS_TEST_DIR"
	[ -x "$WITTYFS_TEST_DIR/wittyfs" ] || install -m 755 "$WITTYFS" "$WITTYFS_TEST_DIR/wittyfs"
	echo "$WITTYFS_TEST_DIR/wittyfs"
}
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# Other helpers must not inherit the ends that keep a helper alive.
HOLD_FDS=
close_holds() {
	local fd
	for fd in $HOLD_FDS; do
		exec {fd}>&-
	done
}

# hold NAME COMMAND...: starts a helper that prints one line and then holds until its stdin ends.
# Sets LINE and HOLD_<NAME>_PID; release NAME ends it.
hold() {
	local name=$1 dir
	shift
	dir=$(mktemp -d "$WITTYFS_TEST_DIR/hold.XXXXXX")
	mkfifo "$dir/in" "$dir/out"
	(
		close_holds
		exec "$@"
	) <"$dir/in" >"$dir/out" 3>&- 4>&- &
	eval "HOLD_${name}_PID=$! HOLD_${name}_DIR=$dir"
	local fd
	exec {fd}>"$dir/in"
	eval "HOLD_${name}_FD=$fd"
	HOLD_FDS="$HOLD_FDS $fd"
	# shellcheck disable=SC2034
	IFS= read -r -t 60 LINE <"$dir/out" || { say "helper '$*' printed nothing"; return 1; }
}

release() {
	local fd pid dir
	eval "fd=\$HOLD_${1}_FD pid=\$HOLD_${1}_PID dir=\$HOLD_${1}_DIR"
	[ -n "$fd" ] || return 0
	exec {fd}>&-
	wait_until 10 gone "$pid" || kill -9 "$pid"
	wait "$pid" 2>/dev/null || :
	rm -rf "$dir"
	eval "HOLD_${1}_FD="
}

# fails_with PATTERN COMMAND...: the command fails and says something that matches.
fails_with() {
	local pattern=$1 out rc=0
	shift
	out=$("$@" 2>&1) || rc=$?
	if [ "$rc" = 0 ]; then
		say "'$*' succeeded, should have failed"
		return 1
	fi
	if ! grep -qiE -e "$pattern" <<<"$out"; then
		say "'$*' (status $rc) does not say '$pattern': $out"
		return 1
	fi
}
