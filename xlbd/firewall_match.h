/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firewall_match.h - does an expression of a rule match the packets in question: never, always, perhaps? Pure.
 */
#ifndef XLBD_FIREWALL_MATCH_H
#define XLBD_FIREWALL_MATCH_H

#include "xlbd/firewall_rules.h"

enum fw_match { FW_NEVER, FW_PERHAPS, FW_ALWAYS }; /* ordered: "and" is the lesser */

enum fw_side {              /* where the packets are */
	       FW_ARRIVING, /* from a wire: any interface but lo */
	       FW_LEAVING,  /* forwarded by IPVS, for a real server: by any interface but lo */
};

/* Registers while one rule runs: each bit is known or not. */
struct fw_registers {
	uint8_t value[FW_REGISTERS], known[FW_REGISTERS];
	bool interface[FW_REGISTERS /
	               4]; /* this word begins an interface's name or number, and not lo's */
};

/* A header of the packets, as far as it is known. */
#define FW_HEADER 64
struct fw_header {
	uint8_t value[FW_HEADER], known[FW_HEADER];
};

/* All that is known of the packets in one place. */
struct fw_view {
	const struct fw_packet *packet;
	enum fw_side side;
	bool destination; /* address and port are known there */
	struct fw_header network, transport;
	unsigned asked; /* enum fw_asked: what was looked at so far */
};
void fw_view_open(struct fw_view *view, const struct fw_packet *packet, enum fw_side side);

/* Runs FW_META, FW_PAYLOAD, FW_LOAD, FW_BITWISE, FW_VALUE: they fill registers. */
void fw_load(struct fw_registers *registers, const struct fw_expression *expression,
             struct fw_view *view);
/* Runs FW_CMP, FW_RANGE, FW_PORTS and FW_LOOKUP in sets. */
enum fw_match fw_compare(const struct fw_registers *registers,
                         const struct fw_expression *expression, struct fw_view *view);
/* One element of a set against the key in the registers. */
enum fw_match fw_match_element(const struct fw_registers *registers,
                               const struct fw_expression *expression, size_t index);

#endif
