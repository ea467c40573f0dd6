/* SPDX-License-Identifier: MIT */
/*
 * Written control files. Shells report an error of write() and hide one of close(), so text is
 * judged as early as it can be: a whole line at its newline; text without newline as soon as it can
 * no longer become valid, or, for a verb, as soon as it is one. What is left is done at the flush.
 *
 * A request waits (parked) until its actions have ended. One that is interrupted is answered with
 * EINTR at once; its action runs to its end all the same.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/private.h"

#define HANDLES_MAX 1024
#define PARKED_MAX  1024

struct handle {
	uint64_t id; /* 0: free */
	enum tree_control control;
	pid_t writer; /* a close by another process (a child with a copy) is not the end */
	bool acted;   /* a verb without newline was done: a newline that follows is no second one */
	size_t len;
	char *line; /* CONTROL_LINE + 1 bytes, made at the first write */
};

/* A request that waits for the actions it started. */
struct parked {
	uint64_t id;	/* 0: free */
	fuse_req_t req; /* NULL once it is answered */
	bool is_write;
	size_t written;
	unsigned int running;
	int error; /* of the first action that failed */
};

struct controls {
	struct fs *fs;
	pthread_mutex_t lock;
	uint64_t next_id;
	struct handle handles[HANDLES_MAX];
	struct parked parked[PARKED_MAX];
};

struct action {
	struct controls *controls;
	uint64_t parked;
};

