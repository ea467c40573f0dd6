/* SPDX-License-Identifier: MIT */
/*
 * The numa collector: a node for each NUMA node with its live counters, a node for each set of them
 * that processes share, and where each process and thread may run and did run.
 *
 * To be collected after process and thread: their idents are the ends of its edges.
 */
#pragma once

#include "collect/collector.h"

extern const struct collector collector_numa;
