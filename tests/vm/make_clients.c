// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make_clients.c - prints a list of connections, always the same ones: `make_clients COUNT`.
 *
 * Each line of standard input names one or more services; COUNT connections are spread over them, in order. All clients of
 * a line are different pairs of address and port. Every fourth shares its address with the one before, so that a scheduler that
 * looks at the port shows. Addresses are in 20.0.0.0/8 and 2a00::/16: neither ours nor martian.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/vm/clients.h"

#define SERVICES_OF_A_LINE 256

/* xorshift64: a fixed sequence that has nothing to do with the hashes under test. */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static struct xlb_addr make_address(bool is_ipv4, uint64_t *state)
{
	uint64_t values[2] = {next(state), next(state)};
	uint8_t bytes[16];

	memcpy(bytes, values, sizeof(bytes));
	if (is_ipv4) {
		bytes[0] = 20;
		return addr_from_bytes(AF_INET, bytes);
	}
	bytes[0] = 0x2a;
	bytes[1] = 0x00;
	return addr_from_bytes(AF_INET6, bytes);
}

static void make_list(const struct xlb_service_key *services, size_t service_count, size_t count)
{
	uint64_t state = 88172645463325252;
	struct connection connection = {};

	for (size_t i = 0; i < count; i++) {
		connection.service = services[i * service_count / count];
		if (i % 4 == 3) {
			/* same address, another port */
			connection.port =
				connection.port == UINT16_MAX ? 1024 : connection.port + 1;
		} else {
			connection.client = make_address(addr_is_ipv4(&services->addr), &state);
			connection.port = 1024 + next(&state) % (65536 - 1024);
		}
		clients_print(&connection);
	}
}

int main(int argc, char **argv)
{
	static struct xlb_service_key services[SERVICES_OF_A_LINE];
	size_t count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	char line[SERVICES_OF_A_LINE * 40];

	if (!count)
		errx(2, "usage: make_clients COUNT <services");
	while (fgets(line, sizeof(line), stdin)) {
		size_t service_count = 0;

		for (char *word = strtok(line, " \n"); word && service_count < SERVICES_OF_A_LINE;
		     word = strtok(NULL, " \n"))
			services[service_count++] = clients_service(word);
		if (service_count)
			make_list(services, service_count, count);
	}
	return 0;
}
