/* SPDX-License-Identifier: MIT */
/*
 * Tells the kernel what a new snapshot changed, of what it may remember: a call is 3 to 12 us, so
 * only marked inodes (seen.h) are named. New entries need their directory's listing dropped, gone
 * ones their name deleted, changed ones their pages and attributes.
 */
#include <string.h>

#include "fs/private.h"
#include "graph/diff.h"

#define QUOTE_DEPTH 2 /* nodes nested in nodes: a socket's thread, its process */

struct pass {
	struct fs *fs;
	struct seen_table *seen;
	const struct snapshot *before, *after;
};

/* -ENOENT says that the kernel had forgotten it: fine. Every other failure means that the mount is
 * gone, which the dispatcher finds out by itself. */
static void drop(struct pass *p, uint64_t ino)
{
	if (seen_clear(p->seen, ino))
		(void)fuse_lowlevel_notify_inval_inode(p->fs->session, ino, 0, 0);
}

static bool is_directory(uint64_t ino)
{
	unsigned int slot = inode_slot(ino);

	switch (inode_kind(ino)) {
	case INODE_NODE:
		return slot == NODE_DIR || slot == NODE_DETAILS || slot >= NODE_OUT_TYPES;
	case INODE_EDGE:
		return slot == EDGE_DIR;
	default:
		return inode_kind(ino) == INODE_PORT;
	}
}

/*
 * Of a directory only the name is dropped: a deleted one stays dead in the kernel for whoever comes
 * back with the same number while somebody is in it, and is refused when a file in it is open.
 * libfuse sends the name with the NUL that it expects behind it. To be called before drop() of the
 * same inode, which clears its mark.
 */
static void delete_name(struct pass *p, uint64_t parent, uint64_t ino, const char *name, size_t len)
{
	char text[256];

	if (len >= sizeof(text) || !seen_clear(p->seen, ino))
		return;
	memcpy(text, name, len);
	text[len] = '\0';
	if (is_directory(ino)) {
		(void)fuse_lowlevel_notify_inval_entry(p->fs->session, parent, text, len);
		(void)fuse_lowlevel_notify_inval_inode(p->fs->session, ino, 0, 0);
	} else {
		(void)fuse_lowlevel_notify_delete(p->fs->session, parent, ino, text, len);
	}
}

/* --- nodes ------------------------------------------------------------------------------------ */
/* by/<index>/ directories of an entity type. */
static void index_changed(struct pass *p, const struct object *o, bool gone)
{
	for (unsigned int i = 0; i < TREE_ENTRY_COUNT; i++) {
		const struct tree_entry *e = &tree_entries[i];

		if (e->listing != TREE_LIST_BY_KEY || e->entity != o->type->index)
			continue;
		drop(p, inode_static(i));
		if (gone)
			delete_name(p, inode_static(i), inode_make(INODE_BY, o->ident, i),
				    object_key(o), o->key_len);
	}
}

static void port_changed(struct pass *p, const struct object *o, bool gone)
{
	const struct value *port;
	uint64_t dir;

	if (o->type->index != ENTITY_SOCKET)
		return;
	port = object_value(o, SOCKET_SOCKET_PORT);
	if (port->s64 < 0)
		return;
	dir = inode_make(INODE_PORT, port->u64, 0);
	if (gone)
		delete_name(p, dir, inode_make(INODE_PORT_LINK, o->ident, 0), object_key(o),
			    o->key_len);
	if (gone && !snapshot_indexed(p->after, ENTITY_SOCKET, port->u64).n) {
		_cleanup_strbuf_ struct strbuf name = {0};

		strbuf_u64(&name, port->u64);
		delete_name(p, inode_static(TREE_BY_PORT), dir, strbuf_cstr(&name), name.len);
	}
	drop(p, inode_static(TREE_BY_PORT));
	drop(p, dir);
}

static void listed(struct pass *p, const struct object *o, bool gone)
{
	uint64_t dir = inode_make(INODE_TYPE, o->type->index, 0);

	drop(p, dir);
	if (gone)
		delete_name(p, dir, inode_make(INODE_NODE, o->ident, NODE_DIR), object_key(o),
			    o->key_len);
	index_changed(p, o, gone);
	port_changed(p, o, gone);
}

/* Everything inside a node that is gone; its name is deleted already. */
static void forget_node(struct pass *p, const struct object *o)
{
	for (unsigned int slot = 0; slot < 256; slot++)
		drop(p, inode_make(INODE_NODE, o->ident, slot));
}

static bool shown(const struct object *o, unsigned int attr)
{
	return o->values[attr].kind != VALUE_ABSENT && o->values[attr].kind != VALUE_NULL;
}

/* An attribute file: new, gone, or with another content. */
static void attr_changed(struct pass *p, enum inode_kind kind, const struct object *a,
			 const struct object *b, unsigned int attr)
{
	uint64_t dir = inode_make(kind, b->ident, 0);
	uint64_t ino = inode_make(kind, b->ident, SLOT_ATTRS + attr);
	const char *name = b->type->attrs[attr].name;

	if (shown(a, attr) != shown(b, attr))
		drop(p, dir);
	if (shown(a, attr) && !shown(b, attr))
		delete_name(p, dir, ino, name, strlen(name));
	else
		drop(p, ino);
}

