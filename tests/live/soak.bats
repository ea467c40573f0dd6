# SPDX-License-Identifier: MIT
# A short run of scripts/soak: memory and descriptors stay flat under churn.
load common

setup_file() { wfs_need_mount || return 0; }

@test "half a minute of fork, exec, connect and close leaves memory and descriptors flat" {
	run "$SOURCE/scripts/soak" --build "$BUILD" --dir "$WITTYFS_TEST_DIR" 0.5
	echo "$output"
	[ "$status" != 77 ] || skip "$(tail -n 1 <<<"$output")"
	[ "$status" = 0 ]
}
