// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * service.c - one generation of virtual servers: an arena, their order, and an index by what names them.
 *
 * The readers (keepalived/, ipvs/) and judge.c build a set, the daemon publishes it by swapping one pointer, everybody else only
 * looks things up. Services, reals and strings lie in one obstack and never move, so pointers into a set hold
 * until the set is freed. The index (uthash) finds one of 16,384 services by {address, port, protocol} or by
 * {family, fwmark}; the order of addition is kept beside it, because dumps and files have one.
 *
 * Out of memory inside the arena or the index ends the process, as in complaint.c: a set is bounded by SERVICES_MAX
 * and REALS_MAX. This file judges nothing: a set holds what it is given.
 */
#define _GNU_SOURCE /* obstack_vprintf */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <obstack.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION HASH_FNV /* uthash's default has fall-throughs that clang reports */
#include <uthash.h>

#include "xlbd/model/addr.h"
#include "xlbd/model/service.h"

#define CHUNK 65000 /* of the arena: below what malloc() maps and unmaps each time */

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

/* What names a service; compared whole, so zeroed before use. */
struct index_key {
	struct xlb_service_key key;
	uint32_t fwmark;
	int32_t family; /* of fwmark services; the address says it for the others */
};
_Static_assert(sizeof(struct index_key) == 28, "no holes: it is hashed by bytes");

struct entry {
	struct service service;
	struct index_key key;
	UT_hash_handle hh;
};

struct service_set {
	struct obstack arena;
	struct entry *index;
	struct entry **order; /* malloc'ed, `room` pointers */
	size_t count, room;
};

struct service_set *service_set_new(void)
{
	struct service_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	/* a large set is made and freed with each look: few chunks, and malloc keeps them at hand */
	obstack_begin(&set->arena, CHUNK);
	return set;
}

struct service_set *service_set_free(struct service_set *set)
{
	if (!set)
		return NULL;
	HASH_CLEAR(hh, set->index);
	obstack_free(&set->arena, NULL);
	free(set->order);
	free(set);
	return NULL;
}

static struct index_key index_key(const struct xlb_service_key *key, int family, uint32_t fwmark)
{
	struct index_key index = {.fwmark = fwmark, .family = fwmark ? family : 0};

	if (!fwmark)
		index.key = *key;
	return index;
}

static struct service *find(const struct service_set *set, const struct index_key *key)
{
	struct entry *entry;

	HASH_FIND(hh, set->index, key, sizeof(*key), entry);
	return entry ? &entry->service : NULL;
}

static int make_room(struct service_set *set)
{
	size_t room = set->room ? set->room * 2 : 64;
	struct entry **order;

	if (set->count < set->room)
		return 0;
	order = reallocarray(set->order, room, sizeof(*order));
	if (!order)
		return -ENOMEM;
	set->order = order;
	set->room = room;
	return 0;
}

/* Everything that `service` points at, moved into the arena. */
static void adopt(struct service_set *set, struct service *service)
{
	service->name = service_set_string(set, service->name);
	service->instance = service_set_string(set, service->instance);
	service->reason = service_set_string(set, service->reason);
	service->origin.file = service_set_string(set, service->origin.file);
	if (!service->real_count) {
		service->reals = NULL;
		return;
	}
	service->reals = obstack_copy(&set->arena, service->reals,
	                              service->real_count * sizeof(*service->reals));
	for (size_t i = 0; i < service->real_count; i++) {
		struct origin *origin = &service->reals[i].origin;

		/* one block is one file: its name is copied once */
		if (origin->file && service->origin.file &&
		    !strcmp(origin->file, service->origin.file))
			origin->file = service->origin.file;
		else
			origin->file = service_set_string(set, origin->file);
	}
}

int service_set_add(struct service_set *set, const struct service *service)
{
	struct index_key key = index_key(&service->key, service->family, service->fwmark);
	struct entry *entry;
	int r;

	if (set->count >= SERVICES_MAX || service->real_count > REALS_MAX)
		return -E2BIG;
	if (find(set, &key))
		return -EEXIST;
	r = make_room(set);
	if (r < 0)
		return r;
	entry = obstack_alloc(&set->arena, sizeof(*entry));
	memset(entry, 0, sizeof(*entry));
	entry->service = *service;
	entry->key = key;
	adopt(set, &entry->service);
	HASH_ADD(hh, set->index, key, sizeof(entry->key), entry);
	set->order[set->count++] = entry;
	return 0;
}

size_t service_set_count(const struct service_set *set)
{
	return set->count;
}

struct service *service_set_get(const struct service_set *set, size_t index)
{
	return index < set->count ? &set->order[index]->service : NULL;
}

struct service *service_set_find(const struct service_set *set, const struct xlb_service_key *key)
{
	struct index_key index = index_key(key, 0, 0);

	return find(set, &index);
}

struct service *service_set_find_fwmark(const struct service_set *set, int family, uint32_t fwmark)
{
	struct index_key index;

