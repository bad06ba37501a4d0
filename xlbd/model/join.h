/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join.h - what keepalived declares and what the IPVS table has, joined into one set of services. Pure.
 */
#ifndef XLBD_MODEL_JOIN_H
#define XLBD_MODEL_JOIN_H

#include "xlbd/model/judge.h"

/* Into `set`, as declared, then what is only in force; nothing is judged yet. Either source may be NULL. -ENOMEM, -E2BIG. */
int services_join(const struct service_set *declared, const struct service_set *in_force,
                  const struct judge_world *world, struct service_set *set);

#endif
