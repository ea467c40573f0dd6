/* SPDX-License-Identifier: MIT */
/* The collector of containers and pods, and what others need of it. */
#pragma once

#include "collect/cgroup.h"
#include "collect/collector.h"

extern const struct collector collector_container;

/* Ident of the container's entity. draft is scratch. */
uint64_t container_ident(struct draft *scratch, const struct cgroup_container *c);
