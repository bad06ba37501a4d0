// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vrrp.c - vrrp_instance and vrrp_sync_group: which addresses VRRP moves, and on which device they appear.
 *
 * Handlers for keywords.c fill drafts; declare_instances(), called once when the file is through, settles what depends on
 * keywords that may follow: the device of each address (its `dev`, the instance's interface, or a VMAC), names of
 * VMACs that the file leaves to keepalived, priorities, membership in sync groups. role.c decides from the result
 * whether this director owns an address. Interfaces are not looked at: whether they exist is the network's matter.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/values.h"
#include "xlbd/model/addr.h"

static const char *to_arena(struct reader *reader, const char *text)
{
	return obstack_copy0(reader->arena, text, strlen(text));
}

static bool has_one_name(struct reader *reader, const struct statement *statement, const char *what)
{
	if (statement->count == 2)
		return true;
	complain_word(reader, COMPLAINT_ERROR, statement, statement->count > 1 ? 2 : 0,
	              "quote a name with blanks", "%s needs one name, skipping it", what);
	return false;
}

bool instance_open(struct reader *reader, const struct statement *statement)
{
	struct draft_instance *draft;

	if (!has_one_name(reader, statement, "vrrp_instance"))
		return false;
	for (draft = reader->instances; draft; draft = draft->next) {
		if (strcmp(draft->name, statement->words[1].text))
			continue;
		complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
		              "vrrp_instance '%s' is there already, skipping this one",
		              draft->name);
		return false;
	}
	draft = obstack_alloc(&reader->scratch, sizeof(*draft));
	*draft = (struct draft_instance){
		.name = keep(reader, statement->words[1].text),
		.family = AF_UNSPEC,
		.mark = mark_of(statement, 1),
	};
	draft->last_address = &draft->addresses;
	*reader->last_instance = draft;
	reader->last_instance = &draft->next;
	reader->instance = draft;
	return true;
}

void instance_close(struct reader *reader)
{
	const struct draft_instance *draft = take_ptr(reader->instance);

	if (!draft->virtual_router_id)
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, "keepalived ends here",
		              "vrrp_instance '%s' has no virtual_router_id", draft->name);
	if (!draft->interface[0] && !draft->is_unicast)
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, "keepalived ends here",
		              "vrrp_instance '%s' has no interface", draft->name);
	if (!draft->addresses)
		complain_mark(reader, COMPLAINT_ERROR, &draft->mark, NULL,
		              "vrrp_instance '%s' has no virtual_ipaddress", draft->name);
}

static bool copy_device(struct reader *reader, const struct statement *statement, size_t index,
                        char device[IFNAMSIZ])
{
	const char *name = statement->words[index].text;

	if (!*name || strlen(name) >= IFNAMSIZ || strchr(name, '/')) {
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "'%s' is not the name of an interface, ignoring", name);
		return false;
	}
	memcpy(device, name, strlen(name) + 1);
	return true;
}

void take_interface(struct reader *reader, const struct statement *statement)
{
	if (!strcmp(statement->words[1].text, "lo"))
		complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
		              "keepalived does not do VRRP on a loopback interface");
	(void)copy_device(reader, statement, 1, reader->instance->interface);
}

void take_state(struct reader *reader, const struct statement *statement)
{
	const char *state = statement->words[1].text;
	struct draft_instance *draft = reader->instance;

	if (!strcmp(state, "MASTER"))
		draft->is_master = true;
	else if (strcmp(state, "BACKUP"))
		complain_word(reader, COMPLAINT_ERROR, statement, 1, "MASTER or BACKUP",
		              "unknown state '%s', taking BACKUP", state);
	else if (draft->is_master)
		complain_word(reader, COMPLAINT_ERROR, statement, 1, NULL,
		              "state was MASTER before, ignoring");
}

void take_router_id(struct reader *reader, const struct statement *statement)
{
	uint32_t id;

	if (value_number(reader, statement, 1, 1, 255, STRICT, "ignoring", &id))
		reader->instance->virtual_router_id = (uint8_t)id;
}

