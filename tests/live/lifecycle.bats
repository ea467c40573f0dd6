# SPDX-License-Identifier: MIT
# Start, stop, crash, second instance, bad command lines.
load common

setup_file() { wfs_need_mount || return 0; }

setup() {
	wfs_skip
	MNT=$(new_dir)
	WPID=
}

teardown() {
	[ -z "$WFS_SKIP" ] || return 0
	if [ -n "$WPID" ]; then
		kill -CONT "$WPID" 2>/dev/null || :
		wfs_stop || return 1
	fi
	umount -l "$MNT" 2>/dev/null || :
	rm -rf "$WITTYFS_TEST_DIR/runtime" "$MNT" "$MNT.log"
}

start() { wfs_start_at "$MNT" --interval 500ms "$@"; }

# bad PATTERN ARGS...: the daemon ends with status 1 and one line on stderr that matches.
bad() {
	local pattern=$1 out rc=0
	shift
	out=$(timeout -s KILL 20 "$WITTYFS" "$@" 2>&1 >/dev/null </dev/null) || rc=$?
	[ "$rc" = 1 ] || { say "wittyfs $*: status $rc: $out"; return 1; }
	[ "$(wc -l <<<"$out")" = 1 ] || { say "wittyfs $*: more than one line: $out"; return 1; }
	grep -qiE -e "$pattern" <<<"$out" || { say "wittyfs $*: '$out' does not say $pattern"; return 1; }
}

@test "SIGTERM unmounts and leaves nothing" {
	start
	kill -TERM "$WPID"
	wait_until 5 gone "$WPID"
	refute is_mounted "$MNT"
	[ -z "$(guard_daemons "$MNT")" ]
	[ -z "$(ls -A "$MNT")" ]
	WPID=
}

@test "SIGINT unmounts and ends with status 0" {
	"$WITTYFS" "$MNT" >"$MNT.log" 2>&1 </dev/null 3>&- &
	local pid=$!
	wait_until 20 has_generation "$MNT"
	kill -INT "$pid" 2>/dev/null
	# a background job of a script ignores SIGINT unless the program sets a handler, as it must
	wait_until 5 gone "$pid" || { kill -9 "$pid"; return 1; }
	wait "$pid"
	refute is_mounted "$MNT"
}

@test "SIGTERM while files are open, a directory is in use and a reader is busy" {
	start
	exec 9<"$MNT/graph.json"
	(cd "$MNT" && exec sleep 100) 3>&- 9<&- &
	local cwd=$!
	(while cat "$MNT/graph.txt" >/dev/null 2>&1; do :; done) 3>&- 9<&- &
	local reader=$!
	kill -TERM "$WPID"
	wait_until 5 gone "$WPID"
	refute is_mounted "$MNT"
	kill "$cwd" "$reader" 2>/dev/null || :
	exec 9<&-
	WPID=
}

@test "a second instance on the same mountpoint is refused with pid and mountpoint of the first" {
	start
	bad "$WPID" "$MNT"
	bad "$MNT" "$MNT"
	bad "$WPID" --daemon "$MNT"
	[ "$(grep -cF " $MNT " /proc/self/mountinfo)" = 1 ]
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
}

@test "a second instance on another mountpoint works" {
	start
	local first=$WPID mnt=$MNT log=$WLOG
	MNT=$(new_dir)
	if ! start; then
		WPID=$first MNT=$mnt
		return 1
	fi
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
	wfs_stop
	[ "$(cat "$mnt/nodes/process/1/pid")" = 1 ]
	WPID=$first MNT=$mnt WLOG=$log
}

@test "after kill -9 a reader gets an error at once and a new start replaces the dead mount" {
	start
	kill -9 "$WPID"
	wait_until 5 gone "$WPID"
	run timeout -s KILL 5 cat "$MNT/generation"
	[ "$status" != 137 ]
	[ "$status" != 0 ]
	start
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
	[ "$(grep -cF " $MNT " /proc/self/mountinfo)" = 1 ]
}

@test "kill -9 under load, five times, and start again" {
	local i reader
	for i in 1 2 3 4 5; do
		start
		(find "$MNT" -type f -exec cat {} + >/dev/null 2>&1) 3>&- &
		reader=$!
		sleep 0.3
		kill -9 "$WPID"
		wait_until 5 gone "$WPID"
		wait_until 10 gone "$reader"
	done
	start
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
}

