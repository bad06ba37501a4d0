/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * role.h - does this director own a virtual address now, who said so, what changes then.
 *
 * Active iff the address is on the device where keepalived puts it and keepalived's FIFO has not said BACKUP or FAULT later.
 * Lines get lost, and a killed keepalived's last word is MASTER: the FIFO alone decides nothing. An address
 * of no VRRP instance (BGP): active while it is on any device, lo included.
 */
#ifndef XLBD_ROLE_H
#define XLBD_ROLE_H

#include "xlbd/keepalived/events.h"
#include "xlbd/keepalived/reader.h"
#include "xlbd/network.h"

struct role; /* opaque; pure but for network_address() */

struct role *role_new(void);               /* NULL: out of memory */
struct role *role_free(struct role *role); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct role, role_free)

/* Takes over the instances; states of instances of the same name stay. */
int role_set_instances(struct role *role, const struct keepalived_config *config);
/* A line of the FIFO. An address that appears on its device after BACKUP/FAULT/STOP wins over the line. */
void role_event(struct role *role, const char *instance, enum vrrp_state state);
/* Addresses changed: look again. True if any answer of role_owns() may have changed. */
bool role_refresh(struct role *role, const struct network *network);

/* *ret_instance (may be NULL): name of the instance, NULL if none owns the address. */
bool role_owns(const struct role *role, const struct network *network, const struct xlb_addr *addr,
               const char **ret_instance);

/* For those who show it. */
struct role_instance {
	const char *name;
	enum vrrp_state state; /* last line of the FIFO; VRRP_UNKNOWN: none came */
	size_t addresses, present;
	bool active;   /* any of its addresses is owned */
	int64_t since; /* CLOCK_BOOTTIME, ms; 0: not known */
};
size_t role_count(const struct role *role);
void role_get(const struct role *role, const struct network *network, size_t index,
              struct role_instance *ret);
const char *vrrp_state_name(enum vrrp_state state);

#endif
