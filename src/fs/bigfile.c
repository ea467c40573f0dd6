/* SPDX-License-Identifier: MIT */
/*
 * Files with one inode per generation: an open file keeps its own pages, size and times, however
 * many generations pass. What the kernel knows (look-ups not yet forgotten) pins the render of that
 * generation; at most BIG_MAX renders live at a time. Snapshots share what did not change, and a
 * document holds no text, so a pinned one is cheap.
 *
 * A worker thread makes and reads documents, so that no small read waits for a big one.
 */
#include <errno.h>
#include <string.h>

#include "fs/private.h"
#include "util/fdio.h"

#define BIG_MAX	 64
#define JOBS_MAX 4096

struct big {
	bool used;
	uint64_t generation, time_ns;
	enum tree_entry_id entry;
	uint64_t lookups;	   /* that the kernel has not forgotten */
	unsigned int users;	   /* jobs that use it now */
	struct document *document; /* or the whole text */
	char *text;
	uint64_t size;
};

struct job {
	struct job *next;
	fuse_req_t req;
	enum tree_entry_id entry; /* look-up */
	struct snapshot *snapshot;
	struct big *big; /* read; NULL: look-up */
	size_t size;
	off_t offset;
};

struct bigfiles {
	struct fs *fs;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t worker;
	bool stopping;
	struct job *first, **last;
	unsigned int n_jobs;
	struct big files[BIG_MAX];
};

static uint64_t big_ino(const struct big *f)
{
	return inode_make(INODE_GENERATION, f->generation, f->entry);
}

static void big_deinit(struct big *f)
{
	document_free(f->document);
	free(f->text);
	*f = (struct big){0};
}

static void drop_unused(struct big *f)
{
	if (f->used && f->lookups == 0 && f->users == 0)
		big_deinit(f);
}

static struct big *find(struct bigfiles *b, uint64_t generation, enum tree_entry_id entry)
{
	for (unsigned int i = 0; i < BIG_MAX; i++)
		if (b->files[i].used && b->files[i].generation == generation &&
		    b->files[i].entry == entry)
			return &b->files[i];
	return NULL;
}

static struct big *find_ino(struct bigfiles *b, uint64_t ino)
{
	return find(b, inode_subject(ino), inode_slot(ino));
}

/* --- replies ---------------------------------------------------------------------------------- */
static void reply_entry(struct bigfiles *b, fuse_req_t req, struct big *f)
{
	struct fuse_entry_param e = {
		.ino = big_ino(f), .attr_timeout = FS_TIMEOUT, .entry_timeout = 0};

	fs_attr_generation(b->fs, f->entry, f->size, f->time_ns, &e.attr);
	f->lookups++;
	/* A reply that the kernel did not take counts as no look-up. */
	if (fuse_reply_entry(req, &e) != 0)
		f->lookups--;
}

static void reply_read(fuse_req_t req, const struct big *f, size_t size, off_t offset)
{
	_cleanup_free_ char *buf = NULL;
	ssize_t n;

	if (offset < 0 || (uint64_t)offset >= f->size) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	size = MIN(size, (size_t)(f->size - (uint64_t)offset));
	if (f->text) {
		fuse_reply_buf(req, f->text + offset, size);
		return;
	}
	buf = malloc(size);
	n = buf ? document_read(f->document, (uint64_t)offset, buf, size) : -ENOMEM;
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
}

/* --- making ----------------------------------------------------------------------------------- */
static int render(struct snapshot *s, const struct tree_entry *e, struct big *f)
{
	_cleanup_strbuf_ struct strbuf text = {0};
	size_t len;
	int r;

	if (e->render->document) {
		r = document_new(s, e->render->document, &f->document);
		if (r == 0)
			f->size = document_size(f->document);
		return r;
	}
	e->render->small(&text, s);
	r = strbuf_error(&text);
	if (r == 0)
		r = strbuf_steal(&text, &f->text, &len);
	if (r == 0)
		f->size = len;
	return r;
}

/* Finds or makes the render of a snapshot; the lock is not held while it is made. */
static void make_and_reply(struct bigfiles *b, fuse_req_t req, struct snapshot *s,
			   enum tree_entry_id entry)
{
	struct big made = {.used = true, .generation = s->generation, .entry = entry}, *f;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	f = find(b, s->generation, entry);
	pthread_mutex_unlock(&b->lock);
	if (!f) {
		made.time_ns = s->state->collected_ns;
		r = render(s, &tree_entries[entry], &made);
	}
	pthread_mutex_lock(&b->lock);
	f = find(b, s->generation, entry);
	for (unsigned int i = 0; i < BIG_MAX && !f && r == 0; i++)
		if (!b->files[i].used) {
			f = &b->files[i];
			*f = made;
			made = (struct big){0};
		}
	if (f) {
		reply_entry(b, req, f);
		drop_unused(f);
	} else {
		/* Every render is held by a reader of an older generation. */
		fuse_reply_err(req, r < 0 ? -r : EMFILE);
	}
	pthread_mutex_unlock(&b->lock);
	big_deinit(&made);
}

