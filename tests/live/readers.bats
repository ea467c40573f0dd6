# SPDX-License-Identifier: MIT
# Every usual way to read a file gives the same bytes, and watching wakes up.
load common

setup_file() {
	wfs_need_mount || return 0
	wfs_start
	freeze
	export REF=$BATS_FILE_TMPDIR/ref
	mkdir -p "$REF"
	local f
	for f in $(files); do
		cat "$MNT/$f" >"$REF/${f//\//_}"
	done
}

teardown_file() { wfs_stop; }

files() { echo version README status status.json graph.json graph.txt nodes/process/1/name nodes/process/1/node.json; }

# same COMMAND...: for every file the command with @ replaced by the file prints the same bytes.
same() {
	local f word args
	for f in $(files); do
		args=()
		for word in "$@"; do
			args+=("${word//@/$MNT/$f}")
		done
		"${args[@]}" >"$BATS_TEST_TMPDIR/out" || { say "${args[*]}: status $?"; return 1; }
		cmp "$BATS_TEST_TMPDIR/out" "$REF/${f//\//_}" || { say "${args[*]} differs"; return 1; }
	done
}

@test "cat, head -c, tail -c, tail -n, sed, grep, dd by blocks" {
	same cat @
	same head -c 100000000 @
	same tail -c 100000000 @
	same tail -n +1 @
	same sed '' @
	same grep -a '' @
	same dd if=@ bs=1M status=none
	same dd if=@ bs=777 status=none
	same bash -c 'printf "%s\n" "$(<"@")"'
	same perl -pe 1 @
	same python3 -c 'import sys; sys.stdout.buffer.write(open(sys.argv[1], "rb").read())' @
}

@test "dd bs=1 of the small files" {
	local f
	for f in version nodes/process/1/name nodes/process/1/node.json; do
		dd if="$MNT/$f" bs=1 status=none | cmp - "$REF/${f//\//_}"
	done
}

@test "tac, sort, less in a pipe" {
	local f
	for f in $(files); do
		tac "$MNT/$f" | cmp - <(tac "$REF/${f//\//_}")
		sort "$MNT/$f" | cmp - <(sort "$REF/${f//\//_}")
		less "$MNT/$f" | cmp - "$REF/${f//\//_}"
	done
}

