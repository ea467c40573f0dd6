/* SPDX-License-Identifier: MIT */
/*
 * Records of the socket probe (sock.bpf.c). All counters are cumulative: nothing is ever reset.
 * Process numbers are those of the initial pid namespace (scan_task.init_tid, init_tgid).
 */
#pragma once

#include <stdint.h>

#define SOCK_UNIX_NAME 108

/* One thread on one socket. The thread is the only writer, so no atomics are needed. */
struct sock_key {
	uint32_t tgid, tid;
	uint64_t ino;
};

enum sock_flags {
	SOCK_INCOMPLETE = 1, /* the peer was not known when the metadata was written */
	SOCK_INET_DGRAM = 2, /* looked at per call: connected or not */
};

struct sock_value {
	uint64_t tx_bytes, rx_bytes;   /* what the calls returned */
	uint64_t tx_calls, rx_calls;   /* calls that returned 0 or more */
	uint64_t tx_errors, rx_errors; /* calls that failed, without the next */
	uint64_t tx_again, rx_again;   /* calls that would have blocked (EAGAIN) */
	uint64_t first_ns, last_ns;    /* CLOCK_MONOTONIC */
	uint64_t start_ns;	       /* start_boottime of the process */
	uint32_t flags;		       /* enum sock_flags */
	uint32_t remote_port;	       /* SOCK_INET_DGRAM: when the metadata was written */
};

/* What the kernel itself counted of a TCP socket, at its end. After an RST all may be 0. */
struct sock_final {
	uint64_t bytes_sent; /* with retransmits */
	uint64_t bytes_retrans, bytes_acked, bytes_received;
	uint64_t closed_ns;				    /* 0: not closed yet */
	uint32_t segs_out, segs_in, total_retrans, srtt_us; /* srtt_us: 8 times the mean, as kept */
};

/* One socket, written at the first call seen on it. */
struct sock_meta {
	uint64_t ino, sk; /* sk: opaque, tells a number used again */
	uint16_t family, type, protocol, state;
	uint16_t local_port, remote_port; /* host order */
	uint32_t netns;
	uint8_t local[16], remote[16]; /* IPv4 in the first four bytes */
	uint64_t unix_peer;	       /* inode; 0: none or not accepted yet */
	uint64_t first_ns;
	uint32_t version; /* how often it was written; a change means: read it again */
	uint32_t name_len;
	char unix_name[SOCK_UNIX_NAME]; /* may begin with NUL (abstract) */
	uint32_t pad;
	struct sock_final final;
};

/* One process that used a socket: outlives it. */
struct sock_owner_key {
	uint64_t start_ns; /* start_boottime */
	uint32_t tgid, pad;
};

struct sock_owner {
	char comm[16]; /* of the group leader, at first sight */
	uint32_t ppid, uid, netns, pidns;
};

/* Datagrams of a socket that is not connected, by remote address; a split of sock_value. */
struct sock_remote_key {
	uint32_t tgid;
	uint16_t family, port;
	uint64_t ino;
	uint8_t addr[16];
};

struct sock_remote {
	uint64_t tx_bytes, tx_calls, first_ns, last_ns;
};

/* Per CPU: events that found no room are counted here, so that totals stay exact. */
struct sock_ledger {
	uint64_t tx_bytes, rx_bytes, tx_calls, rx_calls; /* of events without an entry */
	uint64_t tx_errors, rx_errors;			 /* both kinds */
	uint64_t key_full, key_nomem, key_other;	 /* inserts that failed, by cause */
	uint64_t meta_lost, owner_lost, remote_lost, remote_unknown;
	uint64_t unresolved; /* system calls of which the descriptor could not be told */
	uint64_t peeks;	     /* receives not counted: MSG_PEEK, MSG_ERRQUEUE */
};
