// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * apply.c - the one way into the maps of services.
 *
 * plan.c gives steps in an order in which nothing ever points at what is not there; this file carries them out. Service steps
 * only change what the service table should hold; it is published once behind a run of them, before anything is
 * taken away. A ring is swapped whole, and the swap waits for running packets, so what left the ring can be marked gone
 * right after it.
 *
 * How an entry of a real server is written is reals.c's business.
 *
 * Ids: ids.c gives them; here is decided when they end. A service that is removed stays in the table, marked gone, so
 * that its connections are dropped as IPVS drops them and not handed to the kernel, which would reset them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "lib/hash.h"
#include "xlbd/dataplane/apply.h"
#include "xlbd/dataplane/reals.h"
#include "xlbd/dataplane/rings.h"
#include "xlbd/dataplane/service_table.h"
#include "xlbd/dataplane/tunnels.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/ring.h"

#define TOPIC "apply"

struct apply {
	struct dataplane *dataplane;
	struct counters *counters;
	struct interfaces *interfaces;
	size_t mh_size;
	struct ids *ids;
	struct service_table *table;
	struct reals *reals;
	bool fresh_gone; /* something was marked gone since the last wait for running packets */
};

int apply_open(struct dataplane *dataplane, struct counters *counters,
               struct interfaces *interfaces, size_t mh_size, struct apply **ret)
{
	_cleanup_(apply_closep) struct apply *apply = calloc(1, sizeof(*apply));
	int r;

	if (!apply)
		return -ENOMEM;
	apply->dataplane = dataplane;
	apply->counters = counters;
	apply->interfaces = interfaces;
	apply->mh_size = mh_size;
	r = ids_open(dataplane_map(dataplane, MAP_NAMES), &apply->ids);
	if (r < 0)
		return r;
	r = service_table_open(dataplane, &apply->table);
	if (r < 0)
		return r;
	r = reals_open(dataplane, interfaces, &apply->reals);
	if (r < 0)
		return r;
	*ret = take_ptr(apply);
	return 0;
}

struct apply *apply_close(struct apply *apply)
{
	if (!apply)
		return NULL;
	reals_close(apply->reals);
	service_table_close(apply->table);
	ids_close(apply->ids);
	free(apply);
	return NULL;
}

/* ---- names ------------------------------------------------------------------------------------ */

static struct xlb_name service_name(const struct xlb_service_key *key)
{
	return (struct xlb_name){.service = *key};
}

static struct xlb_name real_name(const struct xlb_service_key *key, const struct xlb_addr *real,
                                 uint16_t port)
{
	return (struct xlb_name){
		.service = *key, .real = *real, .real_port = htons(port), .is_real = 1};
}

uint16_t apply_service_id(const struct apply *apply, const struct xlb_service_key *key)
{
	struct xlb_name name = service_name(key);
	const struct xlb_id *id = ids_find(apply->ids, &name);

	return id ? id->id : 0;
}

uint16_t apply_real_id(const struct apply *apply, const struct xlb_service_key *key,
                       const struct xlb_addr *real, uint16_t real_port)
{
	struct xlb_name name = real_name(key, real, real_port);
	const struct xlb_id *id = ids_find(apply->ids, &name);

	return id ? id->id : 0;
}

static bool name_of(const struct apply *apply, bool real, uint16_t id, struct xlb_name *ret)
{
	const struct xlb_name *name = ids_name(apply->ids, real, id);

	if (name)
		*ret = *name;
	return name != NULL;
}

bool apply_name_of_real(const struct apply *apply, uint16_t id, struct xlb_name *ret)
{
	return name_of(apply, true, id, ret);
}

bool apply_name_of_service(const struct apply *apply, uint16_t id, struct xlb_name *ret)
{
	return name_of(apply, false, id, ret);
}

struct xlb_real_counters apply_carried(const struct apply *apply, const struct xlb_service_key *key)
{
	struct xlb_name name = service_name(key);
	const struct xlb_id *id = ids_find(apply->ids, &name);

	if (!id)
		return (struct xlb_real_counters){0};
	return (struct xlb_real_counters){
		.packets = id->packets, .bytes = id->bytes, .connections = id->connections};
}

int32_t apply_last_weight(const struct apply *apply, const struct xlb_service_key *key,
                          const struct xlb_addr *real, uint16_t real_port)
{
	struct xlb_name name = real_name(key, real, real_port);
	const struct xlb_id *id = ids_find(apply->ids, &name);

	return id ? id->last_weight : 0;
}

/* ---- real servers ----------------------------------------------------------------------------- */

/* What does not depend on the way to it. */
static struct real_entry real_entry_of(const struct service *service,
                                       const struct real_server *real, uint16_t owner)
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
	return entry;
}

