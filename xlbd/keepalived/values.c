// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * values.c - reads single words of keepalived.conf as keepalived would.
 *
 * keepalived has two ways to read a number: strict ones give up at the first odd character, tolerant ones take what
 * stands before it while the daemon runs, and only `keepalived -t` refuses. Here a complaint is an error whenever
 * -t refuses, and the value is what the running daemon takes. The handlers call this with the statement, so that
 * the caret stands under the word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/keepalived/values.h"
#include "xlbd/model/addr.h"

bool value_number(struct reader *reader, const struct statement *statement, size_t index,
                  uint32_t least, uint32_t most, enum tolerance tolerance, const char *otherwise,
                  uint32_t *ret)
{
	const char *text = statement->words[index].text;
	const char *digits = text + strspn(text, " \t\n\v\f\r");
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(digits, &end, 10);
	if (*digits == '-' || errno || value < least || value > most) {
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "'%s' is not a number from %u to %u, %s", text, least, most,
		              otherwise);
		return false;
	}
	if (*end && tolerance == STRICT) {
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "'%s' is not a number, %s", text, otherwise);
		return false;
	}
	if (*end)
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "'%s' is not a number; keepalived takes it for %lu", text, value);
	*ret = (uint32_t)value;
	return true;
}

bool value_is_timer(struct reader *reader, const struct statement *statement, size_t index,
                    uint32_t least)
{
	const char *text = statement->words[index].text;
	size_t whole = strspn(text, "0123456789"), decimals = 0;
	double seconds = strtod(text, NULL);
	bool good;

	if (text[whole] == '.')
		decimals = 1 + strspn(text + whole + 1, "0123456789");
	good = whole + decimals > 0 && !text[whole + decimals] && strcmp(text, ".") != 0 &&
	       seconds * 1e6 >= least && seconds <= 4294967295.0 / 1000;
	if (!good)
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "'%s' is not a time in seconds, ignoring", text);
	return good;
}

bool value_switch(struct reader *reader, const struct statement *statement, bool *ret)
{
	static const struct {
		const char *word;
		bool on;
	} words[] = {
		{"true", true},   {"on", true},   {"yes", true},
		{"false", false}, {"off", false}, {"no", false},
	};

	if (statement->count < 2) {
		*ret = true;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(statement->words[1].text, words[i].word))
			continue;
		*ret = words[i].on;
		return true;
	}
	complain_word(reader, COMPLAINT_ERROR, statement, 1, "true, on, yes, false, off or no",
	              "'%s' is neither on nor off, ignoring", statement->words[1].text);
	return false;
}

/* An address up to the first '-', or else '/'. */
static bool parse_cut(const char *text, struct xlb_addr *ret, bool *ret_cut)
{
	const char *end = strchr(text, '-');
	char address[64];
	size_t length;

	if (!end)
		end = strchr(text, '/');
	length = end ? (size_t)(end - text) : strlen(text);
	if (length >= sizeof(address))
		return false;
	memcpy(address, text, length);
	address[length] = '\0';
	*ret_cut = end != NULL;
	return addr_parse(address, ret);
}

bool value_endpoint(struct reader *reader, const struct statement *statement, size_t index,
                    const char *whose, struct xlb_addr *ret_addr, uint16_t *ret_port)
{
	const char *port = statement->count > index + 1 ? statement->words[index + 1].text : "";
	struct xlb_addr addr;
	uint32_t number = 0;
	bool cut;

	if (!parse_cut(statement->words[index].text, &addr, &cut)) {
		complain_word(reader, COMPLAINT_ERROR, statement, index,
		              "a dotted quad or an IPv6 address",
		              "'%s' is not the address of a %s, skipping it",
		              statement->words[index].text, whose);
		return false;
	}
	if (port[strspn(port, "0")] && !value_number(reader, statement, index + 1, 1, 65535,
	                                             TOLERANT, "skipping the server", &number))
		return false;
	if (cut)
		complain_word(reader, COMPLAINT_WARNING, statement, index,
		              "ranges and masks belong into a virtual_server_group",
		              "keepalived ignores what follows the address");
	if (statement->count > index + 2)
		complain_word(reader, COMPLAINT_WARNING, statement, index + 2, NULL,
		              "keepalived ignores what follows the port");
	*ret_addr = addr;
	*ret_port = (uint16_t)number;
	return true;
}

bool value_prefix(struct reader *reader, const struct statement *statement, size_t index,
                  struct xlb_addr *ret_addr, uint8_t *ret_prefix)
{
	const char *text = statement->words[index].text, *slash = strchr(text, '/');
	uint8_t whole;
	struct xlb_addr addr;
	char address[64];
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char *end;
	unsigned long prefix;

	if (length >= sizeof(address))
		return false;
	memcpy(address, text, length);
	address[length] = '\0';
	if (!addr_parse(address, &addr))
		return false;
	whole = strchr(address, ':') ? 128 : 32;
	*ret_addr = addr;
	*ret_prefix = whole;
	if (!slash)
		return true;
	prefix = strtoul(slash + 1, &end, 10);
	if (slash[1] == '-' || prefix > whole || *end)
		complain_word(reader, COMPLAINT_ERROR, statement, index, NULL,
		              "'%s' is not a prefix length, taking %u", slash + 1, whole);
	else
		*ret_prefix = (uint8_t)prefix;
	return true;
}
