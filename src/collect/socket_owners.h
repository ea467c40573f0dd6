/* SPDX-License-Identifier: MIT */
/*
 * Which processes hold which socket, by the descriptors in the process table.
 *
 * A descriptor list is a little older than the dump of sockets. So a socket in a list and in no
 * dump may be of another family, or closed meanwhile: the second is told apart by looking again
 * (socket_owners_verify). And a socket in a dump and in no list may be new, or nobody's:
 * the memory of the collection before tells.
 *
 * Cost: about 50 ns for each descriptor of a socket.
 */
#pragma once

#include "collect/proctable.h"
#include "collect/socket_table.h"

/* A descriptor of a socket that no dump shows. */
struct socket_other {
	uint64_t inode;
	uint32_t process; /* position in the process table */
};

struct socket_owners {
	uint32_t
		*holders; /* positions in the process table, grouped: row.first_holder, n_holders */
	uint32_t n_holders;
	struct socket_other *others; /* ascending inode, then process; not unix */
	uint32_t n_others, others_cap;
	struct inode_set unowned; /* inodes of rows without a holder, sorted */
	bool all_readable;	  /* no process keeps its descriptors from us */
};

/* What is remembered from one collection to the next. */
struct socket_memory {
	struct inode_set others;  /* of the last collection */
	struct inode_set unowned; /* of the last collection */
	struct inode_set orphans; /* still without a holder after a walk over all processes */
};

void socket_owners_deinit(struct socket_owners *o);
#define _cleanup_socket_owners_ _cleanup_(socket_owners_deinit)
void socket_memory_deinit(struct socket_memory *m);

/* Fills o, and first_holder and n_holders of the rows (which must be indexed). 0 or -ENOMEM. */
int socket_owners_find(struct socket_owners *o, struct socket_table *t,
		       const struct proctable *procs);
/*
 * True when all descriptors should be walked: a socket is without a holder for the second time and
 * no walk has been made for it. (The first time it is most likely younger than the lists.)
 */
bool socket_owners_want_walk(const struct socket_owners *o, const struct socket_memory *m);
/*
 * Drops others that are no longer held. Those that were among the others the last time are
 * believed; of the new ones at most SOCKET_VERIFY_LINKS descriptors are read again, the rest waits
 * for the next collection (m->others then has them). Returns 0 or -ENOMEM.
 */
#define SOCKET_VERIFY_LINKS 8192
int socket_owners_verify(struct socket_owners *o, struct socket_memory *m, int proc_fd,
			 const struct proctable *procs);
/* Remembers the sockets without a holder; walked: after a walk over all descriptors. */
int socket_memory_keep(struct socket_memory *m, const struct socket_owners *o, bool walked);