/* --- the worker ------------------------------------------------------------------------------- */
static void run_job(struct bigfiles *b, struct job *j)
{
	if (!j->big) {
		make_and_reply(b, j->req, j->snapshot, j->entry);
		snapshot_unref(j->snapshot);
		return;
	}
	reply_read(j->req, j->big, j->size, j->offset);
	pthread_mutex_lock(&b->lock);
	j->big->users--;
	drop_unused(j->big);
	pthread_mutex_unlock(&b->lock);
}

static struct job *next_job(struct bigfiles *b)
{
	struct job *j;

	pthread_mutex_lock(&b->lock);
	while (!b->first && !b->stopping)
		pthread_cond_wait(&b->wake, &b->lock);
	j = b->first;
	if (j) {
		b->first = j->next;
		if (!b->first)
			b->last = &b->first;
		b->n_jobs--;
	}
	pthread_mutex_unlock(&b->lock);
	return j;
}

static void *worker_main(void *userdata)
{
	struct bigfiles *b = userdata;
	struct job *j;

	/* Left-over jobs are answered too when it is told to stop. */
	while ((j = next_job(b))) {
		run_job(b, j);
		free(j);
	}
	return NULL;
}

/* The lock is held. */
static int push(struct bigfiles *b, const struct job *job)
{
	struct job *j;

	if (b->n_jobs >= JOBS_MAX || b->stopping)
		return -EBUSY;
	j = malloc(sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = *job;
	j->next = NULL;
	*b->last = j;
	b->last = &j->next;
	b->n_jobs++;
	pthread_cond_signal(&b->wake);
	return 0;
}

int bigfiles_new(struct fs *fs, struct bigfiles **ret)
{
	struct bigfiles *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->fs = fs;
	b->last = &b->first;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, NULL);
	r = -pthread_create(&b->worker, NULL, worker_main, b);
	if (r < 0) {
		free(b);
		return r;
	}
	*ret = b;
	return 0;
}

struct bigfiles *bigfiles_free(struct bigfiles *b)
{
	if (!b)
		return NULL;
	pthread_mutex_lock(&b->lock);
	b->stopping = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->worker, NULL);
	for (unsigned int i = 0; i < BIG_MAX; i++)
		big_deinit(&b->files[i]);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->wake);
	free(b);
	return NULL;
}

/* --- called by the dispatcher ----------------------------------------------------------------- */
void bigfiles_lookup(struct bigfiles *b, fuse_req_t req, enum tree_entry_id entry)
{
	struct snapshot *s = (struct snapshot *)b->fs->view.snapshot;
	struct job job = {.req = req, .entry = entry};
	struct big *f;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	f = find(b, s->generation, entry);
	if (f) {
		reply_entry(b, req, f);
	} else if (tree_entries[entry].render->document) {
		job.snapshot = snapshot_ref(s);
		r = push(b, &job);
		if (r < 0)
			snapshot_unref(s);
	}
	pthread_mutex_unlock(&b->lock);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (!f && !tree_entries[entry].render->document)
		make_and_reply(b, req, s, entry);
}

void bigfiles_getattr(struct bigfiles *b, fuse_req_t req, uint64_t ino)
{
	struct stat st = {0};
	struct big *f;

	pthread_mutex_lock(&b->lock);
	f = find_ino(b, ino);
	if (f)
		fs_attr_generation(b->fs, f->entry, f->size, f->time_ns, &st);
	pthread_mutex_unlock(&b->lock);
	if (f)
		fuse_reply_attr(req, &st, FS_TIMEOUT);
	else
		fuse_reply_err(req, ESTALE);
}

bool bigfiles_exists(struct bigfiles *b, uint64_t ino)
{
	bool found;

	pthread_mutex_lock(&b->lock);
	found = find_ino(b, ino) != NULL;
	pthread_mutex_unlock(&b->lock);
	return found;
}

void bigfiles_read(struct bigfiles *b, fuse_req_t req, uint64_t ino, size_t size, off_t offset)
{
	struct job job = {.req = req, .size = size, .offset = offset};
	int r = -ESTALE;

	pthread_mutex_lock(&b->lock);
	job.big = find_ino(b, ino);
	if (job.big && job.big->text) {
		reply_read(req, job.big, size, offset);
		r = 0;
	} else if (job.big) {
		r = push(b, &job);
		if (r == 0)
			job.big->users++;
	}
	pthread_mutex_unlock(&b->lock);
	if (r < 0)
		fuse_reply_err(req, -r);
}

void bigfiles_forget(struct bigfiles *b, uint64_t ino, uint64_t n)
{
	struct big *f;

	pthread_mutex_lock(&b->lock);
	f = find_ino(b, ino);
	if (f) {
		f->lookups -= MIN(n, f->lookups);
		drop_unused(f);
	}
	pthread_mutex_unlock(&b->lock);
}
