/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firewall_legacy.h - is iptables-legacy in use? Its rules are not understood, only "none, and everything is accepted" is.
 */
#ifndef XLBD_FIREWALL_LEGACY_H
#define XLBD_FIREWALL_LEGACY_H

#include <stddef.h>
#include <stdint.h>

/*
 * 0: no table, or tables without rules whose policies accept; 1: `sentence` says which table has more; -errno: they cannot
 * be looked at. family: AF_INET or AF_INET6. *digest changes with what was found.
 */
int firewall_legacy_look(int family, char *sentence, size_t room, uint64_t *digest);

#endif