@test "scripts/run mounts, says so when run again, works after kill -9, and stops" {
	[ "$BUILD" = "$SOURCE/build" ] || skip "scripts/run uses build/, this run tests $BUILD"
	local out pid
	out=$("$SOURCE/scripts/run" "$MNT" --interval 500ms 3>&-)
	grep -q 'generation [1-9]' <<<"$out"
	[ "$(grep -c "^  .*$MNT" <<<"$out")" -ge 5 ]
	pid=$(jq .pid "$MNT/status.json")
	grep -q "already running.*pid $pid" <<<"$("$SOURCE/scripts/run" "$MNT" 3>&-)"
	kill -9 "$pid"
	wait_until 5 gone "$pid"
	"$SOURCE/scripts/run" "$MNT" 3>&- >/dev/null
	[ "$(jq .pid "$MNT/status.json")" != "$pid" ]
	"$SOURCE/scripts/run" --stop "$MNT"
	refute is_mounted "$MNT"
	"$SOURCE/scripts/run" --stop "$MNT" | grep -q 'Nothing is mounted'
}

@test "--daemon returns when the mount answers" {
	"$WITTYFS" --daemon "$MNT" 3>&- </dev/null
	is_mounted "$MNT"
	WPID=$(jq .pid "$MNT/status.json")
	[ -d "/proc/$WPID" ]
	wait_until 10 has_generation "$MNT"
}

@test "a daemon that is stopped (SIGSTOP) and continued answers again" {
	start
	kill -STOP "$WPID"
	(cat "$MNT/status" >"$BATS_TEST_TMPDIR/out") 3>&- &
	local reader=$!
	sleep 0.5
	kill -CONT "$WPID"
	wait "$reader"
	trigger
}

@test "a mountpoint that is not empty is refused and its files stay" {
	echo x >"$MNT/precious"
	bad "not empty" "$MNT"
	[ "$(cat "$MNT/precious")" = x ]
	rm "$MNT/precious"
}

@test "a missing mountpoint, a file, an empty name are refused" {
	bad "$MNT/none" "$MNT/none"
	echo x >"$MNT/file"
	bad "director" "$MNT/file"
	rm "$MNT/file"
	bad "mount" ""
}

@test "no /dev/fuse is said" {
	[ -e /dev/null ]
	fails_with '/dev/fuse' timeout -s KILL 20 unshare -m --propagation private \
		sh -c 'mount --bind /dev/null /dev/fuse && exec "$@"' sh "$WITTYFS" "$MNT"
	fails_with '/dev/fuse' timeout -s KILL 20 unshare -m --propagation private \
		sh -c 'mount -t tmpfs none /dev && mknod /dev/null c 1 3 && exec "$@"' sh "$WITTYFS" "$MNT"
}

@test "unknown options and surplus arguments are refused" {
	bad 'nonsense' --nonsense "$MNT"
	bad 'Z' -Z "$MNT"
	bad 'surplus|argument' "$MNT" surplus
	bad 'interval' --interval nonsense "$MNT"
	bad 'interval' --interval
	bad 'log' --log-level FOO "$MNT"
	bad 'mode' --mode secret "$MNT"
}

@test "--pid of a process that does not exist ends with 1, with --no-fast-fail it waits for it" {
	bad '999999999|pid' --pid 999999999 "$MNT"
	bad 'pid' --pid abc "$MNT"
	wfs_launch "$MNT" --interval 200ms --no-fast-fail --pid 4194303
	wait_until 10 has_generation "$MNT"
	refute gone "$WPID"
	[ "$(ls "$MNT/nodes/process" | wc -l)" = 0 ]
}

@test "--pid shows the process and what is reached from it" {
	start --pid $$
	[ -d "$MNT/nodes/process/$$" ]
	[ ! -e "$MNT/nodes/process/1" ]
	[ "$(cat "$MNT/control/pid")" = $$ ]
}

@test "--help, --version, --verify, --dump-config print and end with 0" {
	"$WITTYFS" --help | grep -q -- --interval
	"$WITTYFS" --version | grep -qE '[0-9]+\.[0-9]+'
	"$WITTYFS" --verify >"$BATS_TEST_TMPDIR/v"
	grep -q process "$BATS_TEST_TMPDIR/v"
	grep -q socket "$BATS_TEST_TMPDIR/v"
	"$WITTYFS" --dump-config >"$BATS_TEST_TMPDIR/c.json"
	jq . "$BATS_TEST_TMPDIR/c.json"
	start --config "$BATS_TEST_TMPDIR/c.json"
}

