/* SPDX-License-Identifier: MIT */
#include "daemon/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "daemon/suggest.h"
#include "util/text.h"

#define HELP_COLUMN 30
#define HELP_WIDTH  98
/* PID_MAX_LIMIT of the kernel on 64 bits (include/linux/threads.h) */
#define PID_LIMIT 4194304

struct parser {
	struct options options;
	struct config given; /* what the command line sets, over the file */
	const char *config_file;
	unsigned int action_option; /* the option that chose the action; OPTION_COUNT: none */
	bool seen[OPTION_COUNT];
	char *error;
	size_t size;
};

static int set_config(struct parser *p, const char *value)
{
	p->config_file = value;
	return 0;
}

static int set_fast_fail(struct parser *p, const char *value)
{
	p->options.fast_fail = true;
	return 0;
}

static int set_no_fast_fail(struct parser *p, const char *value)
{
	p->options.fast_fail = false;
	return 0;
}

static int set_daemon(struct parser *p, const char *value)
{
	p->options.daemonize = true;
	return 0;
}

static int set_fsroot(struct parser *p, const char *value)
{
	p->options.fsroot = value;
	return 0;
}

static int set_dump(struct parser *p, const char *value)
{
	p->options.dump_path = value && strcmp(value, "-") != 0 ? value : NULL;
	return 0;
}

static int set_graph_file(struct parser *p, const char *value)
{
	p->options.graph_file = value;
	return 0;
}

static int set_duration(struct parser *p, const char *value)
{
	static const struct config_key_row row = {.name = "duration",
						  .type = CONFIG_TYPE_DURATION,
						  .min = NSEC_PER_MSEC,
						  .max = 30 * 86400.0 * NSEC_PER_SEC};
	struct config_value v;
	char why[CONFIG_ERROR_MAX];
	int r;

	r = config_value_parse_text(&row, value, &v, why, sizeof(why));
	if (r < 0)
		snprintf(p->error, p->size, "--duration %s", why);
	else
		p->options.duration_ns = v.ns;
	return r;
}

static int add_pid(struct options *o, pid_t pid)
{
	pid_t *grown;

	for (size_t i = 0; i < o->n_pids; i++)
		if (o->pids[i] == pid)
			return 0;
	if (o->n_pids >= OPTIONS_MAX_PIDS)
		return -E2BIG;
	grown = reallocarray(o->pids, o->n_pids + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	o->pids = grown;
	o->pids[o->n_pids++] = pid;
	return 0;
}

static int set_pid(struct parser *p, const char *value)
{
	char quoted[SUGGEST_QUOTED];
	const char *at = value;
	int r;

	for (;;) {
		size_t len = strcspn(at, ",");
		uint64_t pid;

		if (text_parse_u64(at, len, &pid) < 0 || pid < 1 || pid > PID_LIMIT) {
			snprintf(p->error, p->size,
				 "--pid must be a number from 1 to %d, or several with commas "
				 "between, not %s",
				 PID_LIMIT, suggest_quote(value, quoted));
			return -EINVAL;
		}
		r = add_pid(&p->options, (pid_t)pid);
		if (r < 0) {
			snprintf(p->error, p->size,
				 r == -E2BIG ? "--pid: more than %d pids" : "out of memory",
				 OPTIONS_MAX_PIDS);
			return r;
		}
		if (!at[len])
			return 0;
		at += len + 1;
	}
}

static int set_http(struct parser *p, const char *value)
{
	snprintf(p->error, p->size,
		 "--http: the HTTP bridge is not built into this version: leave the option out");
	return -ENOTSUP;
}

/* What the options without a key do, and the action that one chooses. */
static const struct handler {
	int (*set)(struct parser *p, const char *value);
	enum option_action action; /* RUN: none, that is the default */
} handlers[OPTION_COUNT] = {
	[OPTION_CONFIG] = {set_config},
	[OPTION_PID] = {set_pid},
	[OPTION_FAST_FAIL] = {set_fast_fail},
	[OPTION_NO_FAST_FAIL] = {set_no_fast_fail},
	[OPTION_DAEMON] = {set_daemon},
	[OPTION_FSROOT] = {set_fsroot},
	[OPTION_DURATION] = {set_duration},
	[OPTION_HTTP] = {set_http},
	[OPTION_OFFLINE] = {NULL, OPTION_ACTION_OFFLINE},
	[OPTION_FROM] = {set_graph_file, OPTION_ACTION_FROM},
	[OPTION_VIEW_GRAPH] = {set_graph_file, OPTION_ACTION_VIEW},
	[OPTION_DUMP_CONFIG] = {set_dump, OPTION_ACTION_DUMP},
	[OPTION_VERIFY] = {NULL, OPTION_ACTION_VERIFY},
	[OPTION_HELP] = {NULL, OPTION_ACTION_HELP},
	[OPTION_VERSION] = {NULL, OPTION_ACTION_VERSION},
};
_Static_assert(OPTION_ACTION_RUN == 0, "handlers without an action say RUN");

static bool is_final(enum option_action a)
{
	return a == OPTION_ACTION_HELP || a == OPTION_ACTION_VERSION;
}

static int choose_action(struct parser *p, unsigned int id)
{
	enum option_action action = handlers[id].action;

	if (action == OPTION_ACTION_RUN)
		return 0;
	if (!is_final(action) && p->action_option != OPTION_COUNT && p->action_option != id) {
		snprintf(p->error, p->size, "--%s and --%s exclude each other: give one of them",
			 option_rows[p->action_option].name, option_rows[id].name);
		return -EINVAL;
	}
	p->action_option = id;
	p->options.action = action;
	return 0;
}

static int take_option(struct parser *p, unsigned int id, const char *value)
{
	const struct option_row *row = &option_rows[id];
	char what[64];
	int r;

	p->seen[id] = true;
	r = choose_action(p, id);
	if (r < 0)
		return r;
	if (row->key == CONFIG_KEY_COUNT)
		return handlers[id].set ? handlers[id].set(p, value) : 0;
	snprintf(what, sizeof(what), "--%s", row->name);
	return config_set_text(&p->given, row->key, what, value, p->error, p->size);
}

/* --- getopt: tables from the rows, and our own words for its complaints ------------------------
 */

#define MAX_LONG (2 * OPTION_COUNT + 1)

static void add_long(struct option *o, const struct option_row *row, const char *name, int id)
{
	o->name = name;
	o->has_arg = !row->arg		 ? no_argument
		     : row->arg_optional ? optional_argument
					 : required_argument;
	o->flag = NULL;
	o->val = 256 + id; /* beyond any short option */
}

static void make_tables(struct option longs[MAX_LONG], char shorts[3 * OPTION_COUNT + 2])
{
	size_t n = 0, s = 0;

	shorts[s++] = ':'; /* a missing value is ':' and not '?' */
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		add_long(&longs[n++], row, row->name, i);
		if (row->alias)
			add_long(&longs[n++], row, row->alias, i);
		if (!row->short_name)
			continue;
		shorts[s++] = row->short_name;
		if (row->arg)
			shorts[s++] = ':';
	}
	longs[n] = (struct option){0};
	shorts[s] = '\0';
}

