/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames.h - Ethernet frames of the connections of clients.h: written as a client would, and read again.
 */
#ifndef TESTS_VM_FRAMES_H
#define TESTS_VM_FRAMES_H

#include <net/ethernet.h>

#include "tests/vm/clients.h"

#define FRAME_ROOM 128 /* the longest has 14 + 40 + 20 bytes */

enum frame_kind {
	FRAME_OPEN, /* TCP: SYN; UDP: a datagram of four bytes */
	FRAME_ACK,  /* TCP: the client's first ACK */
};

/* Writes at most FRAME_ROOM bytes with right checksums and returns their number. ether_type is filled in. */
size_t frame_write(const struct ether_header *ethernet, const struct connection *connection,
                   enum frame_kind kind, uint8_t *ret);
/* Which connection the frame belongs to. False: neither TCP nor UDP over IPv4 or IPv6 (without options), or truncated. */
bool frame_read(const uint8_t *frame, size_t length, struct connection *ret);

#endif
