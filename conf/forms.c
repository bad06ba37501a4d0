// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forms.c - what a value of xlbd.yaml may look like where YAML itself knows only "a string".
 *
 * One row a form: what it is called in a complaint, how it is written, and a function that reads it. check.c
 * asks whether a text fits, conf.c takes the value. The two use the same function, so they cannot disagree.
 *
 * Numbers with a unit are all read by scaled(): digits, perhaps a point and digits, a unit of a table. The result
 * must be a whole number of the smallest unit (1.5k is 1500, 1.5 is nothing), and fit 64 bits.
 *
 * Relies on model/addr.c for addresses. Does no I/O: whether a path or a device is there is somebody else's question.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/forms.h"
#include "xlbd/model/addr.h"

#define WORD_MAX       40 /* longer words are never a misspelt key */
#define FRACTION_TENTH 1000000000u

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit count_units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {NULL, 0}};
static const struct unit time_units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {NULL, 0}};

/* Up to nine digits behind the point, as billionths. */
static bool fraction(const char **text, uint64_t *ret)
{
	uint64_t value = 0, worth = FRACTION_TENTH;

	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text); (*text)++) {
		worth /= 10;
		if (!worth)
			return false;
		value += worth * (uint64_t)(**text - '0');
	}
	*ret = value;
	return true;
}

static bool scaled(const char *text, const struct unit *unit, uint64_t *ret)
{
	uint64_t whole = 0, part = 0, rest;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*text - '0'), &whole))
			return false;
	if (*text == '.') {
		text++;
		if (!fraction(&text, &part))
			return false;
	}
	while (unit->name && strcmp(unit->name, text) != 0)
		unit++;
	if (!unit->name)
		return false;
	rest = part * unit->factor;
	if (rest % FRACTION_TENTH || __builtin_mul_overflow(whole, unit->factor, &whole) ||
	    __builtin_add_overflow(whole, rest / FRACTION_TENTH, &whole))
		return false;
	*ret = whole;
	return true;
}

bool conf_number(const char *text, uint64_t *ret)
{
	return scaled(text, count_units, ret);
}

static bool milliseconds(const char *text, uint64_t *ret)
{
	return scaled(text, time_units, ret);
}

static bool seconds(const char *text, uint64_t *ret)
{
	uint64_t value;

	if (!milliseconds(text, &value) || value % 1000)
		return false;
	*ret = value / 1000;
	return true;
}

static bool is_path(const char *text)
{
	return text[0] == '/';
}

static bool is_name(const char *text)
{
	return text[0] && !strpbrk(text, " \t/");
}

/* As the kernel's dev_valid_name(), which also refuses ':' */
static bool is_device(const char *text)
{
	return is_name(text) && !strchr(text, ':') && strcmp(text, ".") != 0 &&
	       strcmp(text, "..") != 0;
}

bool form_server(const char *text, struct xlb_service_key *ret)
{
	struct xlb_service_key key = {};
	uint16_t port;

	if (!endpoint_parse(text, &key.addr, &port, &key.protocol) || !key.protocol)
		return false;
	key.port = htons(port);
	*ret = key;
	return true;
}

static bool is_address(const char *text)
{
	struct xlb_addr addr;

	return addr_parse(text, &addr);
}

static bool is_server(const char *text)
{
	struct xlb_service_key key;

	return form_server(text, &key);
}

static const struct {
	const char *name, *hint;
	bool (*number)(const char *text, uint64_t *ret);
	bool (*fits)(const char *text);
} forms[CONF_FORMS] = {
	[CONF_FORM_COUNT] = {"a number", "digits, perhaps with k or M, as in 500k", conf_number,
                             NULL},
	[CONF_FORM_SECONDS] = {"a duration", "whole seconds: a number with s or m, as in 5s",
                               seconds, NULL},
	[CONF_FORM_MILLISECONDS] = {"a duration", "a number with ms, s or m, as in 250ms",
                                    milliseconds, NULL},
	[CONF_FORM_PATH] = {"a path", "it starts with /", NULL, is_path},
	[CONF_FORM_DEVICE] = {"a network device", "its name, as 'ip link' shows it", NULL,
                              is_device},
	[CONF_FORM_NAME] = {"a name", "without white space or /", NULL, is_name},
	[CONF_FORM_ADDRESS] = {"an address", "as in 192.0.2.1 or \"2001:db8::1\"", NULL,
                               is_address},
	[CONF_FORM_SERVER] = {"address:port/protocol",
                              "as in 192.0.2.1:80/tcp or \"[2001:db8::1]:53/udp\"", NULL,
                              is_server},
};

const char *form_name(enum conf_form form)
{
	return forms[form].name;
}

const char *form_hint(enum conf_form form)
{
	return forms[form].hint;
}

bool form_is_number(enum conf_form form)
{
	return forms[form].number != NULL;
}

bool form_number(enum conf_form form, const char *text, uint64_t *ret)
{
	return forms[form].number && forms[form].number(text, ret);
}

bool form_fits(enum conf_form form, const char *text)
{
	uint64_t number;

	return forms[form].number ? forms[form].number(text, &number) : forms[form].fits(text);
}

const char *form_canonical(enum conf_form form, const char *text, char buffer[CONF_CANONICAL_TEXT])
{
	struct xlb_service_key key;

	if (form != CONF_FORM_SERVER || !form_server(text, &key))
		return text;
	return endpoint_print(&key.addr, ntohs(key.port), key.protocol, buffer);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance with swaps: three rows of the usual table, before is the row above, earlier the one above that. */
unsigned form_distance(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);
	unsigned rows[3][WORD_MAX + 1];

	if (a_length > WORD_MAX || b_length > WORD_MAX)
		return 99;
	for (size_t column = 0; column <= b_length; column++)
		rows[0][column] = (unsigned)column;
	for (size_t row = 1; row <= a_length; row++) {
		unsigned *now = rows[row % 3], *before = rows[(row + 2) % 3],
			 *earlier = rows[(row + 1) % 3];

		now[0] = (unsigned)row;
		for (size_t column = 1; column <= b_length; column++) {
			bool same = tolower((unsigned char)a[row - 1]) ==
			            tolower((unsigned char)b[column - 1]);

			now[column] = least(least(now[column - 1], before[column]) + 1,
			                    before[column - 1] + !same);
			if (row > 1 && column > 1 && a[row - 1] == b[column - 2] &&
			    a[row - 2] == b[column - 1])
				now[column] = least(now[column], earlier[column - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}
