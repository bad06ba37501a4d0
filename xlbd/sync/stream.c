// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stream.c - the sending half of a node.
 *
 * One message is open at a time; a record of another type, a full message or a flush closes it: sealed in place and sent.
 * It stays, sealed, in a ring of 24 MiB; who missed it gets the same bytes again, so a nonce is never used for two texts. A
 * record knows the sequence of its message as soon as it is put in, since messages go out in the order in which they are opened.
 *
 * Sending may fail (a full socket buffer): the message is in the ring, its number is in the next heartbeat, and who missed
 * it asks. Nothing here waits or retries by itself.
 *
 * Called by node.c. Does not: know peers, connections, time (but for the pause between two repetitions).
 */
#include <errno.h>
#include <string.h>

#include "xlbd/sync/stream.h"

#define MESSAGE_MIN     1200
#define REPEAT_PAUSE_MS 4

struct place { /* of one message of the ring */
	uint16_t length;
	int64_t repeated; /* ms */
};

struct stream {
	struct stream_setup setup;
	uint8_t key_id, key[SEAL_KEY];
	uint32_t term;
	uint64_t highest, aside; /* sequences used */
	size_t used;             /* bytes of the open message; 0: none is open */
	uint8_t type;            /* of the open message */
	size_t slots;            /* of the ring, a power of two */
	uint8_t *ring;           /* slots of message_max bytes */
	struct place *place;
	uint8_t *other; /* a message of channel 1 */
	uint64_t messages, bytes, records, repeated;
};

int stream_open(const struct stream_setup *setup, struct stream **ret)
{
	_cleanup_(stream_closep) struct stream *stream = NULL;

	if (setup->message_max < MESSAGE_MIN || setup->message_max > WIRE_MESSAGE_MAX)
		return -EINVAL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->setup = *setup;
	stream->slots = 1;
	while (stream->slots * 2 * setup->message_max <= STREAM_RING_BYTES)
		stream->slots *= 2;
	stream->ring = calloc(stream->slots, setup->message_max);
	stream->place = calloc(stream->slots, sizeof(*stream->place));
	stream->other = calloc(1, setup->message_max);
	if (!stream->ring || !stream->place || !stream->other)
		return -ENOMEM;
	*ret = take_ptr(stream);
	return 0;
}

struct stream *stream_close(struct stream *stream)
{
	if (!stream)
		return NULL;
	free(stream->ring);
	free(stream->place);
	free(stream->other);
	free(stream);
	return NULL;
}

uint32_t stream_term(const struct stream *stream)
{
	return stream->term;
}

uint64_t stream_highest(const struct stream *stream)
{
	return stream->highest;
}

uint64_t stream_messages(const struct stream *stream)
{
	return stream->messages;
}

uint64_t stream_bytes(const struct stream *stream)
{
	return stream->bytes;
}

uint64_t stream_records(const struct stream *stream)
{
	return stream->records;
}

uint64_t stream_repeated(const struct stream *stream)
{
	return stream->repeated;
}

/* ---- messages --------------------------------------------------------------------------------- */

static uint8_t *message_of(const struct stream *stream, uint64_t sequence)
{
	return stream->ring + sequence % stream->slots * stream->setup.message_max;
}

static void send_message(struct stream *stream, uint8_t *message, size_t length)
{
	stream->messages++;
	stream->bytes += length;
	stream->setup.send(stream->setup.context, message, length);
}

static void put_header(const struct stream *stream, uint8_t type, uint8_t channel,
                       uint64_t sequence, uint8_t *to)
{
	const struct wire_header header = {.type = type,
	                                   .key = stream->key_id,
	                                   .channel = channel,
	                                   .cluster = stream->setup.cluster,
	                                   .sender = stream->setup.node,
	                                   .epoch = stream->setup.epoch,
	                                   .sequence = sequence,
	                                   .term = stream->term};

	wire_put_header(&header, to);
}

void stream_flush(struct stream *stream)
{
	uint8_t *message = message_of(stream, stream->highest + 1);
	size_t length;

	if (!stream->used)
		return;
	stream->highest++;
	put_header(stream, stream->type, WIRE_STREAM, stream->highest, message);
	length = seal_close(stream->key, message, stream->used);
	stream->place[stream->highest % stream->slots] = (struct place){.length = (uint16_t)length};
	stream->used = 0;
	send_message(stream, message, length);
}

