// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shares.c - how many services share a real server behind NAT.
 *
 * An answer of a real server says its address and port, not which virtual server it is for; the data plane asks those that it may be
 * (bpf/stage/reply.h), a few at most. The judge asks here before it gives a service to XDP. Counted once for all services, since
 * each may have thousands of real servers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "xlbd/model/shares.h"

struct share {
	struct xlb_service_key key; /* of the real server: address, port, protocol */
	size_t count;
	UT_hash_handle hh;
};

struct shares {
	struct share *known;
};

static struct share *find(const struct shares *shares, const struct real_server *real,
                          uint8_t protocol)
{
	struct xlb_service_key key = service_key(&real->addr, real->port, protocol);
	struct share *share;

	HASH_FIND(hh, shares->known, &key, sizeof(key), share);
	return share;
}

static int add(struct shares *shares, const struct real_server *real, uint8_t protocol)
{
	struct share *share = find(shares, real, protocol);

	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return -ENOMEM;
		share->key = service_key(&real->addr, real->port, protocol);
		HASH_ADD(hh, shares->known, key, sizeof(share->key), share);
	}
	share->count++;
	return 0;
}

int shares_count(const struct service_set *set, struct shares **ret)
{
	_cleanup_(shares_freep) struct shares *shares = NULL;
	const struct service *service;

	for (size_t i = 0; (service = service_set_get(set, i)); i++)
		for (size_t j = 0; j < service->real_count; j++) {
			if (service->reals[j].forwarding != XLB_FORWARD_NAT)
				continue;
			if (!shares)
				shares = calloc(1, sizeof(*shares));
			if (!shares || add(shares, &service->reals[j], service->key.protocol) < 0)
				return -ENOMEM;
		}
	*ret = take_ptr(shares);
	return 0;
}

struct shares *shares_free(struct shares *shares)
{
	struct share *share, *next;

	if (!shares)
		return NULL;
	HASH_ITER(hh, shares->known, share, next) {
		HASH_DEL(shares->known, share);
		free(share);
	}
	free(shares);
	return NULL;
}

size_t shares_of(const struct shares *shares, const struct real_server *real, uint8_t protocol)
{
	const struct share *share = shares ? find(shares, real, protocol) : NULL;

	return share ? share->count : 0;
}
