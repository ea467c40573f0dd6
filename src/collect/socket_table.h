/* SPDX-License-Identifier: MIT */
/*
 * TCP and UDP sockets of one collection as compact rows, and the joining of both ends.
 *
 * Filled by the parsers (socket_diag.h, socket_proc.h), then indexed, then joined. Addresses are
 * kept as 16 bytes, IPv4 as ::ffff:a.b.c.d whatever the family of the socket: so an IPv4 client
 * meets its dual-stack server.
 *
 * Rows of inode 0 (TIME_WAIT, orphans, connections that wait for accept) belong to nobody: they are
 * never shown, but kept for the joining, so that the other end is not taken for a remote one.
 *
 * Cost: O(rows log rows), one allocation for all rows; memory is kept between collections.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/macro.h"

#define SOCKET_ROWS_MAX 400000
#define SOCKET_SETS_MAX 4000000 /* inodes in a set */

/* Numbers of the kernel's TCP states (include/net/tcp_states.h). */
enum socket_state {
	SOCKET_STATE_NONE,
	SOCKET_STATE_ESTABLISHED,
	SOCKET_STATE_SYN_SENT,
	SOCKET_STATE_SYN_RECV,
	SOCKET_STATE_FIN_WAIT1,
	SOCKET_STATE_FIN_WAIT2,
	SOCKET_STATE_TIME_WAIT,
	SOCKET_STATE_CLOSE,
	SOCKET_STATE_CLOSE_WAIT,
	SOCKET_STATE_LAST_ACK,
	SOCKET_STATE_LISTEN,
	SOCKET_STATE_CLOSING,
	SOCKET_STATE_NEW_SYN_RECV,
	SOCKET_STATE_BOUND, /* TCP_BOUND_INACTIVE, Linux 6.8 */
	SOCKET_STATE_COUNT,
};

/* Which numbers are known, and marks. */
enum socket_row_flags {
	SOCKET_ROW_SENT = 1,
	SOCKET_ROW_RECEIVED = 2,
	SOCKET_ROW_RETRANSMITTED = 4,
	SOCKET_ROW_SEGMENTS_SENT = 8,
	SOCKET_ROW_SEGMENTS_RECEIVED = 16,
	SOCKET_ROW_RTT = 32,
	SOCKET_ROW_RX_QUEUE = 64,
	SOCKET_ROW_TX_QUEUE = 128,
	SOCKET_ROW_DROPS = 256,
	SOCKET_ROW_V6ONLY = 512,
	SOCKET_ROW_DOUBLE = 1024, /* a second row of one socket (MPTCP) */
};

/* socket_row.peer_row when it is not the position of a row. */
enum socket_peer {
	SOCKET_PEER_FIRST = 0xfffffff0,	      /* rows are below */
	SOCKET_PEER_NONE = SOCKET_PEER_FIRST, /* not connected, or nobody can say to which socket */
	SOCKET_PEER_NOBODY,		      /* the other end is an orphan of this host */
	SOCKET_PEER_MISSING,		      /* it must be on this host and was not seen */
	SOCKET_PEER_REMOTE,		      /* a socket of another host, as far as can be seen */
	SOCKET_PEER_UNJOINED,		      /* while joining */
};

struct socket_row {
	uint8_t local[16], peer[16];
	uint64_t netns; /* inode number of the network namespace; 0 unknown */
	uint64_t inode; /* 0: nobody's */
	uint64_t bytes_sent, bytes_received, bytes_retransmitted;
	uint64_t ident; /* of the entity; set by the collector */
	uint32_t uid;
	uint32_t ifindex; /* of the device it is bound to, 0 none */
	uint32_t rx_queue, tx_queue, drops, rtt_us, segments_sent, segments_received;
	uint32_t next;	   /* in its chain of the hash table */
	uint32_t peer_row; /* position of the other end, or enum socket_peer */
	uint32_t first_holder, n_holders;
	uint16_t local_port, peer_port; /* host order; 0 none */
	uint16_t flags;			/* enum socket_row_flags */
	uint8_t family;			/* AF_INET, AF_INET6 */
	uint8_t protocol;		/* IPPROTO_TCP, IPPROTO_UDP */
	uint8_t state;			/* enum socket_state */
};

/* The four tables of the kernel. */
struct socket_source {
	const char *file; /* under /proc/<pid>/net */
	uint8_t family, protocol;
};
#define SOCKET_SOURCES 4
extern const struct socket_source socket_sources[SOCKET_SOURCES];

/* Inodes: appended, then sorted, then asked. */
struct inode_set {
	uint64_t *items;
	uint32_t n, cap;
	uint64_t dropped; /* beyond SOCKET_SETS_MAX */
};
void inode_set_deinit(struct inode_set *s);
/* 0, -ENOMEM; beyond the limit 0, counted in `dropped`. */
int inode_set_add(struct inode_set *s, uint64_t inode);
/* Sorts and removes doubles. Needed before inode_set_has(). */
void inode_set_sort(struct inode_set *s);
bool inode_set_has(const struct inode_set *s, uint64_t inode);

struct socket_table {
	struct socket_row *rows;
	uint32_t n, cap;
	uint32_t limit;	  /* 0: SOCKET_ROWS_MAX */
	uint64_t dropped; /* rows beyond the limit */
	struct inode_set unix_inodes;
	/* After socket_table_index(): */
	uint32_t *order; /* positions of the rows to show, by (netns, inode) */
	uint32_t n_order;
	uint32_t *chains, chains_size; /* by both ends, or by UDP port; powers of two */
	uint32_t *by_inode, inode_size;
};

void socket_table_deinit(struct socket_table *t);
/* Forgets the rows, keeps the memory (unless it is much more than the last use needed). */
void socket_table_reset(struct socket_table *t);
/* A zeroed row at the end, NULL when there is no room: -ENOMEM, or 0 beyond the limit (counted). */
int socket_table_append(struct socket_table *t, struct socket_row **ret);
/* Takes back the rows from position n on (a dump that is done again). */
void socket_table_truncate(struct socket_table *t, uint32_t n);

/* Sorts, marks doubles (the first row of an inode wins) and builds the look-ups. 0 or -ENOMEM. */
int socket_table_index(struct socket_table *t);
/* Finds the other end of every connected row (peer_row). After the index. */
void socket_table_join(struct socket_table *t);
/* Position of the row of an inode, or UINT32_MAX. After the index. */
uint32_t socket_table_find(const struct socket_table *t, uint64_t inode);

/* True when the row is one end of a connection (UDP: connect() was called). */
bool socket_row_connected(const struct socket_row *row);
/* "established", "listen" …; UDP "connected", "unconnected". */
const char *socket_row_state(const struct socket_row *row);

/* Makes the 16 bytes of an address; len is 4 or 16. */
void socket_address_set(uint8_t address[16], const void *bytes, unsigned int len);
bool socket_address_is_v4(const uint8_t address[16]);
bool socket_address_loopback(const uint8_t address[16]);
bool socket_address_any(const uint8_t address[16]);
/*
 * "10.0.0.8", "fe80::1%3": text of an address, a link-local one of IPv6 with its interface when
 * that is known. Returns the length.
 */
#define SOCKET_ADDRESS_TEXT 64
unsigned int socket_address_text(const uint8_t address[16], uint32_t ifindex,
				 char text[SOCKET_ADDRESS_TEXT]);
