# SPDX-License-Identifier: MIT
# Sockets: a server with two clients appears within one interval with both ends joined, and is gone after.
load common

setup_file() {
	wfs_need_mount || return 0
	wfs_start
}

teardown_file() { wfs_stop; }

check() { python3 "$LIVE/network.py" "$1" "$MNT"; }

@test "TCP on IPv4: both ends joined, bytes exact, gone after the end" { check ipv4; }
@test "TCP on IPv6" {
	[ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6 || skip "no IPv6 on the loopback interface"
	check ipv6
}
@test "TCP of an IPv4 client to a dual-stack listener (v4-mapped)" {
	[ -e /proc/net/if_inet6 ] || skip "no IPv6 here"
	check mapped
}
@test "TCP in another network namespace" { check netns; }
@test "UDP connected and unconnected" { check udp; }
@test "a listener shared by workers is one node with all holders" { check shared; }
@test "sockets of other families are not TCP" { check other; }
