/* SPDX-License-Identifier: MIT */
/*
 * sock_diag: the kernel's dump of sockets by netlink (sock_diag(7), linux/inet_diag.h,
 * linux/unix_diag.h). A dump shows the network namespace in which the netlink socket was opened;
 * entering a namespace is not done here.
 *
 * Cost, measured: 1.2 to 1.7 us for each TCP socket with tcp_info.
 */
#pragma once

#include <stddef.h>

#include "collect/socket_table.h"

#define SOCKET_DIAG_BUFFER (256 * 1024)

struct socket_diag;

/* Opens a netlink socket in the network namespace of the calling thread; 0 or -errno. */
int socket_diag_open(struct socket_diag **ret);
struct socket_diag *socket_diag_close(struct socket_diag *d);
static inline void socket_diag_closep(struct socket_diag **d)
{
	*d = socket_diag_close(*d);
}
#define _cleanup_socket_diag_ _cleanup_(socket_diag_closep)

/*
 * Appends all sockets of one source to the table, as of namespace netns. A dump that the kernel
 * calls inconsistent or interrupted is done once more; ret_inconsistent says that this did not
 * help. 0 or -errno (-ENOENT: the kernel's module for it is not there); the table is then as
 * before.
 */
int socket_diag_inet(struct socket_diag *d, const struct socket_source *source, uint64_t netns,
		     struct socket_table *t, bool *ret_inconsistent);
/* Adds the inodes of all unix sockets to t->unix_inodes (not sorted). 0 or -errno. */
int socket_diag_unix(struct socket_diag *d, struct socket_table *t);

/* --- the parser, apart for its tests ------------------------------------------------------------
 */
struct socket_diag_parse {
	struct socket_table *table;
	uint8_t protocol; /* of the rows; not used for unix */
	uint64_t netns;
	uint32_t seq, port; /* of the request; messages of others are passed over. 0: any */
	bool interrupted;   /* set when the kernel says so */
};

/*
 * Takes what one recv() gave (aligned to 4). Any bytes are fine. Returns 0: more is to come,
 * 1: the dump ended; -errno as the kernel sent it; -EBADMSG: not netlink; -ENOMEM.
 */
int socket_diag_feed(struct socket_diag_parse *p, const void *data, size_t len);
