/* SPDX-License-Identifier: MIT */
#include "collect/socket_emit.h"

#include <errno.h>
#include <netinet/in.h>

#define CAUSE_SHARED	 "several processes hold the socket; the kernel counts per socket"
#define CAUSE_NO_COUNTER "no byte counter without tracing"
#define CAUSE_TCP_INFO	 "counted by the kernel for this socket, held by one process"

static const char *type_name(const struct socket_row *row)
{
	return row->protocol == IPPROTO_TCP ? "TCP" : "UDP";
}

/* The builder's limit is not a failure of the collector. */
static int no_room_is_fine(int r)
{
	return r == -ENOMEM ? r : 0;
}

static void draft_address(struct draft *d, unsigned int attr, const uint8_t address[16],
			  uint32_t ifindex)
{
	char text[SOCKET_ADDRESS_TEXT];
	unsigned int len = socket_address_text(address, ifindex, text);

	draft_bytes(d, attr, text, len);
}

/* --- entities --------------------------------------------------------------------------------- */
static const struct number {
	uint16_t flag, attr, offset;
	bool wide;
} numbers[] = {
#define NUMBER(flag_, attr_, member)                                                               \
	{                                                                                          \
		.flag = (flag_), .attr = (attr_), .offset = offsetof(struct socket_row, member),   \
		.wide = sizeof(((struct socket_row *)NULL)->member) == 8,                          \
	}
	NUMBER(SOCKET_ROW_RX_QUEUE, SOCKET_RX_QUEUE_BYTES, rx_queue),
	NUMBER(SOCKET_ROW_TX_QUEUE, SOCKET_TX_QUEUE_BYTES, tx_queue),
	NUMBER(SOCKET_ROW_SENT, SOCKET_BYTES_SENT, bytes_sent),
	NUMBER(SOCKET_ROW_RECEIVED, SOCKET_BYTES_RECEIVED, bytes_received),
	NUMBER(SOCKET_ROW_RETRANSMITTED, SOCKET_BYTES_RETRANSMITTED, bytes_retransmitted),
	NUMBER(SOCKET_ROW_SEGMENTS_SENT, SOCKET_SEGMENTS_SENT, segments_sent),
	NUMBER(SOCKET_ROW_SEGMENTS_RECEIVED, SOCKET_SEGMENTS_RECEIVED, segments_received),
	NUMBER(SOCKET_ROW_RTT, SOCKET_RTT_US, rtt_us),
	NUMBER(SOCKET_ROW_DROPS, SOCKET_RX_QUEUE_DROPS, drops),
#undef NUMBER
};

static void draft_numbers(struct draft *d, const struct socket_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const uint8_t *p = (const uint8_t *)row + numbers[i].offset;

		if (row->flags & numbers[i].flag)
			draft_u64(d, numbers[i].attr,
				  numbers[i].wide ? *(const uint64_t *)p : *(const uint32_t *)p);
	}
}

/* A number only when it is sure: a socket without a holder may be younger than the descriptor
 * lists. */
static void draft_holders(struct draft *d, const struct socket_emit *e,
			  const struct socket_row *row)
{
	if (row->n_holders ||
	    (e->owners->all_readable && inode_set_has(&e->memory->orphans, row->inode)))
		draft_u64(d, SOCKET_HOLDERS, row->n_holders);
}

static void draft_netns(struct draft *d, const struct socket_emit *e, uint64_t netns)
{
	if (netns && netns != e->own_netns)
		draft_u64(d, SOCKET_KEY_NETNS, netns);
}

static void draft_socket(struct draft *d, const struct socket_emit *e, const struct socket_row *row)
{
	draft_begin(d, &entity_types[ENTITY_SOCKET]);
	draft_str(d, SOCKET_SOCKET_TYPE, type_name(row));
	draft_address(d, SOCKET_SOCKET_ADDR, row->local, row->ifindex);
	draft_s64(d, SOCKET_SOCKET_PORT, row->local_port);
	draft_str(d, SOCKET_FAMILY, row->family == AF_INET ? "ipv4" : "ipv6");
	draft_str(d, SOCKET_STATE, socket_row_state(row));
	if (row->peer_port) {
		draft_address(d, SOCKET_PEER_ADDR, row->peer, row->ifindex);
		draft_s64(d, SOCKET_PEER_PORT, row->peer_port);
	}
	if (row->netns)
		draft_u64(d, SOCKET_NETNS, row->netns);
	draft_netns(d, e, row->netns);
	draft_u64(d, SOCKET_INODE, row->inode);
	draft_u64(d, SOCKET_UID, row->uid);
	draft_holders(d, e, row);
	draft_numbers(d, row);
}

