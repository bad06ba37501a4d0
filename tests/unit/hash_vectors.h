/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash_vectors.h - what IPVS's mh, sh and dh answer: values checked against Linux 6.1 on x86-64.
 *
 * Real servers stand in the kernel's list order. A place is an index into them. `mh_print` is FNV-1a (64 bits) over the whole
 * table of 4093 places, a byte each, 255 for nobody. Look-ups: with all real servers of weight > 0 usable, and with the
 * fallback flag and the first real server unusable.
 */
#ifndef TESTS_UNIT_HASH_VECTORS_H
#define TESTS_UNIT_HASH_VECTORS_H

#include <stdint.h>

#define VECTOR_REALS 4

struct hash_lookup {
	const char *client;
	uint16_t port;
	uint32_t mh_place;
	int mh, mh_fallback;
	uint32_t sh_place;
	int sh, sh_fallback;
};

struct hash_vector {
	const char *name;
	struct {
		const char *addr;
		uint16_t port;
		int32_t weight;
		uint32_t offset, skip;
		size_t mh_count, sh_count;
	} real[VECTOR_REALS];
	size_t real_count;
	uint64_t mh_print;
	int mh_first[16], sh_first[16];
	struct hash_lookup lookup[6];
	size_t lookup_count;
};

static const struct hash_vector hash_vectors[] = {
	{
		.name = "v4 three equal",
		.real = {
			{"10.1.0.13", 9999, 1, 1066, 1328, 1365, 86},
			{"10.1.0.12", 9999, 1, 1554, 1429, 1364, 85},
			{"10.1.0.11", 9999, 1, 3642, 2961, 1364, 85},
		},
		.real_count = 3,
		.mh_print = 0x90e9e221a64f3473ull,
		.mh_first = {0, 1, 0, 1, 2, 2, 1, 0, 0, 2, 2, 1, 2, 0, 2, 1},
		.sh_first = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0},
		.lookup = {
			{"10.200.0.1", 0, 2086, 2, 2, 15, 0, 1},
			{"10.200.0.1", 40000, 3166, 1, 1, 179, 2, 2},
			{"10.200.0.2", 0, 2903, 0, 2, 113, 2, 2},
			{"10.200.0.2", 40001, 3878, 2, 2, 118, 1, 1},
			{"192.0.2.77", 0, 3263, 2, 2, 58, 1, 1},
			{"192.0.2.77", 65535, 3999, 2, 2, 94, 1, 1},
		},
		.lookup_count = 6,
	},
	{
		.name = "v4 weights 3 2 1 5",
		.real = {
			{"10.1.0.14", 80, 5, 251, 2391, 1861, 118},
			{"10.1.0.13", 80, 1, 1822, 3046, 372, 23},
			{"10.1.0.12", 80, 2, 1207, 845, 744, 46},
			{"10.1.0.11", 80, 3, 3779, 256, 1116, 69},
		},
		.real_count = 4,
		.mh_print = 0x494ff2981ee906dfull,
		.mh_first = {0, 3, 3, 0, 0, 3, 0, 0, 3, 0, 3, 3, 0, 0, 3, 1},
		.sh_first = {0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 3, 0, 0, 0, 0, 0},
		.lookup = {
			{"10.200.0.1", 0, 2086, 3, 3, 15, 0, 3},
			{"10.200.0.1", 40000, 3166, 0, 3, 179, 0, 1},
			{"10.200.0.2", 0, 2903, 0, 1, 113, 0, 2},
			{"10.200.0.2", 40001, 3878, 3, 3, 118, 3, 3},
			{"192.0.2.77", 0, 3263, 1, 1, 58, 0, 2},
			{"192.0.2.77", 65535, 3999, 0, 2, 94, 2, 2},
		},
		.lookup_count = 6,
	},
	{
		.name = "v4 shifted weights",
		.real = {
			{"10.1.0.13", 80, 7, 1822, 3046, 44, 7},
			{"10.1.0.12", 80, 500, 1207, 845, 1364, 249},
			{"10.1.0.11", 80, 1000, 3779, 256, 2685, 0},
		},
		.real_count = 3,
		.mh_print = 0x5c49478fd7b62967ull,
		.mh_first = {2, 2, 2, 2, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1, 2, 1},
		.sh_first = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		.lookup = {
			{"10.200.0.1", 0, 2086, 2, 2, 15, 1, 1},
			{"10.200.0.1", 40000, 3166, 2, 2, 179, 1, 1},
			{"10.200.0.2", 0, 2903, 2, 2, 113, 1, 1},
			{"10.200.0.2", 40001, 3878, 2, 2, 118, 1, 1},
			{"192.0.2.77", 0, 3263, 1, 1, 58, 1, 1},
			{"192.0.2.77", 65535, 3999, 1, 1, 94, 1, 1},
		},
		.lookup_count = 6,
	},
	{
		.name = "v4 one zero",
		.real = {
			{"10.1.0.13", 80, 2, 1822, 3046, 1365, 74},
			{"10.1.0.12", 80, 0, 1207, 845, 0, 37},
			{"10.1.0.11", 80, 4, 3779, 256, 2728, 145},
		},
		.real_count = 3,
		.mh_print = 0x22e70e9649f4ef57ull,
		.mh_first = {0, 2, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 0, 2, 2, 0},
		.sh_first = {0, 0, 1, 2, 2, 2, 2, 0, 0, 1, 2, 2, 2, 2, 0, 0},
		.lookup = {
			{"10.200.0.1", 0, 2086, 2, 2, 15, 0, 2},
			{"10.200.0.1", 40000, 3166, 0, 2, 179, 2, 2},
			{"10.200.0.2", 0, 2903, 0, 2, 113, 0, 2},
			{"10.200.0.2", 40001, 3878, 2, 2, 118, 2, 2},
			{"192.0.2.77", 0, 3263, 0, 2, 58, -1, 2},
			{"192.0.2.77", 65535, 3999, 2, 2, 94, 2, 2},
		},
		.lookup_count = 6,
	},
	{
		.name = "v6 weights",
		.real = {
			{"fd00:1::13", 443, 1, 772, 3172, 683, 43},
			{"fd00:1::12", 443, 2, 1574, 2780, 1364, 86},
			{"fd00:1::11", 443, 3, 3625, 1702, 2046, 127},
		},
		.real_count = 3,
		.mh_print = 0x91507b334a778b29ull,
		.mh_first = {2, 2, 1, 1, 2, 2, 0, 1, 2, 2, 1, 1, 2, 2, 2, 0},
		.sh_first = {0, 1, 1, 2, 2, 2, 0, 1, 1, 2, 2, 2, 0, 1, 1, 2},
		.lookup = {
			{"fd00:200::1", 0, 1170, 1, 1, 29, 2, 2},
			{"fd00:200::1", 40003, 2151, 1, 1, 231, 2, 2},
			{"2001:db8::5", 0, 2336, 1, 1, 198, 0, 1},
			{"2001:db8::5", 1, 3818, 2, 2, 39, 2, 2},
		},
		.lookup_count = 4,
	},
};

static const struct {
	uint32_t word, key1, key2;
} siphash_vectors[] = {
	{0u, 492468162u, 4169286463u},
	{1u, 384591538u, 2182130385u},
	{167772161u, 50859236u, 1224331457u},
	{4294967295u, 583391001u, 4149874525u},
};

static const struct {
	const char *vip;
	uint32_t bucket;
} dh_vectors[] = {
	{"10.99.0.1", 21},
	{"10.99.0.7", 95},
	{"fd00:99::1", 58},
};

#endif
