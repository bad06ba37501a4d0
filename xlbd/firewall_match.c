// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall_match.c - three-valued matching: never, always, perhaps.
 *
 * nf_tables' expressions work on registers. Here a register holds what is known of all the packets of a virtual server at once, bit
 * by bit: the destination address and port and the protocol are known, the source and everything else is not. From the
 * known bits follow the smallest and the largest value that the packets can have, and so whether a comparison holds for
 * all of them, for none, or for some. What cannot be followed is "perhaps", which is safe on both sides: a perhaps
 * that accepts accepts nobody for certain, a perhaps that drops is a reason.
 *
 * One more thing is known: packets that XDP sees do not come from lo, and real servers are not behind it. Interface names
 * and numbers are unknown but for that.
 *
 * firewall_rules.c walks chains and calls this file expression by expression. Offsets into headers are those of the wire.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/firewall_match.h"

static void know(struct fw_header *header, size_t offset, const void *bytes, size_t length)
{
	memcpy(header->value + offset, bytes, length);
	memset(header->known + offset, 0xff, length);
}

void fw_view_open(struct fw_view *view, const struct fw_packet *packet, enum fw_side side)
{
	bool ipv4 = packet->family == AF_INET;
	uint16_t port = htons(packet->port);

	*view = (struct fw_view){.packet = packet,
	                         .side = side,
	                         .destination = side == FW_ARRIVING || packet->forwarded_unchanged};
	view->network.value[0] = ipv4 ? 0x40 : 0x60;
	view->network.known[0] = 0xf0; /* version; the rest of the byte varies */
	if (packet->protocol && !(side != FW_ARRIVING && packet->wrapped))
		know(&view->network, ipv4 ? 9 : 6, &packet->protocol, 1);
	if (!view->destination)
		return;
	if (packet->addr && ipv4)
		know(&view->network, 16, &packet->addr->byte[12], 4);
	else if (packet->addr)
		know(&view->network, 24, packet->addr->byte, 16);
	if (port)
		know(&view->transport, 2, &port, sizeof(port));
}

/* ---- filling registers ------------------------------------------------------------------------- */

static bool fits(uint8_t first, size_t length)
{
	return first + length <= FW_REGISTERS;
}

static void forget(struct fw_registers *registers, uint8_t first, size_t length)
{
	size_t words = (length + 3) / 4 * 4;

	if (!fits(first, length))
		return;
	if (!fits(first, words))
		words = length;
	/* a shorter value leaves zeros behind it in its last word */
	memset(registers->value + first, 0, words);
	memset(registers->known + first, 0xff, words);
	memset(registers->known + first, 0, length);
	for (size_t i = first / 4; i < (first + words) / 4; i++)
		registers->interface[i] = false;
}

static void remember(struct fw_registers *registers, uint8_t first, const void *bytes,
                     size_t length)
{
	forget(registers, first, length);
	if (!fits(first, length))
		return;
	memcpy(registers->value + first, bytes, length);
	memset(registers->known + first, 0xff, length);
}

static void load_interface(struct fw_registers *registers, uint8_t first, size_t length)
{
	forget(registers, first, length);
	if (fits(first, length))
		registers->interface[first / 4] = true;
}

static void load_meta(struct fw_registers *registers, const struct fw_expression *expression,
                      const struct fw_view *view)
{
	const struct fw_packet *packet = view->packet;
	bool ipv4 = packet->family == AF_INET;
	uint8_t family = ipv4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
	uint16_t ethernet = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	uint8_t first = expression->dreg;

	switch (expression->key) {
	case NFT_META_NFPROTO:
		remember(registers, first, &family, sizeof(family));
		break;
	case NFT_META_PROTOCOL:
		remember(registers, first, &ethernet, sizeof(ethernet));
		break;
	case NFT_META_L4PROTO:
		if (packet->protocol)
			remember(registers, first, &packet->protocol, sizeof(packet->protocol));
		else
			forget(registers, first, 1);
		break;
	case NFT_META_IIF:
	case NFT_META_OIF:
		load_interface(registers, first, 4);
		break;
	case NFT_META_IIFNAME:
	case NFT_META_OIFNAME:
		load_interface(registers, first, 16);
		break;
	case NFT_META_PKTTYPE: /* XDP forwards only what was sent to our own MAC */
		if (view->side == FW_ARRIVING)
			remember(registers, first, "\0", 1);
		else
			forget(registers, first, 1);
		break;
	default:
		forget(registers, first, 16);
	}
}

