/* SPDX-License-Identifier: MIT */
#include "daemon/scheduler.h"

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/log.h"
#include "util/text.h"
#include "util/timeutil.h"
#include "view/json.h"

#define INTERVAL_MIN_NS (50 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS (7 * 24 * 3600 * NSEC_PER_SEC)
#define COMMANDS_MAX	4096

struct command {
	struct command *next;
	enum tree_control control;
	char *text;
	fs_done_fn done;
	void *cookie;
};

struct scheduler {
	struct scheduler_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct command *first, **last;
	unsigned int n_commands;
	bool stopping;
	uint64_t next_ns; /* of the next collection, CLOCK_MONOTONIC */
	uint32_t peak;	  /* objects of the biggest graph since memory was given back */
};

/* --- publishing ------------------------------------------------------------------------------- */
static void publish(struct scheduler *s, struct snapshot *next)
{
	/* The store keeps one reference, this call another while the mount is brought up to date.
	 */
	struct snapshot *mine = snapshot_ref(next);

	store_publish(s->config.store, next);
	s->config.published(s->config.userdata, mine);
	snapshot_unref(mine);
}

/* Publishes the same graph with another state (taken over). */
static int publish_state(struct scheduler *s, struct state *state)
{
	_cleanup_snapshot_ struct snapshot *now = store_get(s->config.store);
	struct snapshot *next;
	int r = snapshot_with_state(now, state, &next);

	if (r < 0) {
		state_unref(state);
		return r;
	}
	publish(s, next);
	return 0;
}

/*
 * The C library keeps memory that was freed. After a peak (a fork storm, a clear) it is given back:
 * about 1 ms, when the graph has shrunk to less than half of what it was.
 */
static void give_back_memory(struct scheduler *s, const struct snapshot *now)
{
	uint32_t objects = now->n_entities + now->n_edges;

	s->peak = MAX(s->peak, objects);
	if (objects >= s->peak / 2)
		return;
	s->peak = objects;
	malloc_trim(0);
}

static int collect(struct scheduler *s, struct state *state)
{
	_cleanup_snapshot_ struct snapshot *previous = store_get(s->config.store);
	struct snapshot *next;
	int r = collection_run(s->config.collection, previous, state, &next);

	if (r < 0) {
		log_error("a collection failed: %s", strerror(-r));
		return r;
	}
	publish(s, next);
	snapshot_unref(previous);
	previous = store_get(s->config.store);
	give_back_memory(s, previous);
	return 0;
}

/* --- actions ---------------------------------------------------------------------------------- */
/* Each gets a private copy of the state to change, and publishes it. */
static int act_start(struct scheduler *s, struct state *state, const char *text)
{
	if (!state->running)
		s->next_ns = time_monotonic_ns();
	state->running = true;
	return publish_state(s, state);
}

static int act_stop(struct scheduler *s, struct state *state, const char *text)
{
	state->running = false;
	return publish_state(s, state);
}

static int act_trigger(struct scheduler *s, struct state *state, const char *text)
{
	return collect(s, state);
}

static int act_clear(struct scheduler *s, struct state *state, const char *text)
{
	struct snapshot *empty;
	uint32_t dangling;
	int r;

	collection_clear(s->config.collection);
	for (unsigned int i = 0; i < state->n_collectors; i++) {
		state->collectors[i].entities = state->collectors[i].edges = 0;
		state->collectors[i].n_lost = 0;
	}
	state->lost = 0;
	r = snapshot_new(NULL, 0, NULL, 0, state, &empty, &dangling);
	if (r == 0)
		publish(s, empty);
	return r;
}

static int act_interval(struct scheduler *s, struct state *state, const char *text)
{
	uint64_t now = time_monotonic_ns();
	int r = text_parse_duration(text, &state->interval_ns);

	if (r < 0) {
		state_unref(state);
		return r;
	}
	s->next_ns = MIN(s->next_ns, now + state->interval_ns);
	return publish_state(s, state);
}

/* Pids with blanks or commas between, or "all". 0, or -errno with nothing changed in the state. */
static int parse_pids(const char *text, struct state *state)
{
	const char *end = text + strlen(text), *p = text;

	state->n_pids = 0;
	if (strcmp(text, "all") == 0)
		return 0;
	while (p < end) {
		uint64_t pid;
		size_t n;

		if (isblank((unsigned char)*p) || *p == ',') {
			p++;
			continue;
		}
		n = text_scan_u64(p, end, &pid);
		if (n == 0 || n > 10 || pid == 0 || pid > INT32_MAX)
			return -EINVAL;
		if (p + n < end && !isblank((unsigned char)p[n]) && p[n] != ',')
			return -EINVAL;
		if (state->n_pids == STATE_MAX_PIDS)
			return -E2BIG;
		state->pids[state->n_pids++] = (int)pid;
		p += n;
	}
	return state->n_pids ? 0 : -EINVAL;
}

