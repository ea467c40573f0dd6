# SPDX-License-Identifier: MIT
# Control files act and report.
load common

setup_file() {
	wfs_need_mount || return 0
	wfs_start
}

teardown_file() { wfs_stop; }

setup() {
	wfs_skip
	C=$MNT/control
}

teardown() {
	[ -z "$WFS_SKIP" ] || return 0
	echo all >"$MNT/control/pid" 2>/dev/null || :
	echo 500ms >"$MNT/control/interval" || :
	thaw
}

nodes() { jq '.nodes | length' "$MNT/graph.json"; }
last() { jq -r "$1" "$C/last_result"; }

@test "stop stops, start starts, both may be repeated" {
	local g
	echo stop >"$C/stop"
	[ "$(cat "$C/start")" = stopped ]
	[ "$(cat "$C/stop")" = stopped ]
	echo stop >"$C/stop"
	[ "$(cat "$C/stop")" = stopped ]
	jq -e '.running == false' "$MNT/status.json"
	sleep 0.6
	g=$(generation)
	sleep 1.2
	[ "$(generation)" = "$g" ]
	[ "$(nodes)" -gt 10 ] # what was seen stays
	echo start >"$C/start"
	[ "$(cat "$C/start")" = running ]
	echo start >"$C/start"
	[ "$(cat "$C/start")" = running ]
	wait_until 3 generation_past $((g + 1))
	echo stop >"$C/stop" # one stop is enough after two starts
	[ "$(cat "$C/start")" = stopped ]
}

@test "trigger returns when the new generation is published, running or stopped" {
	local g i
	for i in 1 2 3 4 5; do
		g=$(generation)
		echo 1 >"$C/trigger"
		[ "$(generation)" -gt "$g" ]
	done
	freeze
	g=$(generation)
	echo trigger >"$C/trigger"
	[ "$(generation)" -gt "$g" ]
	[ "$(cat "$C/start")" = stopped ]
}

@test "clear forgets everything until the next collection" {
	freeze
	local g
	g=$(generation)
	echo clear >"$C/clear"
	[ "$(generation)" -gt "$g" ]
	[ "$(nodes)" = 0 ]
	[ "$(jq '.edges | length' "$MNT/graph.json")" = 0 ]
	[ "$(jq .graph.node_count "$MNT/status.json")" = 0 ]
	[ "$(ls "$MNT/nodes/process" | wc -l)" = 0 ]
	[ ! -e "$MNT/nodes/process/1" ]
	[ "$(ls "$MNT/by/pid" | wc -l)" = 0 ]
	trigger
	[ "$(nodes)" -gt 10 ]
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
}

@test "verbs: 1, on, yes and the own name act" {
	local word g
	freeze
	for word in 1 on yes trigger; do
		g=$(generation)
		echo "$word" >"$C/trigger"
		[ "$(generation)" -gt "$g" ]
	done
}

@test "a wrong verb is refused by the shell with a message and changes nothing" {
	local f
	freeze
	for f in start stop trigger clear; do
		fails_with 'Invalid argument' bash -c "echo nonsense >$C/$f"
		fails_with 'Invalid argument' bash -c "echo ${f}x >$C/$f"
		fails_with 'Invalid argument' bash -c "echo '$f $f' >$C/$f"
		fails_with 'Invalid argument' bash -c "printf 'a\\0b\\n' >$C/$f"
	done
	[ "$(cat "$C/start")" = stopped ]
}

@test "last_result is the JSON of the last action, good or bad" {
	echo stop >"$C/stop"
	last . >/dev/null
	last . | grep -q stop
	local good
	good=$(last .)
	fails_with 'Invalid argument' bash -c "echo nonsense >$C/trigger"
	[ "$(last .)" != "$good" ]
	last . | grep -q trigger
	last . | grep -q nonsense
	echo 1 >"$C/trigger"
	refute grep -q nonsense <<<"$(last .)"
}

@test "interval takes 0.5, 5 and 500ms, refuses the rest" {
	local word
	for word in 5 0.5 500ms 2s 1m 50ms; do
		echo "$word" >"$C/interval"
		[ -n "$(cat "$C/interval")" ]
	done
	echo 5 >"$C/interval"
	[ "$(jq .interval_ns "$MNT/status.json")" = 5000000000 ]
	grep -qE '^5s?$' "$C/interval"
	echo 500ms >"$C/interval"
	[ "$(jq .interval_ns "$MNT/status.json")" = 500000000 ]
	for word in abc -1 0 10ms 1x '5 5' 99999999999999999999; do
		fails_with 'Invalid argument|out of range' bash -c "echo '$word' >$C/interval"
		[ "$(jq .interval_ns "$MNT/status.json")" = 500000000 ]
	done
}

