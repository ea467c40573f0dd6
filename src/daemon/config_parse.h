/* SPDX-License-Identifier: MIT */
/*
 * One parser per format, all of the same form: text[len] (NUL-terminated besides) to tree. Return
 * 0, or -errno with t->error set and, where known, its line and column. An empty YAML or TOML text
 * is an empty map. t is zeroed before; the caller deinits it, after a failure too.
 */
#pragma once

#include "daemon/config_tree.h"

int config_parse_json(struct config_tree *t, const char *text, size_t len);
int config_parse_yaml(struct config_tree *t, const char *text, size_t len);
