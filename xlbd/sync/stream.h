/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream.h - the sending half: records into messages, messages into a ring from which they can be sent again. Pure.
 */
#ifndef XLBD_SYNC_STREAM_H
#define XLBD_SYNC_STREAM_H

#include "xlbd/cleanup.h"
#include "xlbd/sync/seal.h"
#include "xlbd/sync/wire.h"

#define STREAM_RING_BYTES (24u << 20)

struct stream; /* opaque */

typedef void (*stream_send)(void *context, const uint8_t *message, size_t length);

struct stream_setup {
	uint16_t cluster, node;
	uint64_t epoch;
	size_t message_max; /* UDP payload that fits the MTU */
	stream_send send;
	void *context;
};

/* -EINVAL: message_max of less than 1,200 or more than WIRE_MESSAGE_MAX bytes */
int stream_open(const struct stream_setup *setup, struct stream **ret);
struct stream *stream_close(struct stream *stream); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct stream, stream_close)

/* Both send what is open first. */
void stream_set_key(struct stream *stream, const struct seal_key *key);
void stream_set_term(struct stream *stream, uint32_t term);
uint32_t stream_term(const struct stream *stream);

/* Each puts a record into the open message, sending it when it is full, and returns the sequence of its message. */
uint64_t stream_put_flow(struct stream *stream, const struct wire_flow *flow, bool wide);
uint64_t stream_put_name(struct stream *stream, const struct wire_name *name);
/* The sums of all buckets, in as many messages as they need. */
void stream_put_digests(struct stream *stream, const uint64_t sums[WIRE_BUCKETS]);
void stream_put_all(struct stream *stream, uint64_t begin, const uint8_t map[WIRE_MAP]);
void stream_flush(struct stream *stream); /* sends what is open */

uint64_t stream_highest(const struct stream *stream);  /* sequence of the last message sent */
uint64_t stream_messages(const struct stream *stream); /* sent in all, repeated ones too */
uint64_t stream_bytes(const struct stream *stream);
uint64_t stream_records(const struct stream *stream);
uint64_t stream_repeated(const struct stream *stream);

/* A message of its own on the other channel. */
void stream_aside(struct stream *stream, uint8_t type, const uint8_t *body, size_t length);
/*
 * Sends the messages of a range again, but for those that were sent less than 4 ms ago. What the ring has no more goes to
 * *ret_lost (first 0: nothing).
 */
void stream_repeat(struct stream *stream, const struct wire_range *range, int64_t now_ms,
                   struct wire_range *ret_lost);

#endif