@test "the new interval is used at once" {
	echo 60 >"$C/interval"
	sleep 1.2
	local g
	g=$(generation)
	sleep 1.5
	[ "$(generation)" = "$g" ]
	echo 100ms >"$C/interval"
	wait_until 3 generation_past $((g + 5))
}

@test "pid restricts the graph to a process and what is reached from it; all shows all again" {
	sleep 1000 3>&- &
	local pid=$!
	freeze
	echo "$pid" >"$C/pid"
	[ "$(cat "$C/pid")" = "$pid" ]
	trigger
	[ "$(ls "$MNT/nodes/process")" = "$pid" ]
	[ "$(ls "$MNT/nodes/thread")" = "$pid" ]
	[ "$(nodes)" -lt 10 ]
	echo "$pid $$" >"$C/pid"
	trigger
	[ -d "$MNT/nodes/process/$$" ]
	[ -d "$MNT/nodes/process/$pid" ]
	[ ! -e "$MNT/nodes/process/1" ]
	echo all >"$C/pid"
	trigger
	[ -d "$MNT/nodes/process/1" ]
	[ "$(nodes)" -gt 10 ]
	kill "$pid"
}

@test "pid refuses what is no process" {
	local word
	for word in abc -1 0 999999999 '1 x' 1.5; do
		fails_with 'Invalid argument|No such process' bash -c "echo '$word' >$C/pid"
	done
	[ "$(cat "$C/pid")" = all ]
}

@test "log_level takes the seven levels" {
	local word
	for word in VERBOSE DEBUG INFO WARNING ERROR CRITICAL REPORT; do
		echo "$word" >"$C/log_level"
		[ "$(cat "$C/log_level")" = "$word" ]
	done
	fails_with 'Invalid argument' bash -c "echo LOUD >$C/log_level"
	[ "$(cat "$C/log_level")" = REPORT ]
}

@test "every way to write works: printf, >>, tee, dd, dd bs=1, cp, CRLF, python" {
	freeze
	local g how
	for how in 'printf trigger >"$F"' 'echo trigger >>"$F"' 'echo trigger | tee "$F" >/dev/null' \
		'echo trigger | dd of="$F" status=none' 'echo trigger | dd of="$F" bs=1 status=none' \
		'printf "trigger\r\n" >"$F"' 'echo trigger >"$T"; cp "$T" "$F"' \
		'python3 -c "import os; f = open(os.environ[\"F\"], \"w\"); f.write(\"trigger\"); f.close()"' \
		'{ printf trig; sleep 0.1; printf "ger\n"; } >"$F"'; do
		g=$(generation)
		F=$C/trigger T=$BATS_TEST_TMPDIR/t bash -c "$how" || { say "$how failed"; return 1; }
		[ "$(generation)" -gt "$g" ] || { say "$how had no effect"; return 1; }
	done
	g=$(generation)
	: >"$C/trigger"
	truncate -s 0 "$C/trigger"
	[ "$(generation)" = "$g" ]
}

@test "two lines in one write are two actions" {
	freeze
	{ echo start; echo start; } >"$C/start"
	[ "$(cat "$C/start")" = running ]
	local g
	freeze
	g=$(generation)
	printf '1\n1\n' >"$C/trigger"
	[ "$(generation)" -ge $((g + 2)) ]
}

@test "an over-long write is refused" {
	fails_with 'Invalid argument|too large|too long' bash -c "head -c 100000 /dev/zero | tr '\\0' a >$C/trigger"
	[ -n "$(cat "$C/start")" ]
}

@test "200 concurrent writes all end and the daemon still works" {
	local i pids=() g
	for i in $(seq 100); do
		(echo start >"$C/start") 3>&- &
		pids+=($!)
		(echo 1 >"$C/trigger") 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || { say "a writer failed"; return 1; }
	done
	g=$(generation)
	trigger
	[ "$(generation)" -gt "$g" ]
	last . >/dev/null
}

@test "a writer that is interrupted does not stop the others" {
	local i
	for i in 1 2 3 4 5; do
		timeout -s INT 0.01 bash -c "echo 1 >$C/trigger" || :
		timeout -s KILL 0.01 bash -c "echo 1 >$C/trigger" || :
	done
	trigger
}

@test "another user may not write" {
	fails_with 'denied|not permitted' as_nobody bash -c "echo 1 >$C/trigger"
}

@test "a control file in a read-only bind mount gives EROFS" {
	mkdir "$BATS_TEST_TMPDIR/ro"
	fails_with 'Read-only' unshare -m bash -c 'mount --bind "$1" "$2" && mount -o remount,bind,ro "$2" && echo 1 >"$2/control/trigger"' \
		bash "$MNT" "$BATS_TEST_TMPDIR/ro"
}
