/* SPDX-License-Identifier: MIT */
/* edges/<type>/<id>/, and every symbolic link that stands for an edge or finds a node (by/). */
#include "fs/kind.h"
#include "view/json.h"

void kind_node_target(struct strbuf *b, unsigned int depth, const struct object *entity)
{
	while (depth--)
		strbuf_str(b, "../");
	strbuf_str(b, "nodes/");
	strbuf_str(b, entity->type->short_name);
	strbuf_char(b, '/');
	strbuf_add(b, object_key(entity), entity->key_len);
}

static const struct edge_file {
	const char *name;
	enum edge_slot slot;
	enum node_form form;
	bool directed, undirected; /* in which edges it is */
} edge_files[] = {
	{"edge_type", EDGE_SLOT_TYPE, FORM_FILE, true, true},
	{"edge.json", EDGE_JSON, FORM_FILE, true, true},
	{"source", EDGE_SLOT_SOURCE, FORM_LINK, true, false},
	{"target", EDGE_SLOT_TARGET, FORM_LINK, true, false},
	{"nodes", EDGE_NODES, FORM_DIR, false, true},
};

static const struct object *subject(const struct fs_view *v, uint64_t ino)
{
	return snapshot_edge(v->snapshot, inode_subject(ino));
}

static bool file_applies(const struct edge_file *f, const struct object *e)
{
	return e->type->directed ? f->directed : f->undirected;
}

static enum node_form attr_form(const struct object *e, unsigned int attr)
{
	if (attr >= e->n_values || e->type->attrs[attr].flags & ATTR_FS_HIDDEN ||
	    e->values[attr].kind == VALUE_ABSENT || e->values[attr].kind == VALUE_NULL)
		return FORM_NONE;
	return FORM_FILE;
}

static enum node_form edge_form(const struct fs_view *v, uint64_t ino)
{
	const struct object *e = subject(v, ino);
	unsigned int slot = inode_slot(ino);

	if (!e)
		return FORM_NONE;
	if (slot == EDGE_DIR)
		return FORM_DIR;
	for (size_t i = 0; i < ARRAY_SIZE(edge_files); i++)
		if (edge_files[i].slot == slot)
			return file_applies(&edge_files[i], e) ? edge_files[i].form : FORM_NONE;
	return slot >= SLOT_ATTRS ? attr_form(e, slot - SLOT_ATTRS) : FORM_NONE;
}

/* nodes/ of an undirected edge. */
static uint64_t lookup_end(const struct fs_view *v, const struct object *e, const char *name,
			   size_t len)
{
	const struct object *o = snapshot_peer(v->snapshot, name, len);

	if (!o || (o->ident != e->source && o->ident != e->target))
		return 0;
	return inode_make(INODE_LINK, e->ident,
			  o->ident == e->source ? LINK_NODES_SOURCE : LINK_NODES_TARGET);
}

static uint64_t edge_lookup(const struct fs_view *v, uint64_t ino, const char *name, size_t len)
{
	const struct object *e = subject(v, ino);
	int attr;

	if (!e)
		return 0;
	if (inode_slot(ino) == EDGE_NODES)
		return lookup_end(v, e, name, len);
	for (size_t i = 0; i < ARRAY_SIZE(edge_files); i++)
		if (same_name(edge_files[i].name, name, len) && file_applies(&edge_files[i], e))
			return inode_make(INODE_EDGE, e->ident, edge_files[i].slot);
	attr = schema_attr(e->type, name, len);
	if (attr < 0 || attr_form(e, (unsigned int)attr) == FORM_NONE)
		return 0;
	return inode_make(INODE_EDGE, e->ident, SLOT_ATTRS + (unsigned int)attr);
}

static void list_ends(const struct fs_view *v, const struct object *e, uint64_t after,
		      struct lister *l)
{
	const uint64_t ends[] = {e->source, e->target};
	_cleanup_strbuf_ struct strbuf name = {0};

	for (uint64_t i = after; i < (e->source == e->target ? 1 : 2); i++) {
		strbuf_reset(&name);
		snapshot_peer_name(&name, snapshot_entity(v->snapshot, ends[i]));
		if (!l->add(l, name.data, name.len,
			    inode_make(INODE_LINK, e->ident, LINK_NODES_SOURCE + (unsigned int)i),
			    FORM_LINK, i + 1))
			return;
	}
}

static void edge_list(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l)
{
	const struct object *e = subject(v, ino);

	if (!e)
		return;
	if (inode_slot(ino) == EDGE_NODES) {
		list_ends(v, e, after, l);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(edge_files); i++)
		if (edge_files[i].slot > after && file_applies(&edge_files[i], e) &&
		    !l->add(l, edge_files[i].name, strlen(edge_files[i].name),
			    inode_make(INODE_EDGE, e->ident, edge_files[i].slot),
			    edge_files[i].form, edge_files[i].slot))
			return;
	for (unsigned int a = 0; a < e->n_values; a++)
		if (SLOT_ATTRS + a > after && attr_form(e, a) != FORM_NONE &&
		    !l->add(l, e->type->attrs[a].name, strlen(e->type->attrs[a].name),
			    inode_make(INODE_EDGE, e->ident, SLOT_ATTRS + a), FORM_FILE,
			    SLOT_ATTRS + a))
			return;
}

