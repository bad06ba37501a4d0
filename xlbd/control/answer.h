/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - our types as JSON values; each returns a new reference.
 */
#ifndef XLBD_CONTROL_ANSWER_H
#define XLBD_CONTROL_ANSWER_H

#include <stdint.h>

#include <jansson.h>

#include "xlb_shared.h"

struct complaints;

/* Never fails for what the text holds: bytes that are not UTF-8 become '?'. NULL: null. */
json_t *answer_text(const char *text);
json_t *answer_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_t *answer_addr(const struct xlb_addr *addr);
/* port in host order; protocol 0: not written */
json_t *answer_endpoint(const struct xlb_addr *addr, uint16_t port, uint8_t protocol);
json_t *answer_mac(const uint8_t mac[6]);
json_t *answer_complaints(const struct complaints *complaints);
const char *forwarding_name(uint8_t forwarding); /* "nat", "local", "tunnel", "direct" */

#endif
