/* SPDX-License-Identifier: MIT */
/* The fixed entries, the directories of types, and collectors/. */
#include "fs/kind.h"

#include <stdio.h>

#include "fs/render.h"

const struct kind_ops *const kinds[INODE_KIND_COUNT] = {
	[INODE_STATIC] = &kind_static,
	[INODE_TYPE] = &kind_type,
	[INODE_NODE] = &kind_node,
	[INODE_DETAIL] = &kind_detail,
	[INODE_EDGE] = &kind_edge,
	[INODE_LINK] = &kind_link,
	[INODE_BY] = &kind_by,
	[INODE_PORT] = &kind_port,
	[INODE_PORT_LINK] = &kind_port_link,
	[INODE_COLLECTOR] = &kind_collector,
};

/* NULL when the inode number is none of ours. */
static const struct tree_entry *entry_of(uint64_t ino)
{
	unsigned int slot = inode_slot(ino);

	if (inode_subject(ino) || slot == 0 || slot > TREE_ENTRY_COUNT)
		return NULL;
	return &tree_entries[slot - 1];
}

static const enum node_form form_of_kind[] = {
	[TREE_KIND_DIR] = FORM_DIR,
	[TREE_KIND_FILE] = FORM_FILE,
	[TREE_KIND_CONTROL] = FORM_CONTROL,
};

static enum node_form static_form(const struct fs_view *v, uint64_t ino)
{
	const struct tree_entry *e = entry_of(ino);

	return e ? form_of_kind[e->kind] : FORM_NONE;
}

/* --- what fills a directory ------------------------------------------------------------------- */
static uint64_t lookup_entity_type(const struct fs_view *v, const struct tree_entry *e,
				   const char *name, size_t len)
{
	for (unsigned int t = 0; t < ENTITY_TYPE_COUNT; t++)
		if (same_name(entity_types[t].short_name, name, len))
			return inode_make(INODE_TYPE, t, 0);
	return 0;
}

static uint64_t lookup_edge_type(const struct fs_view *v, const struct tree_entry *e,
				 const char *name, size_t len)
{
	for (unsigned int t = 0; t < EDGE_TYPE_COUNT; t++)
		if (same_name(edge_types[t].short_name, name, len))
			return inode_make(INODE_TYPE, t, 1);
	return 0;
}

static void list_entity_types(const struct fs_view *v, const struct tree_entry *e, uint64_t after,
			      struct lister *l)
{
	for (uint64_t t = after; t < ENTITY_TYPE_COUNT; t++)
		if (!l->add(l, entity_types[t].short_name, strlen(entity_types[t].short_name),
			    inode_make(INODE_TYPE, t, 0), FORM_DIR, t + 1))
			return;
}

static void list_edge_types(const struct fs_view *v, const struct tree_entry *e, uint64_t after,
			    struct lister *l)
{
	for (uint64_t t = after; t < EDGE_TYPE_COUNT; t++)
		if (!l->add(l, edge_types[t].short_name, strlen(edge_types[t].short_name),
			    inode_make(INODE_TYPE, t, 1), FORM_DIR, t + 1))
			return;
}

static uint64_t lookup_collector(const struct fs_view *v, const struct tree_entry *e,
				 const char *name, size_t len)
{
	const struct state *s = v->snapshot->state;

	for (unsigned int i = 0; i < s->n_collectors; i++)
		if (same_name(s->collectors[i].name, name, len))
			return inode_make(INODE_COLLECTOR, i, 0);
	return 0;
}

static void list_collectors(const struct fs_view *v, const struct tree_entry *e, uint64_t after,
			    struct lister *l)
{
	const struct state *s = v->snapshot->state;

	for (uint64_t i = after; i < s->n_collectors; i++)
		if (!l->add(l, s->collectors[i].name, strlen(s->collectors[i].name),
			    inode_make(INODE_COLLECTOR, i, 0), FORM_DIR, i + 1))
			return;
}

static uint64_t lookup_by_key(const struct fs_view *v, const struct tree_entry *e, const char *name,
			      size_t len)
{
	const struct object *o = snapshot_entity_by_key(v->snapshot, e->entity, name, len);

	return o ? inode_make(INODE_BY, o->ident, (unsigned int)(e - tree_entries)) : 0;
}