static int put_real(struct apply *apply, const struct service *service,
                    const struct real_server *real, const struct neighbours *neighbours)
{
	struct xlb_name name = real_name(&service->key, &real->addr, real->port);
	uint16_t id = ids_take(apply->ids, &name, NULL), owner;
	struct real_entry wanted;

	owner = apply_service_id(apply, &service->key);
	if (!owner) { /* the service's name comes with its first real server */
		struct xlb_name service_is = service_name(&service->key);

		owner = ids_take(apply->ids, &service_is, NULL);
	}
	if (!id || !owner)
		return -ENOSPC;
	if (real->last_weight)
		ids_set_weight(apply->ids, &name, real->last_weight);
	wanted = real_entry_of(service, real, owner);
	reals_set_hop(apply->reals, &wanted,
	              neighbours ? neighbours_get(neighbours, &real->addr) : NULL);
	return reals_write(apply->reals, id, &wanted);
}

static void mark_real_gone(struct apply *apply, const struct xlb_name *name, uint16_t id)
{
	reals_mark_gone(apply->reals, id);
	ids_mark_gone(apply->ids, name);
	apply->fresh_gone = true;
}

static int remove_real(struct apply *apply, const struct service *service,
                       const struct real_server *real)
{
	struct xlb_name name = real_name(&service->key, &real->addr, real->port);
	const struct xlb_id *id = ids_find(apply->ids, &name);

	if (id)
		mark_real_gone(apply, &name, id->id);
	return 0;
}

struct hop_change {
	struct apply *apply;
	const struct xlb_addr *addr;
	const struct next_hop *hop;
	bool withdrawn; /* an entry was marked unresolved: wait before it is written */
	int result;
};

/* The entry as it should be; false: not one of this address. */
static bool hop_wanted(struct hop_change *change, const struct xlb_name *name,
                       const struct xlb_id *id, struct real_entry *ret)
{
	if (!name->is_real || !addr_equal(&name->real, change->addr))
		return false;
	*ret = reals_get(change->apply->reals, id->id);
	reals_set_hop(change->apply->reals, ret, change->hop);
	return true;
}

/* First pass: entries that cannot change in one store are taken out of use, all together, for one wait. */
static void withdraw_hop(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct hop_change *change = context;
	struct real_entry wanted;

	if (hop_wanted(change, name, id, &wanted) &&
	    reals_withdraw(change->apply->reals, id->id, &wanted))
		change->withdrawn = true;
}

static void change_hop(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct hop_change *change = context;
	struct real_entry wanted;
	int r;

	if (!hop_wanted(change, name, id, &wanted))
		return;
	r = reals_write(change->apply->reals, id->id, &wanted);
	if (r < 0)
		change->result = r;
}

int apply_next_hop(struct apply *apply, const struct xlb_addr *addr, const struct next_hop *hop)
{
	struct hop_change change = {.apply = apply, .addr = addr, .hop = hop};
	int r;

	ids_each(apply->ids, withdraw_hop, &change);
	if (change.withdrawn) {
		r = dataplane_synchronize(apply->dataplane);
		if (r < 0)
			return r;
	}
	ids_each(apply->ids, change_hop, &change);
	return change.result;
}

/* ---- services --------------------------------------------------------------------------------- */

static int put_service(struct apply *apply, const struct step *step)
{
	struct xlb_name name = service_name(&step->service->key);
	struct xlb_service slot = {.key = step->service->key,
	                           .id = ids_take(apply->ids, &name, NULL),
	                           .flags = step->flags,
	                           .scheduler = (uint8_t)ring_scheduler(step->service->scheduler)};

	return slot.id ? service_table_put(apply->table, &slot) : -ENOSPC;
}

/* A service that begins no more connections: drains, or is gone. What has no id never was there. */
static int end_service(struct apply *apply, const struct xlb_service_key *key, uint16_t flags)
{
	struct xlb_name name = service_name(key);
	const struct xlb_id *id = ids_find(apply->ids, &name);
	struct xlb_service slot = {.key = *key, .flags = flags};

	if (!id)
		return 0;
	slot.id = id->id;
	if (flags & XLB_SERVICE_GONE) {
		ids_mark_gone(apply->ids, &name);
		apply->fresh_gone = true;
	}
	return service_table_put(apply->table, &slot);
}

/* Places of a ring hold indices into service->reals; packets want ids. Each is looked up once, however many places it has. */
static int name_places(const struct apply *apply, const struct service *service, struct ring *ring)
{
	_cleanup_free_ uint16_t *ids = calloc(service->real_count + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < service->real_count; i++)
		ids[i + 1] = apply_real_id(apply, &service->key, &service->reals[i].addr,
		                           service->reals[i].port);
	for (size_t i = 0; i < ring->length; i++)
		ring->place[i] = ids[ring->place[i]];
	return 0;
}

