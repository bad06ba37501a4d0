/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash.h - the kernel's hashes that decide which real server a client gets (ip_vs_mh, ip_vs_sh, ip_vs_dh).
 *
 * One implementation: the daemon builds the rings with it (model/maglev.c) and packets find their place in them with it
 * (stage/choose.h). The values are those of 64-bit kernels; 32-bit ones have other tables.
 * No map, no policy; compiles for BPF and for the host.
 */
#ifndef XLB_LIB_HASH_H
#define XLB_LIB_HASH_H

#include <linux/types.h>

#include "xlb_shared.h"

#define HASH_MH_KEY1 2654435761u /* place of a client, first place of a real server */
#define HASH_MH_KEY2 2654446892u /* step of a real server */
#define HASH_SH_BITS 8           /* sh and dh have 256 buckets */

#define hash_inline static inline __attribute__((always_inline))

/* The word that IPVS makes of an address: IPv4 in host order, IPv6 the XOR of its four words in host order. */
hash_inline __u32 hash_fold(const struct xlb_addr *addr)
{
	int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	__u32 mapped = little ? 0xffff0000u : 0xffffu;
	__u32 folded = addr->word[3];

	if (addr->word[0] || addr->word[1] || addr->word[2] != mapped)
		folded ^= addr->word[0] ^ addr->word[1] ^ addr->word[2];
	return little ? __builtin_bswap32(folded) : folded;
}

struct hash_siphash_state {
	__u64 a, b, c, d;
};

hash_inline __u64 hash_rotate(__u64 word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

hash_inline void hash_siphash_round(struct hash_siphash_state *state)
{
	state->a += state->b;
	state->b = hash_rotate(state->b, 13) ^ state->a;
	state->a = hash_rotate(state->a, 32);
	state->c += state->d;
	state->d = hash_rotate(state->d, 16) ^ state->c;
	state->a += state->d;
	state->d = hash_rotate(state->d, 21) ^ state->a;
	state->c += state->b;
	state->b = hash_rotate(state->b, 17) ^ state->c;
	state->c = hash_rotate(state->c, 32);
}

/* SipHash-1-3 of one 32-bit word under the key {key, key}; the kernel's hsiphash_1u32() where long has 64 bits. */
hash_inline __u32 hash_siphash(__u32 word, __u64 key)
{
	/* the constants of SipHash: "somepseudorandomlygeneratedbytes" */
	struct hash_siphash_state state = {
		.a = key ^ 0x736f6d6570736575ull,
		.b = key ^ 0x646f72616e646f6dull,
		.c = key ^ 0x6c7967656e657261ull,
		.d = key ^ 0x7465646279746573ull,
	};
	__u64 last = (__u64)sizeof(word) << 56 | word;

	state.d ^= last;
	hash_siphash_round(&state);
	state.a ^= last;
	state.c ^= 0xff;
	hash_siphash_round(&state);
	hash_siphash_round(&state);
	hash_siphash_round(&state);
	return (__u32)(state.a ^ state.b ^ state.c ^ state.d);
}

/*
 * mh: take it modulo the length of the ring. port_host: the client's, with the service's PORT flag, else 0.
 * offset: 0; of the fallback's n-th try (n + first place) % length.
 */
hash_inline __u32 hash_mh(__u32 folded, __u16 port_host, __u32 offset)
{
	return hash_siphash(offset + port_host + folded, HASH_MH_KEY1);
}

/* The top `HASH_SH_BITS` bits of the product with the golden ratio: the kernel's hash_32(). */
hash_inline __u32 hash_golden(__u32 word)
{
	return word * 0x61c88647u >> (32 - HASH_SH_BITS);
}

/* sh: the bucket. port_host as above; offset: 0; of the fallback's n-th try (n + first bucket) & 255. */
hash_inline __u32 hash_sh(__u32 folded, __u16 port_host, __u32 offset)
{
	return (offset + hash_golden(port_host + folded)) & ((1u << HASH_SH_BITS) - 1);
}

/* dh: the bucket of a virtual address. */
hash_inline __u32 hash_dh(__u32 folded)
{
	return hash_golden(folded);
}

#undef hash_inline

#endif
