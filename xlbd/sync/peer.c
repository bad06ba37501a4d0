// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peer.c - the receiving half of a node: what one other node says, and what its numbers mean.
 *
 * Numbers of services and real servers are the sender's own; NAMES says what each stands for, and here it is looked up by name, never by
 * number. A record that is older than the definition of one of its numbers is dropped: the number meant something else then. A
 * message with a number that was not defined yet (its NAMES was lost and is being repaired) is parked and applied later.
 *
 * Our own id of a name is asked for again after each sweep (names_generation), since an id may go to another owner then.
 * What is applied, and whether it is newer than what is here, replica.c decides. Called by node.c for messages that are authentic,
 * of the trusted epoch, and not received before; in any order.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "xlbd/sync/node_inside.h"

#define AHEAD 32 /* records whose lines are fetched before the first is applied */

/* ---- an epoch --------------------------------------------------------------------------------- */

void peer_reset(struct peer *peer)
{
	for (size_t i = 0; i < peer->parked_count; i++)
		free(peer->parked[i]);
	peer->parked_count = 0;
	for (int real = 0; real < 2; real++) {
		free(peer->name[real]);
		peer->name[real] = NULL;
		peer->name_end[real] = 0;
	}
	peer->names = 0;
	peer->names_asked = 0;
	peer->epoch = 0;
	peer->fetch = (struct fetch){};
	peer->gap_since = peer->next_missing = 0;
	peer->missing_tries = 0;
	peer->given_up_at = 0;
}

void peer_free(struct peer *peer)
{
	if (!peer)
		return;
	peer_reset(peer);
	sodium_memzero(peer->session, sizeof(peer->session));
	free(peer);
}

const uint8_t *peer_session_key(struct peer *peer, const struct keyring *ring, uint64_t epoch,
                                uint8_t key_id)
{
	const struct seal_key *key = keyring_find(ring, key_id);
	struct peer_session *session;

	if (!key)
		return NULL;
	for (size_t i = 0; i < PEER_SESSIONS; i++) {
		session = &peer->session[i];
		if (session->used && session->epoch == epoch && session->key_id == key_id)
			return session->key;
	}
	/* those of the trusted epoch stay */
	do
		session = &peer->session[peer->next_session++ % PEER_SESSIONS];
	while (session->used && session->epoch == peer->epoch && epoch != peer->epoch);
	session->used = true;
	session->epoch = epoch;
	session->key_id = key_id;
	seal_derive(key, peer->id, epoch, session->key);
	return session->key;
}

/* ---- names ------------------------------------------------------------------------------------ */

static struct peer_name *name_at(struct peer *peer, bool real, uint16_t number)
{
	if (number >= XLB_IDS)
		return NULL;
	if (!peer->name[real])
		peer->name[real] = calloc(XLB_IDS, sizeof(*peer->name[real]));
	return peer->name[real] ? &peer->name[real][number] : NULL;
}

static uint16_t resolve(struct sync_node *node, struct peer_name *name)
{
	if (!name->local || name->resolved != node->names_generation) {
		name->local = node->setup.id_of(node->setup.context, &name->name) % XLB_IDS;
		name->resolved = node->names_generation;
	}
	return name->local;
}

void peer_claim_all(struct sync_node *node, struct peer *peer)
{
	for (uint16_t number = 1; number < peer->name_end[false]; number++) {
		struct peer_name *name = &peer->name[false][number];

		if (name->defined)
			node_claim(node, resolve(node, name), peer->owner,
			           name->flags & WIRE_NAME_ACTIVE);
	}
}

/* False: its service is not known yet. */
static bool full_name(struct peer *peer, const struct wire_name *said, struct xlb_name *ret)
{
	const struct peer_name *service;
	struct xlb_name name = {};

	if (!said->is_real) {
		name.service.addr = said->addr;
		name.service.port = htons(said->port);
		name.service.protocol = said->protocol;
		*ret = name;
		return true;
	}
	service = name_at(peer, false, said->service);
	if (!service || !service->defined)
		return false;
	name.service = service->name.service;
	name.real = said->addr;
	name.real_port = htons(said->port);
	name.is_real = 1;
	*ret = name;
	return true;
}

/* False: must wait for another name. */
static bool define(struct sync_node *node, struct peer *peer, const struct wire_name *said,
                   uint64_t sequence)
{
	struct peer_name *slot = name_at(peer, said->is_real, said->number);
	struct xlb_name name;

	if (!slot) {
		peer->count.malformed++;
		return true;
	}
	if (!full_name(peer, said, &name))
		return false;
	if (slot->defined > sequence && memcmp(&slot->name, &name, sizeof(name)) != 0)
		return true; /* it is something else by now */
	if (!slot->defined || memcmp(&slot->name, &name, sizeof(name)) != 0) {
		if (slot->defined && !said->is_real)
			node_claim(node, resolve(node, slot), peer->owner, false);
		peer->names += !slot->defined;
		/* the first meaning that we hear of holds for all of the stream: its message may have come late, behind another copy */
		*slot = (struct peer_name){.defined = slot->defined ? sequence : 1,
		                           .name = name,
		                           .service = said->service};
	} else if (said->is_real && slot->service != said->service) {
		slot->service = said->service;
	}
	if (said->number >= peer->name_end[said->is_real])
		peer->name_end[said->is_real] = (uint16_t)(said->number + 1);
	if (!said->is_real && sequence >= slot->said) {
		if (slot->flags != said->flags)
			peer->fetch.urgent =
				true; /* it answers for more than before, or for less */
		slot->flags = said->flags;
		slot->said = sequence;
		node_claim(node, resolve(node, slot), peer->owner, said->flags & WIRE_NAME_ACTIVE);
	}
	return true;
}

