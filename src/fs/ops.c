/* SPDX-License-Identifier: MIT */
/*
 * The FUSE requests. Each handler answers from fs->view, which cannot change while it runs.
 * Nothing here blocks, allocates more than the answer, or depends on the size of the machine.
 *
 * What is gone is ESTALE by its number and ENOENT by its name: for a path the kernel looks the name
 * up again after ESTALE, so that only an open descriptor shows it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/statvfs.h>

#include "fs/private.h"

#define DOT_COOKIES 2 /* "." and ".." come before every listing */

static struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* --- attributes ------------------------------------------------------------------------------- */
static const mode_t form_modes[] = {
	[FORM_DIR] = S_IFDIR | 0550,
	[FORM_FILE] = S_IFREG | 0440,
	[FORM_CONTROL] = S_IFREG | 0660,
	[FORM_LINK] = S_IFLNK | 0777,
};

static mode_t mode_of(const struct fs *fs, uint64_t ino, enum node_form form)
{
	mode_t mode = form_modes[form];

	if (fs->config.world && form != FORM_LINK)
		mode |= form == FORM_DIR ? 0005 : 0004;
	/* The process that wakes inotify watchers opens it for writing; root needs no permission.
	 */
	if (ino == inode_static(TREE_GENERATION) && fs->uid != 0)
		mode |= 0200;
	return mode;
}

static void set_times(struct stat *st, uint64_t ns)
{
	st->st_mtim = (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
	st->st_ctim = st->st_mtim;
	st->st_atim = st->st_mtim;
}

/* Reads nothing that a publication changes: the worker of big files calls it without the lock. */
static void fill_stat(struct fs *fs, uint64_t ino, enum node_form form, uint64_t size,
		      uint64_t time_ns, struct stat *st)
{
	*st = (struct stat){0};
	st->st_ino = ino;
	st->st_mode = mode_of(fs, ino, form);
	/* 1 says "not counted": counting the directories of a directory would cost its size. */
	st->st_nlink = 1;
	st->st_uid = fs->uid;
	st->st_gid = fs->config.gid;
	st->st_size = (off_t)size;
	st->st_blksize = 4096;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
	set_times(st, time_ns ? time_ns : fs->mounted_ns);
}

const struct tree_entry *fs_generation_entry(uint64_t ino)
{
	const struct tree_entry *e;

	if (inode_kind(ino) != INODE_STATIC || inode_slot(ino) == 0 ||
	    inode_slot(ino) > TREE_ENTRY_COUNT)
		return NULL;
	e = &tree_entries[inode_slot(ino) - 1];
	return e->kind == TREE_KIND_FILE && e->cache == TREE_CACHE_GENERATION ? e : NULL;
}

/* The inode number that people see is the static one, whatever the generation. */
void fs_attr_generation(struct fs *fs, enum tree_entry_id entry, uint64_t size, uint64_t time_ns,
			struct stat *st)
{
	fill_stat(fs, inode_static(entry), FORM_FILE, size, time_ns, st);
}

static enum node_form form_of(struct fs *fs, uint64_t ino)
{
	const struct kind_ops *k =
		inode_kind(ino) < INODE_KIND_COUNT ? kinds[inode_kind(ino)] : NULL;

	return k ? k->form(&fs->view, ino) : FORM_NONE;
}

bool fs_attr(struct fs *fs, uint64_t ino, struct stat *st, double *ret_timeout)
{
	enum node_form form = form_of(fs, ino);
	_cleanup_strbuf_ struct strbuf b = {0};

	if (form == FORM_NONE)
		return false;
	if (form != FORM_DIR)
		kinds[inode_kind(ino)]->content(&fs->view, ino, &b);
	fill_stat(fs, ino, form, b.len, fs->view.snapshot->state->collected_ns, st);
	*ret_timeout = ino == inode_static(TREE_GENERATION) ? 0 : FS_TIMEOUT;
	return true;
}

/* --- look-up and attributes ------------------------------------------------------------------- */
static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e = {.entry_timeout = FS_TIMEOUT};
	const struct kind_ops *k =
		form_of(fs, parent) == FORM_DIR ? kinds[inode_kind(parent)] : NULL;
	uint64_t ino = k ? k->lookup(&fs->view, parent, name, strlen(name)) : 0;

	if (!ino) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	if (fs_generation_entry(ino)) {
		bigfiles_lookup(fs->big, req, inode_slot(ino) - 1);
		return;
	}
	if (!fs_attr(fs, ino, &e.attr, &e.attr_timeout)) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	e.ino = ino;
	seen_mark(&fs->seen, ino);
	fuse_reply_entry(req, &e);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	if (inode_kind(ino) == INODE_GENERATION)
		bigfiles_forget(fs_of(req)->big, ino, n);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		if (inode_kind(forgets[i].ino) == INODE_GENERATION)
			bigfiles_forget(fs_of(req)->big, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct stat st;
	double timeout;

	if (inode_kind(ino) == INODE_GENERATION) {
		bigfiles_getattr(fs->big, req, ino);
		return;
	}
	if (!fs_attr(fs, ino, &st, &timeout)) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	seen_mark(&fs->seen, ino);
	fuse_reply_attr(req, &st, timeout);
}

/* Truncating a control file is part of `echo > file`; everything else is refused. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	enum node_form form = form_of(fs_of(req), ino);

	if (to_set & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW |
		       FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_CTIME) ||
	    form != FORM_CONTROL)
		fuse_reply_err(req, form == FORM_CONTROL ? EPERM : EACCES);
	else
		op_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	_cleanup_strbuf_ struct strbuf b = {0};

	if (form_of(fs, ino) != FORM_LINK) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	kinds[inode_kind(ino)]->content(&fs->view, ino, &b);
	fuse_reply_readlink(req, strbuf_cstr(&b));
}

/* --- files ------------------------------------------------------------------------------------ */
static bool wants_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY;
}