static int swap_ring(struct apply *apply, const struct service *service)
{
	struct xlb_name name = service_name(&service->key);
	uint16_t id = ids_take(apply->ids, &name, NULL);
	struct ring ring = {0};
	int r;

	if (!id)
		return -ENOSPC;
	r = ring_build(service, apply->mh_size, &ring);
	if (r < 0)
		return r;
	r = name_places(apply, service, &ring);
	if (r >= 0)
		r = rings_swap(dataplane_map(apply->dataplane, MAP_RINGS), id, ring.place,
		               ring.length);
	ring_free(&ring);
	/* wrr begins its cycle anew after every change, as the kernel's goes back to the head of its list */
	if (r >= 0 && !strcmp(service->scheduler, "wrr")) {
		uint32_t key = id;
		uint64_t start = 0;

		(void)bpf_map_update_elem(dataplane_map(apply->dataplane, MAP_CURSORS), &key,
		                          &start, BPF_ANY);
	}
	return r;
}

static int carry_out(struct apply *apply, const struct step *step,
                     const struct neighbours *neighbours)
{
	switch (step->kind) {
	case STEP_REAL_ADD:
	case STEP_REAL_CHANGE:
		return put_real(apply, step->service, step->real, neighbours);
	case STEP_RING:
		return swap_ring(apply, step->service);
	case STEP_SERVICE_ADD:
	case STEP_SERVICE_CHANGE:
		return put_service(apply, step);
	case STEP_SERVICE_DRAIN:
	case STEP_SERVICE_REMOVE:
		return end_service(apply, &step->service->key, step->flags);
	case STEP_REAL_REMOVE:
		return remove_real(apply, step->service, step->real);
	}
	return -EINVAL;
}

static bool is_service_step(enum step_kind kind)
{
	return kind == STEP_SERVICE_ADD || kind == STEP_SERVICE_CHANGE ||
	       kind == STEP_SERVICE_DRAIN || kind == STEP_SERVICE_REMOVE;
}

int apply_plan(struct apply *apply, const struct plan *plan, const struct neighbours *neighbours)
{
	const struct step *step;
	int result = 0, r;

	for (size_t i = 0; (step = plan_step(plan, i)); i++) {
		char text[64];

		if (!is_service_step(step->kind) && service_table_is_dirty(apply->table)) {
			r = service_table_publish(apply->table);
			result = result < 0 ? result : r;
		}
		r = carry_out(apply, step, neighbours);
		log_debug(TOPIC, "%s %s", step_name(step->kind),
		          service_print(step->service, text));
		if (r >= 0)
			continue;
		log_errno(r, TOPIC, "step '%s' of %s failed", step_name(step->kind),
		          service_print(step->service, text));
		result = result < 0 ? result : r;
	}
	if (!service_table_is_dirty(apply->table))
		return result;
	r = service_table_publish(apply->table);
	if (r < 0)
		log_errno(r, TOPIC, "cannot publish the service table");
	return result < 0 ? result : r;
}

/* ---- what an earlier daemon left -------------------------------------------------------------- */

struct adoption {
	struct apply *apply;
	const struct service_set *set;
};

static void adopt_one(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct adoption *adoption = context;
	struct apply *apply = adoption->apply;
	const struct service *service = service_set_find(adoption->set, &name->service);
	bool in_xdp = service && (service->side == SIDE_XDP || service->side == SIDE_STANDBY);

	if (name->is_real) {
		if (!in_xdp || !service_real(service, &name->real, ntohs(name->real_port)))
			mark_real_gone(apply, name, id->id);
		return;
	}
	if (in_xdp)
		return; /* the first plan puts it */
	(void)end_service(apply, &name->service,
	                  service && service->in_force ? XLB_SERVICE_DRAIN : XLB_SERVICE_GONE);
}

int apply_adopt(struct apply *apply, const struct service_set *set)
{
	struct adoption adoption = {.apply = apply, .set = set};

	ids_each(apply->ids, adopt_one, &adoption);
	return 0;
}

/* ---- after a sweep ---------------------------------------------------------------------------- */

struct sweep {
	struct apply *apply;
	const struct flows_census *census;
};

static void release_real(struct apply *apply, const struct xlb_name *name, uint16_t id)
{
	struct xlb_real_counters counted;

	if (counters_real(apply->counters, id, &counted) == 0)
		ids_carry(apply->ids, &name->service, counted.packets, counted.bytes,
		          counted.connections);
	(void)counters_clear_real(apply->counters, id);
	reals_clear(apply->reals, id);
	ids_release(apply->ids, name);
}

