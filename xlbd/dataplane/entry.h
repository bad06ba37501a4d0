/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry.h - all that the data plane knows of one real server. Pure.
 */
#ifndef XLBD_DATAPLANE_ENTRY_H
#define XLBD_DATAPLANE_ENTRY_H

#include "xlbd/model/service.h"

struct real_entry {
	struct xlb_real real;
	struct xlb_tunnel tunnel; /* with XLB_REAL_TUNNEL; else zero */
};

/* What does not depend on the way to it; `owner` is the service's id. Not to be sent to yet. */
struct real_entry entry_make(const struct service *service, const struct real_server *real,
                             uint16_t owner);

#endif