/* Sets up a handle of a control file or of `generation`; 0 or an errno. */
static int open_special(struct fs *fs, fuse_req_t req, fuse_ino_t ino, enum node_form form,
			struct fuse_file_info *fi)
{
	fi->direct_io = 1;
	if (form == FORM_CONTROL) {
		if (fs->config.recorded)
			return EROFS;
		fi->fh = controls_open(fs->controls, tree_entries[inode_slot(ino) - 1].control);
		return fi->fh ? 0 : EMFILE;
	}
	if (wants_write(fi) && fuse_req_ctx(req)->pid != wake_toucher(fs->wake))
		return EACCES;
	/* 0 when too many are open: such a handle polls as always ready. */
	fi->fh = wants_write(fi) ? 0 : wake_open(fs->wake);
	return 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	bool generation = inode_kind(ino) == INODE_GENERATION;
	enum node_form form = generation ? FORM_FILE : form_of(fs, ino);
	bool special =
		ino == inode_static(TREE_GENERATION) || (form == FORM_CONTROL && wants_write(fi));
	int r = 0;

	if (generation ? !bigfiles_exists(fs->big, ino) : form == FORM_NONE)
		r = ESTALE;
	else if (special)
		r = open_special(fs, req, ino, form, fi);
	else if (wants_write(fi) || fi->flags & O_TRUNC)
		r = EACCES;
	if (r) {
		fuse_reply_err(req, r);
		return;
	}
	if (!special) {
		fi->keep_cache = 1;
		fi->noflush = 1;
		fi->fh = 0;
		if (!generation)
			seen_mark(&fs->seen, ino);
	}
	/* The opener went away: there will be no release. */
	if (fuse_reply_open(req, fi) == -ENOENT && fi->fh) {
		if (form == FORM_CONTROL)
			controls_release(fs->controls, fi->fh);
		else
			wake_release(fs->wake, fi->fh);
	}
}

static void reply_part(fuse_req_t req, struct strbuf *b, size_t size, off_t offset)
{
	if (strbuf_error(b))
		fuse_reply_err(req, ENOMEM);
	else if (offset < 0 || (size_t)offset >= b->len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, b->data + offset, MIN(size, b->len - (size_t)offset));
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	_cleanup_strbuf_ struct strbuf b = {0};
	enum node_form form;

	if (inode_kind(ino) == INODE_GENERATION) {
		bigfiles_read(fs->big, req, ino, size, offset);
		return;
	}
	form = form_of(fs, ino);
	if (form != FORM_FILE && form != FORM_CONTROL) {
		fuse_reply_err(req, form == FORM_NONE ? ESTALE : EISDIR);
		return;
	}
	if (ino == inode_static(TREE_GENERATION))
		wake_read(fs->wake, fi->fh, fs->view.visible_generation);
	kinds[inode_kind(ino)]->content(&fs->view, ino, &b);
	seen_mark(&fs->seen, ino);
	reply_part(req, &b, size, offset);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);

	if (form_of(fs, ino) == FORM_CONTROL)
		controls_write(fs->controls, req, fi->fh, buf, size);
	else if (ino == inode_static(TREE_GENERATION))
		fuse_reply_write(req, size);
	else
		fuse_reply_err(req, EACCES);
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);

	if (form_of(fs, ino) == FORM_CONTROL)
		controls_flush(fs->controls, req, fi->fh);
	else
		fuse_reply_err(req, 0);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);

	if (fi->fh && ino == inode_static(TREE_GENERATION))
		wake_release(fs->wake, fi->fh);
	else if (fi->fh)
		controls_release(fs->controls, fi->fh);
	fuse_reply_err(req, 0);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *ph)
{
	struct fs *fs = fs_of(req);

	/* A file that never changes its readiness is always ready; ENOSYS would turn poll() off for
	 * the whole mount. */
	if (ino != inode_static(TREE_GENERATION)) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM);
		return;
	}
	fuse_reply_poll(req, wake_poll(fs->wake, fi->fh, fs->view.visible_generation, ph)
				     ? POLLIN | POLLRDNORM | POLLPRI
				     : 0);
}

