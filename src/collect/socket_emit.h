/* SPDX-License-Identifier: MIT */
/*
 * Sockets as entities and edges.
 *
 * Edges: OwnEdge and BelongEdge between a socket and every process that holds it; SendToSocketEdge
 * from every holder of a connected socket to the other end, with the kernel's counters of the
 * socket.
 */
#pragma once

#include "collect/proctable.h"
#include "collect/socket_owners.h"
#include "collect/socket_table.h"

struct socket_emit {
	struct socket_table *table; /* indexed and joined */
	const struct socket_owners *owners;
	const struct socket_memory *memory;
	const struct proctable *procs;
	uint64_t own_netns; /* sockets of this namespace have no key_netns; 0 unknown */
	struct builder *builder;
	/* Counted: connections whose other end must be on this host and was not seen. */
	uint64_t missing_peers;
};

/* 0 or -ENOMEM. Objects beyond the limits of the builder are left out (the builder counts them). */
int socket_emit_all(struct socket_emit *e);
