/* SPDX-License-Identifier: MIT */
/*
 * Socket traffic of which the truth is known: each case runs in a process of its own, both ends of
 * every socket in it, and notes what was moved through each end by the results of the calls.
 */
#pragma once

#include <stdint.h>

enum { CASE_ENDS = 8, CASE_ANY = -1 };

struct case_end {
	uint64_t ino;
	uint64_t tx_bytes, rx_bytes;
	int64_t tx_calls, rx_calls, tx_errors, rx_errors; /* CASE_ANY: not compared */
	int64_t tx_again, rx_again;
};

/* In memory shared with the process of the case. */
struct case_truth {
	struct case_end ends[CASE_ENDS];
	unsigned int n_ends;
	uint32_t netns; /* of all ends; 0: not compared */
	char skip[128]; /* not empty: cannot be run here */
	char failed[128];
};

struct socket_case {
	const char *name;
	void (*run)(struct case_truth *t);
};

/* To be called first in the process of the case. */
void socket_case_begin(struct case_truth *t);

extern const struct socket_case socket_cases[];
extern const unsigned int n_socket_cases;
