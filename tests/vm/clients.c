// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clients.c - reads and writes the lists of clients.h, for make_clients, send_clients, ipvs_answer and ring_answer.
 *
 * They run in scripts and have nothing to save: what is malformed ends the process with a sentence.
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdlib.h>

#include "tests/vm/clients.h"

struct xlb_service_key clients_service(const char *text)
{
	struct xlb_addr addr;
	uint8_t protocol;
	uint16_t port;

	if (!endpoint_parse(text, &addr, &port, &protocol) || !protocol)
		errx(2, "not a service: '%s' (10.0.0.1:80/tcp)", text);
	return service_key(&addr, port, protocol);
}

bool clients_next(FILE *list, struct connection *ret)
{
	char line[200], service[ENDPOINT_TEXT], address[ADDR_TEXT];
	struct connection connection = {};
	unsigned port;

	if (!fgets(line, sizeof(line), list))
		return false;
	if (sscanf(line, "%63s %47s %u", service, address, &port) != 3 || port > UINT16_MAX ||
	    !addr_parse(address, &connection.client))
		errx(1, "not a connection: '%s'", line);
	connection.service = clients_service(service);
	connection.port = port;
	*ret = connection;
	return true;
}

static void print_key(const struct connection *connection)
{
	char service[ENDPOINT_TEXT], address[ADDR_TEXT];

	printf("%s %s %u",
	       endpoint_print(&connection->service.addr, ntohs(connection->service.port),
	                      connection->service.protocol, service),
	       addr_print(&connection->client, address), connection->port);
}

void clients_print(const struct connection *connection)
{
	print_key(connection);
	putchar('\n');
}

void clients_answer(const struct connection *connection, const struct xlb_addr *real, uint16_t port)
{
	char chosen[ENDPOINT_TEXT];

	print_key(connection);
	printf(" %s\n", real ? endpoint_print(real, port, 0, chosen) : "-");
}