static void edge_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	const struct object *e = subject(v, ino);
	unsigned int slot = inode_slot(ino);

	if (!e)
		return;
	if (slot == EDGE_SLOT_SOURCE || slot == EDGE_SLOT_TARGET) {
		kind_node_target(b, 3,
				 snapshot_entity(v->snapshot,
						 slot == EDGE_SLOT_SOURCE ? e->source : e->target));
		return;
	}
	if (slot >= SLOT_ATTRS) {
		kind_attr_text(b, e, slot - SLOT_ATTRS);
		return;
	}
	if (slot == EDGE_SLOT_TYPE)
		strbuf_str(b, e->type->name);
	else
		json_edge(b, v->snapshot, e);
	strbuf_char(b, '\n');
}

static uint64_t edge_parent(const struct fs_view *v, uint64_t ino)
{
	const struct object *e = subject(v, ino);

	if (!e)
		return inode_static(TREE_EDGES);
	if (inode_slot(ino) == EDGE_DIR)
		return inode_make(INODE_TYPE, e->type->index, 1);
	return inode_make(INODE_EDGE, e->ident, EDGE_DIR);
}

const struct kind_ops kind_edge = {
	.form = edge_form,
	.lookup = edge_lookup,
	.list = edge_list,
	.content = edge_content,
	.parent = edge_parent,
};

/* --- links that stand for an edge ------------------------------------------------------------- */
/* Where the link stands (directories below the root), and to what it leads. */
static const struct link_rule {
	unsigned int depth;
	enum { TO_SOURCE, TO_TARGET, TO_EDGE } to;
} link_rules[] = {
	[LINK_OUT] = {5, TO_TARGET},	      [LINK_IN] = {5, TO_SOURCE},
	[LINK_OUT_TARGET] = {5, TO_SOURCE},   [LINK_IN_SOURCE] = {5, TO_TARGET},
	[LINK_EDGES_SOURCE] = {4, TO_EDGE},   [LINK_EDGES_TARGET] = {4, TO_EDGE},
	[LINK_NODES_SOURCE] = {4, TO_SOURCE}, [LINK_NODES_TARGET] = {4, TO_TARGET},
};

static enum node_form link_form(const struct fs_view *v, uint64_t ino)
{
	return subject(v, ino) && inode_slot(ino) < ARRAY_SIZE(link_rules) ? FORM_LINK : FORM_NONE;
}

static void link_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	const struct object *e = subject(v, ino);
	const struct link_rule *rule = &link_rules[inode_slot(ino)];

	if (!e)
		return;
	if (rule->to != TO_EDGE) {
		kind_node_target(b, rule->depth,
				 snapshot_entity(v->snapshot,
						 rule->to == TO_SOURCE ? e->source : e->target));
		return;
	}
	for (unsigned int i = 0; i < rule->depth; i++)
		strbuf_str(b, "../");
	strbuf_str(b, "edges/");
	strbuf_str(b, e->type->short_name);
	strbuf_char(b, '/');
	snapshot_edge_name(b, v->snapshot, e);
}

const struct kind_ops kind_link = {
	.form = link_form,
	.content = link_content,
};

/* --- by/ -------------------------------------------------------------------------------------- */
static enum node_form by_form(const struct fs_view *v, uint64_t ino)
{
	return snapshot_entity(v->snapshot, inode_subject(ino)) ? FORM_LINK : FORM_NONE;
}

static void by_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	const struct object *o = snapshot_entity(v->snapshot, inode_subject(ino));

	if (o)
		kind_node_target(b, 2, o);
}

const struct kind_ops kind_by = {
	.form = by_form,
	.content = by_content,
};

static enum node_form port_form(const struct fs_view *v, uint64_t ino)
{
	return snapshot_indexed(v->snapshot, ENTITY_SOCKET, inode_subject(ino)).n ? FORM_DIR
										  : FORM_NONE;
}

static uint64_t port_lookup(const struct fs_view *v, uint64_t ino, const char *name, size_t len)
{
	const struct object *o = snapshot_entity_by_key(v->snapshot, ENTITY_SOCKET, name, len);

	if (!o || object_value(o, SOCKET_SOCKET_PORT)->u64 != inode_subject(ino))
		return 0;
	return inode_make(INODE_PORT_LINK, o->ident, 0);
}

static void port_list(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l)
{
	struct index_run run = snapshot_indexed(v->snapshot, ENTITY_SOCKET, inode_subject(ino));

	for (uint32_t i = 0; i < run.n; i++) {
		const struct object *o = v->snapshot->entities[run.entities[i]];

		if (o->ident > after &&
		    !l->add(l, object_key(o), o->key_len, inode_make(INODE_PORT_LINK, o->ident, 0),
			    FORM_LINK, o->ident))
			return;
	}
}

static uint64_t port_parent(const struct fs_view *v, uint64_t ino)
{
	return inode_static(TREE_BY_PORT);
}

const struct kind_ops kind_port = {
	.form = port_form,
	.lookup = port_lookup,
	.list = port_list,
	.parent = port_parent,
};

static void port_link_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	const struct object *o = snapshot_entity(v->snapshot, inode_subject(ino));

	if (o)
		kind_node_target(b, 3, o);
}

const struct kind_ops kind_port_link = {
	.form = by_form,
	.content = port_link_content,
};