/* Notes that the destination's address or port is looked at, if the bytes hold any of it. */
static void note_payload(struct fw_view *view, const struct fw_expression *expression, size_t end)
{
	bool ipv4 = view->packet->family == AF_INET;
	size_t first = ipv4 ? 16 : 24, last = ipv4 ? 20 : 40;

	if (expression->base == NFT_PAYLOAD_TRANSPORT_HEADER)
		view->asked |= expression->offset < 4 && end > 2 ? FW_ASKED_PORT : 0u;
	else if (expression->offset < last && end > first)
		view->asked |= FW_ASKED_ADDR;
}

static void load_payload(struct fw_registers *registers, const struct fw_expression *expression,
                         struct fw_view *view)
{
	size_t end = (size_t)expression->offset + expression->length;
	const struct fw_header *header = NULL;

	forget(registers, expression->dreg, expression->length);
	if (expression->base == NFT_PAYLOAD_NETWORK_HEADER)
		header = &view->network;
	else if (expression->base == NFT_PAYLOAD_TRANSPORT_HEADER)
		header = &view->transport;
	if (!header || end > FW_HEADER || !fits(expression->dreg, expression->length))
		return;
	note_payload(view, expression, end);
	memcpy(registers->value + expression->dreg, header->value + expression->offset,
	       expression->length);
	memcpy(registers->known + expression->dreg, header->known + expression->offset,
	       expression->length);
}

/* dreg = sreg & a ^ b: where the mask is 0 the result is known whatever the source. */
static void load_bitwise(struct fw_registers *registers, const struct fw_expression *expression)
{
	struct fw_registers from = *registers;

	forget(registers, expression->dreg, expression->length);
	if (!fits(expression->sreg, expression->length) ||
	    !fits(expression->dreg, expression->length) || !expression->a)
		return;
	for (size_t i = 0; i < expression->length; i++) {
		uint8_t mask = expression->a[i], flip = expression->b ? expression->b[i] : 0;
		uint8_t known = from.known[expression->sreg + i];

		registers->value[expression->dreg + i] =
			(from.value[expression->sreg + i] & mask) ^ flip;
		registers->known[expression->dreg + i] = known | (uint8_t)~mask;
	}
}

void fw_load(struct fw_registers *registers, const struct fw_expression *expression,
             struct fw_view *view)
{
	switch (expression->kind) {
	case FW_META:
		load_meta(registers, expression, view);
		break;
	case FW_PAYLOAD:
		load_payload(registers, expression, view);
		break;
	case FW_BITWISE:
		load_bitwise(registers, expression);
		break;
	case FW_VALUE:
		remember(registers, expression->dreg, expression->a, expression->length);
		break;
	default:
		forget(registers, expression->dreg, expression->length ? expression->length : 16);
	}
}

/* ---- comparing --------------------------------------------------------------------------------- */

static enum fw_match invert(enum fw_match match)
{
	return match == FW_PERHAPS ? FW_PERHAPS : match == FW_ALWAYS ? FW_NEVER : FW_ALWAYS;
}

static enum fw_match lesser(enum fw_match a, enum fw_match b)
{
	return a < b ? a : b;
}

/* lo is 1 as a number and "lo" as a name; `length` may be shorter than a name ("l*"). */
static bool is_loopback(const uint8_t *bytes, size_t length)
{
	const uint32_t one = 1;

	if (length == sizeof(one) && memcmp(bytes, &one, sizeof(one)) == 0)
		return true;
	return length >= 3 && memcmp(bytes, "lo", 3) == 0;
}