@test "config errors name file, key and the nearest known key" {
	local d=$BATS_TEST_TMPDIR
	printf '{\n  "log_levle": "INFO"\n}\n' >"$d/c.json"
	bad 'c\.json:2.*log_levle.*log_level' --config "$d/c.json" "$MNT"
	printf 'log_level: INFO\nlog_levle: INFO\n' >"$d/c.yaml"
	bad 'c\.yaml:2.*log_levle.*log_level' --config "$d/c.yaml" "$MNT"
	printf '\nlog_levle = "INFO"\n' >"$d/c.toml"
	bad 'c\.toml:2.*log_levle.*log_level' --config "$d/c.toml" "$MNT"
	printf 'log_level: [\n' >"$d/c.yaml"
	bad 'c\.yaml' --config "$d/c.yaml" "$MNT"
	printf 'log_level = = 3\n' >"$d/c.toml"
	bad 'c\.toml:1' --config "$d/c.toml" "$MNT"
	printf '{"log_level": "LOUD"}\n' >"$d/c.json"
	bad 'log_level.*LOUD|LOUD.*log_level' --config "$d/c.json" "$MNT"
	printf '{"collector_config": {"interval": "soon"}}\n' >"$d/c.json"
	bad 'interval' --config "$d/c.json" "$MNT"
	bad 'none\.json' --config "$d/none.json" "$MNT"
	bad 'config|directory' --config "$d" "$MNT"
}

@test "the same configuration as JSON, YAML and TOML means the same" {
	local d=$BATS_TEST_TMPDIR f
	printf '{"log_level": "DEBUG"}\n' >"$d/c.json"
	printf 'log_level: DEBUG\n' >"$d/c.yaml"
	printf 'log_level = "DEBUG"\n' >"$d/c.toml"
	for f in json yaml toml; do
		"$WITTYFS" --config "$d/c.$f" --dump-config >"$d/out.$f"
	done
	cmp "$d/out.json" "$d/out.yaml"
	cmp "$d/out.json" "$d/out.toml"
	grep -q DEBUG "$d/out.json"
}

@test "an ordinary user gets a mount of his own or a clear word" {
	local program
	program=$(nobody_wittyfs)
	chown 65534:65534 "$MNT"
	cd /
	# started by setpriv, so the process is the daemon itself
	# its lock goes here and not to /tmp
	mkdir -m 700 "$WITTYFS_TEST_DIR/runtime"
	chown 65534:65534 "$WITTYFS_TEST_DIR/runtime"
	export XDG_RUNTIME_DIR=$WITTYFS_TEST_DIR/runtime
	as_nobody "$program" --interval 500ms "$MNT" >"$MNT.log" 2>&1 </dev/null 3>&- &
	WPID=$!
	wait_until 10 mount_answers_or_dead
	if gone "$WPID"; then
		local rc=0
		wait "$WPID" || rc=$?
		WPID=
		[ "$rc" = 1 ]
		[ "$(wc -l <"$MNT.log")" = 1 ]
		grep -qiE 'fuse|root|permission|permitted' "$MNT.log"
	else
		as_nobody cat "$MNT/status" | grep -qiE 'root|permission|other users|partial|not read'
		as_nobody ls "$MNT/nodes/process/1" >/dev/null
	fi
}

mount_answers_or_dead() { gone "$WPID" || as_nobody grep -q '[1-9]' "$MNT/generation"; }

@test "processes that live inside the mount do not make the daemon wait for itself" {
	start
	python3 - "$MNT" 3>&- <<-'END' &
		import mmap, os, sys, time
		os.chdir(sys.argv[1])
		f = open("status", "rb")
		m = mmap.mmap(f.fileno(), 1, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)
		m[0]
		d = os.open(".", os.O_RDONLY)
		time.sleep(100)
	END
	local inside=$! i
	sleep 0.3
	for i in 1 2 3 4 5; do
		timeout -s KILL 5 bash -c "echo 1 >$MNT/control/trigger"
		timeout -s KILL 5 cat "$MNT/status" >/dev/null
	done
	kill "$inside"
}

@test "poor environments: 64 descriptors, closed stdio, no HOME, comma locale, umask 0" {
	local wrap
	for wrap in 'prlimit --nofile=64:64' 'env -i PATH=/usr/bin:/bin' 'env LC_ALL=de_DE.UTF-8'; do
		# shellcheck disable=SC2086
		setsid $wrap "$WITTYFS" --interval 500ms "$MNT" >"$MNT.log" 2>&1 </dev/null 3>&- &
		WPID=$!
		wait_until 10 has_generation "$MNT" || { say "$wrap: $(cat "$MNT.log")"; return 1; }
		trigger
		[ "$(ls "$MNT/nodes/process" | wc -l)" -gt 3 ]
		kill -TERM "$WPID"
		wait_until 10 gone "$WPID"
		refute is_mounted "$MNT"
	done
	(umask 0; exec setsid "$WITTYFS" --interval 500ms "$MNT" <&- >&- 2>&- 3>&-) &
	WPID=$!
	wait_until 10 has_generation "$MNT"
	trigger
}
