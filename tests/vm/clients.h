/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clients.h - lists of connections and of answers, as the programs of tests/vm exchange them.
 *
 * A list has a line for each connection, "SERVICE ADDRESS PORT", as in "10.0.0.1:80/tcp 20.1.2.3 4711". An answer is the same list
 * with the chosen real server behind each: "10.1.0.1:80", or "-" for none. So answers are compared line by line.
 */
#ifndef TESTS_VM_CLIENTS_H
#define TESTS_VM_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xlbd/model/addr.h"
#include "xlbd/model/service.h"

struct connection {
	struct xlb_service_key service;
	struct xlb_addr client;
	uint16_t port; /* the client's, in host order */
	uint16_t pad;
};
_Static_assert(sizeof(struct connection) == 40, "no holes: it is hashed by bytes");

/* The next line of a list; a fourth word is passed over. False at the end. Ends the process on a malformed line. */
bool clients_next(FILE *list, struct connection *ret);
void clients_print(const struct connection *connection);
/* real NULL: none. port in host order. */
void clients_answer(const struct connection *connection, const struct xlb_addr *real,
                    uint16_t port);
/* "10.0.0.1:80/tcp"; ends the process if it is not of this form. */
struct xlb_service_key clients_service(const char *text);

#endif
