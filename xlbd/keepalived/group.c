// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * group.c - virtual_server_group: addresses, ranges, masks and fwmarks that one virtual_server stands for.
 *
 * Handlers for keywords.c. An entry is kept as its first address and the number of addresses; declare.c makes a
 * service of each. A range is understood as keepalived understands it, with one exception that is marked: keepalived's
 * loop only ever counts the last octet (of IPv6 the last 16 bits) and never meets an end that lies beyond it. Such a
 * range is declared up to that border, with a warning, and whoever uses the group is doubtful.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/values.h"
#include "xlbd/model/addr.h"

#define CROSSING_MAX 256 /* addresses declared of a range that keepalived cannot count */

bool group_open(struct reader *reader, const struct statement *statement)
{
	struct draft_group *group = obstack_alloc(&reader->scratch, sizeof(*group));

	*group = (struct draft_group){
		.name = keep(reader, statement->words[1].text),
		.doubt = statement->doubt,
		.mark = mark_of(statement, 1),
	};
	group->last_entry = &group->entries;
	*reader->last_group = group;
	reader->last_group = &group->next;
	reader->group = group;
	return true;
}

void group_close(struct reader *reader)
{
	struct draft_group *group = take_ptr(reader->group);

	group->removed = true;
	if (!group->entries)
		complain_mark(reader, COMPLAINT_ERROR, &group->mark, NULL,
		              "group '%s' has no usable entry, ignoring it", group->name);
	else if (group->has_ipv4 && group->has_ipv6 && group->has_fwmark_without_family)
		complain_mark(reader, COMPLAINT_ERROR, &group->mark,
		              "write 'inet' or 'inet6' behind the fwmarks",
		              "group '%s' has both families and a fwmark of neither, ignoring it",
		              group->name);
	else
		group->removed = false;
}

static void add_entry(struct draft_group *group, struct draft_entry *entry)
{
	*group->last_entry = entry;
	group->last_entry = &entry->next;
	if (entry->is_fwmark)
		group->fwmarks++;
	else
		group->addresses++;
	group->has_ipv4 |= entry->family == AF_INET;
	group->has_ipv6 |= entry->family == AF_INET6;
	group->has_fwmark_without_family |= entry->family == AF_UNSPEC;
}

static bool parse_fwmark(struct reader *reader, const struct statement *statement,
                         struct draft_entry *entry)
{
	const char *family = statement->count > 2 ? statement->words[2].text : NULL;

	entry->is_fwmark = true;
	entry->family = AF_UNSPEC;
	if (statement->count < 2) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, "keepalived ends here",
		              "'fwmark' lacks its number");
		doubt(reader, "keepalived does not read on where a parameter is missing");
		return false;
	}
	if (!value_number(reader, statement, 1, 0, UINT32_MAX, TOLERANT, "ignoring",
	                  &entry->fwmark))
		return false;
	if (!family)
		return true;
	entry->family = !strcmp(family, "inet")    ? AF_INET
	                : !strcmp(family, "inet6") ? AF_INET6
	                                           : AF_UNSPEC;
	if (entry->family == AF_UNSPEC)
		complain_word(reader, COMPLAINT_ERROR, statement, 2, "inet or inet6",
		              "unknown address family '%s', ignoring the entry", family);
	return entry->family != AF_UNSPEC;
}

static bool refuse(struct reader *reader, const struct statement *statement, const char *why)
{
	complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL, "%s, skipping the entry", why);
	return false;
}

/* a.b.c.d/29: all addresses of it; whatever the mask leaves must be 0. */
static bool parse_mask(struct reader *reader, const struct statement *statement, const char *text,
                       struct draft_entry *entry, struct xlb_addr *last)
{
	unsigned bits = entry->family == AF_INET ? 32 : 128, first_bit;
	char *end;
	unsigned long mask;

	errno = 0;
	mask = strtoul(text, &end, 10);
	if (*end || errno || *text == '-' || !mask || mask > bits)
		return refuse(reader, statement, "no such mask");
	first_bit = (unsigned)mask + 128 - bits;
	for (unsigned bit = first_bit; bit < 128; bit++) {
		uint8_t value = (uint8_t)(0x80 >> bit % 8);

		if (entry->addr.byte[bit / 8] & value)
			return refuse(reader, statement, "address has bits behind its mask");
		last->byte[bit / 8] |= value;
	}
	return true;
}

