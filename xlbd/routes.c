// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * routes.c - asks the kernel for routes, destination by destination.
 *
 * A routing table may hold a million routes, policy rules stand in front of it, and next hops may be objects of their own: only
 * the kernel knows how it all plays together. So nothing here reads tables; RTM_GETROUTE is asked as `ip route get` does.
 * neighbours.c asks for real servers; the choice of interfaces and the look at rp_filter want to know the default route.
 *
 * The default route cannot be asked for by name: 0.0.0.0 as a destination means this host. So a few addresses that nobody routes
 * in particular are asked with RTM_F_FIB_MATCH, which tells the matched route's own prefix; the first whose prefix
 * length is 0 is it.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/model/addr.h"
#include "xlbd/routes.h"

struct asked {
	const struct xlb_addr *addrs;
	struct route_info *answers;
	bool match;
};

/* Documentation prefixes (RFC 5737, RFC 3849, RFC 9637) and class E. */
static const struct {
	int family;
	const char *address;
} nowhere[] = {
	{AF_INET, "198.51.100.1"}, {AF_INET, "203.0.113.1"},  {AF_INET, "192.0.2.1"},
	{AF_INET, "240.0.0.1"},    {AF_INET6, "2001:db8::1"}, {AF_INET6, "3fff::1"},
	{AF_INET6, "2001:2::1"},
};

static void put(void *context, size_t index, char *buffer)
{
	const struct asked *asked = context;

	netmessage_ask_route(buffer, &asked->addrs[index], asked->match);
}

static void answer(void *context, size_t index, const struct nlmsghdr *message, int error)
{
	struct asked *asked = context;
	struct route_info *route = &asked->answers[index];

	if (message && netmessage_route(message, route))
		return;
	*route = (struct route_info){.error = error < 0 ? error : -EPROTO};
}

static int ask(struct netsocket *socket, struct asked *asked, size_t count)
{
	const struct netsocket_questions questions = {
		.count = count, .context = asked, .put = put, .answer = answer};

	for (size_t i = 0; i < count; i++)
		asked->answers[i] = (struct route_info){.error = -ETIMEDOUT};
	return netsocket_ask(socket, &questions);
}

int routes_ask(struct netsocket *socket, const struct xlb_addr *addrs, size_t count,
               struct route_info *ret)
{
	struct asked asked = {.addrs = addrs, .answers = ret};

	return ask(socket, &asked, count);
}

int routes_default(struct netsocket *socket, int family, struct route_info *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		struct route_info route = {};
		struct xlb_addr addr;
		struct asked asked = {.addrs = &addr, .answers = &route, .match = true};
		int result;

		if (nowhere[i].family != family || !addr_parse(nowhere[i].address, &addr))
			continue;
		result = ask(socket, &asked, 1);
		if (result < 0)
			return result;
		if (route.error == 0 && route.prefix == 0 && route.ifindex) {
			*ret = route;
			return 0;
		}
	}
	return -ENETUNREACH;
}
