/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - what must change in the data plane to get from one generation of services to the next. Pure.
 *
 * Only services of SIDE_XDP and SIDE_STANDBY are in the data plane; one that leaves these sides drains (known
 * connections finish in XDP) unless it is not in force any more (gone).
 */
#ifndef XLBD_MODEL_PLAN_H
#define XLBD_MODEL_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "xlbd/model/service.h"

enum step_kind {
	STEP_REAL_ADD,       /* real is new in its service, or came back: write its entry */
	STEP_REAL_CHANGE,    /* weight, method, thresholds */
	STEP_RING,           /* the ring of the service must be built and swapped */
	STEP_SERVICE_ADD,    /* in the service table, with service->side's flags */
	STEP_SERVICE_CHANGE, /* flags, scheduler or side */
	STEP_SERVICE_DRAIN,  /* left XDP: known connections only */
	STEP_SERVICE_REMOVE, /* not in force any more */
	STEP_REAL_REMOVE,    /* in no ring any more: mark gone */
};

struct step {
	enum step_kind kind;
	const struct service *
		service; /* of the new generation; of the old one for SERVICE_REMOVE and _DRAIN, and for REAL_REMOVE */
	const struct real_server *real; /* for STEP_REAL_*; else NULL */
	uint16_t flags; /* for STEP_SERVICE_*: of its slot, enum xlb_service_flag; else 0 */
};

struct plan; /* opaque */

/*
 * Compares two generations; either may be NULL (nothing there). Steps are ordered so that nothing in the data plane
 * ever points at what is not there yet, over the whole plan: real servers that come or change; rings; services; real
 * servers that become unusable or leave. So the service table can be swapped once, before the first step of the last kind.
 *
 * A service that leaves XDP while it is in force is marked `draining` in the new generation, for the next plan: its
 * real servers still come and go (REAL_ADD, REAL_REMOVE), and STEP_SERVICE_DRAIN is repeated when its address changes
 * hands. Who carries the steps out may have freed such ids already: an unknown one is nothing to remove.
 *
 * The plan borrows from both sets: free it first. -ENOMEM.
 */
int plan_make(const struct service_set *old, struct service_set *new, struct plan **ret);
size_t plan_count(const struct plan *plan);
const struct step *plan_step(const struct plan *plan, size_t index); /* NULL after the last */
struct plan *plan_free(struct plan *plan); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct plan, plan_free)
const char *step_name(enum step_kind kind); /* "real-add", ..., for the log */

#endif
