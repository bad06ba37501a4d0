/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings.h - the ring of one service into the kernel, whole.
 */
#ifndef XLBD_DATAPLANE_RINGS_H
#define XLBD_DATAPLANE_RINGS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes a map of `length` places (ids of real servers, 0: nobody) and puts it in the place of the service's ring, which packets
 * see from one moment to the next. length 0: no real server.
 */
int rings_swap(int rings_fd, uint16_t service, const uint16_t *place, size_t length);

#endif
