// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ids.c - the life of ids.
 *
 * The pinned map is the truth for the next daemon and is written first; the hash table here answers without a system
 * call. Two spaces, services and real servers, each with a queue of free ids: given from the front, given back at
 * the end, so that an id rests as long as possible. A connection table full of words of an old owner is the
 * reason for all this: a packet of that connection must never reach a new tenant.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <uthash.h>

#include "xlbd/dataplane/ids.h"
#include "xlbd/log.h"

#define TOPIC  "ids"
#define SPACES 2 /* services, real servers */

struct entry {
	struct xlb_name name;
	struct xlb_id value;
	UT_hash_handle hh;
};

struct space {
	struct entry *owner[XLB_IDS];
	uint16_t free[XLB_IDS]; /* a ring buffer */
	size_t first, count;
};

struct ids {
	int fd;
	struct entry *entries; /* uthash, by name */
	struct space space[SPACES];
};

static void store(const struct ids *ids, const struct entry *entry)
{
	if (ids->fd >= 0 && bpf_map_update_elem(ids->fd, &entry->name, &entry->value, BPF_ANY))
		log_warning(TOPIC,
		            "cannot pin the name of id %u: %s; a restart would give it another",
		            entry->value.id, strerror(errno));
}

static struct entry *insert(struct ids *ids, const struct xlb_name *name,
                            const struct xlb_id *value)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->name = *name;
	entry->value = *value;
	HASH_ADD(hh, ids->entries, name, sizeof(entry->name), entry);
	ids->space[!!name->is_real].owner[value->id] = entry;
	return entry;
}

static struct entry *find(const struct ids *ids, const struct xlb_name *name)
{
	struct entry *entry;

	HASH_FIND(hh, ids->entries, name, sizeof(*name), entry);
	return entry;
}

static int read_pinned(struct ids *ids)
{
	struct xlb_name name, *previous = NULL;
	struct xlb_id value;

	while (bpf_map_get_next_key(ids->fd, previous, &name) == 0) {
		previous = &name;
		if (bpf_map_lookup_elem(ids->fd, &name, &value) || !value.id || value.id >= XLB_IDS)
			continue;
		if (ids->space[!!name.is_real].owner[value.id])
			continue; /* written twice: the first one keeps it */
		if (!insert(ids, &name, &value))
			return -ENOMEM;
	}
	return 0;
}

int ids_open(int names_fd, struct ids **ret)
{
	_cleanup_(ids_closep) struct ids *ids = calloc(1, sizeof(*ids));
	int r;

	if (!ids)
		return -ENOMEM;
	ids->fd = names_fd;
	if (names_fd >= 0) {
		r = read_pinned(ids);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < SPACES; i++) {
		struct space *space = &ids->space[i];

		for (uint16_t id = 1; id < XLB_IDS; id++)
			if (!space->owner[id])
				space->free[space->count++] = id;
	}
	*ret = take_ptr(ids);
	return 0;
}

struct ids *ids_close(struct ids *ids)
{
	struct entry *entry, *next;

	if (!ids)
		return NULL;
	HASH_ITER(hh, ids->entries, entry, next) {
		HASH_DEL(ids->entries, entry);
		free(entry);
	}
	free(ids);
	return NULL;
}

uint16_t ids_take(struct ids *ids, const struct xlb_name *name, bool *ret_new)
{
	struct space *space = &ids->space[!!name->is_real];
	struct entry *entry = find(ids, name);
	struct xlb_id value = {0};

	if (ret_new)
		*ret_new = !entry;
	if (entry) {
		if (entry->value.gone) {
			entry->value.gone = 0;
			store(ids, entry);
		}
		return entry->value.id;
	}
	if (!space->count)
		return 0;
	value.id = space->free[space->first];
	entry = insert(ids, name, &value);
	if (!entry)
		return 0;
	space->first = (space->first + 1) % XLB_IDS;
	space->count--;
	store(ids, entry);
	return value.id;
}

const struct xlb_id *ids_find(const struct ids *ids, const struct xlb_name *name)
{
	const struct entry *entry = find(ids, name);

	return entry ? &entry->value : NULL;
}

const struct xlb_name *ids_name(const struct ids *ids, bool real, uint16_t id)
{
	const struct entry *entry = id < XLB_IDS ? ids->space[real].owner[id] : NULL;

	return entry ? &entry->name : NULL;
}

void ids_mark_gone(struct ids *ids, const struct xlb_name *name)
{
	struct entry *entry = find(ids, name);

	if (!entry || entry->value.gone)
		return;
	entry->value.gone = 1;
	store(ids, entry);
}

void ids_set_weight(struct ids *ids, const struct xlb_name *name, int32_t last_weight)
{
	struct entry *entry = find(ids, name);

	if (!entry || entry->value.last_weight == last_weight)
		return;
	entry->value.last_weight = last_weight;
	store(ids, entry);
}

void ids_carry(struct ids *ids, const struct xlb_service_key *service, uint64_t packets,
               uint64_t bytes, uint64_t connections)
{
	struct xlb_name name = {.service = *service};
	struct entry *entry = find(ids, &name);

	if (!entry)
		return;
	entry->value.packets += packets;
	entry->value.bytes += bytes;
	entry->value.connections += connections;
	store(ids, entry);
}

void ids_release(struct ids *ids, const struct xlb_name *name)
{
	struct space *space = &ids->space[!!name->is_real];
	struct entry *entry = find(ids, name);

	if (!entry)
		return;
	if (ids->fd >= 0 && bpf_map_delete_elem(ids->fd, &entry->name) && errno != ENOENT)
		return; /* still pinned: the next sweep tries again */
	space->owner[entry->value.id] = NULL;
	space->free[(space->first + space->count++) % XLB_IDS] = entry->value.id;
	HASH_DEL(ids->entries, entry);
	free(entry);
}

void ids_each(struct ids *ids,
              void (*see)(void *context, const struct xlb_name *name, const struct xlb_id *id),
              void *context)
{
	struct entry *entry, *next;

	HASH_ITER(hh, ids->entries, entry, next) {
		struct xlb_name name = entry->name; /* see() may free the entry */
		struct xlb_id value = entry->value;

		see(context, &name, &value);
	}
}
