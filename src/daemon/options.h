/* SPDX-License-Identifier: MIT */
/*
 * The command line: one row per option, generated from fs-layout/config.toml, from which --help and
 * wittyfs(1) are made too. The result holds the merged configuration.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/config.h"

#define OPTIONS_MAX_PIDS 4096

struct option_row {
	const char *name; /* long, without "--" */
	const char *alias;
	char short_name;
	const char *arg; /* NULL: takes no value */
	bool arg_optional;
	enum config_key key;  /* that it overrides; CONFIG_KEY_COUNT when it has a function */
	unsigned int actions; /* bits of enum option_action that it goes with */
	const char *doc;
};

extern const struct option_row option_rows[OPTION_COUNT];

struct options {
	enum option_action action;
	struct config
		config; /* default, environment, file, command line; not set for HELP, VERSION */
	const char *graph_file; /* of FROM and VIEW */
	const char *dump_path;	/* of DUMP; NULL is stdout */
	const char *fsroot;	/* NULL: this machine */
	uint64_t duration_ns;	/* of OFFLINE */
	bool daemonize;
	bool fast_fail;
	pid_t *pids; /* in the order given, each once */
	size_t n_pids;
};

/*
 * Parses argv, which is left as it is; strings of *ret point into it. With an action of HELP or
 * VERSION the rest of the line was not looked at. The mountpoint is config's
 * mount_config.mountpoint. Returns 0, or -errno (mostly -EINVAL) with one line for the user in
 * error, without the program's name; the program then exits with status 1. Not for threads: getopt
 * is not.
 */
int options_parse(int argc, char **argv, struct options *ret, char *error, size_t size);
void options_deinit(struct options *o);
#define _cleanup_options_ _cleanup_(options_deinit)

/* The text of --help. */
void options_help(struct strbuf *b);