/* Does `holder` nest `o` in its JSON (as a thread its process)? */
static bool nests(const struct object *holder, const struct object *o)
{
	for (unsigned int i = 0; i < holder->n_values; i++)
		if (holder->values[i].kind == VALUE_REF && holder->values[i].ident == o->ident &&
		    holder->type->attrs[i].flags & ATTR_REFERENCE)
			return true;
	return false;
}

/* Texts of other objects that quote this one: edges, nodes at their other ends, and what quotes
 * those that nest it. */
static void quoted_changed(struct pass *p, const struct object *o, unsigned int depth)
{
	const struct edge_run runs[] = {
		snapshot_out(p->after, o->ident),
		snapshot_in(p->after, o->ident),
	};

	for (unsigned int k = 0; k < ARRAY_SIZE(runs); k++)
		for (uint32_t i = 0; i < runs[k].n; i++) {
			const struct object *e = p->after->edges[runs[k].edges[i]];
			uint64_t far = e->source == o->ident ? e->target : e->source;
			const struct object *holder = snapshot_entity(p->after, far);

			drop(p, inode_make(INODE_EDGE, e->ident, EDGE_JSON));
			drop(p, inode_make(INODE_NODE, far, NODE_JSON));
			if (depth && holder && nests(holder, o))
				quoted_changed(p, holder, depth - 1);
		}
}

static void node_changed(struct pass *p, const struct object *a, const struct object *b)
{
	bool quoted = false;

	for (unsigned int i = 0; i < b->n_values; i++) {
		if (object_attr_equal(a, b, i))
			continue;
		attr_changed(p, INODE_NODE, a, b, i);
		quoted = quoted || b->type->attrs[i].flags & ATTR_REFERENCE;
		if (i == ENTITY_DETAILS_ATTR) {
			drop(p, inode_make(INODE_NODE, b->ident, NODE_DIR));
			drop(p, inode_make(INODE_NODE, b->ident, NODE_DETAILS));
			for (unsigned int k = 0; k < 256; k++)
				drop(p, inode_make(INODE_DETAIL, b->ident, k));
		}
	}
	drop(p, inode_make(INODE_NODE, b->ident, NODE_JSON));
	if (!quoted)
		return;
	drop(p, inode_make(INODE_NODE, b->ident, NODE_GLOBAL_ID));
	quoted_changed(p, b, QUOTE_DEPTH);
}

static bool same_key(const struct object *a, const struct object *b)
{
	return a->key_len == b->key_len && memcmp(object_key(a), object_key(b), a->key_len) == 0;
}

/* A node got another name: its links and the names of its edges are others, too. */
static void renamed(struct pass *p, const struct object *a, const struct object *b);

static void on_entity(void *userdata, const struct object *before, const struct object *after)
{
	struct pass *p = userdata;

	if (before && after) {
		node_changed(p, before, after);
		if (!same_key(before, after))
			renamed(p, before, after);
		if (before->type->index == ENTITY_SOCKET &&
		    !object_attr_equal(before, after, SOCKET_SOCKET_PORT)) {
			port_changed(p, before, true);
			port_changed(p, after, false);
		}
		return;
	}
	listed(p, before ? before : after, before != NULL);
	if (before)
		forget_node(p, before);
}

/* --- edges ------------------------------------------------------------------------------------ */
/* The directories at one end of an edge; `near` is the node, `peer` the one that the link names. */
static void end_changed(struct pass *p, const struct snapshot *s, const struct object *e,
			uint64_t near, uint64_t peer, bool in, bool gone)
{
	unsigned int types = (in ? NODE_IN_TYPES : NODE_OUT_TYPES) + e->type->index;
	uint64_t dir = inode_make(INODE_NODE, near, types);
	const struct object *far = snapshot_entity(s, peer);
	_cleanup_strbuf_ struct strbuf name = {0};
	bool at_source = near == e->source;
	enum link_slot link = in ? (at_source && !e->type->directed ? LINK_IN_SOURCE : LINK_IN)
				 : (at_source ? LINK_OUT : LINK_OUT_TARGET);

	drop(p, inode_make(INODE_NODE, near, in ? NODE_IN : NODE_OUT));
	drop(p, dir);
	drop(p, inode_make(INODE_NODE, near, NODE_EDGES));
	if (!gone || !far)
		return;
	snapshot_peer_name(&name, far);
	delete_name(p, dir, inode_make(INODE_LINK, e->ident, link), strbuf_cstr(&name), name.len);
	strbuf_reset(&name);
	strbuf_str(&name, e->type->short_name);
	strbuf_str(&name, "--");
	snapshot_edge_name(&name, s, e);
	delete_name(
		p, inode_make(INODE_NODE, near, NODE_EDGES),
		inode_make(INODE_LINK, e->ident, at_source ? LINK_EDGES_SOURCE : LINK_EDGES_TARGET),
		strbuf_cstr(&name), name.len);
}

