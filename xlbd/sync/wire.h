/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - the messages of xlbd-sync, version 1: bytes and nothing else. Pure. xlbd-sync(7) tells the same as a story.
 *
 * One UDP datagram is one message: 32 bytes of header in the clear, a body that is encrypted, 16 bytes of tag. All numbers are
 * big endian; addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d. TTL or hop limit is 255 and anything else is not looked at.
 *
 *	header   0 magic "XS"   2 version 1   3 type   4 cluster (16 bits)   6 sender (16)   8 epoch (64)   16 sequence (64)
 *	        24 term (32)   28 key id   29 channel   30 flags (16)
 *
 * AEAD: XChaCha20-Poly1305 (IETF) with the header as associated data. The nonce is epoch, sequence, channel, 7 zeros. The key:
 * crypto_kdf(key of the file, cluster, "xlbdclus"), of that crypto_kdf(sender, "xlbdnode"), of that crypto_kdf(epoch, "xlbdepoc").
 * An epoch is 64 random bits, drawn when a node starts: no nonce comes twice. A message sent again is the same bytes.
 *
 * Channel 0 is the stream: each message has the next sequence, from 1; what is lost is asked for. Channel 1 is for what is not
 * sent again, with sequences of its own. A sequence is taken once (replay window).
 *
 * The stream:
 *  1 FLOWS4  records of 16 bytes: client 4, client port 2, service 2, real 2, local port 2, idle 2 (seconds; 65535: so or more),
 *            phase (high nibble) and kind (low nibble) 1, zero 1
 *  2 FLOWS6  records of 28 bytes: client 16, client port 2, virtual port 2 (0: the service's own), service 2, real 2, idle 2,
 *            phase and kind 1, zero 1. Also IPv4 clients (mapped) of services with many ports.
 *            Kinds: 0 is so, 1 is gone, 2 offered: take it if you do not know the connection.
 *            Phases: 4 SYN_RECV, 5 ESTABLISHED, 6 FIN_WAIT, 7 CLOSE, 8 UDP, 9 TIME_WAIT, 10 CLOSE_WAIT,
 *            11 SYN_SENT.
 *  3 NAMES   records of 28 bytes: what 0 (service) or 1 (real server), flags 1 (1: the sender is active for this service, 2: gone),
 *            number 2, address 16, port 2, protocol 1, zero 1, service's number 2 (of a real server), zero 2.
 *            Numbers are the sender's; they mean what the last NAMES before the record said.
 *  4 DIGESTS first bucket 2, zero 6, then sums of 8 bytes, a bucket each, as of this sequence
 *  5 ALL     begin 8, map 512: everything in these buckets has been sent since sequence `begin`; the rest is gone
 *  6 LONG_FLOWS6  as FLOWS6, and behind it local port 2 (full-NAT): 30 bytes
 *
 * Channel 1:
 * 16 HEART   every 50 ms: highest sequence 8, sum of all digests 8, highest term heard 4, digest of the configuration 4, own clock 4
 *            (ms), least and greatest version 1 + 1, flags 2 (1: holds the table), capabilities 2, key ids known 2 (a bit each, 0-15),
 *            connections 4, names 4, count of peers 2, zero 2; then 48 bytes for each peer: its id 2, flags 2 (1: trusted), its
 *            clock 4, ms since then 4, gaps 4, its epoch 8, challenge for it 8, answer to its challenge 8, received without a gap 8
 * 17 MISSING node 2, count 2, zero 4, epoch 8, then ranges {first 8, last 8}: send these again
 * 18 WANT    node 2, what 2 (1 names, 2 digests, 4 buckets), term 4 (be above it; 0: as you are), epoch 8,
 *            map 512 of buckets
 * 19 LOST    ranges {first 8, last 8} that the sender cannot repeat: compare digests
 *
 * Terms order what different nodes say: a node takes one above all that it has heard when it becomes active for a service, and when
 * it hears of a higher one for the first time after its start while it is active. The low 8 bits are 255 less the node's id, so a
 * term belongs to one node. A record is older than another if its term is, or in one term its sequence.
 *
 * A bucket is the top 12 bits of the hash of {client, port, virtual port, service's name}; a digest is the sum of the
 * hashes of the connections in it, with their real servers' names, that are ESTABLISHED or UDP and that the sender answers for.
 */
#ifndef XLBD_SYNC_WIRE_H
#define XLBD_SYNC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"

#define WIRE_VERSION     1
#define WIRE_HEADER      32
#define WIRE_TAG         16
#define WIRE_MESSAGE_MAX 8952 /* a jumbo frame's UDP payload */
#define WIRE_FLOW4       16
#define WIRE_FLOW6       28
#define WIRE_LONG_FLOW6  30
#define WIRE_NAME        28
#define WIRE_BUCKETS     4096
#define WIRE_MAP         (WIRE_BUCKETS / 8)
#define WIRE_HEART       48
#define WIRE_HEART_PEER  48
#define WIRE_PEERS_MAX   15
#define WIRE_RANGES_MAX  32
#define WIRE_IDLE_MAX    65535

enum wire_channel { WIRE_STREAM, WIRE_ASIDE, WIRE_CHANNELS };

enum wire_type {
	WIRE_FLOWS4 = 1,
	WIRE_FLOWS6,
	WIRE_NAMES,
	WIRE_DIGESTS,
	WIRE_ALL,
	WIRE_LONG_FLOWS6,
	WIRE_HEARTBEAT = 16,
	WIRE_MISSING,
	WIRE_WANT,
	WIRE_LOST,
	WIRE_TYPES
};

enum wire_kind { WIRE_IS, WIRE_GONE, WIRE_OFFERED, WIRE_KINDS };
enum wire_want { WIRE_WANT_NAMES = 1, WIRE_WANT_DIGESTS = 2, WIRE_WANT_BUCKETS = 4 };
enum wire_name_flag { WIRE_NAME_ACTIVE = 1, WIRE_NAME_REMOVED = 2 };
enum wire_heart_flag { WIRE_HEART_HOLDS = 1 };
enum wire_peer_flag { WIRE_PEER_TRUSTED = 1 };

struct wire_header {
	uint8_t type, key, channel;
	uint16_t cluster, sender, flags;
	uint64_t epoch, sequence;
	uint32_t term;
};

struct wire_flow {
	struct xlb_addr client;
	uint16_t client_port, virtual_port; /* host order */
	uint16_t service, real;             /* the sender's numbers */
	uint16_t local_port;                /* host order; 0 in FLOWS6 */
	uint16_t idle;                      /* seconds */
	uint8_t phase, kind;
};

struct wire_name {
	bool is_real;
	uint8_t flags, protocol;
	uint16_t number, service, port; /* service: of a real server */
	struct xlb_addr addr;
};

struct wire_range {
	uint64_t first, last;
};

struct wire_heart {
	uint64_t highest, sum;
	uint32_t term_heard, configuration, clock;
	uint8_t version_min, version_max;
	uint16_t flags, capabilities, keys;
	uint32_t connections, names;
	uint16_t peers;
};

struct wire_heart_peer {
	uint16_t id, flags;
	uint32_t clock, since, gaps;
	uint64_t epoch, challenge, answer, received;
};

struct wire_want_message {
	uint16_t node, what;
	uint32_t term;
	uint64_t epoch;
	uint8_t map[WIRE_MAP];
};

struct wire_missing {
	uint16_t node, count;
	uint64_t epoch;
	struct wire_range range[WIRE_RANGES_MAX];
};

void wire_put_header(const struct wire_header *header, uint8_t *to);
/* -EBADMSG: not ours; -EPROTONOSUPPORT: another version. Whether the type exists is looked at when the body is read. */
int wire_get_header(const uint8_t *from, size_t length, struct wire_header *ret);

size_t wire_flow_size(uint8_t type); /* of a record; 0: not a message of connections */
size_t wire_put_flow(const struct wire_flow *flow, uint8_t type, uint8_t *to); /* bytes written */
/* -EBADMSG: no such phase or kind, or a service or real server without a number */
int wire_get_flow(const uint8_t *from, uint8_t type, struct wire_flow *ret);

size_t wire_put_name(const struct wire_name *name, uint8_t *to);
int wire_get_name(const uint8_t *from, struct wire_name *ret);

size_t wire_put_heart(const struct wire_heart *heart, uint8_t *to);
int wire_get_heart(const uint8_t *from, size_t length, struct wire_heart *ret);
size_t wire_put_heart_peer(const struct wire_heart_peer *peer, uint8_t *to);
void wire_get_heart_peer(const uint8_t *from, struct wire_heart_peer *ret);

size_t wire_put_missing(const struct wire_missing *missing, uint8_t *to);
int wire_get_missing(const uint8_t *from, size_t length, struct wire_missing *ret);
size_t wire_put_range(const struct wire_range *range, uint8_t *to);
int wire_get_range(const uint8_t *from, struct wire_range *ret); /* -EBADMSG: backwards */
size_t wire_put_want(const struct wire_want_message *want, uint8_t *to);
int wire_get_want(const uint8_t *from, size_t length, struct wire_want_message *ret);

uint64_t wire_get64(const uint8_t *from);
uint16_t wire_get16(const uint8_t *from);
size_t wire_put64(uint64_t value, uint8_t *to);
size_t wire_put16(uint16_t value, uint8_t *to);

const char *wire_type_name(uint8_t type); /* "FLOWS4"; NULL: no such type */

#endif
