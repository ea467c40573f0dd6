/* SPDX-License-Identifier: MIT */
/* Error lines that help: a word from outside, shown on one line, and the known word nearest to it.
 */
#pragma once

#include <stddef.h>

#include "util/macro.h"

#define SUGGEST_QUOTED 128

/*
 * Writes 'text' with its quotes into buf: bytes that do not print are \xNN, and a long one is cut
 * to end in "...". Returns buf.
 */
const char *suggest_quote(const char *text, char buf[SUGGEST_QUOTED]);

/*
 * How many letters have to be changed, added, left out or swapped with their neighbour to make b of
 * a (Damerau-Levenshtein, optimal string alignment). Of each at most 160 bytes are compared.
 */
unsigned int suggest_distance(const char *a, const char *b);