static int act_pid(struct scheduler *s, struct state *state, const char *text)
{
	int r = parse_pids(text, state);

	for (unsigned int i = 0; r == 0 && i < state->n_pids; i++)
		if (!collection_pid_exists(s->config.collection, state->pids[i]))
			r = -ESRCH;
	if (r < 0) {
		state_unref(state);
		return r;
	}
	return collect(s, state);
}

static int act_log_level(struct scheduler *s, struct state *state, const char *text)
{
	int level = log_level_from_string(text);

	if (level < 0) {
		state_unref(state);
		return level;
	}
	log_set_level((enum log_level)level);
	state->log_level = log_level_names[level];
	return publish_state(s, state);
}

/* --- what may be written ---------------------------------------------------------------------- */
static bool valid_interval(const char *text)
{
	uint64_t ns;

	return text_parse_duration(text, &ns) == 0 && ns >= INTERVAL_MIN_NS &&
	       ns <= INTERVAL_MAX_NS;
}

/* Digits, then perhaps the start of a unit: more may come. */
static bool starts_interval(const char *text)
{
	size_t digits = strspn(text, "0123456789.");
	const char *unit = text + digits;

	return valid_interval(text) || (strspn(text, "0123456789") >= digits - 1 && digits < 20 &&
					(*unit == '\0' || strcmp(unit, "m") == 0 ||
					 strcmp(unit, "u") == 0 || strcmp(unit, "n") == 0));
}

static bool valid_pid(const char *text)
{
	struct state scratch;

	return parse_pids(text, &scratch) == 0;
}

static bool starts_pid(const char *text)
{
	return strspn(text, "0123456789, \t") == strlen(text) ||
	       strncmp("all", text, strlen(text)) == 0;
}

static bool valid_level(const char *text)
{
	return log_level_from_string(text) >= 0;
}

static bool starts_level(const char *text)
{
	for (unsigned int i = 0; i < LOG_LEVEL_COUNT; i++)
		if (strncasecmp(log_level_names[i], text, strlen(text)) == 0)
			return true;
	return false;
}

#define VERB_MEND "write 1, on, yes, the name of the file or an empty line"

/* The words that make a verb act, beside the name of its file. */
static const char *const verb_words[] = {"", "1", "on", "yes"};

static const struct action {
	int (*act)(struct scheduler *s, struct state *state, const char *text);
	bool (*valid)(const char *text);  /* NULL: a verb */
	bool (*starts)(const char *text); /* can it still become valid? */
	const char *name;
	const char *mend; /* what to write instead of a wrong text */
} actions[CONTROL_COUNT] = {
	[CONTROL_START] = {.act = act_start, .name = "start", .mend = VERB_MEND},
	[CONTROL_STOP] = {.act = act_stop, .name = "stop", .mend = VERB_MEND},
	[CONTROL_TRIGGER] = {.act = act_trigger, .name = "trigger", .mend = VERB_MEND},
	[CONTROL_CLEAR] = {.act = act_clear, .name = "clear", .mend = VERB_MEND},
	[CONTROL_INTERVAL] = {act_interval, valid_interval, starts_interval, "interval",
			      "write a time from 50ms to 168h: 5, 0.5, 500ms, 2m"},
	[CONTROL_PID] = {act_pid, valid_pid, starts_pid, "pid",
			 "write pids with blanks or commas between, at most 64, or all"},
	[CONTROL_LOG_LEVEL] = {act_log_level, valid_level, starts_level, "log_level",
			       "write VERBOSE, DEBUG, INFO, REPORT, WARNING, ERROR or CRITICAL"},
};

static bool is_valid(const struct action *a, const char *text)
{
	if (a->valid)
		return a->valid(text);
	for (size_t i = 0; i < ARRAY_SIZE(verb_words); i++)
		if (strcmp(verb_words[i], text) == 0)
			return true;
	return strcmp(a->name, text) == 0;
}

static bool may_become_valid(const struct action *a, const char *text)
{
	size_t len = strlen(text);

	if (a->starts)
		return a->starts(text);
	for (size_t i = 0; i < ARRAY_SIZE(verb_words); i++)
		if (strncmp(verb_words[i], text, len) == 0)
			return true;
	return strncmp(a->name, text, len) == 0;
}

enum fs_text scheduler_judge(enum tree_control control, const char *text)
{
	const struct action *a = &actions[control];

	if (!a->valid && is_valid(a, text))
		return FS_TEXT_WHOLE;
	return may_become_valid(a, text) ? FS_TEXT_START : FS_TEXT_WRONG;
}

/* The JSON of control/last_result. */
static void write_result(struct state *state, enum tree_control control, const char *text,
			 int result)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	const char *why = result == -ESRCH    ? "no such process"
			  : result == -EINVAL ? actions[control].mend
			  : result < 0	      ? strerror(-result)
					      : NULL;

	strbuf_printf(&b, "{\"action\":\"%s\",\"value\":", actions[control].name);
	json_quote(&b, text, MIN(strlen(text), (size_t)128));
	strbuf_printf(&b, ",\"status\":\"%s\"", result < 0 ? "error" : "success");
	if (why)
		strbuf_printf(&b, ",\"errno\":%d,\"message\":\"%s\"", -result, why);
	strbuf_printf(&b, ",\"time_ns\":%llu}", (unsigned long long)time_realtime_ns());
	snprintf(state->last_result, sizeof(state->last_result), "%s", strbuf_cstr(&b));
}

