// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * declare.c - drafts of virtual servers -> the service set that keepalived declares.
 *
 * Called once by reader.c, after declare_instances(). Each valid draft (validate.c) becomes one service, or with a group
 * one for every address and fwmark of it. Real servers stand in the order of the file, the sorry server last; the
 * kernel's list has the newest first, so whoever compares must not go by the order.
 * Two blocks with one key are one service to the kernel: keepalived's second attempt fails unnoticed, its real servers join
 * the first. That is done here too, said, and the service is doubtful.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ip_vs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/keepalived/validate.h"
#include "xlbd/model/addr.h"

#define DECLARED_REALS_MAX (1u << 19) /* of all services together: a group multiplies them */

struct owner_of { /* an address that VRRP moves */
	struct xlb_addr addr;
	const char *instance;
	size_t order;
};

struct declaration { /* what all services of one file share */
	struct reader *reader;
	struct owner_of *owners;
	size_t owner_count, reals;
	struct doubtful *doubtful;
	size_t doubtful_room;
};

static int compare_owners(const void *a, const void *b)
{
	const struct owner_of *first = a, *second = b;
	int order = addr_compare(&first->addr, &second->addr);

	if (order || first->order == second->order)
		return order;
	return first->order < second->order ? -1 : 1;
}

static void list_owners(struct declaration *declaration)
{
	const struct keepalived_config *config = declaration->reader->config;
	struct obstack *scratch = &declaration->reader->scratch;

	for (size_t i = 0; i < config->instance_count; i++) {
		const struct vrrp_instance *instance = &config->instances[i];

		for (size_t j = 0; j < instance->address_count; j++) {
			struct owner_of owner = {
				.addr = instance->addresses[j].addr,
				.instance = instance->name,
				.order = declaration->owner_count++,
			};

			obstack_grow(scratch, &owner, sizeof(owner));
		}
	}
	declaration->owners = obstack_finish(scratch);
	qsort(declaration->owners, declaration->owner_count, sizeof(struct owner_of),
	      compare_owners);
}

/* The first instance that has the address; NULL: none. */
static const char *find_owner(const struct declaration *declaration, const struct xlb_addr *addr)
{
	size_t low = 0, high = declaration->owner_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (addr_compare(&declaration->owners[middle].addr, addr) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < declaration->owner_count && addr_equal(&declaration->owners[low].addr, addr))
		return declaration->owners[low].instance;
	return NULL;
}

static struct real_server make_real(const struct draft_real *draft, uint16_t port, bool sorry)
{
	struct real_server real = {
		.addr = draft->addr,
		.port = draft->method.forwarding == XLB_FORWARD_NAT ? draft->port : port,
		.forwarding = (uint8_t)draft->method.forwarding,
		.weight = (int32_t)draft->weight,
		.last_weight = (int32_t)draft->weight,
		.upper_threshold = draft->upper_threshold,
		.lower_threshold = draft->lower_threshold,
		.sorry = sorry,
		.origin = {draft->mark.place.file, draft->mark.place.line},
	};

	if (draft->method.forwarding == XLB_FORWARD_TUNNEL) {
		real.tunnel_type = draft->method.tunnel_type;
		real.tunnel_port = draft->method.tunnel_port;
		real.tunnel_flags = draft->method.tunnel_flags;
	}
	return real;
}

/* `array` has room. One that is there already stays as it is, as in the kernel. */
static void add_real(struct real_server *array, size_t *count, const struct real_server *real)
{
	const struct service so_far = {.reals = array, .real_count = *count};

	if (!service_real(&so_far, &real->addr, real->port))
		array[(*count)++] = *real;
}

static void make_reals(struct reader *reader, const struct draft_service *draft, uint16_t port,
                       struct service *service)
{
	size_t room = draft->real_count + 1;

	service->reals = obstack_alloc(&reader->scratch, room * sizeof(*service->reals));
	for (const struct draft_real *real = draft->reals; real; real = real->next) {
		struct real_server made = make_real(real, port, false);

		add_real(service->reals, &service->real_count, &made);
	}
	if (draft->sorry) {
		struct real_server made = make_real(draft->sorry, port, true);

		add_real(service->reals, &service->real_count, &made);
	}
}

/* What does not depend on which address of a group it is. */
static struct service make_service(const struct draft_service *draft)
{
	struct service service = {
		.flags = draft->flags | (draft->timeout ? IP_VS_SVC_F_PERSISTENT : 0),
		.timeout = draft->timeout,
		.name = draft->group ? draft->group->name : draft->snmp_name,
		.origin = {draft->mark.place.file, draft->mark.place.line},
		.declared = true,
	};

	strcpy(service.scheduler, draft->scheduler);
	if (draft->timeout)
		strcpy(service.engine, draft->engine);
	return service;
}

