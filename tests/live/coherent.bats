# SPDX-License-Identifier: MIT
# A reader of a big graph.json sees one generation while newer ones are published.
load common

setup_file() {
	wfs_need_mount || return 0
	export BATS_TEST_TIMEOUT=240
}

setup() {
	wfs_skip
	MNT=
}

teardown() {
	release load 2>/dev/null || :
	if [ -n "${MNT:-}" ]; then
		wfs_stop
	fi
}

@test "twenty generations pass while graph.json of a busy machine is read" {
	hold load "$BUILD/tests/mkload" 300 2 1
	wfs_start --interval 100ms # the last --interval counts
	python3 "$LIVE/slowread.py" "$MNT" 20
}

@test "twenty generations pass while a graph.json of 100 MB is read" {
	hold load python3 "$LIVE/longargs.py" 170
	wfs_start --interval 1m
	[ "$(stat -c %s "$MNT/graph.json")" -gt 100000000 ] || say "only $(stat -c %s "$MNT/graph.json") bytes"
	[ "$(stat -c %s "$MNT/graph.json")" -gt 100000000 ]
	python3 "$LIVE/slowread.py" "$MNT" 20
}
