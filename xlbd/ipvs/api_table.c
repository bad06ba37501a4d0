// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * api_table.c - the copied table as a service set, and statistics into the slots of its services and real servers.
 *
 * api.c copies the table out of the kernel; here it is read. Slot numbers are masked before use and walks are bounded by the counts, so a
 * table that somebody else damaged gives a wrong set, never a wrong access.
 *
 * Statistics go straight into a mapped array, at the slot of their service or real server; an index from names to slots is
 * made anew with every new copy of the table. A service's totals are the sum of what its real servers grew by since it
 * was made, whatever became of them, as IPVS counts. Rates live here, not in the map: a restart begins them at 0.
 * Neither libbpf nor logging. One thread only.
 */
#include <errno.h>
#include <linux/ip_vs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "xlbd/ipvs/api_inside.h"
#include "xlbd/ipvs/estimator.h"
#include "xlbd/model/addr.h"

struct item_key { /* compared whole: zeroed before use */
	struct xlb_service_key service;
	struct xlb_addr real; /* zero: the service itself */
	uint16_t port;
	uint16_t pad;
};
_Static_assert(sizeof(struct item_key) == 40, "no holes: it is hashed by bytes");

/* A service or real server whose statistics are kept. */
struct item {
	struct item_key key;
	uint32_t index; /* of its record */
	bool present;   /* in the table; what is not lives on as long as its service */
	uint64_t sequence, zeroed;
	uint64_t counter[ESTIMATOR_COUNTERS];
	struct estimator estimator;
	UT_hash_handle hh;
};

/* ---- the table --------------------------------------------------------------------------------- */

static void describe_real(const struct ipvs_api *api, uint32_t slot, struct real_server *real)
{
	const struct ipvs_api_real *entry = &api->table->real[slot];
	const struct ipvs_api_stats_record *record = &api->stats[IPVS_API_SERVICES + slot];

	*real = (struct real_server){
		.addr = addr_from_ipv4(entry->addr),
		.port = ntohs(entry->port),
		.forwarding = (uint8_t)(entry->flags & IP_VS_CONN_F_FWD_MASK),
		.weight = entry->weight,
		.upper_threshold = entry->upper,
		.lower_threshold = entry->lower,
	};
	if (record->sequence == entry->sequence) {
		real->active = record->active;
		real->inactive = record->inactive;
	}
}

static int describe_service(const struct ipvs_api *api, uint32_t slot, struct service_set *set)
{
	const struct ipvs_api_service *entry = &api->table->service[slot];
	_cleanup_free_ struct real_server *reals = calloc(entry->real_count + 1u, sizeof(*reals));
	struct xlb_addr addr = addr_from_ipv4(entry->key.addr);
	struct service service = {
		.key = service_key(&addr, ntohs(entry->key.port), entry->key.protocol),
		.family = AF_INET,
		.flags = entry->flags & ~IP_VS_SVC_F_HASHED,
		.timeout = entry->timeout,
		.netmask = entry->netmask,
		.reals = reals,
		.in_force = true,
	};

	if (!reals)
		return -ENOMEM;
	memcpy(service.scheduler, entry->scheduler, sizeof(service.scheduler));
	for (uint32_t real = entry->newest; real && service.real_count < entry->real_count;
	     real = api->table->real[real & (IPVS_API_REALS - 1)].next)
		describe_real(api, real & (IPVS_API_REALS - 1), &reals[service.real_count++]);
	return service_set_add(set, &service);
}

#define for_each_slot(api, slot, left)                                      \
	for (uint32_t slot = (api)->table->first & (IPVS_API_SERVICES - 1), \
	              left = (api)->table->service_count;                   \
	     slot && left;                                                  \
	     left--, slot = (api)->table->service[slot].after & (IPVS_API_SERVICES - 1))

static struct item_key item_key(const struct xlb_service_key *service, const struct xlb_addr *real,
                                uint16_t port)
{
	struct item_key key = {.service = *service, .port = port};

	if (real)
		key.real = *real;
	return key;
}

static struct item *find_item(const struct ipvs_api *api, const struct item_key *key)
{
	struct item *item;

	HASH_FIND(hh, api->items, key, sizeof(*key), item);
	return item;
}

/* This key is in the table now, at this slot. A tenant that the record knows goes on from what it says. */
static int place_item(struct ipvs_api *api, const struct item_key *key, uint32_t index,
                      uint64_t sequence, uint64_t zeroed)
{
	const struct ipvs_api_stats_record *record = &api->stats[index];
	struct item *item = find_item(api, key);

	if (!item) {
		item = calloc(1, sizeof(*item));
		if (!item)
			return -ENOMEM;
		item->key = *key;
		if (record->sequence == sequence) {
			item->counter[ESTIMATOR_CONNECTIONS] = record->connections;
			item->counter[ESTIMATOR_PACKETS] = record->packets;
			item->counter[ESTIMATOR_BYTES] = record->bytes;
		}
		HASH_ADD(hh, api->items, key, sizeof(item->key), item);
	}
	item->index = index;
	item->sequence = sequence;
	item->zeroed = zeroed;
	item->present = true;
	return 0;
}