static char *trim(char *s)
{
	size_t len = strlen(s);

	while (len > 0 && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* --- parked requests -------------------------------------------------------------------------- */
static struct parked *find_parked(struct controls *c, uint64_t id)
{
	for (unsigned int i = 0; i < PARKED_MAX; i++)
		if (c->parked[i].id == id)
			return &c->parked[i];
	return NULL;
}

/* The lock is held. */
static void answer(struct parked *p, int error)
{
	fuse_req_t req = p->req;

	p->req = NULL;
	if (!req)
		return;
	if (error < 0)
		fuse_reply_err(req, -error);
	else if (p->is_write)
		fuse_reply_write(req, p->written);
	else
		fuse_reply_err(req, 0);
}

static void action_done(void *cookie, int result)
{
	struct action *a = cookie;
	struct parked *p;

	pthread_mutex_lock(&a->controls->lock);
	p = find_parked(a->controls, a->parked);
	if (p && result < 0 && p->error == 0)
		p->error = result;
	if (p && --p->running == 0) {
		answer(p, p->error);
		*p = (struct parked){0};
	}
	pthread_mutex_unlock(&a->controls->lock);
	free(a);
}

static void interrupted(fuse_req_t req, void *data)
{
	struct controls *c = ((struct fs *)fuse_req_userdata(req))->controls;
	struct parked *p;

	pthread_mutex_lock(&c->lock);
	p = find_parked(c, (uint64_t)(uintptr_t)data);
	if (p && p->req == req)
		answer(p, -EINTR);
	pthread_mutex_unlock(&c->lock);
}

/* A place for the request that counts as one running action until unpark(); 0 when all are taken.
 */
static uint64_t park(struct controls *c, fuse_req_t req, bool is_write, size_t written)
{
	struct parked *p;
	uint64_t id = 0;

	pthread_mutex_lock(&c->lock);
	p = find_parked(c, 0);
	if (p) {
		id = c->next_id++;
		*p = (struct parked){.id = id,
				     .req = req,
				     .is_write = is_write,
				     .written = written,
				     .running = 1};
	}
	pthread_mutex_unlock(&c->lock);
	if (id)
		fuse_req_interrupt_func(req, interrupted, (void *)(uintptr_t)id);
	return id;
}

static void count_action(struct controls *c, uint64_t id)
{
	pthread_mutex_lock(&c->lock);
	find_parked(c, id)->running++;
	pthread_mutex_unlock(&c->lock);
}

static void unpark(struct controls *c, uint64_t id, int error)
{
	struct parked *p;

	pthread_mutex_lock(&c->lock);
	p = find_parked(c, id);
	if (error < 0 && p->error == 0)
		p->error = error;
	if (--p->running == 0) {
		answer(p, p->error);
		*p = (struct parked){0};
	}
	pthread_mutex_unlock(&c->lock);
}

static void submit(struct controls *c, uint64_t parked, enum tree_control control, const char *text)
{
	struct action *a = malloc(sizeof(*a));

	if (!a) {
		unpark(c, parked, -ENOMEM);
		return;
	}
	*a = (struct action){c, parked};
	c->fs->control.submit(c->fs->control.userdata, control, text, action_done, a);
}

/* --- lines ------------------------------------------------------------------------------------ */
static struct handle *find_handle(struct controls *c, uint64_t id)
{
	for (unsigned int i = 0; i < HANDLES_MAX; i++)
		if (c->handles[i].id == id)
			return &c->handles[i];
	return NULL;
}

/* One whole line: starts its action. */
static void do_line(struct controls *c, struct handle *h, uint64_t parked, char *line)
{
	char *text = trim(line);
	bool acted = h->acted;

	h->acted = false;
	if (*text == '\0' && acted)
		return;
	count_action(c, parked);
	submit(c, parked, h->control, text);
}

/* What stands in the buffer without a newline yet. */
static void do_rest(struct controls *c, struct handle *h, uint64_t parked)
{
	char text[CONTROL_LINE + 1];
	char *trimmed;
	enum fs_text verdict;

	memcpy(text, h->line, h->len);
	text[h->len] = '\0';
	trimmed = trim(text);
	if (*trimmed == '\0')
		return;
	verdict = c->fs->control.judge(c->fs->control.userdata, h->control, trimmed);
	if (verdict == FS_TEXT_START)
		return;
	h->len = 0;
	do_line(c, h, parked, trimmed);
	h->acted = verdict == FS_TEXT_WHOLE;
}

static int feed(struct controls *c, struct handle *h, uint64_t parked, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\0')
			return -EINVAL;
		if (data[i] != '\n') {
			if (h->len == CONTROL_LINE)
				return -EFBIG;
			h->line[h->len++] = data[i];
			continue;
		}
		h->line[h->len] = '\0';
		h->len = 0;
		do_line(c, h, parked, h->line);
	}
	do_rest(c, h, parked);
	return 0;
}

/* --- called by the dispatcher ----------------------------------------------------------------- */
int controls_new(struct fs *fs, struct controls **ret)
{
	struct controls *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->fs = fs;
	c->next_id = 1;
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

struct controls *controls_free(struct controls *c)
{
	if (!c)
		return NULL;
	for (unsigned int i = 0; i < HANDLES_MAX; i++)
		free(c->handles[i].line);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

uint64_t controls_open(struct controls *c, enum tree_control control)
{
	struct handle *h = find_handle(c, 0);

	if (!h)
		return 0;
	*h = (struct handle){.id = c->next_id++, .control = control};
	return h->id;
}

void controls_write(struct controls *c, fuse_req_t req, uint64_t handle, const char *data,
		    size_t len)
{
	struct handle *h = handle ? find_handle(c, handle) : NULL;
	uint64_t parked;
	int r;

	if (h && !h->line)
		h->line = malloc(CONTROL_LINE + 1);
	if (!h || !h->line) {
		fuse_reply_err(req, h ? ENOMEM : EBADF);
		return;
	}
	parked = park(c, req, true, len);
	if (!parked) {
		fuse_reply_err(req, EBUSY);
		return;
	}
	h->writer = fuse_req_ctx(req)->pid;
	r = feed(c, h, parked, data, len);
	if (r < 0)
		h->len = 0;
	unpark(c, parked, r);
}

void controls_flush(struct controls *c, fuse_req_t req, uint64_t handle)
{
	struct handle *h = handle ? find_handle(c, handle) : NULL;
	uint64_t parked;

	if (!h || h->len == 0 || h->writer != fuse_req_ctx(req)->pid) {
		fuse_reply_err(req, 0);
		return;
	}
	parked = park(c, req, false, 0);
	if (!parked) {
		fuse_reply_err(req, EBUSY);
		return;
	}
	h->line[h->len] = '\0';
	h->len = 0;
	do_line(c, h, parked, h->line);
	unpark(c, parked, 0);
}

void controls_release(struct controls *c, uint64_t handle)
{
	struct handle *h = handle ? find_handle(c, handle) : NULL;

	if (!h)
		return;
	free(h->line);
	*h = (struct handle){0};
}
