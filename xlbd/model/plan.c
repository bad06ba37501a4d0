// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plan.c - what must change in the data plane to get from one generation of services to the next.
 *
 * The daemon calls plan_make() whenever it has judged a new generation and gives the plan to dataplane/apply.c: there is no
 * other way into the maps. Only the difference is planned, so a reload that changes nothing touches nothing.
 *
 * What a service is to the data plane follows from the two generations alone:
 *	live      SIDE_XDP or SIDE_STANDBY: in the table, with ring and real servers
 *	draining  was live, is in force, but XDP must leave it: in the table for the connections it knows
 *	absent    never was live, or is not in force any more (then it was removed: known connections are dropped)
 * Each pair of these is one function below. The standby flag is kept while draining, because frames for an address
 * that is not ours must pass even if the table knows their connection.
 *
 * Steps are collected in four phases, worked off one after the other; that order alone makes the plan safe. The order
 * within a phase does not matter. It knows no ids and no maps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/model/plan.h"
#include "xlbd/model/ring.h"

enum phase {
	PHASE_REALS_COME, /* what rings will point at */
	PHASE_RINGS,      /* what services will look into */
	PHASE_SERVICES,
	PHASE_REALS_LEAVE, /* what no ring points at any more */
	PHASES,
};

struct plan {
	struct steps {
		struct step *step;
		size_t count, room;
	} phase[PHASES];
	int error; /* -ENOMEM: a step is missing */
};

static const char *const names[] = {
	[STEP_REAL_ADD] = "real-add",
	[STEP_REAL_CHANGE] = "real-change",
	[STEP_RING] = "ring",
	[STEP_SERVICE_ADD] = "service-add",
	[STEP_SERVICE_CHANGE] = "service-change",
	[STEP_SERVICE_DRAIN] = "service-drain",
	[STEP_SERVICE_REMOVE] = "service-remove",
	[STEP_REAL_REMOVE] = "real-remove",
};

const char *step_name(enum step_kind kind)
{
	return (size_t)kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

struct plan *plan_free(struct plan *plan)
{
	for (size_t i = 0; plan && i < PHASES; i++)
		free(plan->phase[i].step);
	free(plan);
	return NULL;
}

size_t plan_count(const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < PHASES; i++)
		count += plan->phase[i].count;
	return count;
}

const struct step *plan_step(const struct plan *plan, size_t index)
{
	for (size_t i = 0; i < PHASES; i++) {
		if (index < plan->phase[i].count)
			return &plan->phase[i].step[index];
		index -= plan->phase[i].count;
	}
	return NULL;
}

static void put(struct plan *plan, enum phase phase, struct step step)
{
	struct steps *steps = &plan->phase[phase];

	if (steps->count == steps->room) {
		size_t room = steps->room ? steps->room * 2 : 32;
		struct step *more = reallocarray(steps->step, room, sizeof(*more));

		if (!more) {
			plan->error = -ENOMEM;
			return;
		}
		steps->step = more;
		steps->room = room;
	}
	steps->step[steps->count++] = step;
}

static void put_real(struct plan *plan, enum phase phase, enum step_kind kind,
                     const struct service *service, const struct real_server *real)
{
	put(plan, phase, (struct step){.kind = kind, .service = service, .real = real});
}

static void put_service(struct plan *plan, enum step_kind kind, const struct service *service,
                        uint16_t flags)
{
	put(plan, PHASE_SERVICES, (struct step){.kind = kind, .service = service, .flags = flags});
}

static void put_ring(struct plan *plan, const struct service *service)
{
	put(plan, PHASE_RINGS, (struct step){.kind = STEP_RING, .service = service});
}

static bool is_live(const struct service *service)
{
	return service && service->in_force &&
	       (service->side == SIDE_XDP || service->side == SIDE_STANDBY);
}

/* What the scheduler's own two flags mean; only the hashing ones have any. */
static uint16_t scheduler_flags(const struct service *service)
{
	enum xlb_scheduler scheduler = ring_scheduler(service->scheduler);
	uint16_t flags = 0;

	if (scheduler != XLB_SCHED_MH && scheduler != XLB_SCHED_SH)
		return 0;
	if (service->flags & IP_VS_SVC_F_SCHED1)
		flags |= XLB_SERVICE_FALLBACK;
	if (service->flags & IP_VS_SVC_F_SCHED2)
		flags |= XLB_SERVICE_PORT;
	return flags;
}

static uint16_t live_flags(const struct service *service)
{
	return scheduler_flags(service) | (service->side == SIDE_STANDBY ? XLB_SERVICE_STANDBY : 0);
}

static uint16_t standby_flag(const struct service *service)
{
	return service->standby ? XLB_SERVICE_STANDBY : 0;
}