/* a.b.c.d-9 (decimal), a:b-ff (hex), or a whole address at the end. */
static bool parse_range(struct reader *reader, const struct statement *statement, const char *text,
                        struct draft_entry *entry, struct xlb_addr *last)
{
	bool ipv4 = entry->family == AF_INET;
	char *end;
	unsigned long value;

	if (strchr(text, ipv4 ? '.' : ':')) {
		char address[64];
		size_t length = strcspn(text, "-/");

		if (length >= sizeof(address))
			return refuse(reader, statement, "end of the range is not an address");
		memcpy(address, text, length);
		address[length] = '\0';
		if (!addr_parse(address, last) || (strchr(address, ':') != NULL) == ipv4)
			return refuse(reader, statement, "end of the range is not an address");
		if (addr_compare(&entry->addr, last) > 0)
			return refuse(reader, statement, "range ends before it begins");
		return true;
	}
	errno = 0;
	value = strtoul(text, &end, ipv4 ? 10 : 16);
	if (errno || *text == '-' || value > (ipv4 ? 0xff : 0xffff))
		return refuse(reader, statement, "end of the range is too large");
	if (*end)
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'%s' follows the range; keepalived ignores it when it runs", end);
	if (!ipv4)
		last->byte[14] = (uint8_t)(value >> 8);
	last->byte[15] = (uint8_t)value;
	if (addr_compare(&entry->addr, last) >= 0)
		return refuse(reader, statement, "range ends before it begins");
	return true;
}

/* How many addresses, and whether keepalived's loop meets the end. */
static void count_addresses(struct draft_entry *entry, const struct xlb_addr *last)
{
	size_t counted = entry->family == AF_INET ? 1 : 2; /* bytes that the loop counts */
	uint32_t first_value = 0, last_value = 0;

	for (size_t i = 16 - counted; i < 16; i++) {
		first_value = first_value << 8 | entry->addr.byte[i];
		last_value = last_value << 8 | last->byte[i];
	}
	entry->crosses = memcmp(entry->addr.byte, last->byte, 16 - counted) != 0;
	if (entry->crosses)
		last_value = counted == 1 ? 0xff : 0xffff;
	entry->count = last_value - first_value + 1;
	if (entry->crosses && entry->count > CROSSING_MAX)
		entry->count = CROSSING_MAX;
}

static bool parse_address(struct reader *reader, const struct statement *statement,
                          struct draft_entry *entry)
{
	const char *text = statement->words[0].text;
	const char *mask = strchr(text, '/'), *range = strchr(text, '-');
	const char *port = statement->count > 1 ? statement->words[1].text : "";
	size_t length = strcspn(text, range ? "-" : "/");
	struct xlb_addr last;
	uint32_t number = 0;
	char address[64];

	if (length < sizeof(address)) {
		memcpy(address, text, length);
		address[length] = '\0';
	}
	if (length >= sizeof(address) || !addr_parse(address, &entry->addr))
		return refuse(reader, statement, "not an address");
	entry->family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (port[strspn(port, "0")] &&
	    !value_number(reader, statement, 1, 1, 65535, TOLERANT, "skipping the entry", &number))
		return false;
	entry->port = (uint16_t)number;
	last = entry->addr;
	if (mask && !parse_mask(reader, statement, mask + 1, entry, &last))
		return false;
	if (!mask && range && !parse_range(reader, statement, range + 1, entry, &last))
		return false;
	count_addresses(entry, &last);
	return true;
}

void group_entry(struct reader *reader, const struct statement *statement)
{
	struct draft_entry *entry = obstack_alloc(&reader->scratch, sizeof(*entry));
	bool fwmark = !strcmp(statement->words[0].text, "fwmark");

	*entry = (struct draft_entry){.mark = mark_of(statement, 0)};
	if (fwmark ? !parse_fwmark(reader, statement, entry)
	           : !parse_address(reader, statement, entry))
		return;
	if (entry->crosses) {
		complain_word(reader, COMPLAINT_WARNING, statement, 0,
		              entry->family == AF_INET ? "one entry for each /24"
		                                       : "one entry for each /112",
		              "keepalived cannot count over the end of %s and never comes back",
		              entry->family == AF_INET ? "a /24" : "a /112");
		doubt(reader, "its group has a range that keepalived cannot count to the end");
	}
	add_entry(reader->group, entry);
}