static int place_service(struct ipvs_api *api, uint32_t slot)
{
	const struct ipvs_api_service *entry = &api->table->service[slot];
	struct xlb_addr addr = addr_from_ipv4(entry->key.addr);
	struct xlb_service_key name =
		service_key(&addr, ntohs(entry->key.port), entry->key.protocol);
	struct item_key key = item_key(&name, NULL, 0);
	uint64_t zeroed = ipvs_api_zeroed(api->table, entry);
	uint32_t left = entry->real_count;
	int r = place_item(api, &key, slot, entry->sequence, zeroed);

	for (uint32_t real = entry->newest; r == 0 && real && left;
	     left--, real = api->table->real[real].next) {
		const struct ipvs_api_real *found;

		real &= IPVS_API_REALS - 1;
		found = &api->table->real[real];
		addr = addr_from_ipv4(found->addr);
		key = item_key(&name, &addr, ntohs(found->port));
		r = place_item(api, &key, IPVS_API_SERVICES + real, found->sequence, zeroed);
	}
	return r;
}

/* A new copy of the table, if there is one, and the index made for it. */
static int refresh(struct ipvs_api *api)
{
	struct item *item, *next;
	int r = ipvs_api_copy(api);

	if (r <= 0)
		return r;
	for (item = api->items; item; item = item->hh.next)
		item->present = false;
	for_each_slot(api, slot, left)
	{
		r = place_service(api, slot);
		if (r < 0) {
			api->generation = NO_COPY; /* half an index: again next time */
			return r;
		}
	}
	HASH_ITER(hh, api->items, item, next) {
		struct item_key key = item_key(&item->key.service, NULL, 0);
		const struct item *service = find_item(api, &key);

		if (item->present || (service && service != item && service->present))
			continue;
		HASH_DEL(api->items, item);
		free(item);
	}
	return 0;
}

int ipvs_api_read(struct ipvs_api *api, struct service_set **ret)
{
	_cleanup_(service_set_freep) struct service_set *set = service_set_new();
	int r = refresh(api);

	if (r < 0)
		return r;
	if (!set)
		return -ENOMEM;
	for_each_slot(api, slot, left)
	{
		r = describe_service(api, slot, set);
		if (r < 0)
			return r;
	}
	*ret = take_ptr(set);
	return 0;
}

/* ---- statistics -------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The record as the program shows it. A new tenant gets it empty; a ZERO since the last write makes the old values the base. */
static void write_record(struct ipvs_api *api, struct item *item, uint32_t active,
                         uint32_t inactive)
{
	struct ipvs_api_stats_record *record = &api->stats[item->index];
	const uint64_t *counter = item->counter;

	if (record->sequence != item->sequence) {
		__atomic_store_n(&record->sequence, 0, __ATOMIC_SEQ_CST);
		*record = (struct ipvs_api_stats_record){.zeroed = item->zeroed};
		estimator_reset(&item->estimator, (const uint64_t[ESTIMATOR_COUNTERS]){0},
		                now_ms());
	} else if (record->zeroed != item->zeroed) {
		record->base_connections = record->connections;
		record->base_packets = record->packets;
		record->base_bytes = record->bytes;
		estimator_reset(&item->estimator, counter, now_ms());
	} else {
		estimator_update(&item->estimator, counter, now_ms());
	}
	record->connections = counter[ESTIMATOR_CONNECTIONS];
	record->packets = counter[ESTIMATOR_PACKETS];
	record->bytes = counter[ESTIMATOR_BYTES];
	record->active = active;
	record->inactive = inactive;
	record->connection_rate = estimator_rate(&item->estimator, ESTIMATOR_CONNECTIONS);
	record->packet_rate = estimator_rate(&item->estimator, ESTIMATOR_PACKETS);
	record->byte_rate = estimator_rate(&item->estimator, ESTIMATOR_BYTES);
	__atomic_store_n(&record->zeroed, item->zeroed, __ATOMIC_RELEASE);
	__atomic_store_n(&record->sequence, item->sequence, __ATOMIC_RELEASE);
}

int ipvs_api_write_stats(struct ipvs_api *api, const struct service *service,
                         const struct real_server *real, const struct ipvs_api_stats *stats)
{
	const uint64_t counted[ESTIMATOR_COUNTERS] = {
		[ESTIMATOR_CONNECTIONS] = stats->connections,
		[ESTIMATOR_PACKETS] = stats->packets,
		[ESTIMATOR_BYTES] = stats->bytes,
	};
	struct item_key service_name = item_key(&service->key, NULL, 0);
	struct item_key real_name = item_key(&service->key, &real->addr, real->port);
	struct item *total, *item;
	int r = refresh(api);

	if (r < 0)
		return r;
	item = find_item(api, &real_name);
	total = find_item(api, &service_name);
	if (!item || !total || !item->present)
		return -ENOENT;
	for (int i = 0; i < ESTIMATOR_COUNTERS; i++) {
		if (counted[i] > item->counter[i])
			total->counter[i] += counted[i] - item->counter[i];
		item->counter[i] = counted[i];
	}
	write_record(api, item, stats->active, stats->inactive);
	write_record(api, total, 0, 0);
	return 0;
}

void ipvs_api_forget(struct ipvs_api *api)
{
	struct item *item, *next;

	HASH_ITER(hh, api->items, item, next) {
		HASH_DEL(api->items, item);
		free(item);
	}
}
