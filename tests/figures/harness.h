/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * harness.h - what harness.bpf.c and its users share.
 */
#ifndef XLB_TESTS_HARNESS_H
#define XLB_TESTS_HARNESS_H

#include <linux/types.h>

#define HARNESS_WORDS 10 /* 80 bytes of frame are rebuilt */

enum harness_mode { HARNESS_FIXED, HARNESS_SEQUENCE, HARNESS_RANDOM };

struct harness {
	__u64 state; /* of the random numbers; not 0 */
	__u32 mode, first, flows, next;
	__u32 ipv6;
	__u32 device; /* of generate() */
	__u32 sum;    /* IPv4: of the header's other words, so that its checksum is right */
	__u32 grown;  /* bytes that the program under test puts in front: taken off again */
	__u64 frame[HARNESS_WORDS];
};

#endif