static enum fw_match equal(const struct fw_registers *registers, uint8_t first,
                           const uint8_t *bytes, size_t length)
{
	bool all = true;

	if (!fits(first, length) || !bytes)
		return FW_PERHAPS;
	if (registers->interface[first / 4] && is_loopback(bytes, length))
		return FW_NEVER;
	for (size_t i = 0; i < length; i++) {
		uint8_t known = registers->known[first + i];

		if ((registers->value[first + i] ^ bytes[i]) & known)
			return FW_NEVER;
		all = all && known == 0xff;
	}
	return all ? FW_ALWAYS : FW_PERHAPS;
}

/* The smallest and the largest value that the packets can have there. False: not known. */
static bool bounds(const struct fw_registers *registers, uint8_t first, size_t length,
                   uint8_t smallest[FW_REGISTERS], uint8_t largest[FW_REGISTERS])
{
	if (!fits(first, length))
		return false;
	for (size_t i = 0; i < length; i++) {
		uint8_t known = registers->known[first + i];

		smallest[i] = registers->value[first + i] & known;
		largest[i] = smallest[i] | (uint8_t)~known;
	}
	return true;
}

/* Whether the register is at least `bytes`, as network-order numbers. */
static enum fw_match at_least(const struct fw_registers *registers, uint8_t first,
                              const uint8_t *bytes, size_t length)
{
	uint8_t smallest[FW_REGISTERS], largest[FW_REGISTERS];

	if (!bytes || !bounds(registers, first, length, smallest, largest))
		return FW_PERHAPS;
	if (memcmp(smallest, bytes, length) >= 0)
		return FW_ALWAYS;
	return memcmp(largest, bytes, length) < 0 ? FW_NEVER : FW_PERHAPS;
}

static enum fw_match at_most(const struct fw_registers *registers, uint8_t first,
                             const uint8_t *bytes, size_t length)
{
	uint8_t smallest[FW_REGISTERS], largest[FW_REGISTERS];

	if (!bytes || !bounds(registers, first, length, smallest, largest))
		return FW_PERHAPS;
	if (memcmp(largest, bytes, length) <= 0)
		return FW_ALWAYS;
	return memcmp(smallest, bytes, length) > 0 ? FW_NEVER : FW_PERHAPS;
}

static enum fw_match between(const struct fw_registers *registers, uint8_t first,
                             const uint8_t *from, const uint8_t *to, size_t length)
{
	if (from && to && length && memcmp(from, to, length) == 0)
		return equal(registers, first, from, length);
	return lesser(at_least(registers, first, from, length),
	              at_most(registers, first, to, length));
}

static enum fw_match compare(const struct fw_registers *registers,
                             const struct fw_expression *expression)
{
	uint8_t first = expression->sreg;
	const uint8_t *bytes = expression->a;
	size_t length = expression->length;

	switch (expression->op) {
	case NFT_CMP_EQ:
		return equal(registers, first, bytes, length);
	case NFT_CMP_NEQ:
		return invert(equal(registers, first, bytes, length));
	case NFT_CMP_GTE:
		return at_least(registers, first, bytes, length);
	case NFT_CMP_LT:
		return invert(at_least(registers, first, bytes, length));
	case NFT_CMP_LTE:
		return at_most(registers, first, bytes, length);
	case NFT_CMP_GT:
		return invert(at_most(registers, first, bytes, length));
	default:
		return FW_PERHAPS;
	}
}

/* Destination ports of iptables' own matches: pairs of host-order numbers. */
static enum fw_match compare_ports(const struct fw_expression *expression, struct fw_view *view)
{
	enum fw_match match = FW_NEVER;
	uint16_t port = view->packet->port;

