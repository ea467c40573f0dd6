/* SPDX-License-Identifier: MIT */
/* nodes/<type>/<key>/: attributes, details, and the links along edges. */
#include <jansson.h>

#include "fs/kind.h"
#include "graph/template.h"
#include "view/json.h"

/* Files that every node has. */
static const struct node_file {
	const char *name;
	enum node_slot slot;
	enum node_form form;
} node_files[] = {
	{"entity_type", NODE_ENTITY_TYPE, FORM_FILE},
	{"entity_namespace", NODE_NAMESPACE, FORM_FILE},
	{"global_id", NODE_GLOBAL_ID, FORM_FILE},
	{"node.json", NODE_JSON, FORM_FILE},
	{"details", NODE_DETAILS, FORM_DIR},
	{"out", NODE_OUT, FORM_DIR},
	{"in", NODE_IN, FORM_DIR},
	{"edges", NODE_EDGES, FORM_DIR},
};

static const struct object *subject(const struct fs_view *v, uint64_t ino)
{
	return snapshot_entity(v->snapshot, inode_subject(ino));
}

/* --- attributes ------------------------------------------------------------------------------- */
static enum node_form attr_form(const struct fs_view *v, const struct object *o, unsigned int attr)
{
	const struct value *value;

	if (attr >= o->n_values || o->type->attrs[attr].flags & ATTR_FS_HIDDEN)
		return FORM_NONE;
	value = object_value(o, attr);
	if (value->kind == VALUE_ABSENT || value->kind == VALUE_NULL)
		return FORM_NONE;
	if (value->kind != VALUE_REF)
		return FORM_FILE;
	return snapshot_entity(v->snapshot, value->ident) ? FORM_LINK : FORM_NONE;
}

void kind_attr_text(struct strbuf *b, const struct object *o, unsigned int attr)
{
	static const char *const bools[] = {"0", "1"};
	const struct value *v = object_value(o, attr);

	if (v->kind == VALUE_BYTES || v->kind == VALUE_JSON)
		strbuf_add(b, object_heap(o) + v->offset, v->len);
	else if (!object_number(b, v, bools))
		strbuf_str(b, "unknown");
	/* The exact bytes of the kernel get nothing added. */
	if (v->kind != VALUE_BYTES || !(o->type->attrs[attr].flags & ATTR_JSON_STRINGS))
		strbuf_char(b, '\n');
}

/* --- links along edges ------------------------------------------------------------------------ */
/* A directory of links: one side of a node, all edges of a type (or, of edges/, all types). */
struct link_dir {
	const struct object *self;
	struct edge_run run;
	bool in;
};

static uint64_t link_cookie(const struct object *e, bool in)
{
	return (uint64_t)in << 58 | (uint64_t)e->type->index << 52 | e->ident;
}