static struct state *copy_state(struct scheduler *s)
{
	_cleanup_snapshot_ struct snapshot *now = store_get(s->config.store);

	return state_dup(now->state);
}

/* A failed action leaves everything as it was but the result. */
static void publish_failure(struct scheduler *s, const struct command *c, int result)
{
	struct state *state = copy_state(s);

	if (!state)
		return;
	write_result(state, c->control, c->text, result);
	(void)publish_state(s, state);
}

static int carry_out(struct scheduler *s, const struct command *c)
{
	struct state *state = copy_state(s);
	int r;

	if (!state)
		return -ENOMEM;
	if (!is_valid(&actions[c->control], c->text)) {
		state_unref(state);
		r = -EINVAL;
	} else {
		write_result(state, c->control, c->text, 0);
		r = actions[c->control].act(s, state, c->text);
	}
	if (r < 0)
		publish_failure(s, c, r);
	return r;
}

/* --- the thread ------------------------------------------------------------------------------- */
static void free_command(struct command *c)
{
	free(c->text);
	free(c);
}

void scheduler_submit(void *scheduler, enum tree_control control, const char *text, fs_done_fn done,
		      void *cookie)
{
	struct scheduler *s = scheduler;
	struct command *c = calloc(1, sizeof(*c));
	int r = 0;

	if (c)
		*c = (struct command){NULL, control, strdup(text), done, cookie};
	pthread_mutex_lock(&s->lock);
	if (!c || !c->text)
		r = -ENOMEM;
	else if (s->stopping)
		r = -ESHUTDOWN;
	else if (s->n_commands >= COMMANDS_MAX)
		r = -EBUSY;
	if (r == 0) {
		*s->last = c;
		s->last = &c->next;
		s->n_commands++;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	if (r < 0) {
		if (c)
			free_command(c);
		done(cookie, r);
	}
}

/* Waits for a command or the time of the next collection. NULL: collect, or stop. */
static struct command *next_command(struct scheduler *s, bool running)
{
	struct command *c;

	pthread_mutex_lock(&s->lock);
	while (!s->first && !s->stopping) {
		struct timespec until = {(time_t)(s->next_ns / NSEC_PER_SEC),
					 (long)(s->next_ns % NSEC_PER_SEC)};

		if (!running)
			pthread_cond_wait(&s->wake, &s->lock);
		else if (time_monotonic_ns() >= s->next_ns ||
			 pthread_cond_timedwait(&s->wake, &s->lock, &until) == ETIMEDOUT)
			break;
	}
	c = s->first;
	if (c) {
		s->first = c->next;
		if (!s->first)
			s->last = &s->first;
		s->n_commands--;
	}
	pthread_mutex_unlock(&s->lock);
	return c;
}

static bool is_stopping(struct scheduler *s)
{
	bool stopping;

	pthread_mutex_lock(&s->lock);
	stopping = s->stopping;
	pthread_mutex_unlock(&s->lock);
	return stopping;
}

static void collect_now(struct scheduler *s)
{
	struct state *state = copy_state(s);
	uint64_t now = time_monotonic_ns();

	if (!state) {
		log_error("out of memory: a collection is left out");
		s->next_ns = now + NSEC_PER_SEC;
		return;
	}
	/* A late collection does not make the next ones crowd. */
	s->next_ns = MAX(s->next_ns + state->interval_ns, now + state->interval_ns / 2);
	(void)collect(s, state);
}

static void *scheduler_main(void *userdata)
{
	struct scheduler *s = userdata;

	s->next_ns = time_monotonic_ns();
	for (;;) {
		struct state *state = copy_state(s);
		bool running = state && state->running;
		struct command *c;

		state_unref(state);
		c = next_command(s, running);
		if (c) {
			c->done(c->cookie, is_stopping(s) ? -ESHUTDOWN : carry_out(s, c));
			free_command(c);
		} else if (is_stopping(s)) {
			return NULL;
		} else {
			collect_now(s);
		}
	}
}

int scheduler_new(const struct scheduler_config *config, struct scheduler **ret)
{
	struct scheduler *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int r;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	r = -pthread_create(&s->thread, NULL, scheduler_main, s);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int scheduler_stop(struct scheduler *s, uint64_t timeout_ns)
{
	uint64_t until_ns = time_realtime_ns() + timeout_ns;
	struct timespec until = {(time_t)(until_ns / NSEC_PER_SEC),
				 (long)(until_ns % NSEC_PER_SEC)};

	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return -pthread_timedjoin_np(s->thread, NULL, &until);
}

struct scheduler *scheduler_free(struct scheduler *s)
{
	if (!s)
		return NULL;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s);
	return NULL;
}
