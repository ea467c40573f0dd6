/* SPDX-License-Identifier: MIT */
/* The collector of threads, for registry.c. */
#pragma once

#include "collect/collector.h"

extern const struct collector collector_thread;
