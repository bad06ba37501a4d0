// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * firewall_legacy.c - looks whether iptables-legacy's tables say anything.
 *
 * The old interface hands out whole tables as the kernel keeps them, through getsockopt() on any socket (iptables itself uses
 * a raw one, which wants CAP_NET_RAW). Reading their rules is not worth it any more: what runs iptables today runs it on nf_tables. But
 * a table that was merely loaded (`iptables-legacy -L` does that) must not be a reason. So each table named in /proc is fetched
 * and counts as empty if it has nothing but its built-in chains and these accept; anything else is a reason with the table's name.
 *
 * Only tables that are loaded are asked for: the question would load them. IPv6 has the same layout with other sizes, hence the table
 * of the two families. firewall.c calls this for each reading and, since there is no generation number, for each
 * question whether something changed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/cleanup.h"
#include "xlbd/firewall_legacy.h"

/* ipt_getinfo and ip6t_getinfo, ipt_get_entries and ip6t_get_entries are the same but for the entries themselves. */
_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one code for both");
_Static_assert(offsetof(struct ipt_get_entries, entrytable) ==
                       offsetof(struct ip6t_get_entries, entrytable),
               "one code for both");

static const struct layout {
	int family, level, info, entries;
	const char *names, *command;
	size_t entry_size, target_offset, next_offset; /* of an entry and two of its fields */
} layouts[] = {
	{AF_INET, IPPROTO_IP, IPT_SO_GET_INFO, IPT_SO_GET_ENTRIES,
         "/proc/thread-self/net/ip_tables_names", "iptables-legacy", sizeof(struct ipt_entry),
         offsetof(struct ipt_entry, target_offset), offsetof(struct ipt_entry, next_offset)},
	{AF_INET6, IPPROTO_IPV6, IP6T_SO_GET_INFO, IP6T_SO_GET_ENTRIES,
         "/proc/thread-self/net/ip6_tables_names", "ip6tables-legacy", sizeof(struct ip6t_entry),
         offsetof(struct ip6t_entry, target_offset), offsetof(struct ip6t_entry, next_offset)},
};

static int fetch(const struct layout *layout, int fd, const char *name, struct ipt_getinfo *info,
                 struct ipt_get_entries **ret)
{
	_cleanup_free_ struct ipt_get_entries *entries = NULL;
	socklen_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%s", name);
	if (getsockopt(fd, layout->level, layout->info, info, &length) < 0)
		return -errno;
	length = (socklen_t)(sizeof(*entries) + info->size);
	entries = calloc(1, length);
	if (!entries)
		return -ENOMEM;
	snprintf(entries->name, sizeof(entries->name), "%s", name);
	entries->size = info->size;
	if (getsockopt(fd, layout->level, layout->entries, entries, &length) < 0)
		return -errno;
	*ret = take_ptr(entries);
	return 0;
}

static uint16_t u16_at(const unsigned char *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Whether the entry that stands for a built-in chain's end accepts. */
static bool policy_accepts(const struct layout *layout, const unsigned char *table, size_t size,
                           size_t offset)
{
	struct xt_standard_target target;
	size_t at;

	if (offset > size || size - offset < layout->entry_size)
		return false;
	at = offset + u16_at(table + offset + layout->target_offset);
	if (at > size || size - at < sizeof(target))
		return false;
	memcpy(&target, table + at, sizeof(target));
	return target.target.u.user.name[0] == '\0' && target.verdict == -NF_ACCEPT - 1;
}

/* Nothing but the ends of the built-in chains, accepting, and the error entry behind them. */
static bool is_plain(const struct layout *layout, const struct ipt_getinfo *info,
                     const struct ipt_get_entries *entries)
{
	unsigned chains = 0;

	for (unsigned hook = 0; hook < NF_INET_NUMHOOKS; hook++) {
		if (!(info->valid_hooks & 1u << hook))
			continue;
		chains++;
		if (!policy_accepts(layout, (const unsigned char *)entries->entrytable, info->size,
		                    info->underflow[hook]))
			return false;
	}
	return info->num_entries == chains + 1;
}

/* 1: the table says something, 0: it does not. */
static int look_at(const struct layout *layout, int fd, const char *name, uint64_t *digest)
{
	_cleanup_free_ struct ipt_get_entries *entries = NULL;
	struct ipt_getinfo info;
	int result = fetch(layout, fd, name, &info, &entries);

	if (result == -EAGAIN) /* changed between the two questions: it is in use */
		return 1;
	if (result < 0)
		return result;
	result = !is_plain(layout, &info, entries);
	*digest = *digest * 1000003 + info.num_entries * 2 + (uint64_t)result;
	return result;
}

static const struct layout *layout_of(int family)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].family == family)
			return &layouts[i];
	return NULL;
}

int firewall_legacy_look(int family, char *sentence, size_t room, uint64_t *digest)
{
	const struct layout *layout = layout_of(family);
	_cleanup_fclose_ FILE *names = layout ? fopen(layout->names, "re") : NULL;
	_cleanup_close_ int fd = -1;
	char name[XT_TABLE_MAXNAMELEN];
	int found = 0;

	if (!names)
		return errno == ENOENT ? 0 : -errno;
	while (!found && fgets(name, sizeof(name), names)) {
		name[strcspn(name, "\n")] = '\0';
		if (fd < 0)
			fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		found = look_at(layout, fd, name, digest);
		if (found)
			snprintf(sentence, room,
			         "firewall: %s has rules in table %s: not understood",
			         layout->command, name);
	}
	return found;
}
