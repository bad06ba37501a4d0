/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apply.h - the one way into the maps of services: steps of a plan, next hops, and what a sweep found.
 */
#ifndef XLBD_DATAPLANE_APPLY_H
#define XLBD_DATAPLANE_APPLY_H

#include "xlbd/dataplane/counters.h"
#include "xlbd/dataplane/ids.h"
#include "xlbd/dataplane/interfaces.h"
#include "xlbd/dataplane/loader.h"
#include "xlbd/model/plan.h"
#include "xlbd/neighbours.h"

struct apply; /* opaque */

/* Borrows all three. Reads the pinned names: ids that an earlier daemon gave stay with their owners. */
int apply_open(struct dataplane *dataplane, struct counters *counters,
               struct interfaces *interfaces, size_t mh_size, struct apply **ret);
struct apply *apply_close(struct apply *apply); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct apply, apply_close)

/*
 * First of all, once: what an earlier daemon left and no service of `set` stands for is marked gone, or drains if `set` has it
 * outside XDP. Nothing is published before the first plan.
 */
int apply_adopt(struct apply *apply, const struct service_set *set);
/*
 * Carries the steps out. neighbours: where next hops of new real servers come from; NULL: none yet. A step that fails is
 * logged, the others go on; the first error is returned, and the caller plans again.
 */
int apply_plan(struct apply *apply, const struct plan *plan, const struct neighbours *neighbours);
/* A next hop changed: all real servers of that address. */
int apply_next_hop(struct apply *apply, const struct xlb_addr *addr, const struct next_hop *hop);
/* Before a sweep: waits for packets that may still use what was marked gone, if anything was. */
int apply_prepare_sweep(struct apply *apply);
/* After a sweep: ids that nothing carries any more go back; the census of a sweep begun after the last plan. */
void apply_swept(struct apply *apply, const struct flows_census *census);

/* Ids, for those who show things; 0: none. */
uint16_t apply_service_id(const struct apply *apply, const struct xlb_service_key *key);
uint16_t apply_real_id(const struct apply *apply, const struct xlb_service_key *key,
                       const struct xlb_addr *real, uint16_t real_port);
/* The owner of an id; false: nobody. */
bool apply_name_of_real(const struct apply *apply, uint16_t id, struct xlb_name *ret);
bool apply_name_of_service(const struct apply *apply, uint16_t id, struct xlb_name *ret);
/* What former real servers of the service had counted. Zero if unknown. */
struct xlb_real_counters apply_carried(const struct apply *apply,
                                       const struct xlb_service_key *key);
int32_t apply_last_weight(const struct apply *apply, const struct xlb_service_key *key,
                          const struct xlb_addr *real, uint16_t real_port); /* 0: not known */

/* What a new connection of this client would be given now, for `explain`: id and place in the ring; 0: nobody. */
uint16_t apply_choose(const struct apply *apply, const struct service *service,
                      const struct xlb_addr *client, uint16_t client_port, size_t *ret_place);

#endif