/*
 * The ident of every socket before any of them is added, so that both ends of a connection can name
 * each other. It depends on the namespace and the inode only, where those are known.
 */
static void make_idents(struct socket_emit *e)
{
	_cleanup_draft_ struct draft known = {0}, unnamed = {0};

	draft_begin(&known, &entity_types[ENTITY_SOCKET]);
	for (uint32_t i = 0; i < e->table->n_order; i++) {
		struct socket_row *row = &e->table->rows[e->table->order[i]];

		if (!row->netns) { /* a recorded machine that does not tell its namespaces */
			draft_socket(&unnamed, e, row);
			row->ident = draft_ident(&unnamed);
			continue;
		}
		draft_u64(&known, SOCKET_NETNS, row->netns);
		draft_u64(&known, SOCKET_INODE, row->inode);
		row->ident = draft_ident(&known);
	}
}

/* The other end on another host: known by its address only, shared by all connections to it. */
static int add_remote(struct socket_emit *e, struct draft *d, const struct socket_row *row,
		      uint64_t *ret_ident)
{
	draft_begin(d, &entity_types[ENTITY_SOCKET]);
	draft_str(d, SOCKET_SOCKET_TYPE, type_name(row));
	draft_address(d, SOCKET_SOCKET_ADDR, row->peer, row->ifindex);
	draft_s64(d, SOCKET_SOCKET_PORT, row->peer_port);
	draft_bool(d, SOCKET_REMOTE, true);
	draft_netns(d, e, row->netns);
	*ret_ident = draft_ident(d);
	return builder_add(e->builder, d, NULL);
}

/* Ident of the other end, 0 when there is none to show. */
static uint64_t peer_ident(const struct socket_emit *e, const struct socket_row *row)
{
	return row->peer_row < SOCKET_PEER_FIRST ? e->table->rows[row->peer_row].ident : 0;
}

static int add_socket(struct socket_emit *e, struct draft *d, struct socket_row *row,
		      uint64_t remote)
{
	uint64_t peer = remote ? remote : peer_ident(e, row);

	draft_socket(d, e, row);
	if (peer)
		draft_ref(d, SOCKET_PEER, peer);
	return builder_add(e->builder, d, &row->ident);
}

/* --- edges ------------------------------------------------------------------------------------ */
static int add_holder_edges(struct socket_emit *e, uint64_t process, uint64_t socket)
{
	int r;

	if (!process)
		return 0;
	r = no_room_is_fine(builder_connect(e->builder, EDGE_OWN, process, socket));
	if (r < 0)
		return r;
	return no_room_is_fine(builder_connect(e->builder, EDGE_BELONG, socket, process));
}

static uint64_t holder_ident(const struct socket_emit *e, const struct socket_row *row, uint32_t k)
{
	return proctable_at(e->procs, e->owners->holders[row->first_holder + k])->ident;
}

