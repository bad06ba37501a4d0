// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire.c - the messages of xlbd-sync, to bytes and from bytes.
 *
 * Called by the sending and the receiving half of a node (stream.c, peer.c, node.c). What comes in here has passed the
 * authentication, but a peer may be of another version or have a bug: every length is checked before it is used, every number
 * that will be an index is checked by who uses it, and what cannot be is -EBADMSG. A count is never believed: how many records
 * there are follows from the length of the datagram.
 *
 * Records have a fixed place for each field, without padding for alignment, so fields are read and written byte by byte; the
 * compiler makes one load and one swap of it. Does not: keep anything, know keys, log.
 */
#include <errno.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/sync/wire.h"

/* ---- numbers ---------------------------------------------------------------------------------- */

size_t wire_put16(uint16_t value, uint8_t *to)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
	return 2;
}

static size_t put32(uint32_t value, uint8_t *to)
{
	value = __builtin_bswap32(value);
	memcpy(to, &value, sizeof(value));
	return 4;
}

size_t wire_put64(uint64_t value, uint8_t *to)
{
	put32((uint32_t)(value >> 32), to);
	put32((uint32_t)value, to + 4);
	return 8;
}

uint16_t wire_get16(const uint8_t *from)
{
	return (uint16_t)(from[0] << 8 | from[1]);
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return __builtin_bswap32(value);
}

uint64_t wire_get64(const uint8_t *from)
{
	return (uint64_t)get32(from) << 32 | get32(from + 4);
}

/* ---- header ----------------------------------------------------------------------------------- */

void wire_put_header(const struct wire_header *header, uint8_t *to)
{
	to[0] = 'X';
	to[1] = 'S';
	to[2] = WIRE_VERSION;
	to[3] = header->type;
	wire_put16(header->cluster, to + 4);
	wire_put16(header->sender, to + 6);
	wire_put64(header->epoch, to + 8);
	wire_put64(header->sequence, to + 16);
	put32(header->term, to + 24);
	to[28] = header->key;
	to[29] = header->channel;
	wire_put16(header->flags, to + 30);
}

int wire_get_header(const uint8_t *from, size_t length, struct wire_header *ret)
{
	if (length < WIRE_HEADER + WIRE_TAG || length > WIRE_MESSAGE_MAX || from[0] != 'X' ||
	    from[1] != 'S')
		return -EBADMSG;
	if (from[2] != WIRE_VERSION)
		return -EPROTONOSUPPORT;
	if (from[29] >= WIRE_CHANNELS)
		return -EBADMSG;
	*ret = (struct wire_header){.type = from[3],
	                            .cluster = wire_get16(from + 4),
	                            .sender = wire_get16(from + 6),
	                            .epoch = wire_get64(from + 8),
	                            .sequence = wire_get64(from + 16),
	                            .term = get32(from + 24),
	                            .key = from[28],
	                            .channel = from[29],
	                            .flags = wire_get16(from + 30)};
	return 0;
}

/* ---- connections ------------------------------------------------------------------------------ */

size_t wire_flow_size(uint8_t type)
{
	static const size_t sizes[WIRE_TYPES] = {[WIRE_FLOWS4] = WIRE_FLOW4,
	                                         [WIRE_FLOWS6] = WIRE_FLOW6,
	                                         [WIRE_LONG_FLOWS6] = WIRE_LONG_FLOW6};

	return type < WIRE_TYPES ? sizes[type] : 0;
}

size_t wire_put_flow(const struct wire_flow *flow, uint8_t type, uint8_t *to)
{
	const bool wide = type != WIRE_FLOWS4;
	uint8_t *at = to;

	memcpy(at, wide ? flow->client.byte : flow->client.byte + 12, wide ? 16 : 4);
	at += wide ? 16 : 4;
	at += wire_put16(flow->client_port, at);
	if (wide)
		at += wire_put16(flow->virtual_port, at);
	at += wire_put16(flow->service, at);
	at += wire_put16(flow->real, at);
	if (!wide)
		at += wire_put16(flow->local_port, at);
	at += wire_put16(flow->idle, at);
	*at++ = (uint8_t)(flow->phase << 4 | flow->kind);
	*at++ = 0;
	if (type == WIRE_LONG_FLOWS6)
		at += wire_put16(flow->local_port, at);
	return (size_t)(at - to);
}

