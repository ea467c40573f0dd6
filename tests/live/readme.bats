# SPDX-License-Identifier: MIT
# Every command that the README promises works.
load common

CONTAINER=4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788790

setup_file() {
	wfs_need_mount || return 0
	wfs_start
}

teardown_file() { wfs_stop; }

teardown() {
	release server 2>/dev/null || :
	local d
	for d in "/sys/fs/cgroup/unified/docker/$CONTAINER" /sys/fs/cgroup/unified/docker \
		"/sys/fs/cgroup/pids/docker/$CONTAINER" /sys/fs/cgroup/pids/docker \
		"/sys/fs/cgroup/docker/$CONTAINER" /sys/fs/cgroup/docker; do
		rmdir "$d" 2>/dev/null || :
	done
}

# Prints the cgroup directory, made here, of a docker container.
container_dir() {
	local root
	for root in /sys/fs/cgroup/unified /sys/fs/cgroup/pids /sys/fs/cgroup; do
		if [ -e "$root/cgroup.procs" ] && mkdir -p "$root/docker/$CONTAINER" 2>/dev/null; then
			echo "$root/docker/$CONTAINER"
			return
		fi
	done
	return 1
}

setup() {
	wfs_skip
	[ -f "$SOURCE/README.md" ] || skip "no README.md"
}

@test "the commands of README.md work on the mount" {
	local pid port dir
	dir=$(container_dir) || skip "no cgroup hierarchy can be written here"
	# as a runtime does it: into the cgroup first, then the program
	# shellcheck disable=SC2016
	hold server sh -c 'echo $$ >"$1/cgroup.procs" && exec python3 "$2"' sh "$dir" "$LIVE/server.py"
	read -r pid port <<<"$LINE"
	# Stopped, or a process that ends between the glob and the open of a command fails it.
	freeze
	trigger
	python3 "$LIVE/readme.py" "$SOURCE/README.md" "$MNT" "$pid" "$port" "$CONTAINER"
}

@test "the README shows the tree that is there" {
	local path
	for path in $(sed -n 's/^file \([^/]*\)$/\1/p; s/^dir \([^/]*\)$/\1/p' "$BUILD/src/expected-tree.txt"); do
		grep -qF "$path" "$SOURCE/README.md" || { say "README.md does not mention $path"; return 1; }
	done
}
