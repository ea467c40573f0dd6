/* SPDX-License-Identifier: MIT */
/* The collector of sockets, for registry.c. */
#pragma once

#include "collect/collector.h"

extern const struct collector collector_socket;