static int connect_holders(struct socket_emit *e, const struct socket_row *row)
{
	for (uint32_t k = 0; k < row->n_holders; k++) {
		int r = add_holder_edges(e, holder_ident(e, row, k), row->ident);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool counted(const struct socket_row *row)
{
	return row->flags & SOCKET_ROW_SENT && row->n_holders == 1;
}

static void draft_send(struct draft *d, const struct socket_row *row)
{
	draft_begin(d, &edge_types[EDGE_SEND_TO_SOCKET]);
	draft_str(d, EDGE_SEND_TO_SOCKET_CONNECTION_TYPE, type_name(row));
	if (counted(row)) {
		draft_s64(d, EDGE_SEND_TO_SOCKET_DATA_SIZE, (int64_t)row->bytes_sent);
		draft_s64(d, EDGE_SEND_TO_SOCKET_PACKETS_CNT, row->segments_sent);
		draft_str(d, EDGE_SEND_TO_SOCKET_EXACTNESS, "exact");
		draft_str(d, EDGE_SEND_TO_SOCKET_EXACTNESS_CAUSE, CAUSE_TCP_INFO);
		return;
	}
	draft_mark(d, EDGE_SEND_TO_SOCKET_DATA_SIZE, VALUE_UNKNOWN);
	draft_mark(d, EDGE_SEND_TO_SOCKET_PACKETS_CNT, VALUE_UNKNOWN);
	draft_str(d, EDGE_SEND_TO_SOCKET_EXACTNESS, "unknown");
	draft_str(d, EDGE_SEND_TO_SOCKET_EXACTNESS_CAUSE,
		  row->flags & SOCKET_ROW_SENT ? CAUSE_SHARED : CAUSE_NO_COUNTER);
}

/* remote[]: idents of the remote ends by the position in the order. */
static int add_sends(struct socket_emit *e, struct draft *d, const uint64_t *remote, bool exact)
{
	for (uint32_t i = 0; i < e->table->n_order; i++) {
		const struct socket_row *row = &e->table->rows[e->table->order[i]];
		uint64_t peer = remote[i] ? remote[i] : peer_ident(e, row);

		if (!peer || !row->n_holders || counted(row) != exact)
			continue;
		draft_send(d, row);
		for (uint32_t k = 0; k < row->n_holders; k++) {
			uint64_t process = holder_ident(e, row, k);
			int r = process ? builder_add_edge(e->builder, d, process, peer) : 0;

			if (r == -ENOMEM)
				return r;
		}
	}
	return 0;
}

/* --- sockets that no dump shows --------------------------------------------------------------- */
static int add_others(struct socket_emit *e, struct draft *d)
{
	const struct socket_owners *o = e->owners;

	for (uint32_t i = 0, end; i < o->n_others; i = end) {
		uint64_t ident = 0;
		int r;

		for (end = i; end < o->n_others && o->others[end].inode == o->others[i].inode;)
			end++;
		draft_begin(d, &entity_types[ENTITY_SOCKET]);
		draft_str(d, SOCKET_SOCKET_TYPE, "UNKNOWN");
		/* Not 0.0.0.0:0, and no namespace: that of the holder need not be its own. */
		draft_mark(d, SOCKET_SOCKET_ADDR, VALUE_UNKNOWN);
		draft_mark(d, SOCKET_SOCKET_PORT, VALUE_UNKNOWN);
		draft_u64(d, SOCKET_INODE, o->others[i].inode);
		draft_u64(d, SOCKET_HOLDERS, end - i);
		r = builder_add(e->builder, d, &ident);
		if (r == -ENOMEM)
			return r;
		for (uint32_t k = i; r == 0 && k < end; k++) {
			r = add_holder_edges(e, proctable_at(e->procs, o->others[k].process)->ident,
					     ident);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* --- all -------------------------------------------------------------------------------------- */
static int add_sockets(struct socket_emit *e, struct draft *d, uint64_t *remote)
{
	for (uint32_t i = 0; i < e->table->n_order; i++) {
		struct socket_row *row = &e->table->rows[e->table->order[i]];
		int r;

		if (row->peer_row == SOCKET_PEER_REMOTE) {
			r = add_remote(e, d, row, &remote[i]);
			if (r == -ENOMEM)
				return r;
		}
		/* Nobody need listen where a UDP socket is connected to. */
		if (row->peer_row == SOCKET_PEER_MISSING && row->protocol == IPPROTO_TCP)
			e->missing_peers++;
		r = add_socket(e, d, row, remote[i]);
		if (r == -ENOMEM)
			return r;
		if (r == 0) {
			r = connect_holders(e, row);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int socket_emit_all(struct socket_emit *e)
{
	_cleanup_draft_ struct draft d = {0};
	_cleanup_free_ uint64_t *remote = calloc(e->table->n_order + 1, sizeof(*remote));
	int r;

	if (!remote)
		return -ENOMEM;
	make_idents(e);
	r = add_sockets(e, &d, remote);
	/* Numbers that are not known first: an edge made of both kinds must say "unknown". */
	if (r == 0)
		r = add_sends(e, &d, remote, false);
	if (r == 0)
		r = add_sends(e, &d, remote, true);
	if (r == 0)
		r = add_others(e, &d);
	return r;
}
