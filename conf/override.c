// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * override.c - turns "-o key=value" into a YAML text, so that an override is read by the same code as the file.
 *
 * "ipvs.timeouts.tcp=15m" becomes
 *	ipvs:
 *	 timeouts:
 *	  tcp: 15m
 *
 * The value is copied as it stands: check.c and YAML judge it. It is one line (control characters are refused), and in this
 * place of a text one line can only be a scalar, a list in brackets or a section in braces: it cannot bring
 * keys of its own. Called by conf.c, once for each override.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/load.h"
#include "conf/text.h"

#define OVERRIDE_MAX 4096 /* bytes */

static int refuse(const char *name, const char *hint, const char *sentence,
                  struct complaints *complaints)
{
	complain(complaints,
	         &(struct complaint){.level = COMPLAINT_ERROR, .file = name, .hint = hint}, "%s",
	         sentence);
	return -EINVAL;
}

/* a.b.c of lower-case words: whether there is such a key is for check.c to say. */
static bool is_key(const char *key, size_t length)
{
	size_t words = 1, letters = 0;

	for (size_t i = 0; i < length; i++) {
		if (key[i] == '.') {
			if (!letters)
				return false;
			words++;
			letters = 0;
			continue;
		}
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
		            key[i]))
			return false;
		letters++;
	}
	return letters && words < CONF_DEPTH_MAX;
}

static void write_yaml(FILE *out, const char *key, size_t length, const char *value)
{
	int depth = 0;

	while (length) {
		size_t word = strcspn(key, ".=");

		fprintf(out, "%*s%.*s:", depth++, "", (int)word, key);
		word += word < length;
		key += word;
		length -= word;
		if (length)
			fputc('\n', out);
	}
	fprintf(out, " %s\n", value);
}

int conf_override(const char *name, const char *override, struct complaints *complaints, char **ret)
{
	const char *equals = strchr(override, '=');
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out;

	if (strlen(override) > OVERRIDE_MAX)
		return refuse("-o", NULL, "an override of more than 4096 bytes", complaints);
	for (const char *at = override; *at; at++)
		if ((unsigned char)*at < ' ')
			return refuse("-o", NULL, "a control character in an override", complaints);
	if (!equals)
		return refuse(name, "as in silence=3s or ipvs.timeouts.tcp=15m", "no '=' in it",
		              complaints);
	if (!is_key(override, (size_t)(equals - override)))
		return refuse(name, "words with dots between them, as in ipvs.timeouts.tcp=15m",
		              "what stands before '=' is not a key", complaints);

	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	write_yaml(out, override, (size_t)(equals - override), equals + 1);
	if (fclose(out) != 0)
		return -ENOMEM;
	*ret = take_ptr(text);
	return 0;
}