int wire_get_flow(const uint8_t *from, uint8_t type, struct wire_flow *ret)
{
	const bool wide = type != WIRE_FLOWS4;
	struct wire_flow flow = {};

	if (wide) {
		memcpy(flow.client.byte, from, 16);
		flow.client_port = wire_get16(from + 16);
		flow.virtual_port = wire_get16(from + 18);
		from += 20;
	} else {
		flow.client.byte[10] = flow.client.byte[11] = 0xff;
		memcpy(flow.client.byte + 12, from, 4);
		flow.client_port = wire_get16(from + 4);
		flow.local_port = wire_get16(from + 10);
		from += 6;
	}
	flow.service = wire_get16(from);
	flow.real = wire_get16(from + 2);
	from += wide ? 4 : 6;
	flow.idle = wire_get16(from);
	flow.phase = from[2] >> 4;
	flow.kind = from[2] & 15;
	if (type == WIRE_LONG_FLOWS6)
		flow.local_port = wire_get16(from + 4);
	if (flow.kind >= WIRE_KINDS || flow.phase < XLB_PHASE_SYN || flow.phase > XLB_PHASE_LAST ||
	    !flow.service || !flow.real)
		return -EBADMSG;
	*ret = flow;
	return 0;
}

/* ---- names ------------------------------------------------------------------------------------ */

size_t wire_put_name(const struct wire_name *name, uint8_t *to)
{
	memset(to, 0, WIRE_NAME);
	to[0] = name->is_real;
	to[1] = name->flags;
	wire_put16(name->number, to + 2);
	memcpy(to + 4, name->addr.byte, 16);
	wire_put16(name->port, to + 20);
	to[22] = name->protocol;
	wire_put16(name->service, to + 24);
	return WIRE_NAME;
}

int wire_get_name(const uint8_t *from, struct wire_name *ret)
{
	struct wire_name name = {.is_real = from[0],
	                         .flags = from[1],
	                         .protocol = from[22],
	                         .number = wire_get16(from + 2),
	                         .service = wire_get16(from + 24),
	                         .port = wire_get16(from + 20)};

	if (from[0] > 1 || !name.number || (name.is_real && !name.service))
		return -EBADMSG;
	memcpy(name.addr.byte, from + 4, 16);
	*ret = name;
	return 0;
}

/* ---- heartbeats ------------------------------------------------------------------------------- */

size_t wire_put_heart(const struct wire_heart *heart, uint8_t *to)
{
	wire_put64(heart->highest, to);
	wire_put64(heart->sum, to + 8);
	put32(heart->term_heard, to + 16);
	put32(heart->configuration, to + 20);
	put32(heart->clock, to + 24);
	to[28] = heart->version_min;
	to[29] = heart->version_max;
	wire_put16(heart->flags, to + 30);
	wire_put16(heart->capabilities, to + 32);
	wire_put16(heart->keys, to + 34);
	put32(heart->connections, to + 36);
	put32(heart->names, to + 40);
	wire_put16(heart->peers, to + 44);
	wire_put16(0, to + 46);
	return WIRE_HEART;
}

int wire_get_heart(const uint8_t *from, size_t length, struct wire_heart *ret)
{
	uint16_t peers;

	if (length < WIRE_HEART)
		return -EBADMSG;
	peers = wire_get16(from + 44);
	if (peers > (length - WIRE_HEART) / WIRE_HEART_PEER)
		return -EBADMSG;
	*ret = (struct wire_heart){.highest = wire_get64(from),
	                           .sum = wire_get64(from + 8),
	                           .term_heard = get32(from + 16),
	                           .configuration = get32(from + 20),
	                           .clock = get32(from + 24),
	                           .version_min = from[28],
	                           .version_max = from[29],
	                           .flags = wire_get16(from + 30),
	                           .capabilities = wire_get16(from + 32),
	                           .keys = wire_get16(from + 34),
	                           .connections = get32(from + 36),
	                           .names = get32(from + 40),
	                           .peers = peers};
	return 0;
}