static void edge_listed(struct pass *p, const struct snapshot *s, const struct object *e, bool gone)
{
	uint64_t dir = inode_make(INODE_TYPE, e->type->index, 1);
	_cleanup_strbuf_ struct strbuf name = {0};

	drop(p, dir);
	if (gone) {
		snapshot_edge_name(&name, s, e);
		delete_name(p, dir, inode_make(INODE_EDGE, e->ident, EDGE_DIR), strbuf_cstr(&name),
			    name.len);
		for (unsigned int slot = 0; slot < SLOT_ATTRS + e->n_values; slot++)
			drop(p, inode_make(INODE_EDGE, e->ident, slot));
	}
	end_changed(p, s, e, e->source, e->target, false, gone);
	end_changed(p, s, e, e->target, e->source, true, gone);
	if (!e->type->directed) {
		end_changed(p, s, e, e->target, e->source, false, gone);
		end_changed(p, s, e, e->source, e->target, true, gone);
	}
}

/* An edge type directory (out/own/) that became empty is gone as a name. */
static void empty_type_dirs(struct pass *p, const struct object *e)
{
	const char *name = e->type->short_name;
	const uint64_t ends[] = {e->source, e->target};

	for (unsigned int k = 0; k < 4; k++) {
		uint64_t near = ends[k & 1];
		bool in = k >= 2;
		uint64_t dir = inode_make(INODE_NODE, near,
					  (in ? NODE_IN_TYPES : NODE_OUT_TYPES) + e->type->index);

		if (snapshot_entity(p->after, near) &&
		    kind_node.form(&(struct fs_view){.snapshot = p->after}, dir) == FORM_NONE)
			delete_name(p, inode_make(INODE_NODE, near, in ? NODE_IN : NODE_OUT), dir,
				    name, strlen(name));
	}
}

static void on_edge(void *userdata, const struct object *before, const struct object *after)
{
	struct pass *p = userdata;

	if (before && after) {
		for (unsigned int i = 0; i < after->n_values; i++)
			if (!object_attr_equal(before, after, i))
				attr_changed(p, INODE_EDGE, before, after, i);
		drop(p, inode_make(INODE_EDGE, after->ident, EDGE_JSON));
		return;
	}
	if (before)
		empty_type_dirs(p, before);
	edge_listed(p, before ? p->before : p->after, before ? before : after, before != NULL);
}

static void renamed(struct pass *p, const struct object *a, const struct object *b)
{
	const struct edge_run runs[] = {
		snapshot_out(p->before, a->ident),
		snapshot_in(p->before, a->ident),
	};

	listed(p, a, true);
	listed(p, b, false);
	for (unsigned int k = 0; k < ARRAY_SIZE(runs); k++)
		for (uint32_t i = 0; i < runs[k].n; i++)
			edge_listed(p, p->before, p->before->edges[runs[k].edges[i]], true);
}

/* --- the state -------------------------------------------------------------------------------- */
static void state_changed(struct pass *p)
{
	const struct state *a = p->before->state, *b = p->after->state;
	unsigned int n = MAX(a->n_collectors, b->n_collectors);

	if (a->n_collectors != b->n_collectors)
		drop(p, inode_static(TREE_COLLECTORS));
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int f = 0; f <= TREE_COLLECTOR_FILE_COUNT; f++)
			drop(p, inode_make(INODE_COLLECTOR, i, f));
	for (unsigned int i = 0; i < TREE_ENTRY_COUNT; i++)
		if (tree_entries[i].kind == TREE_KIND_CONTROL ||
		    (tree_entries[i].kind == TREE_KIND_FILE &&
		     tree_entries[i].cache == TREE_CACHE_KERNEL && i != TREE_README &&
		     i != TREE_VERSION))
			drop(p, inode_static(i));
}

/*
 * Another choice of processes brings nodes and takes them away while those that refer to them stay
 * as they are: links (parent, container, peer) come and go in every directory.
 */
static void choice_changed(struct pass *p)
{
	for (uint32_t i = 0; i < p->after->n_entities; i++) {
		const struct object *o = p->after->entities[i];

		drop(p, inode_make(INODE_NODE, o->ident, NODE_DIR));
		for (unsigned int a = 0; a < o->n_values; a++)
			if (o->values[a].kind == VALUE_REF)
				drop(p, inode_make(INODE_NODE, o->ident, SLOT_ATTRS + a));
	}
}

static bool same_choice(const struct state *a, const struct state *b)
{
	return a->n_pids == b->n_pids &&
	       memcmp(a->pids, b->pids, a->n_pids * sizeof(a->pids[0])) == 0;
}

void invalidate_changes(struct fs *fs, const struct snapshot *before, const struct snapshot *after,
			struct seen_table *seen)
{
	struct pass p = {fs, seen, before, after};
	struct diff_sink sink = {.entity = on_entity, .edge = on_edge, .userdata = &p};

	diff_snapshots(before, after, &sink);
	if (!same_choice(before->state, after->state))
		choice_changed(&p);
	if (before->state != after->state)
		state_changed(&p);
}