static void list_by_key(const struct fs_view *v, const struct tree_entry *e, uint64_t after,
			struct lister *l)
{
	const struct snapshot *s = v->snapshot;

	for (uint32_t i = snapshot_entity_from(s, e->entity, after + 1);
	     i < s->entity_start[e->entity + 1]; i++) {
		const struct object *o = s->entities[i];

		if (!l->add(l, object_key(o), o->key_len,
			    inode_make(INODE_BY, o->ident, (unsigned int)(e - tree_entries)),
			    FORM_LINK, o->ident))
			return;
	}
}

static uint64_t lookup_port(const struct fs_view *v, const struct tree_entry *e, const char *name,
			    size_t len)
{
	uint64_t port = 0;

	if (len == 0 || len > 5 || (name[0] == '0' && len > 1))
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		port = port * 10 + (uint64_t)(name[i] - '0');
	}
	return snapshot_indexed(v->snapshot, e->entity, port).n ? inode_make(INODE_PORT, port, 0)
								: 0;
}

static void list_ports(const struct fs_view *v, const struct tree_entry *e, uint64_t after,
		       struct lister *l)
{
	uint64_t port = after;

	/* The cookie of a port is the port + 1. */
	while (snapshot_index_next(v->snapshot, e->entity, port, &port)) {
		char name[24];
		int len = snprintf(name, sizeof(name), "%llu", (unsigned long long)port);

		if (!l->add(l, name, (size_t)len, inode_make(INODE_PORT, port, 0), FORM_DIR,
			    port + 1))
			return;
		port++;
	}
}

static const struct listing {
	uint64_t (*lookup)(const struct fs_view *v, const struct tree_entry *e, const char *name,
			   size_t len);
	void (*list)(const struct fs_view *v, const struct tree_entry *e, uint64_t after,
		     struct lister *l);
} listings[TREE_LIST_COUNT] = {
	[TREE_LIST_ENTITY_TYPES] = {lookup_entity_type, list_entity_types},
	[TREE_LIST_EDGE_TYPES] = {lookup_edge_type, list_edge_types},
	[TREE_LIST_BY_KEY] = {lookup_by_key, list_by_key},
	[TREE_LIST_BY_PORT] = {lookup_port, list_ports},
	[TREE_LIST_COLLECTORS] = {lookup_collector, list_collectors},
};

static uint64_t static_lookup(const struct fs_view *v, uint64_t ino, const char *name, size_t len)
{
	const struct tree_entry *e = entry_of(ino);

	if (!e)
		return 0;
	if (listings[e->listing].lookup)
		return listings[e->listing].lookup(v, e, name, len);
	for (unsigned int i = 1; i < TREE_ENTRY_COUNT; i++)
		if (&tree_entries[tree_entries[i].parent] == e &&
		    same_name(tree_entries[i].name, name, len))
			return inode_static(i);
	return 0;
}

static void static_list(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l)
{
	const struct tree_entry *e = entry_of(ino);

	if (!e)
		return;
	if (listings[e->listing].list) {
		listings[e->listing].list(v, e, after, l);
		return;
	}
	for (uint64_t i = after + 1; i < TREE_ENTRY_COUNT; i++)
		if (&tree_entries[tree_entries[i].parent] == e &&
		    !l->add(l, tree_entries[i].name, strlen(tree_entries[i].name), inode_static(i),
			    form_of_kind[tree_entries[i].kind], i))
			return;
}

static void static_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	const struct tree_entry *e = entry_of(ino);

	if (e == &tree_entries[TREE_GENERATION]) {
		strbuf_u64(b, v->visible_generation);
		strbuf_char(b, '\n');
	} else if (e && e->kind == TREE_KIND_CONTROL) {
		render_control(b, v->snapshot->state, e->control);
	} else if (e && e->render && e->render->small) {
		e->render->small(b, v->snapshot);
	}
}

static uint64_t static_parent(const struct fs_view *v, uint64_t ino)
{
	const struct tree_entry *e = entry_of(ino);

	return inode_static(e ? e->parent : TREE_ROOT);
}

const struct kind_ops kind_static = {
	.form = static_form,
	.lookup = static_lookup,
	.list = static_list,
	.content = static_content,
	.parent = static_parent,
};

