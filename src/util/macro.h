/* SPDX-License-Identifier: MIT */
/*
 * Small language helpers: cleanup attributes, array sizes, taking ownership.
 *
 * `_cleanup_(fn)` runs fn(&variable) when the variable leaves its scope. Every type keeps its own
 * cleanup function beside its destructor; both take NULL and half-built objects.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define _cleanup_(fn)	   __attribute__((cleanup(fn)))
#define _printf_(fmt, arg) __attribute__((format(printf, fmt, arg)))
#define _unused_	   __attribute__((unused))

#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define MIN(a, b)                                                                                  \
	({                                                                                         \
		__auto_type _a = (a);                                                              \
		__auto_type _b = (b);                                                              \
		_a < _b ? _a : _b;                                                                 \
	})
#define MAX(a, b)                                                                                  \
	({                                                                                         \
		__auto_type _a = (a);                                                              \
		__auto_type _b = (b);                                                              \
		_a > _b ? _a : _b;                                                                 \
	})

/* Moves a pointer out of an owner: the owner's cleanup then finds NULL. */
#define STEAL_PTR(p)                                                                               \
	({                                                                                         \
		__auto_type _p = (p);                                                              \
		(p) = NULL;                                                                        \
		_p;                                                                                \
	})

static inline void free_ptr(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(free_ptr)

#define NSEC_PER_SEC  1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
