# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Cleaning up after tests with mounts. A process that waits on a mount whose daemon hangs cannot be
# killed, so a time-out first aborts the mounts (umount -f answers every waiting request with an error).
#
# All mountpoints of a test run are below one directory; daemons are found by their mountpoint.

# Mountpoints below directory $1, deepest first.
guard_mounts() {
	awk -v d="$1/" '{ gsub(/\\040/, " ", $5); if (index($5, d) == 1) print $5 }' /proc/self/mountinfo | sort -r
}

# Pids of daemons (processes called wittyfs, zombies left out) with an argument below directory $1.
guard_daemons() {
	local stat pid comm
	for stat in /proc/[0-9]*/comm; do
		read -r comm 2>/dev/null <"$stat" || continue
		pid=${stat#/proc/}
		pid=${pid%/comm}
		case $comm in
		wittyfs*) tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$1/" && echo "$pid" ;;
		esac
	done
	return 0
}

# Aborts and removes every mount below $1, then kills its daemons. Prints what it found.
guard_sweep() {
	local mount pid
	guard_mounts "$1" | while IFS= read -r mount; do
		echo "left mounted: $mount"
		timeout -s KILL 10 umount -f "$mount" 2>/dev/null
		umount -l "$mount" 2>/dev/null
	done
	for pid in $(guard_daemons "$1"); do
		echo "left running: $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") (pid $pid)"
		kill -9 "$pid" 2>/dev/null
	done
	return 0
}

# guard_run DIRECTORY SECONDS COMMAND...: runs the command in a session of its own; after SECONDS the
# mounts below DIRECTORY are aborted and the session is killed. Returns its status, 124 on time-out.
guard_run() {
	local dir=$1 limit=$2 pid timer rc mark
	shift 2
	mark=$(mktemp)
	setsid "$@" &
	pid=$!
	(
		trap 'kill $! 2>/dev/null; exit 0' TERM
		sleep "$limit" &
		wait $!
		echo timeout >"$mark"
		kill -TERM -- "-$pid" 2>/dev/null
		sleep 2
		guard_sweep "$dir" >&2
		kill -KILL -- "-$pid" 2>/dev/null
	) </dev/null >/dev/null &
	timer=$!
	wait "$pid"
	rc=$?
	if [ -s "$mark" ]; then
		wait "$timer" 2>/dev/null
		rc=124
	else
		kill -TERM "$timer" 2>/dev/null
		wait "$timer" 2>/dev/null
	fi
	rm -f "$mark"
	return "$rc"
}
