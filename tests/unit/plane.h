/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plane.h - a small model of the data plane, which carries out plans and is looked at after each step.
 *
 * Services are 192.0.2.1:1000 + n, real servers 10.0.0.n. `struct plane` is what apply.c and the maps are in earnest.
 */
#ifndef TESTS_UNIT_PLANE_H
#define TESTS_UNIT_PLANE_H

#include "xlbd/model/plan.h"

#define SERVICES 5
#define REALS    6

/* Makers of generations. */
struct real_server real(unsigned number, int32_t weight);
unsigned real_number(const struct real_server *server);
struct service service(unsigned number, const char *scheduler, enum service_side side,
                       struct real_server *reals, size_t count);
unsigned service_number(const struct service *one);
struct service_set *set_of(const struct service *one); /* NULL: empty */

struct plane {
	struct {
		bool present;
		uint16_t flags;
		enum xlb_scheduler scheduler;
		size_t length; /* of its ring; SIZE_MAX: none was ever built */
		uint8_t owner[256];
	} service[SERVICES];
	struct {
		bool present, gone, usable;
	} real[SERVICES][REALS];
};

void empty_plane(struct plane *plane);
/* The ring of the service as it is built from this generation. */
void take_ring(struct plane *plane, const struct service *one);
/* Makes the plan and carries it out; fails if anything ever points at nothing. Returns the number of steps. */
size_t carry_out(struct plane *plane, const struct service_set *old, struct service_set *new);

#endif