/* --- directories ------------------------------------------------------------------------------ */
static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	/* "Not needed": the kernel then caches listings and asks no more. Handles carry no state.
	 */
	fuse_reply_err(req, ENOSYS);
}

struct dir_buffer {
	struct lister lister;
	struct fs *fs;
	fuse_req_t req;
	bool plus;
	char *data;
	size_t used, size;
};

static bool put_entry(struct dir_buffer *d, const char *name, const struct fuse_entry_param *e,
		      uint64_t offset)
{
	size_t need;

	if (d->plus)
		need = fuse_add_direntry_plus(d->req, d->data + d->used, d->size - d->used, name, e,
					      (off_t)offset);
	else
		need = fuse_add_direntry(d->req, d->data + d->used, d->size - d->used, name,
					 &e->attr, (off_t)offset);
	if (need > d->size - d->used)
		return false;
	d->used += need;
	return true;
}

static bool dir_add(struct lister *l, const char *name, size_t len, uint64_t ino,
		    enum node_form form, uint64_t cookie)
{
	struct dir_buffer *d = CONTAINER_OF(l, struct dir_buffer, lister);
	struct fuse_entry_param e = {.entry_timeout = FS_TIMEOUT};
	char text[256];

	if (len >= sizeof(text))
		return true;
	memcpy(text, name, len);
	text[len] = '\0';
	e.attr.st_ino = ino;
	e.attr.st_mode = form_modes[form];
	/* No inode number: listed, but not looked up. A big file is not rendered for a listing. */
	if (d->plus && !fs_generation_entry(ino) && fs_attr(d->fs, ino, &e.attr, &e.attr_timeout))
		e.ino = ino;
	if (!put_entry(d, text, &e, cookie + DOT_COOKIES))
		return false;
	if (e.ino)
		seen_mark(&d->fs->seen, ino);
	return true;
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
	struct fs *fs = fs_of(req);
	const struct kind_ops *k = form_of(fs, ino) == FORM_DIR ? kinds[inode_kind(ino)] : NULL;
	_cleanup_free_ char *data = malloc(size);
	struct dir_buffer d = {.lister.add = dir_add,
			       .fs = fs,
			       .req = req,
			       .plus = plus,
			       .data = data,
			       .size = size};
	struct fuse_entry_param dot = {.attr.st_mode = S_IFDIR};
	uint64_t at = (uint64_t)offset;

	if (!data) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	/* A directory that went away under its reader is empty, as a removed directory is. */
	if (!k) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	seen_mark(&fs->seen, ino);
	dot.attr.st_ino = ino;
	if (at == 0 && put_entry(&d, ".", &dot, 1))
		at = 1;
	dot.attr.st_ino = k->parent(&fs->view, ino);
	if (at == 1 && put_entry(&d, "..", &dot, 2))
		at = 2;
	if (at >= DOT_COOKIES)
		k->list(&fs->view, ino, at - DOT_COOKIES, &d.lister);
	fuse_reply_buf(req, d.data, d.used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			   struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, true);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct snapshot *s = fs_of(req)->view.snapshot;
	struct statvfs st = {.f_bsize = 4096,
			     .f_frsize = 4096,
			     .f_namemax = 255,
			     .f_files = s->n_entities + s->n_edges,
			     .f_flag = ST_NOSUID | ST_NODEV};

	fuse_reply_statfs(req, &st);
}

/* --- refusals --------------------------------------------------------------------------------- */
static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	fuse_reply_err(req, EROFS);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	fuse_reply_err(req, EROFS);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EROFS);
}

static void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EROFS);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
		      const char *newname, unsigned int flags)
{
	fuse_reply_err(req, EROFS);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	fuse_reply_err(req, EROFS);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	fuse_reply_err(req, EROFS);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	/* Splicing is slower for answers from memory, and halves cold reads of big files. */
	conn->want &= ~(unsigned int)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				      FUSE_CAP_SPLICE_MOVE);
	conn->max_readahead = 1 << 20;
}

const struct fuse_lowlevel_ops fs_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.poll = op_poll,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_unlink,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.create = op_create,
};
