/* SPDX-License-Identifier: MIT */
/*
 * Exact byte counts per thread and socket. Records: bpf/sock.h; all counters are cumulative since
 * the probe was attached, and are never reset: take differences.
 *
 * Exact means: the sum of what send and receive calls returned, of every kind of call. Of a
 * sendfile the calls are the kernel's pieces of 64 KiB. MSG_TRUNC on a datagram counts what the
 * call returned, the whole datagram. Not seen: io_uring's splice from a socket, kTLS and sockmap
 * redirection, 32-bit splice and getsockopt. If sock_splice or sock_zerocopy was refused (programs
 * below), received bytes are a lower bound.
 *
 * What found no room in a map is in the ledger, so that sum over keys + ledger stays exact.
 */
#pragma once

#include "bpf/sock.h"
#include "collect/probe.h"

struct probe_sock;

struct probe_sock_limits {
	uint32_t keys, sockets, owners, remotes; /* 0: 65536, 65536, 16384, 16384 */
};

struct probe_sock_row {
	const struct sock_key *key;
	const struct sock_value *value;
	const struct sock_meta *meta;	/* NULL: unknown (lost) */
	const struct sock_owner *owner; /* NULL: unknown */
	bool last;			/* the entry is deleted: this is its final value */
};

enum {
	PROBE_SOCK_KEEP = 0,
	PROBE_SOCK_DEAD = 1, /* the process or the socket is known to be gone */
};

struct probe_sock_ledger {
	struct sock_ledger lost; /* all CPUs */
	uint64_t recursion_misses;
	uint64_t keys, sockets; /* of the last reading */
	uint64_t forgotten;	/* entries deleted because they were dead */
};

/*
 * Loads and attaches. 0 when sends and receives are counted, else -errno with one line in `reason`.
 * The rest of the programs may be refused: see probe_sock_object().
 */
int probe_sock_open(struct probe_sock **ret, const struct probe_sock_limits *limits, char *reason,
		    size_t size);
struct probe_sock *probe_sock_close(struct probe_sock *p);
static inline void probe_sock_closep(struct probe_sock **p)
{
	*p = probe_sock_close(*p);
}
#define _cleanup_probe_sock_ _cleanup_(probe_sock_closep)

/* The programs with their states: cost, error, reason. */
struct probe_object *probe_sock_object(struct probe_sock *p);

/*
 * Reads all counters. The callback says whether an entry is dead; an entry that was dead in two
 * readings in a row is given once more with `last` and its final value, if that changed, and
 * deleted. A negative result of the callback ends the reading and is returned. Else 0 or -errno.
 *
 * Cost: about 0.2 us per entry for the map, and once 1 us per new socket and process.
 */
int probe_sock_read(struct probe_sock *p, int (*fn)(void *arg, const struct probe_sock_row *row),
		    void *arg);

/* The metadata of a socket as it is now, with the kernel's own counts when it is closed; -ENOENT.
 */
int probe_sock_meta(struct probe_sock *p, uint64_t ino, struct sock_meta *ret);

/* Reads the remotes of unconnected datagram sockets; entries that answer PROBE_SOCK_DEAD are
 * deleted. */
int probe_sock_remotes(struct probe_sock *p,
		       int (*fn)(void *arg, const struct sock_remote_key *key,
				 const struct sock_remote *value),
		       void *arg);

int probe_sock_ledger(struct probe_sock *p, struct probe_sock_ledger *ret);
