/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pattern.h - what a person writes to mean some virtual servers, real servers or clients. Pure.
 *
 * "web" (a name), "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:80", "192.0.2.1:80/udp", "fwmark 7";
 * what is left out means any.
 */
#ifndef XLBD_CONTROL_PATTERN_H
#define XLBD_CONTROL_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "xlb_shared.h"

struct service;

struct pattern {
	const char *text; /* as given: borrowed; NULL: everything */
	bool has_addr;    /* false: text is a name */
	struct xlb_addr addr;
	uint16_t port;    /* host order; 0: any */
	uint8_t protocol; /* 0: any */
};

/* text NULL: matches everything. Cannot fail: what is no address is a name. */
struct pattern pattern_make(const char *text);
bool pattern_matches(const struct pattern *pattern, const struct xlb_addr *addr, uint16_t port,
                     uint8_t protocol);
bool pattern_matches_service(const struct pattern *pattern, const struct service *service);

#endif
