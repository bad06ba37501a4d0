/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firewall_messages.h - messages of nf_tables -> rule sets. Pure.
 */
#ifndef XLBD_FIREWALL_MESSAGES_H
#define XLBD_FIREWALL_MESSAGES_H

#include "xlbd/firewall_rules.h"

struct nlmsghdr;

/* One message of a dump: table, chain, rule, set or elements. Others are ignored. */
void fw_take(struct fw_rules *rules, const struct nlmsghdr *message);

/* Questions, written to a zeroed buffer of NETSOCKET_QUESTION bytes; `message`: NFT_MSG_GETTABLE ... */
void fw_ask(char *buffer, int message);
/* -EMSGSIZE: names too long for a question. */
int fw_ask_elements(char *buffer, const struct fw_set *set);
/* The number in the answer to NFT_MSG_GETGEN; 0: it is none. */
uint32_t fw_generation(const struct nlmsghdr *message);

/* An iptables match or target that sits in nf_tables (nft_compat); firewall_compat.c. */
void fw_compat_match(struct fw_rules *rules, const char *name, unsigned revision, const void *info,
                     size_t length, struct fw_expression *ret);
void fw_compat_target(struct fw_rules *rules, const char *name, struct fw_expression *ret);

#endif
