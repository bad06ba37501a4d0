/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h - the receiving half: what is known of one other node. The protocol's own; node.c owns them.
 */
#ifndef XLBD_SYNC_PEER_H
#define XLBD_SYNC_PEER_H

#include "xlbd/dataplane/replica.h"
#include "xlbd/sync/seal.h"
#include "xlbd/sync/window.h"
#include "xlbd/sync/wire.h"

#define PEER_PARKED   256 /* messages that wait for a name */
#define PEER_SILENT   500 /* ms without a heartbeat: not there */
#define PEER_SESSIONS 4

struct sync_node;

struct peer_name {
	uint64_t defined; /* sequence of the message that said so; 0: not said */
	struct xlb_name name;
	uint16_t service; /* the sender's number, of a real server */
	uint16_t local;   /* our id; 0: no such name here */
	uint64_t said;    /* sequence of the latest message about its flags */
	uint32_t resolved;
	uint8_t flags;
};

struct peer_parked {
	uint64_t sequence;
	uint32_t term;
	uint16_t length;
	uint8_t type, body[];
};

enum fetch_state { FETCH_REST, FETCH_DIGESTS, FETCH_BUCKETS, FETCH_PURGE };

/* What we ask the peer for (fetch.c). */
struct fetch {
	enum fetch_state state;
	bool urgent;           /* compare at once, believe one comparison */
	bool equal;            /* at the last comparable heartbeat */
	int64_t unequal_since; /* ms; 0: equal, or never compared */
	int64_t asked, rest_until, equal_at;
	unsigned tries, rounds;
	uint64_t applied_then;
	uint8_t compared[WIRE_MAP], differs[WIRE_MAP], before[WIRE_MAP];
	/* a complete telling of buckets, to be followed by a purge */
	bool all_pending;
	uint8_t all_map[WIRE_MAP];
	uint64_t all_sequence;
	struct replica_version all_since;
	struct replica_cursor cursor;
};

struct peer_counters {
	uint64_t messages, records, applied, old, no_room, unknown, malformed, duplicates, forged,
		untrusted, gaps, given_up, lost, parked, repaired;
};

struct peer_session { /* derived keys */
	uint64_t epoch;
	uint8_t key_id, key[SEAL_KEY];
	bool used;
};

struct peer {
	uint16_t id;
	uint8_t owner;       /* as replica.h numbers it: 1 .. 15 */
	bool heard;          /* authenticated, ever */
	uint64_t epoch;      /* trusted; 0: none */
	uint64_t challenge;  /* who answers it may be trusted; another one after each time */
	uint64_t answer;     /* its challenge for us */
	uint64_t last_epoch; /* of its last authentic heartbeat, trusted or not */
	int64_t first_heard; /* ms */
	bool was_there;
	uint32_t term;
	struct peer_session session[PEER_SESSIONS];
	size_t next_session;
	struct window window[WIRE_CHANNELS];
	struct wire_heart heart; /* the last one */
	int64_t heard_at;        /* ms, of a heartbeat in the trusted epoch */
	int64_t gap_since, next_missing;
	unsigned missing_tries;
	uint64_t given_up_at; /* highest sequence when something was given up */
	uint64_t start;       /* where our window began */
	uint32_t round_trip;  /* ms */
	uint64_t reported;    /* what it has of ours without a gap */
	struct peer_name *name[2];
	uint32_t names;       /* defined */
	int64_t names_asked;  /* ms */
	uint16_t name_end[2]; /* one above the highest number that was defined */
	struct peer_parked *parked[PEER_PARKED];
	size_t parked_count;
	struct fetch fetch;
	struct peer_counters count;
};

void peer_free(struct peer *peer);
/* Forgets the epoch and all that was said in it. */
void peer_reset(struct peer *peer);
/* The key of an epoch of this peer; NULL: a key id that we do not have. */
const uint8_t *peer_session_key(struct peer *peer, const struct keyring *ring, uint64_t epoch,
                                uint8_t key_id);
/* A message of the stream in the trusted epoch, opened; `body` is changed by nobody. */
void peer_take_flows(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                     const uint8_t *body, size_t length);
void peer_take_names(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                     const uint8_t *body, size_t length);
/* What it is active for, after our ids may have changed. */
void peer_claim_all(struct sync_node *node, struct peer *peer);
static inline bool peer_is_there(const struct peer *peer, int64_t now_ms)
{
	return peer->epoch && now_ms - peer->heard_at < PEER_SILENT;
}

/* ---- fetch.c ---------------------------------------------------------------------------------- */

void fetch_heart(struct sync_node *node, struct peer *peer);
void fetch_digests(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                   const uint8_t *body, size_t length);
void fetch_all(struct peer *peer, const struct wire_header *header, const uint8_t *body,
               size_t length);
void fetch_tick(struct sync_node *node, struct peer *peer);

#endif