/* First position in the run with a cookie > after: runs are sorted by (type, ident). */
static uint32_t run_after(const struct snapshot *s, struct edge_run run, bool in, uint64_t after)
{
	uint32_t from = 0, to = run.n;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (link_cookie(s->edges[run.edges[mid]], in) <= after)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct link_dir dir_of(const struct fs_view *v, const struct object *o, bool in)
{
	return (struct link_dir){
		.self = o,
		.run = in ? snapshot_in(v->snapshot, o->ident)
			  : snapshot_out(v->snapshot, o->ident),
		.in = in,
	};
}

static uint64_t far_end(const struct object *e, uint64_t near)
{
	return e->source == near ? e->target : e->source;
}

/* Inode of the link to the other end of an edge, seen from `self`. */
static uint64_t peer_link(const struct object *e, uint64_t self, bool in)
{
	bool at_source = e->source == self;
	enum link_slot slot = in ? LINK_IN : LINK_OUT;

	if (!e->type->directed && in)
		slot = at_source ? LINK_IN_SOURCE : LINK_IN;
	else if (!e->type->directed)
		slot = at_source ? LINK_OUT : LINK_OUT_TARGET;
	return inode_make(INODE_LINK, e->ident, slot);
}

static bool has_edge_type(const struct fs_view *v, const struct link_dir *d, unsigned int type)
{
	uint32_t i = run_after(v->snapshot, d->run, d->in,
			       ((uint64_t)d->in << 58 | (uint64_t)type << 52));

	return i < d->run.n && v->snapshot->edges[d->run.edges[i]]->type->index == type;
}

static uint64_t lookup_edge_types(const struct fs_view *v, const struct link_dir *d,
				  const char *name, size_t len)
{
	for (unsigned int t = 0; t < EDGE_TYPE_COUNT; t++)
		if (same_name(edge_types[t].short_name, name, len) && has_edge_type(v, d, t))
			return inode_make(INODE_NODE, d->self->ident,
					  (d->in ? NODE_IN_TYPES : NODE_OUT_TYPES) + t);
	return 0;
}

static void list_edge_types(const struct fs_view *v, const struct link_dir *d, uint64_t after,
			    struct lister *l)
{
	unsigned int base = d->in ? NODE_IN_TYPES : NODE_OUT_TYPES;

	for (uint64_t t = after; t < EDGE_TYPE_COUNT; t++)
		if (has_edge_type(v, d, (unsigned int)t) &&
		    !l->add(l, edge_types[t].short_name, strlen(edge_types[t].short_name),
			    inode_make(INODE_NODE, d->self->ident, base + (unsigned int)t),
			    FORM_DIR, t + 1))
			return;
}

static uint64_t lookup_peer(const struct fs_view *v, const struct link_dir *d, unsigned int type,
			    const char *name, size_t len)
{
	const struct object *peer = snapshot_peer(v->snapshot, name, len), *e;
	const struct type_schema *t = &edge_types[type];

	if (!peer)
		return 0;
	e = snapshot_edge(v->snapshot, d->in ? edge_ident(t, peer->ident, d->self->ident)
					     : edge_ident(t, d->self->ident, peer->ident));
	return e ? peer_link(e, d->self->ident, d->in) : 0;
}

static void list_peers(const struct fs_view *v, const struct link_dir *d, unsigned int type,
		       uint64_t after, struct lister *l)
{
	const struct snapshot *s = v->snapshot;
	_cleanup_strbuf_ struct strbuf name = {0};
	uint64_t first = (uint64_t)d->in << 58 | (uint64_t)type << 52 | after;

	for (uint32_t i = run_after(s, d->run, d->in, first); i < d->run.n; i++) {
		const struct object *e = s->edges[d->run.edges[i]];

		if (e->type->index != type)
			return;
		strbuf_reset(&name);
		snapshot_peer_name(&name, snapshot_entity(s, far_end(e, d->self->ident)));
		if (!l->add(l, name.data, name.len, peer_link(e, d->self->ident, d->in), FORM_LINK,
			    e->ident))
			return;
	}
}

/* --- edges/ ----------------------------------------------------------------------------------- */
static void edge_link_name(struct strbuf *b, const struct snapshot *s, const struct object *e)
{
	strbuf_str(b, e->type->short_name);
	strbuf_str(b, "--");
	snapshot_edge_name(b, s, e);
}

static uint64_t edge_link(const struct object *e, uint64_t self)
{
	return inode_make(INODE_LINK, e->ident,
			  e->source == self ? LINK_EDGES_SOURCE : LINK_EDGES_TARGET);
}

static uint64_t lookup_edge_link(const struct fs_view *v, const struct object *o, const char *name,
				 size_t len)
{
	for (unsigned int t = 0; t < EDGE_TYPE_COUNT; t++) {
		size_t n = strlen(edge_types[t].short_name);
		const struct object *e;

		if (len < n + 2 || memcmp(name, edge_types[t].short_name, n) != 0 ||
		    memcmp(name + n, "--", 2) != 0)
			continue;
		e = snapshot_edge_by_name(v->snapshot, t, name + n + 2, len - n - 2);
		if (e && (e->source == o->ident || e->target == o->ident))
			return edge_link(e, o->ident);
	}
	return 0;
}

static bool list_edge_links(const struct fs_view *v, const struct link_dir *d, uint64_t after,
			    struct lister *l)
{
	const struct snapshot *s = v->snapshot;
	_cleanup_strbuf_ struct strbuf name = {0};

	for (uint32_t i = run_after(s, d->run, d->in, after); i < d->run.n; i++) {
		const struct object *e = s->edges[d->run.edges[i]];

		/* Those were listed from the other side already. */
		if (d->in && (!e->type->directed || e->source == e->target))
			continue;
		strbuf_reset(&name);
		edge_link_name(&name, s, e);
		if (!l->add(l, name.data, name.len, edge_link(e, d->self->ident), FORM_LINK,
			    link_cookie(e, d->in)))
			return false;
	}
	return true;
}

/* --- details ---------------------------------------------------------------------------------- */
static json_t *details_of(const struct object *o)
{
	size_t len;
	const char *text = object_bytes(o, ENTITY_DETAILS_ATTR, &len);

	return text ? json_loadb(text, len, 0, NULL) : NULL;
}

/* A member name that can be no file name is not shown as a file; node.json has it. */
static bool detail_name_ok(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strlen(name) <= 255;
}

static uint64_t lookup_detail(const struct object *o, const char *name, size_t len)
{
	json_auto_t *details = details_of(o);
	unsigned int i = 0;
	const char *key;
	json_t *value;

	json_object_foreach(details, key, value)
	{
		if (i < 256 && detail_name_ok(key) && same_name(key, name, len))
			return inode_make(INODE_DETAIL, o->ident, i);
		i++;
	}
	return 0;
}

static void list_details(const struct object *o, uint64_t after, struct lister *l)
{
	json_auto_t *details = details_of(o);
	uint64_t i = 0;
	const char *key;
	json_t *value;

	json_object_foreach(details, key, value)
	{
		if (i >= after && i < 256 && detail_name_ok(key) &&
		    !l->add(l, key, strlen(key),
			    inode_make(INODE_DETAIL, o->ident, (unsigned int)i), FORM_FILE, i + 1))
			return;
		i++;
	}
}

static json_t *detail_at(const struct object *o, unsigned int slot, json_t **ret_details)
{
	unsigned int i = 0;
	const char *key;
	json_t *value;

	*ret_details = o ? details_of(o) : NULL;
	json_object_foreach(*ret_details, key, value)
	{
		if (i++ == slot)
			return value;
	}
	return NULL;
}

static enum node_form detail_form(const struct fs_view *v, uint64_t ino)
{
	json_auto_t *details = NULL;

	return detail_at(subject(v, ino), inode_slot(ino), &details) ? FORM_FILE : FORM_NONE;
}

static void detail_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	json_auto_t *details = NULL;
	json_t *value = detail_at(subject(v, ino), inode_slot(ino), &details);
	_cleanup_free_ char *text = NULL;

	if (json_is_string(value))
		strbuf_add(b, json_string_value(value), json_string_length(value));
	else if (value && (text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT)))
		strbuf_str(b, text);
	strbuf_char(b, '\n');
}

