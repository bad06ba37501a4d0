// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring_answer.c - which real server xlbd's rings give to each connection: `ring_answer [-l FILE] <list`.
 *
 * Reads the services that are in force from the kernel (xlbd/ipvs/netlink.c), builds their rings (model/ring.c) and looks into
 * them as packets do, but written a second time, from IPVS's rules: so a mistake in the data plane's look-up does not hide
 * behind itself. rr and wrr go round from the start of the cycle.
 * FILE has lines "SERVICE REAL WEIGHT": a last weight, which the kernel does not tell of a real server whose weight is 0 now.
 */
#include <err.h>
#include <linux/ip_vs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/hash.h"
#include "tests/vm/clients.h"
#include "xlbd/ipvs/netlink.h"
#include "xlbd/model/ring.h"

static const struct real_server *usable(const struct service *service, const struct ring *ring,
                                        size_t place)
{
	uint16_t owner = ring->place[place];
	const struct real_server *real = owner ? &service->reals[owner - 1] : NULL;

	return real && real->weight > 0 ? real : NULL;
}

static const struct real_server *by_mh(const struct service *service, const struct ring *ring,
                                       uint32_t word, uint16_t port)
{
	uint32_t first = hash_mh(word, port, 0) % ring->length;
	const struct real_server *real = usable(service, ring, first);
	bool fallback = service->flags & IP_VS_SVC_F_SCHED1;

	for (uint32_t n = 0; fallback && !real && n < ring->length; n++)
		real = usable(service, ring,
		              hash_mh(word, port, (n + first) % ring->length) % ring->length);
	return real;
}

static const struct real_server *by_sh(const struct service *service, const struct ring *ring,
                                       uint32_t word, uint16_t port)
{
	uint32_t first = hash_sh(word, port, 0);
	const struct real_server *real = usable(service, ring, first);
	bool fallback = service->flags & IP_VS_SVC_F_SCHED1;

	for (uint32_t n = 0; fallback && !real && n < ring->length; n++)
		real = usable(service, ring, hash_sh(word, port, (n + first) % ring->length));
	return real;
}

struct walk {
	struct xlb_service_key key; /* of the service that it is for */
	struct ring ring;
	size_t cursor;
};

static const struct real_server *choose(const struct service *service, struct walk *walk,
                                        const struct connection *connection)
{
	uint16_t port = service->flags & IP_VS_SVC_F_SCHED2 ? connection->port : 0;
	uint32_t word = hash_fold(&connection->client);
	const struct ring *ring = &walk->ring;

	if (!ring->length)
		return NULL;
	switch (ring_scheduler(service->scheduler)) {
	case XLB_SCHED_MH:
		return by_mh(service, ring, word, port);
	case XLB_SCHED_SH:
		return by_sh(service, ring, word, port);
	case XLB_SCHED_DH:
		return usable(service, ring, hash_dh(hash_fold(&service->key.addr)));
	case XLB_SCHED_RR:
		return usable(service, ring, walk->cursor++ % ring->length);
	default:
		return NULL;
	}
}

static void read_last_weights(const struct service_set *set, const char *path)
{
	char line[200], name[ENDPOINT_TEXT], real_name[ENDPOINT_TEXT];
	FILE *file = fopen(path, "re");

	if (!file)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		struct xlb_service_key key;
		struct service *service;
		struct real_server *real;
		struct xlb_addr addr;
		uint8_t protocol;
		uint16_t port;
		int weight;

		if (sscanf(line, "%63s %63s %d", name, real_name, &weight) != 3 ||
		    !endpoint_parse(real_name, &addr, &port, &protocol))
			errx(1, "not a last weight: '%s'", line);
		key = clients_service(name);
		service = service_set_find(set, &key);
		real = service ? service_real(service, &addr, port) : NULL;
		if (!real)
			errx(1, "no such real server: '%s'", line);
		real->last_weight = weight;
	}
	fclose(file);
}

/* A list names one service after the other: the ring of the last one is kept. */
static void move_to(struct walk *walk, const struct service *service)
{
	int r;

	if (!memcmp(&walk->key, &service->key, sizeof(walk->key)))
		return;
	ring_free(&walk->ring);
	*walk = (struct walk){.key = service->key};
	r = ring_build(service, RING_MH_SIZE, &walk->ring);
	if (r < 0)
		errx(1, "ring: %s", strerror(-r));
}

static void answer(const struct service_set *set)
{
	struct connection connection;
	struct walk walk = {};

	while (clients_next(stdin, &connection)) {
		const struct service *service = service_set_find(set, &connection.service);
		const struct real_server *real;

		if (!service)
			errx(1, "a service of the list is not in force");
		move_to(&walk, service);
		real = choose(service, &walk, &connection);
		clients_answer(&connection, real ? &real->addr : NULL, real ? real->port : 0);
	}
	ring_free(&walk.ring);
}

int main(int argc, char **argv)
{
	_cleanup_(ipvs_netlink_closep) struct ipvs_netlink *ipvs = NULL;
	_cleanup_(service_set_freep) struct service_set *set = NULL;
	bool unstable;
	int r;

	r = ipvs_netlink_open(NULL, &ipvs);
	if (r == 0)
		r = ipvs_netlink_read(ipvs, &set, &unstable);
	if (r < 0)
		errx(1, "IPVS: %s", strerror(-r));
	while ((r = getopt(argc, argv, "l:")) != -1) {
		if (r != 'l')
			return 2;
		read_last_weights(set, optarg);
	}
	answer(set);
	return 0;
}
