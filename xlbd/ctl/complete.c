// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * complete.c - `xlbctl complete -- words…`: what the last word could become, a line each.
 *
 * The shell's completion script (completion/xlbctl) asks here, so it cannot go stale: commands and
 * options come from the table in subcommands.c, virtual servers and real servers from the daemon.
 * Where there is nothing to say (a file name, no daemon) nothing is printed and the shell falls
 * back to what it does. Never complains.
 */
#include <string.h>

#include "xlbd/ctl/client.h"
#include "xlbd/ctl/subcommand.h"

struct completion {
	const char *socket;
	const char *word;   /* begin of what is wanted */
	const char *prefix; /* goes in front of what follows: "vip=" */
	FILE *out;
};

static void offer(const struct completion *completion, const char *candidate)
{
	if (candidate && strncmp(candidate, completion->word, strlen(completion->word)) == 0)
		fprintf(completion->out, "%s%s\n", completion->prefix, candidate);
}

static void offer_all(const struct completion *completion, const char *const *candidates)
{
	for (; *candidates; candidates++)
		offer(completion, *candidates);
}

/* Field `field` (and `other`) of each element of the answer's list. */
static void offer_from_daemon(const struct completion *completion, const char *command,
                              const char *list, const char *field, const char *other)
{
	_cleanup_(client_closep) struct client *client = NULL;
	json_t *answer = NULL, *one;
	size_t i;

	if (client_open(completion->socket, &client) < 0 ||
	    client_ask(client, json_pack("{s:s}", "command", command), NULL, NULL, &answer) < 0)
		return;
	json_array_foreach(json_object_get(answer, list), i, one) {
		offer(completion, json_string_value(json_object_get(one, field)));
		if (other)
			offer(completion, json_string_value(json_object_get(one, other)));
	}
	json_decref(answer);
}

static void offer_filter(struct completion *completion)
{
	static const char *const filters[] = {"client=", "vip=", "real=", "state=", NULL};
	static const char *const states[] = {"SYN_RECV", "ESTABLISHED", "FIN_WAIT", "TIME_WAIT",
	                                     "CLOSE",    "UDP",         NULL};
	const char *value = strchr(completion->word, '=');
	char prefix[10];

	if (!value) {
		offer_all(completion, filters);
		return;
	}
	snprintf(prefix, sizeof(prefix), "%.*s", (int)(value - completion->word) + 1,
	         completion->word);
	completion->prefix = prefix;
	completion->word = value + 1;
	if (strcmp(prefix, "vip=") == 0)
		offer_from_daemon(completion, "vip", "vips", "virtual", "name");
	else if (strcmp(prefix, "real=") == 0)
		offer_from_daemon(completion, "real", "reals", "real", NULL);
	else if (strcmp(prefix, "state=") == 0)
		offer_all(completion, states);
}

static void offer_commands(const struct completion *completion)
{
	for (const struct subcommand *one = subcommands; one->name; one++)
		offer(completion, one->name);
}

static void offer_options(const struct completion *completion, const struct subcommand *subcommand)
{
	static const char *const general[] = {"--json",     "--socket", "--numeric",
	                                      "--no-color", "--help",   NULL};
	static const struct {
		char letter;
		const char *name;
	} own[] = {{'w', "--watch"}, {'a', "--all"}, {'l', "--limit"}, {'c', "--config"}};

	offer_all(completion, general);
	for (size_t i = 0; subcommand && i < ARRAY_SIZE(own); i++)
		if (subcommand->options && strchr(subcommand->options, own[i].letter))
			offer(completion, own[i].name);
	if (!subcommand)
		offer(completion, "--version");
}

static void offer_argument(struct completion *completion, enum candidates what)
{
	static const char *const switches[] = {"on", "off", NULL};
	static const char *const sync_words[] = {"verify", "resync", "rekey", NULL};
	static const char *const ha_words[] = {"switch", "release", NULL};
	static const char *const states[] = {"MASTER", "BACKUP", "FAULT", "STOP", "DELETED", NULL};

	switch (what) {
	case CANDIDATES_COMMAND:
		offer_commands(completion);
		break;
	case CANDIDATES_VIP:
		offer_from_daemon(completion, "vip", "vips", "virtual", "name");
		break;
	case CANDIDATES_SWITCH:
		offer_all(completion, switches);
		break;
	case CANDIDATES_FILTER:
		offer_filter(completion);
		break;
	case CANDIDATES_INSTANCE:
		offer_from_daemon(completion, "status", "roles", "instance", NULL);
		break;
	case CANDIDATES_VRRP_STATE:
		offer_all(completion, states);
		break;
	case CANDIDATES_HTTP:
		offer(completion, "http");
		break;
	case CANDIDATES_SYNC:
		offer_all(completion, sync_words);
		break;
	case CANDIDATES_HA:
		offer_all(completion, ha_words);
		break;
	case CANDIDATES_NONE:
		break;
	}
}

/* Options whose value is the next word. */
static bool takes_value(const char *word)
{
	static const char *const names[] = {"--socket", "-s", "--limit", "-l", "--config", "-c"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(word, names[i]) == 0)
			return true;
	return false;
}

void complete(const char *socket, char *const *words, size_t count, FILE *out)
{
	struct completion completion = {.socket = socket, .prefix = "", .out = out};
	const struct subcommand *subcommand = NULL;
	size_t place = 0; /* of the last word among the arguments */

	if (count == 0)
		return;
	completion.word = words[count - 1];
	for (size_t i = 0; i + 1 < count; i++) {
		if (takes_value(words[i])) {
			if (i + 2 == count)
				return;
			if (strcmp(words[i], "--socket") == 0 || strcmp(words[i], "-s") == 0)
				completion.socket = words[i + 1];
			i++;
		} else if (words[i][0] != '-' && !subcommand) {
			subcommand = subcommand_find(words[i]);
			if (!subcommand)
				return;
		} else if (words[i][0] != '-') {
			place++;
		}
	}
	if (completion.word[0] == '-') {
		offer_options(&completion, subcommand);
	} else if (!subcommand) {
		offer_commands(&completion);
	} else {
		bool repeats = subcommand->candidate[0] == CANDIDATES_FILTER;

		if (repeats || place < ARRAY_SIZE(subcommand->candidate))
			offer_argument(&completion, subcommand->candidate[repeats ? 0 : place]);
	}
}