/* The option of what getopt_long returned or left in optopt; OPTION_COUNT when it is none. */
static unsigned int option_of(int c)
{
	if (c >= 256)
		return (unsigned int)c - 256;
	for (unsigned int i = 0; i < OPTION_COUNT; i++)
		if (c && option_rows[i].short_name == c)
			return i;
	return OPTION_COUNT;
}

static const char *nearest_option(const char *name)
{
	const char *best = NULL;
	unsigned int distance = ~0u;

	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		unsigned int d = suggest_distance(name, option_rows[i].name);

		if (d < distance) {
			distance = d;
			best = option_rows[i].name;
		}
	}
	return best;
}

static int unknown_option(struct parser *p, const char *word, int letter)
{
	char text[96], quoted[SUGGEST_QUOTED];

	if (letter) {
		snprintf(text, sizeof(text), "-%c", letter);
		snprintf(p->error, p->size, "unknown option %s: wittyfs --help lists all options",
			 suggest_quote(text, quoted));
	} else {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(word, "="), word);
		snprintf(p->error, p->size, "unknown option %s: did you mean '--%s'?",
			 suggest_quote(text, quoted), nearest_option(text + strspn(text, "-")));
	}
	return -EINVAL;
}

/* c is '?' or ':', word the argument that getopt stopped at. */
static int complain(struct parser *p, int c, const char *word)
{
	unsigned int id = option_of(optopt);

	if (id == OPTION_COUNT)
		return unknown_option(p, word, optopt);
	if (c == ':')
		snprintf(p->error, p->size, "--%s needs a value: --%s %s", option_rows[id].name,
			 option_rows[id].name, option_rows[id].arg);
	else
		snprintf(p->error, p->size, "--%s takes no value", option_rows[id].name);
	return -EINVAL;
}

/* An optional value may also stand in the next argument, where that is no option. */
static const char *optional_value(const struct option_row *row, int argc, char **argv)
{
	if (optarg || !row->arg_optional || optind >= argc)
		return optarg;
	if (argv[optind][0] == '-' && argv[optind][1] != '\0')
		return NULL;
	return argv[optind++];
}

static int take_mountpoint(struct parser *p, int n, char **words)
{
	char quoted[SUGGEST_QUOTED];

	if (n == 0)
		return 0;
	if (n > 1) {
		snprintf(p->error, p->size, "one mountpoint is enough: what is %s?",
			 suggest_quote(words[1], quoted));
		return -EINVAL;
	}
	return config_set_text(&p->given, CONFIG_MOUNT_MOUNTPOINT, "the mountpoint", words[0],
			       p->error, p->size);
}

