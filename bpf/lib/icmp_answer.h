/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * icmp_answer.h - the headers of an ICMP error that is sent: IP and ICMP, in front of the packet that it is about.
 *
 * What the kernel would write (net/ipv4/icmp.c, net/ipv6/icmp.c), with its defaults. Filled in two steps: what is known from the
 * packet, then what follows from the bytes that are quoted. mtu: of packet too big and fragmentation needed; 0: time exceeded.
 */
#ifndef XLB_LIB_ICMP_ANSWER_H
#define XLB_LIB_ICMP_ANSWER_H

#include <linux/in.h>

#include "lib/csum.h"
#include "lib/icmp.h"
#include "lib/ipv4.h"
#include "lib/ipv6.h"
#include "xlb_shared.h"

#define ICMP_ANSWER_TTL 64 /* net.ipv4.ip_default_ttl, net.ipv6.conf.all.hop_limit */

/* Bytes of IP that everybody can receive: no answer is longer. */
#define ICMP_ANSWER_MOST_IPV4 576
#define ICMP_ANSWER_MOST_IPV6 1280

/* And its words, for the checksums. */
union icmp_answer {
	struct {
		struct iphdr ip;
		struct icmp_header icmp;
	} ipv4;
	struct {
		struct ipv6hdr ip;
		struct icmp_header icmp;
	} ipv6;
	__u32 word[12];
};
#define ICMP_ANSWER_IPV4 (sizeof(struct iphdr) + sizeof(struct icmp_header))
#define ICMP_ANSWER_IPV6 (sizeof(struct ipv6hdr) + sizeof(struct icmp_header))
_Static_assert(sizeof(union icmp_answer) == ICMP_ANSWER_IPV6, "no holes");

/* The answer is zeroed. Its id is anybody's choice; DF stays clear. */
static __always_inline void icmp_answer_ipv4(union icmp_answer *answer, const struct iphdr *about,
                                             __u32 mtu, __be16 id)
{
	answer->ipv4.ip.version = 4;
	answer->ipv4.ip.ihl = sizeof(struct iphdr) / 4;
	answer->ipv4.ip.tos = (about->tos & 0x1e) | 0xc0; /* its class, internetwork control */
	answer->ipv4.ip.id = id;
	answer->ipv4.ip.ttl = ICMP_ANSWER_TTL;
	answer->ipv4.ip.protocol = IPPROTO_ICMP;
	answer->ipv4.ip.saddr = about->daddr;
	answer->ipv4.ip.daddr = about->saddr;
	answer->ipv4.icmp.type = mtu ? ICMP_UNREACHABLE : ICMP_TIME_EXCEEDED;
	answer->ipv4.icmp.code = mtu ? ICMP_FRAGMENTATION_NEEDED : 0;
	answer->ipv4.icmp.rest = xlb_htonl(mtu);
}

static __always_inline void icmp_answer_ipv6(union icmp_answer *answer, const struct ipv6hdr *about,
                                             __u32 mtu)
{
	answer->ipv6.ip.version = 6;
	answer->ipv6.ip.nexthdr = IPPROTO_ICMPV6;
	answer->ipv6.ip.hop_limit = ICMP_ANSWER_TTL;
	answer->ipv6.ip.saddr = about->daddr;
	answer->ipv6.ip.daddr = about->saddr;
	answer->ipv6.icmp.type = mtu ? ICMPV6_TOO_BIG : ICMPV6_TIME_EXCEEDED;
	answer->ipv6.icmp.rest = xlb_htonl(mtu);
}

/* quoted: bytes behind the headers; sum: theirs (csum_add()). */
static __always_inline void icmp_answer_finish_ipv4(union icmp_answer *answer, __u32 quoted,
                                                    __u64 sum)
{
	answer->ipv4.ip.tot_len = xlb_htons(ICMP_ANSWER_IPV4 + quoted);
	answer->ipv4.ip.check = csum_finish(csum_add(0, answer->word, 5));
	answer->ipv4.icmp.checksum = csum_finish(csum_add(sum, answer->word + 5, 2));
}

static __always_inline void icmp_answer_finish_ipv6(union icmp_answer *answer, __u32 quoted,
                                                    __u64 sum)
{
	__u32 length = sizeof(struct icmp_header) + quoted;

	answer->ipv6.ip.payload_len = xlb_htons(length);
	/* the pseudo header (RFC 8200, 8.1): both addresses, length, protocol */
	sum += (__u64)xlb_htonl(length) + xlb_htonl(IPPROTO_ICMPV6);
	answer->ipv6.icmp.checksum = csum_finish(csum_add(sum, answer->word + 2, 10));
}

#endif