static bool real_changed(const struct real_server *a, const struct real_server *b)
{
	return a->weight != b->weight || a->last_weight != b->last_weight ||
	       a->forwarding != b->forwarding || a->tunnel_type != b->tunnel_type ||
	       a->tunnel_port != b->tunnel_port || a->tunnel_flags != b->tunnel_flags ||
	       a->upper_threshold != b->upper_threshold || a->lower_threshold != b->lower_threshold;
}

/* One that becomes unusable must leave the ring of rr first. */
static enum phase change_phase(const struct real_server *old, const struct real_server *new)
{
	return old->weight > 0 && new->weight <= 0 ? PHASE_REALS_LEAVE : PHASE_REALS_COME;
}

static void remove_missing(struct plan *plan, const struct service *old, const struct service *new)
{
	size_t hint = 0;

	for (size_t i = 0; i < old->real_count; i++) {
		const struct real_server *real = &old->reals[i];

		if (!new || !service_real_near(new, &real->addr, real->port, &hint))
			put_real(plan, PHASE_REALS_LEAVE, STEP_REAL_REMOVE, old, real);
	}
}

static void add_missing(struct plan *plan, const struct service *old, const struct service *new)
{
	size_t hint = 0;

	for (size_t i = 0; i < new->real_count; i++) {
		const struct real_server *real = &new->reals[i];

		/* of a draining service one may come back with a method that is the reason for the draining */
		if (!is_live(new) && !real_is_offered(real, NULL))
			continue;
		if (!old || !service_real_near(old, &real->addr, real->port, &hint))
			put_real(plan, PHASE_REALS_COME, STEP_REAL_ADD, new, real);
	}
}

static void change_reals(struct plan *plan, const struct service *old, const struct service *new)
{
	size_t hint = 0;

	for (size_t i = 0; i < new->real_count; i++) {
		const struct real_server *real = &new->reals[i], *before;

		before = service_real_near(old, &real->addr, real->port, &hint);
		if (before && real_changed(before, real))
			put_real(plan, change_phase(before, real), STEP_REAL_CHANGE, new, real);
	}
}

/* absent or draining -> live: all its real servers are written, whatever an earlier life left of them */
static void plan_entry(struct plan *plan, const struct service *old, const struct service *new)
{
	add_missing(plan, NULL, new);
	put_ring(plan, new);
	put_service(plan, STEP_SERVICE_ADD, new, live_flags(new));
	if (old && old->draining)
		remove_missing(plan, old, new);
}

/* live -> live */
static void plan_change(struct plan *plan, const struct service *old, const struct service *new)
{
	add_missing(plan, old, new);
	change_reals(plan, old, new);
	if (!ring_is_same(old, new))
		put_ring(plan, new);
	if (live_flags(old) != live_flags(new) ||
	    ring_scheduler(old->scheduler) != ring_scheduler(new->scheduler))
		put_service(plan, STEP_SERVICE_CHANGE, new, live_flags(new));
	remove_missing(plan, old, new);
}

/* live or draining -> draining */
static void plan_drain(struct plan *plan, const struct service *old, struct service *new)
{
	new->draining = true;
	add_missing(plan, old, new);
	if (!old->draining || old->standby != new->standby)
		put_service(plan, STEP_SERVICE_DRAIN, old, XLB_SERVICE_DRAIN | standby_flag(new));
	remove_missing(plan, old, new);
}

/* live or draining -> absent */
static void plan_removal(struct plan *plan, const struct service *old)
{
	put_service(plan, STEP_SERVICE_REMOVE, old, XLB_SERVICE_GONE | standby_flag(old));
	remove_missing(plan, old, NULL);
}

/* The service of the same name in the other generation, if it is in force there. */
static struct service *counterpart(const struct service_set *set, const struct service *service)
{
	struct service *found = set ? service_set_find(set, &service->key) : NULL;

	return found && found->in_force ? found : NULL;
}

static void plan_service(struct plan *plan, const struct service *old, struct service *new)
{
	new->draining = false;
	if (is_live(new) && is_live(old))
		plan_change(plan, old, new);
	else if (is_live(new))
		plan_entry(plan, old, new);
	else if (is_live(old) || (old && old->draining))
		plan_drain(plan, old, new);
}

int plan_make(const struct service_set *old, struct service_set *new, struct plan **ret)
{
	_cleanup_(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return -ENOMEM;
	/* services of firewall marks have no key and never were in the data plane */
	for (size_t i = 0; new &&i < service_set_count(new); i++) {
		struct service *service = service_set_get(new, i);

		if (service->in_force && !service->fwmark)
			plan_service(plan, counterpart(old, service), service);
	}
	for (size_t i = 0; old && i < service_set_count(old); i++) {
		const struct service *service = service_set_get(old, i);

		if (service->fwmark || counterpart(new, service))
			continue;
		if (is_live(service) || service->draining)
			plan_removal(plan, service);
	}
	if (plan->error < 0)
		return plan->error;
	*ret = take_ptr(plan);
	return 0;
}
