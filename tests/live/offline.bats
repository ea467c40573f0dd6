# SPDX-License-Identifier: MIT
# Recording without a mount, and looking at recordings.
load common

setup_file() {
	wfs_need_program || return 0
}

setup() {
	wfs_skip
	OUT=$BATS_TEST_TMPDIR/out
	mkdir "$OUT"
	MNT=
}

teardown() {
	if [ -n "${MNT:-}" ]; then
		wfs_stop
	fi
}

good() {
	jq -e '(keys | contains(["edges", "nodes"])) and (.nodes | length > 3)' "$1/topology_graph.json"
	head -n 1 "$1/topology_graph.txt" | grep -qE "^Graph with $(jq '.nodes | length' "$1/topology_graph.json") nodes and [0-9]+ edges$"
	[ "$(ls "$1" | wc -l)" = "${2:-2}" ]
}

@test "--offline --duration 1 --output DIR writes both files and nothing else" {
	timeout -s KILL 30 "$WITTYFS" --offline --duration 1 --output "$OUT"
	good "$OUT"
	jq -e '.nodes[] | select(.entity_type == "ProcessEntity" and .pid == 1)' "$OUT/topology_graph.json" >/dev/null
	sed -n 2p "$OUT/topology_graph.json" | grep -q '^  "nodes": \['
}

@test "an ordinary user can record what he may see" {
	[ "$(id -u)" = 0 ] || skip "needs root to become another user"
	local program
	program=$(nobody_wittyfs)
	rmdir "$OUT"
	OUT=$(mktemp -d "$WITTYFS_TEST_DIR/out.XXXXXX")
	chown 65534 "$OUT"
	cd /
	as_nobody timeout -s KILL 30 "$program" --offline --duration 1 --output "$OUT"
	good "$OUT"
	rm -r "$OUT"
}

@test "without /dev/fuse it works the same" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	timeout -s KILL 30 unshare -m --propagation private sh -c 'mount --bind /dev/null /dev/fuse && exec "$@"' sh \
		"$WITTYFS" --offline --duration 0.5 --output "$OUT"
	good "$OUT"
}

interrupted() {
	local start=${EPOCHREALTIME/./} pid rc=0
	"$WITTYFS" --offline --duration 60 --output "$OUT" >/dev/null 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	pid=$!
	sleep 1.5
	kill "-$1" "$pid"
	wait "$pid" || rc=$?
	[ "$((${EPOCHREALTIME/./} - start))" -lt 10000000 ]
	[ "$rc" = 0 ] || { say "status $rc: $(cat "$BATS_TEST_TMPDIR/err")"; return 1; }
	good "$OUT"
}

@test "SIGTERM writes what there is" { interrupted TERM; }

@test "SIGINT writes what there is" { interrupted INT; }

@test "nothing is ever deleted; existing files of that name are replaced whole" {
	mkdir "$OUT/dir"
	echo precious >"$OUT/dir/file"
	echo other >"$OUT/other"
	echo old >"$OUT/topology_graph.json"
	timeout -s KILL 30 "$WITTYFS" --offline --duration 0.5 --output "$OUT"
	[ "$(cat "$OUT/dir/file")" = precious ]
	[ "$(cat "$OUT/other")" = other ]
	good "$OUT" 4
	timeout -s KILL 30 "$WITTYFS" --dump-config >/dev/null
	[ "$(cat "$OUT/dir/file")" = precious ]
}

@test "a folder that cannot be written is said before the recording, with status 1" {
	local start=${EPOCHREALTIME/./}
	fails_with 'none' timeout -s KILL 30 "$WITTYFS" --offline --duration 20 --output /proc/none
	[ "$((${EPOCHREALTIME/./} - start))" -lt 5000000 ]
}

