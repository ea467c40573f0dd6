/* SPDX-License-Identifier: MIT */
/*
 * A 64-bit hash of bytes: deterministic over runs and machines, since inode numbers are made of it.
 * The mixing step is the public-domain MurmurHash3 finaliser ("fmix64", Austin Appleby).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

static inline uint64_t hash_u64(uint64_t seed, uint64_t v)
{
	return hash_mix(seed * 0x9e3779b97f4a7c15ULL + v + 1);
}

static inline uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = hash_u64(seed, len);

	while (len >= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		h = hash_u64(h, w);
		p += 8;
		len -= 8;
	}
	if (len) {
		uint64_t w = 0;

		memcpy(&w, p, len);
		h = hash_u64(h, w);
	}
	return h;
}
