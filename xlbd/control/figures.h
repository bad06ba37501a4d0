/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figures.h - what is known about a virtual server and its real servers, put together from where it
 * lies.
 */
#ifndef XLBD_CONTROL_FIGURES_H
#define XLBD_CONTROL_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/model/service.h"

struct xlbd;

struct figures {
	uint64_t active, inactive; /* connections open now, as IPVS counts them */
	uint64_t connections;      /* begun */
	uint64_t packets, bytes, dropped;
};

struct real_count {
	size_t usable; /* in force, weight above 0 */
	size_t total;  /* declared; in force where nothing is declared */
	bool sorry;    /* the sorry server is in force */
};

/* XDP's and the kernel's IPVS's together. */
void figures_real(const struct xlbd *xlbd, const struct service *service,
                  const struct real_server *real, struct figures *ret);
void figures_service(const struct xlbd *xlbd, const struct service *service, struct figures *ret);
/* Connections of the service that XDP holds now. */
uint64_t figures_held(const struct xlbd *xlbd, const struct service *service);
/* Its declaration; NULL: none. */
const struct service *figures_declared(const struct xlbd *xlbd, const struct service *service);
struct real_count figures_reals(const struct xlbd *xlbd, const struct service *service);
/* "xdp", "standby", "ipvs", "unserved"; "draining": left XDP, which still holds connections of it. */
const char *figures_side(const struct xlbd *xlbd, const struct service *service);
/* CLOCK_BOOTTIME, ms. */
int64_t figures_now(void);

#endif
