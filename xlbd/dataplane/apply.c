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

#include "xlbd/dataplane/apply.h"
#include "xlbd/dataplane/reals.h"
#include "xlbd/dataplane/rings.h"
#include "xlbd/dataplane/service_table.h"
#include "xlbd/dataplane/sources.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/place.h"
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
	struct sources *sources;
	bool fresh_gone;    /* something was marked gone since the last wait for running packets */
	bool stale_sources; /* real servers of NAT came: their answers would not be known */
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
	r = sources_open(&apply->sources);
	if (r < 0)
		return r;
	apply->stale_sources = true; /* those that an earlier daemon left */
	*ret = take_ptr(apply);
	return 0;
}

struct apply *apply_close(struct apply *apply)
{
	if (!apply)
		return NULL;
	sources_close(apply->sources);
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

/* The service's id, given now if it had none; what it is stands in the map by then. 0: none is free. */
static uint16_t take_service(struct apply *apply, const struct xlb_service_key *key)
{
	struct xlb_name name = service_name(key);
	uint16_t id = ids_take(apply->ids, &name, NULL);
	uint32_t index = id;

	if (id && bpf_map_update_elem(dataplane_map(apply->dataplane, MAP_SERVICE_KEYS), &index,
	                              key, BPF_ANY))
		return 0;
	return id;
}

/* The service's name comes with its first real server. */
static int put_real(struct apply *apply, const struct service *service,
                    const struct real_server *real, const struct neighbours *neighbours)
{
	struct xlb_name name = real_name(&service->key, &real->addr, real->port);
	uint16_t id = ids_take(apply->ids, &name, NULL), owner = take_service(apply, &service->key);
	struct real_entry wanted;

	if (!id || !owner)
		return -ENOSPC;
	if (real->last_weight)
		ids_set_weight(apply->ids, &name, real->last_weight);
	wanted = entry_make(service, real, owner);
	if (real->forwarding == XLB_FORWARD_NAT)
		apply->stale_sources = true;
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
	struct xlb_service slot = {.key = step->service->key,
	                           .id = take_service(apply, &step->service->key),
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

static int publish(struct apply *apply)
{
	int r;

	if (!service_table_is_dirty(apply->table))
		return 0;
	r = service_table_publish(apply->table);
	if (r < 0)
		log_errno(r, TOPIC, "cannot publish the service table");
	return r;
}

/* What comes from real servers of NAT, into the table. `leaves`: which of them do not count any more. */
static int set_sources(struct apply *apply,
                       bool (*leaves)(void *context, const struct xlb_name *name,
                                      const struct xlb_id *id),
                       void *context)
{
	struct xlb_control *control = dataplane_control(apply->dataplane);
	int r = sources_set(apply->sources, apply->ids, apply->reals, apply->table, leaves,
	                    context);

	if (r < 0)
		return log_errno(r, TOPIC, "answers of real servers behind NAT would be missed");
	apply->stale_sources = false;
	if (r > 0)
		__atomic_or_fetch(&control->flags, XLB_CONTROL_NAT, __ATOMIC_SEQ_CST);
	else
		__atomic_and_fetch(&control->flags, ~XLB_CONTROL_NAT, __ATOMIC_SEQ_CST);
	return 0;
}

static int run_step(struct apply *apply, const struct step *step,
                    const struct neighbours *neighbours)
{
	char text[64];
	int r;

	r = carry_out(apply, step, neighbours);
	log_debug(TOPIC, "%s %s", step_name(step->kind), service_print(step->service, text));
	if (r < 0)
		log_errno(r, TOPIC, "step '%s' of %s failed", step_name(step->kind),
		          service_print(step->service, text));
	return r;
}

int apply_plan(struct apply *apply, const struct plan *plan, const struct neighbours *neighbours)
{
	const struct step *step;
	int result = 0;

	for (size_t i = 0; (step = plan_step(plan, i)); i++) {
		int before = 0, r;

		/* answers are known before a ring or the service table sends anything there */
		if (apply->stale_sources && step->kind != STEP_REAL_ADD &&
		    step->kind != STEP_REAL_CHANGE)
			before = set_sources(apply, NULL, NULL);
		if (before >= 0 && !is_service_step(step->kind))
			before = publish(apply);
		r = run_step(apply, step, neighbours);
		result = result < 0 ? result : before < 0 ? before : r;
	}
	if (apply->stale_sources && result >= 0)
		result = set_sources(apply, NULL, NULL);
	if (result >= 0)
		return publish(apply);
	(void)publish(apply);
	return result;
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
	bool answers_end; /* real servers behind NAT leave: so do their places in the lists of sources */
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

/* A real server that is gone, and nothing carries its id any more. */
static bool real_leaves(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	const struct flows_census *census = ((const struct sweep *)context)->census;

	return id->gone && name->is_real && !census->active[id->id] && !census->inactive[id->id];
}

/* First pass: services without connections leave the table, all together, for one publication. */
static void drop_one(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct sweep *sweep = context;

	if (id->gone && !name->is_real && !sweep->census->service[id->id])
		service_table_drop(sweep->apply->table, &name->service);
	else if (real_leaves(sweep, name, id))
		sweep->answers_end |=
			(reals_get(sweep->apply->reals, id->id).real.flags & XLB_REAL_NAT) != 0;
}

static void release_one(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct sweep *sweep = context;

	if (real_leaves(sweep, name, id))
		release_real(sweep->apply, name, id->id);
	else if (id->gone && !name->is_real &&
	         !service_table_find(sweep->apply->table, &name->service))
		release_service(sweep->apply, name, id->id);
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
	if (sweep.answers_end && set_sources(apply, real_leaves, &sweep) < 0)
		return;
	if (service_table_is_dirty(apply->table) && service_table_publish(apply->table) < 0)
		return; /* still in the table in force: the next sweep tries again */
	/* a packet may be on its way through a list by an entry that is cleared next */
	if (sweep.answers_end && dataplane_synchronize(apply->dataplane) < 0)
		return;
	ids_each(apply->ids, release_one, &sweep);
}

/* ---- explain ---------------------------------------------------------------------------------- */

/* Where rr and wrr are on their ring; no cursor: as one that has not moved yet. */
static uint64_t cursor_of(const struct apply *apply, const struct service *service)
{
	uint32_t id = apply_service_id(apply, &service->key);
	uint64_t cursor = 0;

	(void)bpf_map_lookup_elem(dataplane_map(apply->dataplane, MAP_CURSORS), &id, &cursor);
	return cursor;
}

uint16_t apply_choose(const struct apply *apply, const struct service *service,
                      const struct xlb_addr *client, uint16_t client_port, size_t *ret_place)
{
	const struct real_server *real;
	struct ring ring = {0};

	if (ring_build(service, apply->mh_size, &ring) < 0)
		return 0;
	real = place_choose(service, &ring, client, client_port, cursor_of(apply, service),
	                    ret_place);
	ring_free(&ring);
	return real ? apply_real_id(apply, &service->key, &real->addr, real->port) : 0;
}