size_t wire_put_heart_peer(const struct wire_heart_peer *peer, uint8_t *to)
{
	wire_put16(peer->id, to);
	wire_put16(peer->flags, to + 2);
	put32(peer->clock, to + 4);
	put32(peer->since, to + 8);
	put32(peer->gaps, to + 12);
	wire_put64(peer->epoch, to + 16);
	wire_put64(peer->challenge, to + 24);
	wire_put64(peer->answer, to + 32);
	wire_put64(peer->received, to + 40);
	return WIRE_HEART_PEER;
}

void wire_get_heart_peer(const uint8_t *from, struct wire_heart_peer *ret)
{
	*ret = (struct wire_heart_peer){.id = wire_get16(from),
	                                .flags = wire_get16(from + 2),
	                                .clock = get32(from + 4),
	                                .since = get32(from + 8),
	                                .gaps = get32(from + 12),
	                                .epoch = wire_get64(from + 16),
	                                .challenge = wire_get64(from + 24),
	                                .answer = wire_get64(from + 32),
	                                .received = wire_get64(from + 40)};
}

/* ---- requests --------------------------------------------------------------------------------- */

size_t wire_put_range(const struct wire_range *range, uint8_t *to)
{
	wire_put64(range->first, to);
	wire_put64(range->last, to + 8);
	return 16;
}

int wire_get_range(const uint8_t *from, struct wire_range *ret)
{
	struct wire_range range = {wire_get64(from), wire_get64(from + 8)};

	if (!range.first || range.last < range.first)
		return -EBADMSG;
	*ret = range;
	return 0;
}

size_t wire_put_missing(const struct wire_missing *missing, uint8_t *to)
{
	size_t used = 16;

	wire_put16(missing->node, to);
	wire_put16(missing->count, to + 2);
	put32(0, to + 4);
	wire_put64(missing->epoch, to + 8);
	for (size_t i = 0; i < missing->count; i++)
		used += wire_put_range(&missing->range[i], to + used);
	return used;
}

int wire_get_missing(const uint8_t *from, size_t length, struct wire_missing *ret)
{
	struct wire_missing missing = {};

	if (length < 16)
		return -EBADMSG;
	missing.node = wire_get16(from);
	missing.count = wire_get16(from + 2);
	missing.epoch = wire_get64(from + 8);
	if (missing.count > WIRE_RANGES_MAX || length != 16 + 16u * missing.count)
		return -EBADMSG;
	for (size_t i = 0; i < missing.count; i++)
		if (wire_get_range(from + 16 + 16 * i, &missing.range[i]) < 0)
			return -EBADMSG;
	*ret = missing;
	return 0;
}

size_t wire_put_want(const struct wire_want_message *want, uint8_t *to)
{
	wire_put16(want->node, to);
	wire_put16(want->what, to + 2);
	put32(want->term, to + 4);
	wire_put64(want->epoch, to + 8);
	memcpy(to + 16, want->map, WIRE_MAP);
	return 16 + WIRE_MAP;
}

int wire_get_want(const uint8_t *from, size_t length, struct wire_want_message *ret)
{
	if (length != 16 + WIRE_MAP)
		return -EBADMSG;
	*ret = (struct wire_want_message){.node = wire_get16(from),
	                                  .what = wire_get16(from + 2),
	                                  .term = get32(from + 4),
	                                  .epoch = wire_get64(from + 8)};
	memcpy(ret->map, from + 16, WIRE_MAP);
	return 0;
}

const char *wire_type_name(uint8_t type)
{
	static const char *const names[WIRE_TYPES] = {
		[WIRE_LONG_FLOWS6] = "LONG_FLOWS6",
		[WIRE_FLOWS4] = "FLOWS4",
		[WIRE_FLOWS6] = "FLOWS6",
		[WIRE_NAMES] = "NAMES",
		[WIRE_DIGESTS] = "DIGESTS",
		[WIRE_ALL] = "ALL",
		[WIRE_HEARTBEAT] = "HEART",
		[WIRE_MISSING] = "MISSING",
		[WIRE_WANT] = "WANT",
		[WIRE_LOST] = "LOST",
	};

	return type < ARRAY_SIZE(names) ? names[type] : NULL;
}