void take_priority(struct reader *reader, const struct statement *statement)
{
	uint32_t priority = DRAFT_PRIORITY;

	(void)value_number(reader, statement, 1, 1, 255, STRICT, "taking 100", &priority);
	reader->instance->priority = (uint8_t)priority;
}

/* use_vmac [name] [MAC] */
void take_vmac(struct reader *reader, const struct statement *statement)
{
	struct draft_instance *draft = reader->instance;

	draft->use_vmac = true;
	for (size_t i = 1; i < statement->count && i <= 2; i++) {
		const char *name = statement->words[i].text;
		bool taken = false;

		if (strchr(name, ':'))
			continue; /* the MAC: what the interface has, the network says */
		for (const struct draft_instance *other = reader->instances; other;
		     other = other->next)
			taken |= !strcmp(other->vmac, name);
		if (taken || draft->vmac[0])
			complain_word(reader, COMPLAINT_ERROR, statement, i, NULL,
			              "name of the VMAC is taken or given before, ignoring");
		else
			(void)copy_device(reader, statement, i, draft->vmac);
	}
}

void take_vmac_addr(struct reader *reader, const struct statement *statement)
{
	(void)statement;
	reader->instance->use_vmac_addr = true;
}

void take_native_ipv6(struct reader *reader, const struct statement *statement)
{
	(void)statement;
	reader->instance->family = AF_INET6;
}

void take_unicast_peer(struct reader *reader, const struct statement *statement)
{
	(void)statement;
	reader->instance->is_unicast = true;
}

void take_instance_sync_daemon(struct reader *reader, const struct statement *statement)
{
	complain_word(reader, COMPLAINT_ERROR, statement, 0, "lvs_sync_daemon in global_defs",
	              "keepalived calls this keyword deprecated");
	if (reader->config->lvs_sync_daemon)
		return;
	reader->config->lvs_sync_daemon = true;
	reader->sync_daemon = mark_of(statement, 0);
}

/* ---- addresses -------------------------------------------------------------------------------- */

/* What may stand behind an address; each with or without a word of its own. */
static const struct {
	const char *name;
	bool has_value;
} address_options[] = {
	{"dev", true},       {"scope", true},       {"broadcast", true},      {"brd", true},
	{"label", true},     {"peer", true},        {"preferred_lft", true},  {"home", false},
	{"-nodad", false},   {"mngtmpaddr", false}, {"noprefixroute", false}, {"autojoin", false},
	{"no_track", false}, {"use_vmac", false},
};

/* False: the address is skipped. */
static bool take_option(struct reader *reader, const struct statement *statement, size_t index,
                        struct draft_address *draft)
{
	const char *name = statement->words[index].text;
	const char *value = index + 1 < statement->count ? statement->words[index + 1].text : "";
	struct declared_address *address = &draft->address;
	struct xlb_addr peer;
	uint8_t prefix;

	if (!strcmp(name, "use_vmac"))
		draft->vmac = true;
	if (!strcmp(name, "dev") && address->device[0]) {
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "second device, skipping the address");
		return false;
	}
	if (!strcmp(name, "dev"))
		return copy_device(reader, statement, index + 1, address->device);
	if (!strcmp(name, "label") && strlen(value) >= IFNAMSIZ) {
		complain_word(reader, COMPLAINT_ERROR, statement, index + 1, NULL,
		              "label is longer than %d characters, skipping the address",
		              IFNAMSIZ - 1);
		return false;
	}
	if ((!strcmp(name, "brd") || !strcmp(name, "broadcast")) && !addr_is_ipv4(&address->addr)) {
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "IPv6 has no broadcast, skipping the address");
		return false;
	}
	if (!strcmp(name, "peer") && value_prefix(reader, statement, index + 1, &peer, &prefix))
		address->prefix = prefix;
	return true;
}

