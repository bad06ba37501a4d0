/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firewall.h - would netfilter let a virtual server's packets through INPUT, whoever sends them?
 *
 * XDP goes past INPUT, PREROUTING and their hooks. A service may be accelerated only if the verdict for its packets is plainly ACCEPT
 * for every source; everything else is a reason, with the rule quoted.
 */
#ifndef XLBD_FIREWALL_H
#define XLBD_FIREWALL_H

#include "xlbd/cleanup.h"
#include "xlbd/model/service.h"
#include "xlbd/netsocket.h"

struct firewall; /* opaque: one reading of the rule sets (nf_tables, and iptables-legacy if its modules are there) */

/* -ENOTSUP: no netfilter in this kernel (everything is accepted). Logs. */
int firewall_read(struct firewall **ret);
struct firewall *firewall_free(struct firewall *firewall); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct firewall, firewall_free)
/* NULL: accepted for every source; else a sentence with the rule, valid as long as `firewall`. */
const char *firewall_reason(struct firewall *firewall, const struct service *service);
/*
 * Changes whenever the rule sets do (nf_tables generation): cheap to ask each second. *socket is opened if it is NULL, and kept for
 * the next time; after a failure it is closed and NULL again.
 */
int firewall_generation(struct netsocket **socket, uint64_t *ret);

#endif