static void release_service(struct apply *apply, const struct xlb_name *name, uint16_t id)
{
	uint32_t key = id;

	(void)bpf_map_delete_elem(dataplane_map(apply->dataplane, MAP_RINGS), &key);
	(void)counters_clear_service(apply->counters, id);
	ids_release(apply->ids, name);
}

/* First pass: services without connections leave the table, all together, for one publication. */
static void drop_one(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct sweep *sweep = context;

	if (id->gone && !name->is_real && !sweep->census->service[id->id])
		service_table_drop(sweep->apply->table, &name->service);
}

static void release_one(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct sweep *sweep = context;
	const struct flows_census *census = sweep->census;

	if (!id->gone)
		return;
	if (name->is_real) {
		if (!census->active[id->id] && !census->inactive[id->id])
			release_real(sweep->apply, name, id->id);
	} else if (!service_table_find(sweep->apply->table, &name->service)) {
		release_service(sweep->apply, name, id->id);
	}
}

int apply_prepare_sweep(struct apply *apply)
{
	if (!apply->fresh_gone)
		return 0;
	apply->fresh_gone = false;
	return dataplane_synchronize(apply->dataplane);
}

void apply_swept(struct apply *apply, const struct flows_census *census)
{
	struct sweep sweep = {.apply = apply, .census = census};

	ids_each(apply->ids, drop_one, &sweep);
	if (service_table_is_dirty(apply->table) && service_table_publish(apply->table) < 0)
		return; /* still in the table in force: the next sweep tries again */
	ids_each(apply->ids, release_one, &sweep);
}

/* ---- explain ---------------------------------------------------------------------------------- */

/* Place in the ring for this offset; as bpf/stage/choose.h. */
static size_t hashed_place(enum xlb_scheduler scheduler, const struct ring *ring, uint32_t folded,
                           uint16_t port, uint32_t offset)
{
	return scheduler == XLB_SCHED_MH ? hash_mh(folded, port, offset) % ring->length
	                                 : hash_sh(folded, port, offset) & (ring->length - 1);
}

static bool place_is_usable(const struct service *service, const struct ring *ring, size_t place)
{
	return ring->place[place] && service->reals[ring->place[place] - 1].weight > 0;
}

/* mh and sh: the client's place, or with the fallback flag the first usable one after it. */
static size_t place_of_client(const struct service *service, const struct ring *ring,
                              const struct xlb_addr *client, uint16_t client_port)
{
	enum xlb_scheduler scheduler = ring_scheduler(service->scheduler);
	uint16_t port = service->flags & 0x10 ? client_port : 0;
	uint32_t folded = hash_fold(client);
	size_t first = hashed_place(scheduler, ring, folded, port, 0), place = first;

	if (!(service->flags & 0x8))
		return first;
	for (size_t offset = 0;
	     offset < ring->length && ring->place[place] && !place_is_usable(service, ring, place);
	     offset++)
		place = hashed_place(scheduler, ring, folded, port,
		                     (uint32_t)((offset + first) % ring->length));
	return place;
}

static size_t place_of_turn(const struct apply *apply, const struct service *service,
                            const struct ring *ring)
{
	uint32_t id = apply_service_id(apply, &service->key);
	uint64_t cursor = 0;

	/* no cursor: as one that has not moved yet */
	(void)bpf_map_lookup_elem(dataplane_map(apply->dataplane, MAP_CURSORS), &id, &cursor);
	return cursor % ring->length;
}

uint16_t apply_choose(const struct apply *apply, const struct service *service,
                      const struct xlb_addr *client, uint16_t client_port, size_t *ret_place)
{
	const struct real_server *real = NULL;
	struct ring ring = {0};
	size_t place;

	if (ring_build(service, apply->mh_size, &ring) < 0)
		return 0;
	if (!ring.length) {
		ring_free(&ring);
		return 0;
	}
	switch (ring_scheduler(service->scheduler)) {
	case XLB_SCHED_MH:
	case XLB_SCHED_SH:
		place = place_of_client(service, &ring, client, client_port);
		break;
	case XLB_SCHED_DH:
		place = hash_dh(hash_fold(&service->key.addr)) & (ring.length - 1);
		break;
	default:
		place = place_of_turn(apply, service, &ring);
	}
	if (place_is_usable(service, &ring, place))
		real = &service->reals[ring.place[place] - 1];
	ring_free(&ring);
	if (!real)
		return 0;
	*ret_place = place;
	return apply_real_id(apply, &service->key, &real->addr, real->port);
}