/* --- nodes/<type>, edges/<type> --------------------------------------------------------------- */
static bool is_edge_type(uint64_t ino)
{
	return inode_slot(ino) == 1;
}

static enum node_form type_form(const struct fs_view *v, uint64_t ino)
{
	uint64_t count = is_edge_type(ino) ? EDGE_TYPE_COUNT : ENTITY_TYPE_COUNT;

	return inode_subject(ino) < count ? FORM_DIR : FORM_NONE;
}

static uint64_t type_lookup(const struct fs_view *v, uint64_t ino, const char *name, size_t len)
{
	const struct object *o;

	if (is_edge_type(ino)) {
		o = snapshot_edge_by_name(v->snapshot, inode_subject(ino), name, len);
		return o ? inode_make(INODE_EDGE, o->ident, EDGE_DIR) : 0;
	}
	o = snapshot_entity_by_key(v->snapshot, inode_subject(ino), name, len);
	return o ? inode_make(INODE_NODE, o->ident, NODE_DIR) : 0;
}

static void list_edges(const struct fs_view *v, unsigned int type, uint64_t after, struct lister *l)
{
	const struct snapshot *s = v->snapshot;
	_cleanup_strbuf_ struct strbuf name = {0};

	for (uint32_t i = snapshot_edge_from(s, type, after + 1); i < s->edge_start[type + 1];
	     i++) {
		strbuf_reset(&name);
		snapshot_edge_name(&name, s, s->edges[i]);
		if (!l->add(l, name.data, name.len,
			    inode_make(INODE_EDGE, s->edges[i]->ident, EDGE_DIR), FORM_DIR,
			    s->edges[i]->ident))
			return;
	}
}

static void type_list(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l)
{
	const struct snapshot *s = v->snapshot;
	unsigned int type = (unsigned int)inode_subject(ino);

	if (is_edge_type(ino)) {
		list_edges(v, type, after, l);
		return;
	}
	for (uint32_t i = snapshot_entity_from(s, type, after + 1); i < s->entity_start[type + 1];
	     i++) {
		const struct object *o = s->entities[i];

		if (!l->add(l, object_key(o), o->key_len,
			    inode_make(INODE_NODE, o->ident, NODE_DIR), FORM_DIR, o->ident))
			return;
	}
}

static uint64_t type_parent(const struct fs_view *v, uint64_t ino)
{
	return inode_static(is_edge_type(ino) ? TREE_EDGES : TREE_NODES);
}

const struct kind_ops kind_type = {
	.form = type_form,
	.lookup = type_lookup,
	.list = type_list,
	.parent = type_parent,
};

/* --- collectors/<name> ------------------------------------------------------------------------ */
static enum node_form collector_form(const struct fs_view *v, uint64_t ino)
{
	unsigned int slot = inode_slot(ino);

	if (inode_subject(ino) >= v->snapshot->state->n_collectors)
		return FORM_NONE;
	return slot == 0 ? FORM_DIR : slot <= TREE_COLLECTOR_FILE_COUNT ? FORM_FILE : FORM_NONE;
}

static uint64_t collector_lookup(const struct fs_view *v, uint64_t ino, const char *name,
				 size_t len)
{
	for (unsigned int i = 0; i < TREE_COLLECTOR_FILE_COUNT; i++)
		if (same_name(tree_collector_entries[i].name, name, len))
			return inode_make(INODE_COLLECTOR, inode_subject(ino), i + 1);
	return 0;
}

static void collector_list(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l)
{
	for (uint64_t i = after; i < TREE_COLLECTOR_FILE_COUNT; i++)
		if (!l->add(l, tree_collector_entries[i].name,
			    strlen(tree_collector_entries[i].name),
			    inode_make(INODE_COLLECTOR, inode_subject(ino), (unsigned int)i + 1),
			    FORM_FILE, i + 1))
			return;
}

static void collector_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	tree_collector_entries[inode_slot(ino) - 1].render(
		b, &v->snapshot->state->collectors[inode_subject(ino)]);
}

static uint64_t collector_parent(const struct fs_view *v, uint64_t ino)
{
	return inode_static(TREE_COLLECTORS);
}

const struct kind_ops kind_collector = {
	.form = collector_form,
	.lookup = collector_lookup,
	.list = collector_list,
	.content = collector_content,
	.parent = collector_parent,
};
