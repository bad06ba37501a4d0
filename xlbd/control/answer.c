// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * answer.c - addresses, names and complaints as JSON values.
 *
 * The show_*.c files and change.c build their answers from these. Names come from keepalived.conf,
 * so they may hold any bytes: JSON wants UTF-8, and an answer must not be lost for a name in
 * another encoding. Knows nothing of the daemon.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/complaint.h"
#include "xlbd/control/answer.h"
#include "xlbd/model/addr.h"

json_t *answer_text(const char *text)
{
	_cleanup_free_ char *plain = NULL;
	json_t *value;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	plain = strdup(text);
	if (!plain)
		return json_null();
	for (char *byte = plain; *byte; byte++)
		if ((unsigned char)*byte >= 0x80)
			*byte = '?';
	return json_string(plain);
}

json_t *answer_printf(const char *format, ...)
{
	char text[600];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return answer_text(text);
}

json_t *answer_addr(const struct xlb_addr *addr)
{
	char text[ADDR_TEXT];

	return json_string(addr_print(addr, text));
}

json_t *answer_endpoint(const struct xlb_addr *addr, uint16_t port, uint8_t protocol)
{
	char text[ENDPOINT_TEXT];

	return json_string(endpoint_print(addr, port, protocol, text));
}

json_t *answer_mac(const uint8_t mac[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
	                    mac[5]);
}

json_t *answer_complaints(const struct complaints *complaints)
{
	static const char *const levels[] = {"error", "warning", "note"};
	const struct complaint *one;
	json_t *list = json_array();

	for (size_t i = 0; complaints && (one = complaints_get(complaints, i)); i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:i, s:i, s:i, s:o, s:o, s:o}", "level",
		                  levels[one->level], "file", answer_text(one->file), "line",
		                  (int)one->line, "column", (int)one->column, "length",
		                  (int)one->length, "text", answer_text(one->text), "hint",
		                  answer_text(one->hint), "source", answer_text(one->source)));
	return list;
}

const char *forwarding_name(uint8_t forwarding)
{
	static const char *const names[] = {
		[XLB_FORWARD_NAT] = "nat",
		[XLB_FORWARD_LOCAL] = "local",
		[XLB_FORWARD_TUNNEL] = "tunnel",
		[XLB_FORWARD_DIRECT] = "direct",
	};

	return forwarding < ARRAY_SIZE(names) ? names[forwarding] : "?";
}
