/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csum.h - internet checksums by plain adds (RFC 1624); bpf_csum_diff() would cost twenty times as much.
 */
#ifndef XLB_LIB_CSUM_H
#define XLB_LIB_CSUM_H

#include "lib/cursor.h"
#include "lib/endian.h"

/* The checksum of words that sum up to this: complement of the sum's two halves. */
static __always_inline __u32 csum_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

/* The checksum of words of which some were replaced: `added` is what that adds to their sum, in one's complement. */
static __always_inline __be16 csum_adjust(__be16 checksum, __u16 added)
{
	return (__be16)csum_fold((__u32)(__u16)~checksum + added);
}

/* The checksum of a header in which one 16-bit word `was` became `is`. All in the order of the wire. */
static __always_inline __be16 csum_replace(__be16 checksum, __be16 was, __be16 is)
{
	return (__be16)csum_fold((__u16)~checksum + (__u32)(__u16)~was + is);
}

/* The sum of whole words, for csum_finish(). Bytes that fill up the last word are 0. */
static __always_inline __u64 csum_add(__u64 sum, const __u32 *word, __u32 words)
{
	for (__u32 i = 0; i < words; i++)
		sum += word[i];
	return sum;
}

/* The checksum of what was summed up. */
static __always_inline __be16 csum_finish(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__be16)~sum;
}

#endif
