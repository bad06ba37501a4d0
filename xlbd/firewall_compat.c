// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall_compat.c - what iptables' own matches and targets mean when iptables-nft puts them into nf_tables.
 *
 * iptables-nft writes what it can as nf_tables' expressions and the rest as "match" and "target" with the structure of the old
 * kernel interface inside. Destination ports are understood (tcp, udp, multiport); every other match is a condition that may hold or
 * not. Targets fall into those that change neither packet nor verdict, those that end or change it, and those that are not
 * known; the latter two are reasons. One name is one row. Called by firewall_messages.c.
 */
#include <linux/netfilter/xt_multiport.h>
#include <linux/netfilter/xt_tcpudp.h>
#include <string.h>

#include "xlbd/firewall_messages.h"

static const struct {
	const char *name;
	enum fw_kind kind;
	const char *why;
} targets[] = {
	{"LOG", FW_NOTHING, NULL},
	{"NFLOG", FW_NOTHING, NULL},
	{"ULOG", FW_NOTHING, NULL},
	{"TRACE", FW_NOTHING, NULL},
	{"AUDIT", FW_NOTHING, NULL},
	{"CT", FW_NOTHING, NULL},
	{"NOTRACK", FW_NOTHING, NULL},
	{"IDLETIMER", FW_NOTHING, NULL},
	{"RATEEST", FW_NOTHING, NULL},
	{"SET", FW_NOTHING, NULL},
	{"REJECT", FW_REFUSAL, NULL},
	{"NFQUEUE", FW_REFUSAL, "hands packets to a program"},
	{"MARK", FW_REFUSAL, "changes the packet's mark"},
	{"CONNMARK", FW_REFUSAL, "may change the packet's mark"},
	{"DNAT", FW_REFUSAL, "changes the destination"},
	{"REDIRECT", FW_REFUSAL, "changes the destination"},
	{"NETMAP", FW_REFUSAL, "changes the destination"},
	{"TPROXY", FW_REFUSAL, "hands packets to a local socket"},
	{"SNAT", FW_REFUSAL, "changes the source"},
	{"MASQUERADE", FW_REFUSAL, "changes the source"},
	{"SYNPROXY", FW_REFUSAL, "answers in the server's place"},
	{"TEE", FW_REFUSAL, "copies packets"},
	{"TCPMSS", FW_REFUSAL, "changes the packet"},
	{"TCPOPTSTRIP", FW_REFUSAL, "changes the packet"},
	{"DSCP", FW_REFUSAL, "changes the packet"},
	{"TOS", FW_REFUSAL, "changes the packet"},
	{"ECN", FW_REFUSAL, "changes the packet"},
	{"TTL", FW_REFUSAL, "changes the packet"},
	{"HL", FW_REFUSAL, "changes the packet"},
	{"CLUSTERIP", FW_REFUSAL, "chooses by itself which node answers"},
};

void fw_compat_target(struct fw_rules *rules, const char *name, struct fw_expression *ret)
{
	ret->kind = FW_UNKNOWN;
	ret->words = fw_string(rules, "-j %s", name);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (strcmp(targets[i].name, name) == 0) {
			ret->kind = targets[i].kind;
			ret->why = targets[i].why;
		}
}

static void set_ports(struct fw_rules *rules, const char *words, const uint16_t (*ranges)[2],
                      size_t count, struct fw_expression *ret)
{
	ret->kind = FW_PORTS;
	ret->words = words;
	ret->length = (uint8_t)(count * sizeof(*ranges));
	ret->a = fw_bytes(rules, ranges, count * sizeof(*ranges));
}

static void match_tcp(struct fw_rules *rules, const void *info, struct fw_expression *ret)
{
	struct xt_tcp tcp;

	memcpy(&tcp, info, sizeof(tcp));
	set_ports(rules, "-p tcp --dport", &tcp.dpts, 1, ret);
	ret->inverted = tcp.invflags & XT_TCP_INV_DSTPT;
	ret->conditional = tcp.spts[0] || tcp.spts[1] != 0xffff || tcp.option || tcp.flg_mask ||
	                   tcp.invflags & ~XT_TCP_INV_DSTPT;
}

static void match_udp(struct fw_rules *rules, const void *info, struct fw_expression *ret)
{
	struct xt_udp udp;

	memcpy(&udp, info, sizeof(udp));
	set_ports(rules, "-p udp --dport", &udp.dpts, 1, ret);
	ret->inverted = udp.invflags & XT_UDP_INV_DSTPT;
	ret->conditional = udp.spts[0] || udp.spts[1] != 0xffff || udp.invflags & ~XT_UDP_INV_DSTPT;
}

static void match_multiport(struct fw_rules *rules, const void *info, struct fw_expression *ret)
{
	uint16_t ranges[XT_MULTI_PORTS][2];
	struct xt_multiport_v1 ports;
	size_t count = 0;

	memcpy(&ports, info, sizeof(ports));
	if (ports.flags != XT_MULTIPORT_DESTINATION)
		return; /* the source's port takes part: a condition */
	for (size_t i = 0; i < ports.count && i < XT_MULTI_PORTS; i++, count++) {
		ranges[count][0] = ranges[count][1] = ports.ports[i];
		if (ports.pflags[i] && i + 1 < XT_MULTI_PORTS)
			ranges[count][1] = ports.ports[++i];
	}
	set_ports(rules, "-m multiport --dports", ranges, count, ret);
	ret->inverted = ports.invert;
}

static const struct {
	const char *name;
	unsigned revision;
	size_t length;
	void (*read)(struct fw_rules *rules, const void *info, struct fw_expression *ret);
} matches[] = {
	{"tcp", 0, sizeof(struct xt_tcp), match_tcp},
	{"udp", 0, sizeof(struct xt_udp), match_udp},
	{"multiport", 1, sizeof(struct xt_multiport_v1), match_multiport},
};

void fw_compat_match(struct fw_rules *rules, const char *name, unsigned revision, const void *info,
                     size_t length, struct fw_expression *ret)
{
	ret->kind = FW_CONDITION;
	ret->words = fw_string(rules, "-m %s", name);
	if (strcmp(name, "comment") == 0 && length) {
		ret->kind = FW_NOTHING;
		ret->words = fw_string(rules, "/* %.*s */", (int)length, (const char *)info);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(matches); i++)
		if (strcmp(matches[i].name, name) == 0 && matches[i].revision == revision &&
		    length >= matches[i].length)
			matches[i].read(rules, info, ret);
}
