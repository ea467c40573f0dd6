/* SPDX-License-Identifier: MIT */
/* The TOML parser, see config_parse.h. The library behind it is C++: no exception crosses this
 * line. */
#pragma once

#include "daemon/config_tree.h"

int config_parse_toml(struct config_tree *t, const char *text, size_t len);
