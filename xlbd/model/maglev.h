/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maglev.h - the table of IPVS's scheduler mh. Pure; for ring.c.
 */
#ifndef XLBD_MODEL_MAGLEV_H
#define XLBD_MODEL_MAGLEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/model/service.h"

/*
 * Fills `size` places with 1 + index of a real server. -ENOENT: nobody has a share, nothing written; -E2BIG: more real
 * servers than places; -EINVAL: maglev_size_is_valid() says no; -ENOMEM.
 */
int maglev_fill(const struct service *service, size_t size, uint16_t *place);
bool maglev_size_is_valid(size_t size); /* a prime of at most XLB_RING_MAX */

#endif