static bool take_options(struct reader *reader, const struct statement *statement,
                         struct draft_address *draft)
{
	for (size_t i = 1; i < statement->count; i++) {
		const char *name = statement->words[i].text;
		size_t known = 0;

		while (known < ARRAY_SIZE(address_options) &&
		       strcmp(address_options[known].name, name))
			known++;
		if (known == ARRAY_SIZE(address_options)) {
			complain_word(reader, COMPLAINT_ERROR, statement, i, NULL,
			              "unknown word '%s' behind an address, ignoring", name);
			continue;
		}
		if (address_options[known].has_value && i + 1 == statement->count) {
			complain_word(reader, COMPLAINT_ERROR, statement, i, NULL,
			              "'%s' lacks its value, skipping the address", name);
			return false;
		}
		if (!take_option(reader, statement, i, draft))
			return false;
		i += address_options[known].has_value;
	}
	return true;
}

static void add_address(struct reader *reader, const struct statement *statement, bool excluded)
{
	struct draft_instance *instance = reader->instance;
	struct draft_address *draft = obstack_alloc(&reader->scratch, sizeof(*draft));
	struct declared_address *address = &draft->address;
	int family;

	*draft = (struct draft_address){
		.address.excluded = excluded,
		.address.origin = {statement->place.file, statement->place.line},
	};
	if (!value_prefix(reader, statement, 0, &address->addr, &address->prefix)) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'%s' is not an address, skipping it", statement->words[0].text);
		return;
	}
	if (!take_options(reader, statement, draft))
		return;
	family = addr_family(&address->addr);
	if (!excluded && instance->family == AF_UNSPEC)
		instance->family = family;
	if (!excluded && instance->family != family) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0,
		              "put it into virtual_ipaddress_excluded",
		              "address is of another family than the first one, skipping it");
		return;
	}
	*instance->last_address = draft;
	instance->last_address = &draft->next;
	instance->address_count++;
}

void address_entry(struct reader *reader, const struct statement *statement)
{
	add_address(reader, statement, false);
}

void address_excluded_entry(struct reader *reader, const struct statement *statement)
{
	add_address(reader, statement, true);
}

/* ---- sync groups ------------------------------------------------------------------------------ */

bool sync_group_open(struct reader *reader, const struct statement *statement)
{
	if (!has_one_name(reader, statement, "vrrp_sync_group"))
		return false;
	reader->sync_group = keep(reader, statement->words[1].text);
	return true;
}

/* One or more names a line. */
void sync_group_entry(struct reader *reader, const struct statement *statement)
{
	for (size_t i = 0; i < statement->count; i++) {
		struct draft_member *member = obstack_alloc(&reader->scratch, sizeof(*member));

		*member = (struct draft_member){
			.group = reader->sync_group,
			.instance = keep(reader, statement->words[i].text),
			.mark = mark_of(statement, i),
		};
		*reader->last_member = member;
		reader->last_member = &member->next;
	}
}

static void join_groups(struct reader *reader)
{
	for (const struct draft_member *member = reader->members; member; member = member->next) {
		struct draft_instance *draft = reader->instances;

		while (draft && strcmp(draft->name, member->instance))
			draft = draft->next;
		if (!draft)
			complain_mark(reader, COMPLAINT_WARNING, &member->mark, NULL,
			              "vrrp_sync_group '%s' names '%s', which is no vrrp_instance",
			              member->group, member->instance);
		else if (draft->sync_group)
			complain_mark(reader, COMPLAINT_WARNING, &member->mark, NULL,
			              "vrrp_instance '%s' is in sync group '%s' already",
			              member->instance, draft->sync_group);
		else
			draft->sync_group = member->group;
	}
}

/* ---- devices ---------------------------------------------------------------------------------- */

static bool name_is_used(const struct reader *reader, const char *name)
{
	for (const struct draft_instance *draft = reader->instances; draft; draft = draft->next)
		if (!strcmp(draft->vmac, name))
			return true;
	for (const struct draft_vmac *vmac = reader->vmacs; vmac; vmac = vmac->next)
		if (!strcmp(vmac->name, name))
			return true;
	return false;
}

/*
 * The VMAC on `base`, if need be with a name that keepalived makes up: PREFIX.VRID; if that is taken PREFIX1.VRID
 * and so on, of which IPv6 tries 6 first.
 */
