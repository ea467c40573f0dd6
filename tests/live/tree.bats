# SPDX-License-Identifier: MIT
# The tree of a mount is the one that fs-layout describes.
load common

setup_file() {
	wfs_need_mount || return 0
	wfs_start
}

teardown_file() { wfs_stop; }

teardown() { [ -n "$WFS_SKIP" ] || thaw; }

check() { python3 "$LIVE/treecheck.py" "$1" "$MNT" "$BUILD/src/expected-tree.txt"; }

@test "the fixed part shows just what the schema says" {
	freeze
	check fixed
}

@test "nodes and edges show only attributes of the schema, and those that each must have" {
	freeze
	check attrs
}

@test "names of nodes and edges are safe in a shell and short" {
	freeze
	check names
}

@test "files end in a newline and st_size is what reading gives" {
	freeze
	check text
}

@test "symbolic links are relative and lead to a node or an edge" {
	freeze
	check links
}

@test "files are readable by root, control files writable, nothing else" {
	freeze
	check modes
}

@test "another user is refused by the permission bits" {
	fails_with 'Permission denied' as_nobody cat "$MNT/version"
	fails_with 'Permission denied' as_nobody ls "$MNT/nodes"
}

@test "--mode world lets others read but not control" {
	local own=$MNT pid=$WPID log=$WLOG
	wfs_start --mode world
	as_nobody cat "$MNT/version"
	as_nobody ls "$MNT/nodes/process/1" >/dev/null
	fails_with 'Permission denied' as_nobody sh -c "echo 1 >$MNT/control/trigger"
	wfs_stop
	MNT=$own WPID=$pid WLOG=$log
}

@test "version is that of the program" {
	[ "$(cat "$MNT/version")" != "" ]
	"$WITTYFS" --version | grep -F -- "$(cat "$MNT/version")"
}

@test "generation is a number that grows with each collection" {
	local before
	before=$(generation)
	[[ $before =~ ^[0-9]+$ ]]
	trigger
	[ "$(generation)" -gt "$before" ]
	wait_until 3 generation_past $((before + 2))
}

@test "README names every entry of the top, control and collectors" {
	local path
	while read -r _ path; do
		grep -qF " $path " "$MNT/README" || { say "README lacks $path"; return 1; }
	done < <(grep -E '^(file|dir) (control|by|[^/]*$)' "$BUILD/src/expected-tree.txt")
	grep -qF collectors/ "$MNT/README"
}

@test "man pages render without a warning" {
	command -v man >/dev/null || skip "man is not installed"
	local page
	for page in 1 5; do
		[ -s "$BUILD/src/wittyfs.$page" ]
		run bash -c "MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z '$BUILD/src/wittyfs.$page' 2>&1 >/dev/null"
		[ -z "$output" ] || { say "$output"; return 1; }
	done
	zgrep -q ProcessEntity "$BUILD/src/wittyfs.5"
}

@test "by/ finds nodes by number" {
	freeze
	[ "$(readlink "$MNT/by/pid/1")" = ../../nodes/process/1 ]
	[ "$(cat "$MNT/by/pid/1/pid")" = 1 ]
	diff <(ls "$MNT/by/pid") <(cat "$MNT"/nodes/process/*/pid | sort)
	diff <(ls "$MNT/by/tid" | wc -l) <(ls "$MNT/nodes/thread" | wc -l)
	local port
	for port in $(ls "$MNT/by/port" | head -n 5); do
		[ "$(cat "$MNT/by/port/$port"/*/socket_port | sort -u)" = "$port" ]
	done
	[ "$(cat "$MNT"/by/numa/0/numa_id)" = 0 ]
}

@test "what is not there gives ENOENT, what may not be changed is refused" {
	fails_with 'No such file' cat "$MNT/nodes/process/999999999/name"
	fails_with 'No such file' cat "$MNT/nonsense"
	fails_with 'No such file' ls "$MNT/nodes/process/01"
	fails_with 'not permitted|denied|read-only' mkdir "$MNT/new"
	fails_with 'not permitted|denied|read-only' touch "$MNT/new"
	fails_with 'not permitted|denied|read-only' rm "$MNT/version"
	fails_with 'not permitted|denied|read-only' mv "$MNT/version" "$MNT/v"
	fails_with 'not permitted|denied|read-only' rm -r "$MNT/nodes/process/1"
	fails_with 'not permitted|denied|read-only' ln -s a "$MNT/l"
	fails_with 'not permitted|denied|read-only' sh -c "echo x >$MNT/version"
}

@test "node.json and edge.json are the entries of graph.json" {
	freeze
	local one
	jq -e '.entity_type == "ProcessEntity" and .pid == 1' "$MNT/nodes/process/1/node.json"
	jq -S . "$MNT/nodes/process/1/node.json" >"$BATS_TEST_TMPDIR/a"
	jq -S '.nodes[] | select(.entity_type == "ProcessEntity" and .pid == 1)' "$MNT/graph.json" >"$BATS_TEST_TMPDIR/b"
	diff "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	one=$(ls "$MNT/edges/own" | head -n 1)
	jq -e '.edge_type == "OwnEdge" and .source_node.entity_type and .target_node.entity_type' "$MNT/edges/own/$one/edge.json"
	jq -e '.nodes | length > 20' "$MNT/graph.json"
	grep -q "^Graph with $(jq '.nodes | length' "$MNT/graph.json") nodes and $(jq '.edges | length' "$MNT/graph.json") edges$" "$MNT/graph.txt"
	[ "$(jq '.nodes | length' "$MNT/graph.json")" = "$(find "$MNT/nodes" -mindepth 2 -maxdepth 2 | wc -l)" ]
	[ "$(jq '.edges | length' "$MNT/graph.json")" = "$(find "$MNT/edges" -mindepth 2 -maxdepth 2 | wc -l)" ]
}

@test "status.json has the members of the reference, status is a page" {
	jq -e '.running == true and (.graph.node_count > 0) and (.graph.edge_count > 0) and
		(.collectors.count == (.collectors.types | length)) and (.subscribers | has("count"))' "$MNT/status.json"
	[ "$(awk 'length > 80' "$MNT/status" | wc -l)" = 0 ]
	grep -q process "$MNT/status"
}