const struct kind_ops kind_detail = {
	.form = detail_form,
	.content = detail_content,
};

/* --- the kind --------------------------------------------------------------------------------- */
static bool has_details(const struct object *o)
{
	size_t len;

	/* "{}" is the empty object: no directory then, for a walk pays for each. */
	return object_bytes(o, ENTITY_DETAILS_ATTR, &len) && len > 2;
}

/* The form of a file that nodes have; FORM_NONE when this node has not. */
static enum node_form file_form(const struct node_file *f, const struct object *o)
{
	return f->slot == NODE_DETAILS && !has_details(o) ? FORM_NONE : f->form;
}

static enum node_form node_form(const struct fs_view *v, uint64_t ino)
{
	const struct object *o = subject(v, ino);
	unsigned int slot = inode_slot(ino);
	struct link_dir d;

	if (!o)
		return FORM_NONE;
	if (slot == NODE_DIR)
		return FORM_DIR;
	for (size_t i = 0; i < ARRAY_SIZE(node_files); i++)
		if (node_files[i].slot == slot)
			return file_form(&node_files[i], o);
	if (slot >= NODE_OUT_TYPES) {
		bool in = slot >= NODE_IN_TYPES;

		d = dir_of(v, o, in);
		return has_edge_type(v, &d, slot - (in ? NODE_IN_TYPES : NODE_OUT_TYPES))
			       ? FORM_DIR
			       : FORM_NONE;
	}
	return slot >= SLOT_ATTRS ? attr_form(v, o, slot - SLOT_ATTRS) : FORM_NONE;
}

static uint64_t lookup_in_node(const struct fs_view *v, const struct object *o, const char *name,
			       size_t len)
{
	int attr;

	for (size_t i = 0; i < ARRAY_SIZE(node_files); i++)
		if (same_name(node_files[i].name, name, len))
			return file_form(&node_files[i], o) == FORM_NONE
				       ? 0
				       : inode_make(INODE_NODE, o->ident, node_files[i].slot);
	attr = schema_attr(o->type, name, len);
	if (attr < 0 || attr_form(v, o, (unsigned int)attr) == FORM_NONE)
		return 0;
	return inode_make(INODE_NODE, o->ident, SLOT_ATTRS + (unsigned int)attr);
}