@test "a full disk leaves no half file" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	mkdir "$OUT/small"
	run unshare -m --propagation private bash -c 'mount -t tmpfs -o size=16k none "$2/small" &&
		{ timeout -s KILL 30 "$1" --offline --duration 0.5 --output "$2/small"; echo "rc $?"; ls -A "$2/small"; cat "$2"/small/*.json 2>/dev/null | jq . >/dev/null || echo half; }' \
		bash "$WITTYFS" "$OUT"
	grep -q '^rc 1$' <<<"$output"
	grep -qiE 'space' <<<"$output"
	refute grep -q '^half$' <<<"$output"
}

@test "--pid restricts the recording; a pid that does not exist ends with 1" {
	timeout -s KILL 30 "$WITTYFS" --offline --duration 0.5 --pid $$ --output "$OUT"
	[ "$(jq "[.nodes[] | select(.entity_type == \"ProcessEntity\") | .pid] | contains([$$]) and (contains([1]) | not)" "$OUT/topology_graph.json")" = true ]
	fails_with 'pid|999999999' timeout -s KILL 30 "$WITTYFS" --offline --duration 9 --pid 999999999 --output "$OUT"
}

@test "--view-graph prints a recorded graph as text when its output is a pipe, bare or enveloped" {
	timeout -s KILL 30 "$WITTYFS" --offline --duration 0.5 --output "$OUT"
	timeout -s KILL 30 "$WITTYFS" --view-graph "$OUT/topology_graph.json" </dev/null | cmp - "$OUT/topology_graph.txt"
	# not by jq, which writes numbers in another way
	{ printf '{"env":{"local_ip":"192.0.2.1","hostname":"h","machine_id":"m"},"content":'; cat "$OUT/topology_graph.json"; printf '}'; } >"$OUT/enveloped.json"
	timeout -s KILL 30 "$WITTYFS" --view-graph "$OUT/enveloped.json" </dev/null | cmp - "$OUT/topology_graph.txt"
}

@test "--view-graph of a file that is no graph says so in a line" {
	echo '{"nodes": 3}' >"$OUT/a"
	echo 'no json' >"$OUT/b"
	: >"$OUT/c"
	echo '{"nodes":[{"entity_type":"NonsenseEntity"}],"edges":[]}' >"$OUT/d"
	fails_with '/a' "$WITTYFS" --view-graph "$OUT/a"
	fails_with '/b' "$WITTYFS" --view-graph "$OUT/b"
	fails_with '/c' "$WITTYFS" --view-graph "$OUT/c"
	fails_with 'NonsenseEntity' "$WITTYFS" --view-graph "$OUT/d"
	fails_with 'none' "$WITTYFS" --view-graph "$OUT/none"
	[ "$("$WITTYFS" --view-graph "$OUT/d" 2>&1 | wc -l)" = 1 ]
}

# Both graphs without regard to order, and without what only we write.
normal() { jq -S '{nodes: (.nodes | sort_by(tojson)), edges: (.edges | sort_by(tojson))}' "$1"; }

@test "--from FILE mounts a recording read-only and its graph.json equals the file" {
	wfs_need_mount || skip "$WFS_SKIP"
	timeout -s KILL 30 "$WITTYFS" --offline --duration 0.5 --output "$OUT"
	MNT=$(new_dir)
	wfs_start_at "$MNT" --from "$OUT/topology_graph.json"
	normal "$OUT/topology_graph.json" >"$OUT/a"
	normal "$MNT/graph.json" >"$OUT/b"
	cmp "$OUT/a" "$OUT/b" || { diff "$OUT/a" "$OUT/b" | head -20 >&2; return 1; }
	cmp "$MNT/graph.txt" "$OUT/topology_graph.txt"
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
	[ "$(jq '.nodes | length' "$MNT/graph.json")" = "$(find "$MNT/nodes" -mindepth 2 -maxdepth 2 | wc -l)" ]
	sleep 1
	[ "$(cat "$MNT/nodes/process/1/pid")" = 1 ]
	fails_with 'not permitted|read-only|denied' touch "$MNT/x"
}

@test "--from with a file that is missing or no graph is refused" {
	wfs_need_mount || skip "$WFS_SKIP"
	mkdir "$OUT/m"
	fails_with 'none' timeout -s KILL 20 "$WITTYFS" --from "$OUT/none" "$OUT/m"
	echo '[]' >"$OUT/bad.json"
	fails_with 'bad.json' timeout -s KILL 20 "$WITTYFS" --from "$OUT/bad.json" "$OUT/m"
}

@test "--view-graph takes the lone surrogates that Python writes for bytes that are no UTF-8" {
	python3 - "$OUT/s.json" <<'P'
import json, sys
json.dump({"nodes": [{"entity_namespace": "local", "entity_type": "ProcessEntity", "details": {}, "pid": 1, "ppid": 0, "name": "a\udcff", "cmdline": "\\ud800 \U0001f680"}], "edges": []}, open(sys.argv[1], "w"))
P
	timeout -s KILL 30 "$WITTYFS" --view-graph "$OUT/s.json" </dev/null | grep -qF $'name=a\uFFFD,cmdline=\\ud800 🚀'
}
