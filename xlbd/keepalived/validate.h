/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * validate.h - what keepalived makes of a virtual_server when all of the file is read.
 */
#ifndef XLBD_KEEPALIVED_VALIDATE_H
#define XLBD_KEEPALIVED_VALIDATE_H

#include "xlbd/keepalived/draft.h"

/* Fills in defaults, corrects, complains. False: keepalived drops the virtual server. */
bool validate_service(struct reader *reader, struct draft_service *draft);

#endif