static const char *find_vmac(struct reader *reader, const char *prefix, const char *base,
                             uint8_t id, int family)
{
	struct draft_vmac *vmac;
	char name[64];

	for (vmac = reader->vmacs; vmac; vmac = vmac->next)
		if (vmac->family == family && vmac->virtual_router_id == id &&
		    !strcmp(vmac->base, base))
			return vmac->name;
	snprintf(name, IFNAMSIZ, "%s.%u", prefix, id);
	if (family == AF_INET6 && name_is_used(reader, name))
		snprintf(name, IFNAMSIZ, "%s6.%u", prefix, id);
	for (unsigned number = 1; name_is_used(reader, name) && number < 256; number++)
		snprintf(name, IFNAMSIZ, "%s%u.%u", prefix, number, id);
	vmac = obstack_alloc(&reader->scratch, sizeof(*vmac));
	*vmac = (struct draft_vmac){
		.family = family,
		.virtual_router_id = id,
		.next = reader->vmacs,
	};
	memcpy(vmac->base, base, strlen(base) + 1);
	memcpy(vmac->name, name, strlen(name) + 1);
	reader->vmacs = vmac;
	return vmac->name;
}

static void settle_device(struct reader *reader, const struct draft_instance *draft,
                          struct draft_address *address)
{
	char *device = address->address.device;
	const char *prefix = reader->vmac_addr_prefix ? reader->vmac_addr_prefix
	                     : reader->vmac_prefix    ? reader->vmac_prefix
	                                              : "vrrp";
	bool own = !*device || !strcmp(device, draft->interface);
	bool same_family = addr_family(&address->address.addr) == draft->family;

	if (own && draft->use_vmac && same_family) {
		memcpy(device, draft->vmac, IFNAMSIZ);
		return;
	}
	if (own && draft->interface[0])
		memcpy(device, draft->interface, IFNAMSIZ);
	else if (!*device && reader->default_interface)
		memcpy(device, reader->default_interface, strlen(reader->default_interface) + 1);
	if (address->vmac || (draft->use_vmac_addr && !(own && same_family)))
		strcpy(device, find_vmac(reader, prefix, device, draft->virtual_router_id,
		                         addr_family(&address->address.addr)));
}

static void settle(struct reader *reader, struct draft_instance *draft)
{
	if (draft->family == AF_UNSPEC)
		draft->family = AF_INET;
	if (!draft->priority)
		draft->priority = draft->is_master ? DRAFT_PRIORITY_OWNER : DRAFT_PRIORITY;
	if (draft->use_vmac && !draft->vmac[0])
		strcpy(draft->vmac,
		       find_vmac(reader, reader->vmac_prefix ? reader->vmac_prefix : "vrrp",
		                 draft->interface, draft->virtual_router_id, draft->family));
	for (struct draft_address *address = draft->addresses; address; address = address->next)
		settle_device(reader, draft, address);
}

static void declare(struct reader *reader, const struct draft_instance *draft,
                    struct vrrp_instance *instance)
{
	size_t i = 0;

	*instance = (struct vrrp_instance){
		.name = to_arena(reader, draft->name),
		.virtual_router_id = draft->virtual_router_id,
		.priority = draft->priority,
		.sync_group = draft->sync_group ? to_arena(reader, draft->sync_group) : NULL,
		.address_count = draft->address_count,
		.origin = {draft->mark.place.file, draft->mark.place.line},
	};
	memcpy(instance->interface, draft->interface, sizeof(instance->interface));
	memcpy(instance->vmac, draft->vmac, sizeof(instance->vmac));
	instance->addresses =
		obstack_alloc(reader->arena, draft->address_count * sizeof(*instance->addresses));
	for (const struct draft_address *address = draft->addresses; address;
	     address = address->next)
		instance->addresses[i++] = address->address;
}

void declare_instances(struct reader *reader)
{
	struct keepalived_config *config = reader->config;
	size_t i = 0;

	join_groups(reader);
	for (struct draft_instance *draft = reader->instances; draft; draft = draft->next) {
		settle(reader, draft);
		config->instance_count++;
	}
	config->instances =
		obstack_alloc(reader->arena, config->instance_count * sizeof(*config->instances));
	for (const struct draft_instance *draft = reader->instances; draft; draft = draft->next)
		declare(reader, draft, &config->instances[i++]);
}