/* ---- what must wait --------------------------------------------------------------------------- */

static void park(struct peer *peer, const struct wire_header *header, const uint8_t *body,
                 size_t length)
{
	struct peer_parked *parked;

	if (peer->parked_count == PEER_PARKED) {
		peer->given_up_at = peer->window[WIRE_STREAM].highest;
		peer->fetch.urgent = true;
		return;
	}
	parked = malloc(sizeof(*parked) + length);
	if (!parked)
		return;
	*parked = (struct peer_parked){.sequence = header->sequence,
	                               .term = header->term,
	                               .length = (uint16_t)length,
	                               .type = header->type};
	memcpy(parked->body, body, length);
	peer->parked[peer->parked_count++] = parked;
	peer->count.parked++;
}

/* Names have come: what waited for one of them may go on, or be parked again. */
static void unpark(struct sync_node *node, struct peer *peer)
{
	struct peer_parked *waiting[PEER_PARKED];
	size_t count = peer->parked_count;

	memcpy(waiting, peer->parked, count * sizeof(waiting[0]));
	peer->parked_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct wire_header header = {.type = waiting[i]->type,
		                                   .sequence = waiting[i]->sequence,
		                                   .term = waiting[i]->term};

		if (header.type == WIRE_NAMES)
			peer_take_names(node, peer, &header, waiting[i]->body, waiting[i]->length);
		else
			peer_take_flows(node, peer, &header, waiting[i]->body, waiting[i]->length);
		free(waiting[i]);
	}
}

void peer_take_names(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                     const uint8_t *body, size_t length)
{
	bool wait = false, came = false;
	struct wire_name name;

	if (length % WIRE_NAME)
		peer->count.malformed++;
	for (; length >= WIRE_NAME; body += WIRE_NAME, length -= WIRE_NAME) {
		if (wire_get_name(body, &name) < 0) {
			peer->count.malformed++;
			continue;
		}
		if (!define(node, peer, &name, header->sequence)) {
			park(peer, header, body, WIRE_NAME);
			wait = true;
			continue;
		}
		came = true;
	}
	if (came && !wait && peer->parked_count)
		unpark(node, peer);
}

/* ---- connections ------------------------------------------------------------------------------ */

enum meaning { MEANING_KNOWN, MEANING_WAITS, MEANING_NONE };

/* From the sender's numbers to our ids. */
static enum meaning translate(struct sync_node *node, struct peer *peer, uint64_t sequence,
                              const struct wire_flow *record, struct replica_flow *ret)
{
	struct peer_name *service = name_at(peer, false, record->service);
	struct peer_name *real = name_at(peer, true, record->real);

	if (!service || !real) {
		peer->count.malformed++;
		return MEANING_NONE;
	}
	if (!service->defined || !real->defined)
		return MEANING_WAITS;
	if (sequence < service->defined || sequence < real->defined) {
		peer->count.old++;
		return MEANING_NONE;
	}
	if (memcmp(&real->name.service, &service->name.service, sizeof(service->name.service))) {
		peer->count.malformed++;
		return MEANING_NONE;
	}
	if (!resolve(node, service) || !resolve(node, real)) {
		peer->count.unknown++;
		return MEANING_NONE;
	}
	ret->flow = (struct flow){
		.client = record->client,
		.client_port = record->client_port,
		.virtual_port = record->virtual_port,
		.service = service->local,
		.real = real->local,
		.phase = record->phase,
		.idle = (uint32_t)((uint64_t)record->idle * 1000000 / node->setup.tick_us)};
	ret->local_port = record->local_port;
	ret->kind = record->kind;
	return MEANING_KNOWN;
}

static void apply(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                  const struct replica_flow *flow)
{
	const struct replica_version version = {header->term, (uint32_t)header->sequence};

	switch (replica_apply(node->replica, node->now.tick, flow, peer->owner, version)) {
	case REPLICA_APPLIED:
		peer->count.applied++;
		break;
	case REPLICA_NO_ROOM:
		peer->count.no_room++;
		break;
	case REPLICA_UNKNOWN:
		peer->count.unknown++;
		break;
	default:
		peer->count.old++;
	}
}

/* The next records of a message, translated; their lines are on the way while the first of them are applied. False: some must wait. */
static bool take_some(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                      const uint8_t *body, size_t count)
{
	const size_t size = wire_flow_size(header->type);
	struct replica_flow flow[AHEAD];
	struct wire_flow record;
	size_t known = 0;
	bool whole = true;

	for (size_t i = 0; i < count; i++) {
		flow[known].wide = header->type != WIRE_FLOWS4;
		if (wire_get_flow(body + i * size, header->type, &record) < 0) {
			peer->count.malformed++;
			continue;
		}
		switch (translate(node, peer, header->sequence, &record, &flow[known])) {
		case MEANING_KNOWN:
			replica_expect(node->replica, &flow[known++]);
			break;
		case MEANING_WAITS:
			whole = false;
			break;
		default:
			break;
		}
	}
	for (size_t i = 0; i < known; i++)
		apply(node, peer, header, &flow[i]);
	return whole;
}

void peer_take_flows(struct sync_node *node, struct peer *peer, const struct wire_header *header,
                     const uint8_t *body, size_t length)
{
	const size_t size = wire_flow_size(header->type), records = length / size;
	bool whole = true;

	if (length % size)
		peer->count.malformed++;
	peer->count.records += records;
	for (size_t i = 0; i < records; i += AHEAD)
		whole &= take_some(node, peer, header, body + i * size,
		                   records - i < AHEAD ? records - i : AHEAD);
	if (!whole) /* the others are applied a second time then, which changes nothing */
		park(peer, header, body, length);
}
