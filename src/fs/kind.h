/* SPDX-License-Identifier: MIT */
/*
 * What each kind of inode is and does. A kind answers from the view alone; it keeps nothing, blocks
 * on nothing and takes no lock, so any answer is a pure function of (snapshot, inode).
 */
#pragma once

#include <string.h>
#include <sys/stat.h>

#include "fs/inode.h"

/* What the tree is made from at this moment. */
struct fs_view {
	const struct snapshot *snapshot;
	uint64_t visible_generation; /* what `generation` shows: all caches agree with it */
};

enum node_form {
	FORM_NONE, /* there is no such inode (any more) */
	FORM_DIR,
	FORM_FILE,
	FORM_CONTROL,
	FORM_LINK,
};

/*
 * Receives a listing. Cookies grow along a listing and name the entry itself, not its position.
 * The function returns false when the reader's buffer is full: then stop.
 */
struct lister {
	bool (*add)(struct lister *l, const char *name, size_t len, uint64_t ino,
		    enum node_form form, uint64_t cookie);
};

struct kind_ops {
	enum node_form (*form)(const struct fs_view *v, uint64_t ino);
	/* Inode of a name in a directory; 0 when there is none. */
	uint64_t (*lookup)(const struct fs_view *v, uint64_t ino, const char *name, size_t len);
	/* Entries with a cookie > after; 0 is before the first. */
	void (*list)(const struct fs_view *v, uint64_t ino, uint64_t after, struct lister *l);
	/* Text of a file or target of a link. */
	void (*content)(const struct fs_view *v, uint64_t ino, struct strbuf *b);
	/* Inode of the directory that holds a directory (for ".."). */
	uint64_t (*parent)(const struct fs_view *v, uint64_t ino);
};

static inline bool same_name(const char *have, const char *name, size_t len)
{
	return strlen(have) == len && memcmp(have, name, len) == 0;
}

extern const struct kind_ops *const kinds[INODE_KIND_COUNT];
extern const struct kind_ops kind_static, kind_type, kind_node, kind_detail, kind_edge, kind_link,
	kind_by, kind_port, kind_port_link, kind_collector;

/* Directory name of a link `out/<type>/<peer>`: the relative target of a node seen from `depth`
 * directories below the root. */
void kind_node_target(struct strbuf *b, unsigned int depth, const struct object *entity);
/* One attribute as the text of its file. */
void kind_attr_text(struct strbuf *b, const struct object *o, unsigned int attr);
