/* SPDX-License-Identifier: MIT */
/*
 * One attribute value. Text lives in the heap of the object that holds the value, at an offset, so
 * that two objects with equal content are equal byte for byte (memcmp) and a copy needs no fixing.
 *
 * ABSENT is not there (no file, no JSON member); UNKNOWN is there but cannot be known (file reads
 * "unknown", JSON null); NULL is the reference's null (JSON null, no file). None of them is 0.
 */
#pragma once

#include <stdint.h>

enum value_kind {
	VALUE_ABSENT,
	VALUE_UNKNOWN,
	VALUE_NULL,
	VALUE_S64,
	VALUE_U64,
	VALUE_F64,
	VALUE_BOOL,
	VALUE_BYTES, /* any bytes; file: as they are, JSON: escaped, invalid UTF-8 as U+FFFD */
	VALUE_JSON,  /* compact JSON text, valid UTF-8 */
	VALUE_REF,   /* ident of an entity; file: symbolic link, JSON: the nested entity */
};

struct value {
	uint32_t kind; /* enum value_kind */
	uint32_t len;  /* BYTES, JSON: length */
	union {
		int64_t s64;
		uint64_t u64;
		double f64;
		uint64_t ident;
		uint64_t offset; /* BYTES, JSON: into the object's heap */
	};
};