static int add_doubt(struct declaration *declaration, const struct service *service,
                     const char *reason)
{
	struct keepalived_config *config = declaration->reader->config;

	if (!reason || service->fwmark)
		return 0; /* fwmarks have no key, and are not for XDP anyway */
	if (config->doubtful_count == declaration->doubtful_room) {
		size_t room = declaration->doubtful_room ? declaration->doubtful_room * 2 : 16;
		struct doubtful *more = reallocarray(declaration->doubtful, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		declaration->doubtful = more;
		declaration->doubtful_room = room;
	}
	declaration->doubtful[config->doubtful_count++] =
		(struct doubtful){.key = service->key, .reason = reason};
	return 0;
}

/* The real servers join those of the service that is there. */
static int merge(struct declaration *declaration, const struct draft_service *draft,
                 struct service *there, const struct service *service)
{
	struct reader *reader = declaration->reader;
	size_t room = there->real_count + service->real_count, count = there->real_count;
	struct real_server *joined = obstack_alloc(reader->arena, room * sizeof(*joined));
	char name[64];

	memcpy(joined, there->reals, there->real_count * sizeof(*joined));
	for (size_t i = 0; i < service->real_count; i++)
		add_real(joined, &count, &service->reals[i]);
	there->reals = joined;
	there->real_count = count;
	complain_mark(
		reader, COMPLAINT_WARNING, &draft->mark, NULL,
		"virtual server %s is there already (%s:%u): keepalived adds the real servers "
		"to it and forgets the rest",
		service_print(service, name), there->origin.file, there->origin.line);
	return add_doubt(declaration, there, "two virtual_server blocks declare it");
}

static int add_service(struct declaration *declaration, const struct draft_service *draft,
                       struct service *service, uint16_t port)
{
	struct reader *reader = declaration->reader;
	struct service_set *services = reader->config->services;
	struct service *there;
	int r;

	make_reals(reader, draft, port, service);
	service->netmask = service->family == AF_INET6 ? 128 : UINT32_MAX;
	if (draft->has_netmask)
		service->netmask = draft->netmask;
	there = service->fwmark
	                ? service_set_find_fwmark(services, service->family, service->fwmark)
	                : service_set_find(services, &service->key);
	declaration->reals += service->real_count;
	if (declaration->reals > DECLARED_REALS_MAX)
		r = -E2BIG;
	else if (there)
		r = merge(declaration, draft, there, service);
	else
		r = service_set_add(services, service);
	obstack_free(&reader->scratch, service->reals);
	service->reals = NULL;
	service->real_count = 0;
	if (r == -E2BIG)
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "more virtual or real servers are declared than xlbd knows to handle "
		              "(%d services, %d real servers of one)",
		              SERVICES_MAX, REALS_MAX);
	if (r < 0 || there)
		return r;
	return add_doubt(declaration, service, draft->doubt);
}

static int add_address(struct declaration *declaration, const struct draft_service *draft,
                       const struct xlb_addr *addr, uint16_t port)
{
	struct service service = make_service(draft);

	service.key = service_key(addr, port, draft->protocol);
	service.family = addr_family(addr);
	service.instance = find_owner(declaration, addr);
	return add_service(declaration, draft, &service, port);
}

static int add_fwmark(struct declaration *declaration, const struct draft_service *draft,
                      uint32_t fwmark, int family, const struct mark *mark)
{
	struct service service = make_service(draft);

	if (!fwmark) {
		complain_mark(declaration->reader, COMPLAINT_WARNING, mark, NULL,
		              "fwmark 0 is every packet without a mark, which IPVS refuses");
		return 0;
	}
	service.fwmark = fwmark;
	service.family = family != AF_UNSPEC          ? family
	                 : draft->family != AF_UNSPEC ? draft->family
	                                              : AF_INET;
	return add_service(declaration, draft, &service, 0);
}

static void next_address(struct xlb_addr *addr)
{
	for (size_t i = 16; i-- > 0;)
		if (++addr->byte[i])
			return;
}

static int add_entry(struct declaration *declaration, const struct draft_service *draft,
                     const struct draft_entry *entry)
{
	struct xlb_addr addr = entry->addr;

	if (entry->is_fwmark)
		return add_fwmark(declaration, draft, entry->fwmark, entry->family, &entry->mark);
	for (uint32_t i = 0; i < entry->count; i++) {
		int r = add_address(declaration, draft, &addr, entry->port);

		if (r < 0)
			return r;
		next_address(&addr);
	}
	return 0;
}

static int add_draft(struct declaration *declaration, const struct draft_service *draft)
{
	if (draft->kind == DRAFT_ADDRESS)
		return add_address(declaration, draft, &draft->addr, draft->port);
	if (draft->kind == DRAFT_FWMARK)
		return add_fwmark(declaration, draft, draft->fwmark, draft->family, &draft->mark);
	for (const struct draft_entry *entry = draft->group->entries; entry; entry = entry->next) {
		int r = add_entry(declaration, draft, entry);

		if (r < 0)
			return r;
	}
	return 0;
}

int declare_services(struct reader *reader)
{
	struct declaration declaration = {.reader = reader};
	struct keepalived_config *config = reader->config;
	int r = 0;

	list_owners(&declaration);
	for (struct draft_service *draft = reader->services; draft && r >= 0; draft = draft->next)
		if (validate_service(reader, draft))
			r = add_draft(&declaration, draft);
	for (const struct draft_group *group = reader->groups; group; group = group->next)
		if (!group->used && !group->removed)
			complain_mark(reader, COMPLAINT_WARNING, &group->mark, NULL,
			              "no virtual_server uses group '%s'", group->name);
	if (config->doubtful_count)
		config->doubtful = obstack_copy(reader->arena, declaration.doubtful,
		                                config->doubtful_count * sizeof(*config->doubtful));
	free(declaration.doubtful);
	return r;
}