static uint64_t node_lookup(const struct fs_view *v, uint64_t ino, const char *name, size_t len)
{
	const struct object *o = subject(v, ino);
	unsigned int slot = inode_slot(ino);
	struct link_dir d;

	if (!o)
		return 0;
	if (slot == NODE_DIR)
		return lookup_in_node(v, o, name, len);
	if (slot == NODE_DETAILS)
		return lookup_detail(o, name, len);
	if (slot == NODE_EDGES)
		return lookup_edge_link(v, o, name, len);
	d = dir_of(v, o, slot == NODE_IN || slot >= NODE_IN_TYPES);
	if (slot == NODE_OUT || slot == NODE_IN)
		return lookup_edge_types(v, &d, name, len);
	return lookup_peer(v, &d, slot - (d.in ? NODE_IN_TYPES : NODE_OUT_TYPES), name, len);
}

/* Fixed files and attributes; the cookie is the slot. */
static void list_node(const struct fs_view *v, const struct object *o, uint64_t after,
		      struct lister *l)
{
	for (size_t i = 0; i < ARRAY_SIZE(node_files); i++)
		if (node_files[i].slot > after && file_form(&node_files[i], o) != FORM_NONE &&
		    !l->add(l, node_files[i].name, strlen(node_files[i].name),
			    inode_make(INODE_NODE, o->ident, node_files[i].slot),
			    node_files[i].form, node_files[i].slot))
			return;
	for (unsigned int a = 0; a < o->n_values; a++) {
		enum node_form form = attr_form(v, o, a);

		if (SLOT_ATTRS + a > after && form != FORM_NONE &&
		    !l->add(l, o->type->attrs[a].name, strlen(o->type->attrs[a].name),
			    inode_make(INODE_NODE, o->ident, SLOT_ATTRS + a), form, SLOT_ATTRS + a))
			return;
	}
}

static void node_list(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l)
{
	const struct object *o = subject(v, ino);
	unsigned int slot = inode_slot(ino);
	struct link_dir d;

	if (!o)
		return;
	if (slot == NODE_DIR) {
		list_node(v, o, after, l);
		return;
	}
	if (slot == NODE_DETAILS) {
		list_details(o, after, l);
		return;
	}
	d = dir_of(v, o, slot == NODE_IN || slot >= NODE_IN_TYPES);
	if (slot == NODE_OUT || slot == NODE_IN) {
		list_edge_types(v, &d, after, l);
	} else if (slot == NODE_EDGES) {
		struct link_dir in = dir_of(v, o, true);

		if (list_edge_links(v, &d, after, l))
			list_edge_links(v, &in, after, l);
	} else {
		list_peers(v, &d, slot - (d.in ? NODE_IN_TYPES : NODE_OUT_TYPES), after, l);
	}
}

static void node_content(const struct fs_view *v, uint64_t ino, struct strbuf *b)
{
	const struct object *o = subject(v, ino);
	unsigned int slot = inode_slot(ino);
	size_t len;
	const char *ns;

	if (!o)
		return;
	if (slot >= SLOT_ATTRS) {
		const struct value *value = object_value(o, slot - SLOT_ATTRS);

		if (value->kind == VALUE_REF)
			kind_node_target(b, 3, snapshot_entity(v->snapshot, value->ident));
		else
			kind_attr_text(b, o, slot - SLOT_ATTRS);
		return;
	}
	if (slot == NODE_ENTITY_TYPE)
		strbuf_str(b, o->type->name);
	else if (slot == NODE_NAMESPACE &&
		 (ns = object_bytes(o, ENTITY_ENTITY_NAMESPACE_ATTR, &len)))
		strbuf_add(b, ns, len);
	else if (slot == NODE_GLOBAL_ID)
		template_global_id(b, o);
	else if (slot == NODE_JSON)
		json_entity(b, v->snapshot, o);
	strbuf_char(b, '\n');
}

static uint64_t node_parent(const struct fs_view *v, uint64_t ino)
{
	const struct object *o = subject(v, ino);
	unsigned int slot = inode_slot(ino);

	if (!o)
		return inode_static(TREE_NODES);
	if (slot == NODE_DIR)
		return inode_make(INODE_TYPE, o->type->index, 0);
	if (slot < NODE_OUT_TYPES)
		return inode_make(INODE_NODE, o->ident, NODE_DIR);
	return inode_make(INODE_NODE, o->ident, slot < NODE_IN_TYPES ? NODE_OUT : NODE_IN);
}

const struct kind_ops kind_node = {
	.form = node_form,
	.lookup = node_lookup,
	.list = node_list,
	.content = node_content,
	.parent = node_parent,
};