@test "wc -c, stat and head -c of a part" {
	local f
	for f in $(files); do
		[ "$(wc -c <"$REF/${f//\//_}")" = "$(wc -c "$MNT/$f" | cut -d' ' -f1)" ]
		[ "$(wc -c <"$REF/${f//\//_}")" = "$(stat -c %s "$MNT/$f")" ]
		head -c 10 "$MNT/$f" | cmp - <(head -c 10 "$REF/${f//\//_}")
	done
}

@test "cp, cp -r, tar, rsync copy whole files" {
	local f d=$BATS_TEST_TMPDIR
	for f in $(files); do
		cp "$MNT/$f" "$d/c"
		cmp "$d/c" "$REF/${f//\//_}"
		rsync "$MNT/$f" "$d/r"
		cmp "$d/r" "$REF/${f//\//_}"
		tar -cf "$d/t" -C "$MNT" "$f"
		tar -xOf "$d/t" "$f" | cmp - "$REF/${f//\//_}"
		rm -f "$d/c" "$d/r" "$d/t"
	done
	cp -r "$MNT/nodes/process/1" "$d/one"
	cmp "$d/one/name" "$REF/nodes_process_1_name"
	tar -cf - -C "$MNT" nodes/process/1 | tar -xf - -C "$d"
	diff -r --no-dereference "$d/one" "$d/nodes/process/1"
	rsync -a "$MNT/nodes/process/1/" "$d/two/"
	diff -r --no-dereference "$d/one" "$d/two"
}

@test "sendfile, mmap shared and private, readv, pread at the end" {
	local f
	for f in $(files); do
		python3 "$LIVE/readers.py" "$MNT/$f" "$REF/${f//\//_}"
	done
}

@test "grep -r and find see the content" {
	[ "$(grep -rlx "$(cat "$MNT/nodes/process/1/name")" "$MNT/nodes/process/1" | head -n 1)" != "" ]
	grep -rq '^1$' "$MNT/nodes/process/1/pid"
	[ "$(find "$MNT/nodes/process/1" -maxdepth 1 -name pid -type f | wc -l)" = 1 ]
	[ "$(find "$MNT" -name pid -path '*/nodes/process/1/*' | wc -l)" = 1 ]
	[ "$(find "$MNT/nodes/process" -mindepth 1 -maxdepth 1 -type d | wc -l)" = "$(ls "$MNT/nodes/process" | wc -l)" ]
}

@test "whole-tree walkers end cleanly: ls -lR, du, tar, grep -r, find -type f" {
	ls -lR "$MNT" >"$BATS_TEST_TMPDIR/ls"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/ls")" -gt 500 ]
	du -s "$MNT" >/dev/null
	tar -cf "$BATS_TEST_TMPDIR/all.tar" -C "$MNT" README version status nodes by edges collectors
	run grep -rq no-such-text-at-all "$MNT"
	[ "$status" = 1 ]
	find "$MNT" -type f -printf '' >/dev/null
}

@test "jq reads graph.json, python reads it as strict UTF-8" {
	jq -e '.nodes | length > 10' "$MNT/graph.json"
	jq . "$MNT/graph.json" >/dev/null
	python3 -c 'import json,sys; json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))' "$MNT/graph.json"
}

@test "tail -f prints what is there and waits" {
	run timeout 1 tail -f "$MNT/generation"
	[ "$status" = 124 ]
	[ "$output" = "$(generation)" ]
}

@test "twenty readers at once get the same bytes" {
	local i pids=()
	for i in $(seq 20); do
		cmp "$MNT/graph.json" "$REF/graph.json" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
}

@test "inotifywait on generation wakes when a generation is published" {
	local log=$BATS_TEST_TMPDIR/log pid
	inotifywait -t 20 -e modify "$MNT/generation" >"$log" 2>&1 3>&- &
	pid=$!
	wait_until 5 grep -q established "$log"
	trigger
	wait "$pid"
	grep -q MODIFY "$log"
}

@test "inotifywait in a directory that is bound elsewhere wakes too" {
	local log=$BATS_TEST_TMPDIR/log pid
	mkdir "$BATS_TEST_TMPDIR/bound"
	unshare -m sh -c 'mount --bind "$1" "$2" && exec inotifywait -t 20 -e modify "$2/generation"' sh \
		"$MNT" "$BATS_TEST_TMPDIR/bound" >"$log" 2>&1 3>&- &
	pid=$!
	wait_until 5 grep -q established "$log"
	trigger
	wait "$pid"
}

@test "poll, select and epoll on generation wake when a generation is published, and wait before" {
	python3 "$LIVE/pollgen.py" "$MNT"
}

@test "an open file keeps its generation, opening again shows the new one" {
	exec 9<"$MNT/graph.json"
	local before
	before=$(cat "$MNT/status.json" | jq .generation)
	trigger
	trigger
	jq -e '.nodes | length > 10' <&9
	exec 9<&-
	[ "$(jq .generation "$MNT/status.json")" -gt "$before" ]
}

@test "a file never shows old text once generation shows the new number" {
	python3 "$LIVE/freshness.py" "$MNT"
}

@test "what lives through many generations is never missing, by path, glob or listing" {
	hold server python3 "$LIVE/server.py"
	local pid port
	read -r pid port <<<"$LINE"
	trigger
	echo 100ms >"$MNT/control/interval"
	thaw
	python3 "$LIVE/vanish.py" "$MNT" "$pid" "$port" 8
	freeze
	release server
}