	if (!fwmark) /* such a service has a key, and no key was given */
		return NULL;
	index = index_key(NULL, family, fwmark);
	return find(set, &index);
}

const char *service_set_string(struct service_set *set, const char *text)
{
	return text ? obstack_copy0(&set->arena, text, strlen(text)) : NULL;
}

const char *service_set_printf(struct service_set *set, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	obstack_vprintf(&set->arena, format, arguments);
	va_end(arguments);
	obstack_1grow(&set->arena, 0);
	return obstack_finish(&set->arena);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_real(const struct real_server *a, const struct real_server *b)
{
	return addr_equal(&a->addr, &b->addr) && a->port == b->port &&
	       a->forwarding == b->forwarding && a->tunnel_type == b->tunnel_type &&
	       a->tunnel_port == b->tunnel_port && a->tunnel_flags == b->tunnel_flags &&
	       a->weight == b->weight && a->last_weight == b->last_weight &&
	       a->upper_threshold == b->upper_threshold &&
	       a->lower_threshold == b->lower_threshold && a->sorry == b->sorry;
}

bool service_equal(const struct service *a, const struct service *b)
{
	if (memcmp(&a->key, &b->key, sizeof(a->key)) || a->fwmark != b->fwmark ||
	    a->family != b->family || strcmp(a->scheduler, b->scheduler) || a->flags != b->flags ||
	    a->timeout != b->timeout || a->netmask != b->netmask || strcmp(a->engine, b->engine))
		return false;
	if (a->declared != b->declared || a->standby != b->standby || a->in_force != b->in_force ||
	    a->side != b->side || !same_text(a->reason, b->reason) ||
	    !same_text(a->name, b->name) || !same_text(a->instance, b->instance) ||
	    a->real_count != b->real_count)
		return false;
	for (size_t i = 0; i < a->real_count; i++)
		if (!same_real(&a->reals[i], &b->reals[i]))
			return false;
	return true;
}

bool service_set_equal(const struct service_set *a, const struct service_set *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct service *other = find(b, &a->order[i]->key);

		if (!other || !service_equal(&a->order[i]->service, other))
			return false;
	}
	return true;
}

static const char *refusal_of_tunnel(const struct real_server *real)
{
	if (real->tunnel_type > XLB_TUNNEL_GRE)
		return "a tunnel of an unknown type";
	if (real->tunnel_flags & IP_VS_TUNNEL_ENCAP_FLAG_REMCSUM)
		return "a tunnel with remote checksums (remcsum)";
	return real->tunnel_flags ? "a tunnel with checksums (csum)" : NULL;
}

bool real_is_offered(const struct real_server *real, const char **ret_why)
{
	const char *why;

	switch (real->forwarding) {
	case XLB_FORWARD_DIRECT:
	case XLB_FORWARD_NAT:
		why = NULL;
		break;
	case XLB_FORWARD_TUNNEL:
		why = refusal_of_tunnel(real);
		break;
	case XLB_FORWARD_LOCAL:
		why = "local delivery";
		break;
	default:
		why = "an unknown method";
	}
	if (why && ret_why)
		*ret_why = why;
	return !why;
}

struct xlb_service_key service_key(const struct xlb_addr *addr, uint16_t port, uint8_t protocol)
{
	return (struct xlb_service_key){.addr = *addr, .port = htons(port), .protocol = protocol};
}

static bool is_real(const struct real_server *real, const struct xlb_addr *addr, uint16_t port)
{
	return real->port == port && addr_equal(&real->addr, addr);
}

struct real_server *service_real(const struct service *service, const struct xlb_addr *addr,
                                 uint16_t port)
{
	for (size_t i = 0; i < service->real_count; i++) {
		struct real_server *real = &service->reals[i];

		if (is_real(real, addr, port))
			return real;
	}
	return NULL;
}

struct real_server *service_real_near(const struct service *service, const struct xlb_addr *addr,
                                      uint16_t port, size_t *hint)
{
	/* of hint 0, with nothing found before: the last one */
	const size_t count = service->real_count;
	const size_t places[] = {*hint, *hint ? *hint - 2 : count - 1};
	struct real_server *real = NULL;

	for (size_t i = 0; i < 2 && !real; i++)
		if (places[i] < count && is_real(&service->reals[places[i]], addr, port))
			real = &service->reals[places[i]];
	if (!real)
		real = service_real(service, addr, port);
	if (real)
		*hint = real - service->reals + 1;
	return real;
}

const char *service_print(const struct service *service, char buffer[64])
{
	_Static_assert(ENDPOINT_TEXT <= 64, "service.h promises 64 bytes");
	if (service->fwmark)
		snprintf(buffer, 64, "fwmark %u", service->fwmark);
	else
		endpoint_print(&service->key.addr, ntohs(service->key.port), service->key.protocol,
		               buffer);
	return buffer;
}
