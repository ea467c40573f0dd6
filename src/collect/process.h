/* SPDX-License-Identifier: MIT */
/* The collector of processes, for registry.c, and its probe for those that use its table. */
#pragma once

#include "collect/collector.h"

extern const struct collector collector_process;

/* 0 when /proc of the context can be read as the process table needs it. */
int process_probe_proc(struct collect_context *ctx, char *reason, size_t size);
