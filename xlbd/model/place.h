/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h - which place of a ring a new connection gets, as the data plane chooses it (bpf/stage/choose.h). Pure.
 */
#ifndef XLBD_MODEL_PLACE_H
#define XLBD_MODEL_PLACE_H

#include "xlbd/model/ring.h"

/* cursor: of rr and wrr. The real server in *ret_place, or NULL: nobody takes the connection, *ret_place is untouched. */
const struct real_server *place_choose(const struct service *service, const struct ring *ring,
                                       const struct xlb_addr *client, uint16_t client_port,
                                       uint64_t cursor, size_t *ret_place);

#endif
