/* SPDX-License-Identifier: MIT */
/* What the program does, by enum option_action. Each returns the exit status and has printed its
 * error, one line on stderr. */
#pragma once

#include "daemon/options.h"

/* Mounts the live machine, or a recorded graph (--from). */
int action_mount(const struct options *o);
/* Collects for a while and writes two files; needs neither FUSE nor root. */
int action_offline(const struct options *o);
/* Pages a recorded graph as text. */
int action_view(const struct options *o);
/* Prints which methods work here. */
int action_verify(const struct options *o);
/* Prints the configuration. */
int action_dump(const struct options *o);

/* "wittyfs: …" on stderr, exit status 1. */
int fail(const char *fmt, ...) _printf_(1, 2);