	view->asked |= FW_ASKED_PORT;
	if (!port || !view->destination)
		return FW_PERHAPS;
	for (size_t i = 0; i + 4 <= expression->length; i += 4) {
		uint16_t range[2];

		memcpy(range, expression->a + i, sizeof(range));
		if (port >= range[0] && port <= range[1])
			match = FW_ALWAYS;
	}
	if (expression->inverted)
		match = invert(match);
	return expression->conditional ? lesser(match, FW_PERHAPS) : match;
}

/* ---- sets -------------------------------------------------------------------------------------- */

/* Part by part of a concatenation; each begins on a word of its own. */
static enum fw_match match_parts(const struct fw_registers *registers, uint8_t first,
                                 const struct fw_set *set, const uint8_t *from, const uint8_t *to)
{
	enum fw_match match = FW_ALWAYS;
	size_t offset = 0;

	for (size_t i = 0; i < set->field_count; i++) {
		if (!fits((uint8_t)(first + offset), set->fields[i]))
			return lesser(match, FW_PERHAPS);
		match = lesser(match, between(registers, (uint8_t)(first + offset), from + offset,
		                              to + offset, set->fields[i]));
		offset += (set->fields[i] + 3u) / 4 * 4;
	}
	return match;
}

/* An interval that begins with this element and ends before the next one's key. */
static enum fw_match match_interval(const struct fw_registers *registers, uint8_t first,
                                    const struct fw_set *set, size_t index)
{
	enum fw_match from = at_least(registers, first, set->elements[index].key, set->length);
	enum fw_match behind;

	if (index + 1 == set->count || from == FW_NEVER)
		return from;
	/* interfaces are never ordered: an interval of one of them is told by its first value */
	if (registers->interface[first / 4])
		return FW_PERHAPS;
	behind = at_least(registers, first, set->elements[index + 1].key, set->length);
	return lesser(from, invert(behind));
}

enum fw_match fw_match_element(const struct fw_registers *registers,
                               const struct fw_expression *expression, size_t index)
{
	const struct fw_set *set = expression->set;
	const struct fw_element *element = &set->elements[index];
	uint8_t first = expression->sreg;
	enum fw_match match;

	if (element->interval_end)
		return FW_NEVER;
	if (element->catchall || !fits(first, set->length))
		return FW_PERHAPS;
	if (set->field_count)
		match = match_parts(registers, first, set, element->key,
		                    element->key_end ? element->key_end : element->key);
	else if (element->key_end)
		match = between(registers, first, element->key, element->key_end, set->length);
	else if (set->flags & NFT_SET_INTERVAL)
		match = match_interval(registers, first, set, index);
	else
		match = equal(registers, first, element->key, set->length);
	return element->perishable ? lesser(match, FW_PERHAPS) : match;
}

static enum fw_match look_up(const struct fw_registers *registers,
                             const struct fw_expression *expression)
{
	const struct fw_set *set = expression->set;
	enum fw_match match = FW_NEVER;
	bool catchall = false;

	/* sets that packets or time may change */
	if (!set || set->flags & (NFT_SET_EVAL | NFT_SET_TIMEOUT))
		return FW_PERHAPS;
	for (size_t i = 0; i < set->count && match != FW_ALWAYS; i++) {
		enum fw_match one = fw_match_element(registers, expression, i);

		catchall |= set->elements[i].catchall;
		match = one > match ? one : match;
	}
	return catchall ? FW_ALWAYS : match;
}

enum fw_match fw_compare(const struct fw_registers *registers,
                         const struct fw_expression *expression, struct fw_view *view)
{
	enum fw_match match;

	switch (expression->kind) {
	case FW_CMP:
		return compare(registers, expression);
	case FW_RANGE:
		match = between(registers, expression->sreg, expression->a, expression->b,
		                expression->length);
		return expression->op == NFT_RANGE_NEQ ? invert(match) : match;
	case FW_PORTS:
		return compare_ports(expression, view);
	case FW_LOOKUP:
		match = look_up(registers, expression);
		return expression->inverted ? invert(match) : match;
	default:
		return FW_PERHAPS;
	}
}
