/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/actions.h"
#include "util/fdio.h"
#include "util/log.h"

int fail(const char *fmt, ...)
{
	va_list ap;

	fputs("wittyfs: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

static int print(struct strbuf *b)
{
	int r = strbuf_error(b);

	if (r == 0)
		r = fdio_write_all(STDOUT_FILENO, b->data, b->len);
	return r < 0 ? fail("standard output: %s", strerror(-r)) : 0;
}

static int action_help(const struct options *o)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	options_help(&b);
	return print(&b);
}

static int action_version(const struct options *o)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	strbuf_str(&b, "wittyfs " WITTYFS_VERSION "\n");
	return print(&b);
}

int action_dump(const struct options *o)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	int r = config_dump(&o->config, &b);

	if (r < 0)
		return fail("%s", strerror(-r));
	if (!o->dump_path)
		return print(&b);
	r = fdio_replace(o->dump_path, b.data, b.len, 0644);
	return r < 0 ? fail("%s: %s", o->dump_path, strerror(-r)) : 0;
}

static int (*const actions[OPTION_ACTION_COUNT])(const struct options *o) = {
	[OPTION_ACTION_RUN] = action_mount, [OPTION_ACTION_OFFLINE] = action_offline,
	[OPTION_ACTION_VIEW] = action_view, [OPTION_ACTION_FROM] = action_mount,
	[OPTION_ACTION_DUMP] = action_dump, [OPTION_ACTION_VERIFY] = action_verify,
	[OPTION_ACTION_HELP] = action_help, [OPTION_ACTION_VERSION] = action_version,
};

int main(int argc, char **argv)
{
	_cleanup_options_ struct options o = {0};
	char error[CONFIG_ERROR_MAX];
	int level;

	/* A closed pipe is an error of write(), with a message, not a silent end. */
	signal(SIGPIPE, SIG_IGN);
	if (fdio_keep_standard() < 0)
		return 1;
	if (options_parse(argc, argv, &o, error, sizeof(error)) < 0)
		return fail("%s", error);
	level = o.action == OPTION_ACTION_HELP || o.action == OPTION_ACTION_VERSION
			? -1
			: config_choice(&o.config, CONFIG_LOG_LEVEL);
	if (level >= 0)
		log_set_level((enum log_level)level);
	return actions[o.action](&o);
}
