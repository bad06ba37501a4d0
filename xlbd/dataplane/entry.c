// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * entry.c - a real server as the data plane knows it: what follows from its declaration alone.
 *
 * The forwarding method becomes flags and what packets need for it: a tunnel's template (tunnels.c), or what NAT adds to
 * checksums, which is the same for every packet of the real server. The link layer comes from a next hop, later (reals.c).
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "xlbd/dataplane/entry.h"
#include "xlbd/dataplane/tunnels.h"

static uint32_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* What replacing one address by another adds to a sum of 16-bit words, in one's complement. IPv4's leading words are the same. */
static uint32_t added_by_address(const struct xlb_addr *was, const struct xlb_addr *is)
{
	uint32_t sum = 0;

	for (int i = 0; i < 4; i++) {
		sum += (uint16_t)~was->word[i] + (uint32_t)(uint16_t) ~(was->word[i] >> 16);
		sum += (is->word[i] & 0xffff) + (is->word[i] >> 16);
	}
	return fold(sum);
}

static void set_sums(struct xlb_real *real, const struct xlb_service_key *virtual)
{
	uint32_t address = added_by_address(&virtual->addr, &real->addr);

	real->sum_l3 = (uint16_t)address;
	real->sum_l4 = (uint16_t)fold(address + (uint16_t) ~virtual->port + real->port);
}

struct real_entry entry_make(const struct service *service, const struct real_server *real,
                             uint16_t owner)
{
	struct real_entry entry = {.real = {.service = owner,
	                                    .port = htons(real->port),
	                                    .forwarding = real->forwarding,
	                                    .addr = real->addr}};

	if (real->weight > 0)
		entry.real.flags |= XLB_REAL_USABLE;
	if (real->forwarding == XLB_FORWARD_TUNNEL) {
		entry.real.flags |= XLB_REAL_TUNNEL;
		entry.tunnel = tunnel_make(real, service->family == AF_INET6);
	}
	if (real->forwarding == XLB_FORWARD_NAT) {
		entry.real.flags |= XLB_REAL_NAT;
		set_sums(&entry.real, &service->key);
	}
	return entry;
}
