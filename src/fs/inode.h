/* SPDX-License-Identifier: MIT */
/*
 * Inode numbers are values, not handles: kind, what it belongs to, and a slot within that. They
 * mean the same in every generation and to the next daemon, and nothing has to be remembered for
 * them.
 *
 *     63      60 59                              8 7        0
 *     |  kind   |  subject (ident, port, number)   |  slot   |
 *
 * The root is 1 as FUSE wants it: kind STATIC, so that static numbers are entry + 1.
 */
#pragma once

#include <stdint.h>

#include "fs/tree.h"

enum inode_kind {
	INODE_STATIC,	  /* subject 0, slot: tree entry + 1 */
	INODE_GENERATION, /* subject: generation, slot: tree entry */
	INODE_TYPE,	  /* nodes/<type>, edges/<type>; subject: type, slot: 1 for edges */
	INODE_NODE,	  /* subject: ident, slot: enum node_slot */
	INODE_DETAIL,	  /* nodes/…/details/<name>; subject: ident, slot: position */
	INODE_EDGE,	  /* subject: ident of the edge, slot: enum edge_slot */
	INODE_LINK, /* a link to or from an edge; subject: ident of the edge, slot: enum link_slot
		     */
	INODE_BY,   /* by/<index>/<key>; subject: ident, slot: tree entry */
	INODE_PORT, /* by/port/<port>; subject: port */
	INODE_PORT_LINK, /* by/port/<port>/<key>; subject: ident */
	INODE_COLLECTOR, /* subject: number of the collector, slot: 0 directory, file + 1 */
	INODE_KIND_COUNT,
};

#define SLOT_ATTRS 16 /* attribute files: SLOT_ATTRS + attribute */

enum node_slot {
	NODE_DIR,
	NODE_ENTITY_TYPE,
	NODE_NAMESPACE,
	NODE_GLOBAL_ID,
	NODE_JSON,
	NODE_DETAILS,
	NODE_OUT,
	NODE_IN,
	NODE_EDGES,
	NODE_OUT_TYPES = SLOT_ATTRS + SCHEMA_MAX_ATTRS, /* + edge type */
	NODE_IN_TYPES = NODE_OUT_TYPES + 64,		/* + edge type */
};
_Static_assert(EDGE_TYPE_COUNT <= 64 && NODE_IN_TYPES + 64 <= 256, "slots overlap");

enum edge_slot {
	EDGE_DIR,
	EDGE_SLOT_TYPE,
	EDGE_JSON,
	EDGE_SLOT_SOURCE,
	EDGE_SLOT_TARGET,
	EDGE_NODES,
};

enum link_slot {
	LINK_OUT,	   /* in out/<type>/ of the source */
	LINK_IN,	   /* in in/<type>/ of the target */
	LINK_OUT_TARGET,   /* undirected: in out/<type>/ of the target */
	LINK_IN_SOURCE,	   /* undirected: in in/<type>/ of the source */
	LINK_EDGES_SOURCE, /* in edges/ of the source */
	LINK_EDGES_TARGET, /* in edges/ of the target */
	LINK_NODES_SOURCE, /* in nodes/ of the edge */
	LINK_NODES_TARGET,
};

static inline uint64_t inode_make(enum inode_kind kind, uint64_t subject, unsigned int slot)
{
	return (uint64_t)kind << 60 | subject << 8 | slot;
}

static inline uint64_t inode_static(enum tree_entry_id entry)
{
	return inode_make(INODE_STATIC, 0, (unsigned int)entry + 1);
}

static inline enum inode_kind inode_kind(uint64_t ino)
{
	return (enum inode_kind)(ino >> 60);
}

static inline uint64_t inode_subject(uint64_t ino)
{
	return ino >> 8 & IDENT_MASK;
}

static inline unsigned int inode_slot(uint64_t ino)
{
	return ino & 0xff;
}