/* Room for `size` bytes in an open message of this type. */
static uint8_t *reserve(struct stream *stream, uint8_t type, size_t size)
{
	uint8_t *at;

	if (stream->used &&
	    (stream->type != type || stream->used + size + WIRE_TAG > stream->setup.message_max))
		stream_flush(stream);
	if (!stream->used) {
		stream->type = type;
		stream->used = WIRE_HEADER;
	}
	at = message_of(stream, stream->highest + 1) + stream->used;
	stream->used += size;
	return at;
}

void stream_set_key(struct stream *stream, const struct seal_key *key)
{
	stream_flush(stream);
	stream->key_id = key->id;
	seal_derive(key, stream->setup.node, stream->setup.epoch, stream->key);
}

void stream_set_term(struct stream *stream, uint32_t term)
{
	stream_flush(stream);
	stream->term = term;
}

uint64_t stream_put_flow(struct stream *stream, const struct wire_flow *flow, bool wide)
{
	uint8_t type = !wide ? WIRE_FLOWS4 : flow->local_port ? WIRE_LONG_FLOWS6 : WIRE_FLOWS6;

	wire_put_flow(flow, type, reserve(stream, type, wire_flow_size(type)));
	stream->records++;
	return stream->highest + 1;
}

uint64_t stream_put_name(struct stream *stream, const struct wire_name *name)
{
	wire_put_name(name, reserve(stream, WIRE_NAMES, WIRE_NAME));
	return stream->highest + 1;
}

void stream_put_digests(struct stream *stream, const uint64_t sums[WIRE_BUCKETS])
{
	const size_t share = (stream->setup.message_max - WIRE_HEADER - WIRE_TAG - 8) / 8;

	stream_flush(stream);
	for (size_t first = 0; first < WIRE_BUCKETS; first += share) {
		size_t count = WIRE_BUCKETS - first < share ? WIRE_BUCKETS - first : share;
		uint8_t *at = reserve(stream, WIRE_DIGESTS, 8 + 8 * count);

		memset(at, 0, 8);
		wire_put16((uint16_t)first, at);
		for (size_t i = 0; i < count; i++)
			wire_put64(sums[first + i], at + 8 + 8 * i);
		stream_flush(stream);
	}
}

void stream_put_all(struct stream *stream, uint64_t begin, const uint8_t map[WIRE_MAP])
{
	uint8_t *at = reserve(stream, WIRE_ALL, 8 + WIRE_MAP);

	wire_put64(begin, at);
	memcpy(at + 8, map, WIRE_MAP);
	stream_flush(stream);
}

void stream_aside(struct stream *stream, uint8_t type, const uint8_t *body, size_t length)
{
	if (WIRE_HEADER + length + WIRE_TAG > stream->setup.message_max)
		return;
	put_header(stream, type, WIRE_ASIDE, ++stream->aside, stream->other);
	memcpy(stream->other + WIRE_HEADER, body, length);
	length = seal_close(stream->key, stream->other, WIRE_HEADER + length);
	send_message(stream, stream->other, length);
}

void stream_repeat(struct stream *stream, const struct wire_range *range, int64_t now_ms,
                   struct wire_range *ret_lost)
{
	/* the slot of the open message is not the ring's any more */
	uint64_t oldest =
		stream->highest + 2 > stream->slots ? stream->highest + 2 - stream->slots : 1;
	uint64_t first = range->first, last = range->last;

	*ret_lost = (struct wire_range){};
	if (last > stream->highest)
		last = stream->highest;
	if (first < oldest) {
		ret_lost->first = first;
		ret_lost->last = last < oldest - 1 ? last : oldest - 1;
		first = oldest;
	}
	for (uint64_t sequence = first; sequence <= last; sequence++) {
		struct place *place = &stream->place[sequence % stream->slots];

		if (place->repeated && now_ms - place->repeated < REPEAT_PAUSE_MS)
			continue;
		place->repeated = now_ms;
		stream->repeated++;
		send_message(stream, message_of(stream, sequence), place->length);
	}
}