static int parse_words(struct parser *p, int argc, char **argv)
{
	struct option longs[MAX_LONG];
	char shorts[3 * OPTION_COUNT + 2];

	make_tables(longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: start afresh */
	for (;;) {
		int c, r;
		unsigned int id;

		optarg = NULL;
		optopt = 0;
		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c < 0)
			break;
		if (c == '?' || c == ':')
			return complain(p, c, argv[optind - 1]);
		id = option_of(c);
		r = take_option(p, id, optional_value(&option_rows[id], argc, argv));
		if (r < 0 || is_final(p->options.action))
			return r;
	}
	return take_mountpoint(p, argc - optind, argv + optind);
}

/* --- what goes with what -----------------------------------------------------------------------
 */

static int check_together(struct parser *p)
{
	static const unsigned int mounts =
		1u << OPTION_ACTION_RUN | 1u << OPTION_ACTION_FROM | 1u << OPTION_ACTION_DUMP;
	unsigned int action = 1u << p->options.action;
	char quoted[SUGGEST_QUOTED];

	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		if (!p->seen[i] || option_rows[i].actions & action)
			continue;
		if (p->action_option != OPTION_COUNT)
			snprintf(p->error, p->size, "--%s does not go with --%s: leave one out",
				 option_rows[i].name, option_rows[p->action_option].name);
		else
			snprintf(p->error, p->size, "--%s needs --offline", option_rows[i].name);
		return -EINVAL;
	}
	if (config_given(&p->given, CONFIG_MOUNT_MOUNTPOINT) && !(action & mounts)) {
		snprintf(p->error, p->size, "--%s mounts nothing: leave the mountpoint %s out",
			 option_rows[p->action_option].name,
			 suggest_quote(config_string(&p->given, CONFIG_MOUNT_MOUNTPOINT), quoted));
		return -EINVAL;
	}
	return 0;
}

static int merge(struct parser *p)
{
	struct config *c = &p->options.config;
	int r;

	r = config_init(c);
	if (r < 0) {
		snprintf(p->error, p->size, "out of memory");
		return r;
	}
	r = config_load_environment(c, p->error, p->size);
	if (r == 0 && p->config_file)
		r = config_load_file(c, p->config_file, p->error, p->size);
	if (r == 0)
		config_override(c, &p->given);
	return r;
}

static void parser_deinit(struct parser *p)
{
	options_deinit(&p->options);
	config_deinit(&p->given);
}

int options_parse(int argc, char **argv, struct options *ret, char *error, size_t size)
{
	_cleanup_(parser_deinit) struct parser p = {
		.options = {.duration_ns = 10 * NSEC_PER_SEC, .fast_fail = true},
		.action_option = OPTION_COUNT,
		.error = error,
		.size = size,
	};
	_cleanup_free_ char **words = NULL; /* getopt_long sorts them */
	int r;

	words = calloc((size_t)argc + 1, sizeof(*words));
	if (!words) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	for (int i = 0; i < argc; i++)
		words[i] = argv[i];
	r = parse_words(&p, argc, words);
	if (r == 0 && !is_final(p.options.action))
		r = check_together(&p);
	if (r == 0 && !is_final(p.options.action))
		r = merge(&p);
	if (r < 0)
		return r;
	*ret = p.options;
	p.options = (struct options){0};
	return 0;
}

void options_deinit(struct options *o)
{
	config_deinit(&o->config);
	free(o->pids);
	*o = (struct options){0};
}

/* --- help --------------------------------------------------------------------------------------
 */

/* Appends text from the present column on, broken at blanks, further lines begin at HELP_COLUMN. */
static void help_wrap(struct strbuf *b, size_t column, const char *text)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (!first && column + 1 + len > HELP_WIDTH) {
			strbuf_printf(b, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (!first) {
			strbuf_char(b, ' ');
			column++;
		}
		strbuf_add(b, text, len);
		column += len;
		text += len + strspn(text + len, " ");
		first = false;
	}
	strbuf_char(b, '\n');
}

static void help_option(struct strbuf *b, const struct option_row *row)
{
	size_t start = b->len, used;

	if (row->short_name)
		strbuf_printf(b, "  -%c, --%s", row->short_name, row->name);
	else
		strbuf_printf(b, "      --%s", row->name);
	if (row->alias)
		strbuf_printf(b, ", --%s", row->alias);
	if (row->arg_optional) /* "[X]" becomes "[=X]" */
		strbuf_printf(b, "[=%s", row->arg + 1);
	else if (row->arg)
		strbuf_printf(b, " %s", row->arg);
	used = b->len - start;
	if (used + 2 > HELP_COLUMN) {
		strbuf_char(b, '\n');
		used = 0;
	}
	strbuf_printf(b, "%*s", (int)(HELP_COLUMN - used), "");
	help_wrap(b, HELP_COLUMN, row->doc);
}

void options_help(struct strbuf *b)
{
	strbuf_str(b, "Usage: wittyfs [options] [mountpoint]\n\n"
		      "Mounts the live topology of this machine as a directory tree (wittyfs(5)).\n"
		      "Options that set a configuration key override the file; wittyfs(1) lists "
		      "all keys.\n\n");
	for (unsigned int i = 0; i < OPTION_COUNT; i++)
		help_option(b, &option_rows[i]);
}
