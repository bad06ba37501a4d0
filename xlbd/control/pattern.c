// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pattern.c - one way to name virtual servers, real servers and clients, for all commands that take
 * a filter.
 *
 * Used by show_services.c, show_flows.c and change.c. A pattern is made once for a request and then
 * asked for each candidate, up to millions of connections, so matching is a few comparisons and no
 * parsing.
 */
#include <arpa/inet.h>
#include <string.h>

#include "xlbd/control/pattern.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/service.h"

struct pattern pattern_make(const char *text)
{
	struct pattern pattern = {.text = text};

	if (text)
		pattern.has_addr =
			addr_parse(text, &pattern.addr) ||
			endpoint_parse(text, &pattern.addr, &pattern.port, &pattern.protocol);
	return pattern;
}

bool pattern_matches(const struct pattern *pattern, const struct xlb_addr *addr, uint16_t port,
                     uint8_t protocol)
{
	if (!pattern->text)
		return true;
	return pattern->has_addr && addr_equal(&pattern->addr, addr) &&
	       (!pattern->port || pattern->port == port) &&
	       (!pattern->protocol || !protocol || pattern->protocol == protocol);
}

bool pattern_matches_service(const struct pattern *pattern, const struct service *service)
{
	char printed[64];

	if (!pattern->text)
		return true;
	if (!pattern->has_addr)
		return (service->name && strcmp(service->name, pattern->text) == 0) ||
		       strcmp(service_print(service, printed), pattern->text) == 0;
	return !service->fwmark && pattern_matches(pattern, &service->key.addr,
	                                           ntohs(service->key.port), service->key.protocol);
}
