// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * globals.c - the keywords of global_defs, and those outside of all blocks, that matter to xlbd.
 *
 * Handlers for keywords.c: namespaces, the FIFOs and who owns them, the sync daemon, nftables_ipvs. Timeouts are only
 * checked: the kernel says what they are. Everything else in global_defs is known to keywords.c and passed over.
 */
#include <string.h>

#include "xlbd/keepalived/values.h"
#include "xlbd/model/addr.h"

static const char *to_arena(struct reader *reader, const char *text)
{
	return obstack_copy0(reader->arena, text, strlen(text));
}

/* net_namespace, net_namespace_ipvs, instance: the first one counts. */
void take_namespace(struct reader *reader, const struct statement *statement)
{
	struct keepalived_config *config = reader->config;
	const char *name = statement->words[0].text;
	bool of_ipvs = !strcmp(name, "net_namespace_ipvs");
	const char **field = !strcmp(name, "instance") ? &config->instance
	                     : of_ipvs                 ? &config->net_namespace_ipvs
	                                               : &config->net_namespace;

	if (statement->count < 2 && !of_ipvs)
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'%s' lacks a name, ignoring", name);
	else if (*field)
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'%s' is given twice, ignoring this one", name);
	else /* without a name IPVS is in the namespace that keepalived was started in */
		*field = to_arena(reader, statement->count < 2 ? "" : statement->words[1].text);
}

void take_fifo(struct reader *reader, const struct statement *statement)
{
	struct keepalived_config *config = reader->config;
	const char *name = statement->words[0].text;
	const char **field = *name == 'l'   ? &config->lvs_notify_fifo
	                     : *name == 'v' ? &config->vrrp_notify_fifo
	                                    : &config->notify_fifo;

	if (statement->count < 2) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'%s' lacks a path, ignoring", name);
		return;
	}
	if (*field) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'%s' is given twice, ignoring this one", name);
		return;
	}
	*field = to_arena(reader, statement->words[1].text);
	if (statement->count > 2 || reader->fifo)
		return;
	reader->fifo = keep(reader, name);
	reader->fifo_mark = mark_of(statement, 0);
}

/* script_user, enable_script_security */
void take_script_user(struct reader *reader, const struct statement *statement)
{
	const char *name = statement->words[0].text;

	if (!strcmp(name, "script_user") && statement->count < 2)
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'script_user' lacks a name, ignoring");
	if (!reader->fifo)
		return;
	complain_word(reader, COMPLAINT_WARNING, statement, 0, "write it above the FIFOs",
	              "'%s' below '%s': keepalived 2.2 loses the FIFO at its first reload", name,
	              reader->fifo);
}

void take_nftables_ipvs(struct reader *reader, const struct statement *statement)
{
	if (reader->config->nftables_ipvs)
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'nftables_ipvs' is given twice, ignoring this one");
	else
		reader->config->nftables_ipvs = true;
}

/* One "keyword value" of lvs_sync_daemon; *index ends at the value. False: not one of these. */
static bool sync_daemon_option(struct reader *reader, const struct statement *statement,
                               size_t *index)
{
	static const struct {
		const char *name;
		uint32_t least, most; /* most 0: not a number */
	} options[] = {
		{"inst", 0, 0},     {"id", 0, 255},  {"maxlen", 1, 65507},
		{"port", 1, 65535}, {"ttl", 1, 255}, {"group", 0, 0},
	};
	const char *name = statement->words[*index].text;
	struct xlb_addr addr;
	uint32_t number;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strcmp(name, options[i].name))
			continue;
		if (++*index >= statement->count)
			complain_word(reader, COMPLAINT_ERROR, statement, *index - 1, NULL,
			              "'%s' lacks its value, ignoring", name);
		else if (options[i].most)
			(void)value_number(reader, statement, *index, options[i].least,
			                   options[i].most, STRICT, "ignoring", &number);
		else if (*name == 'g' && !addr_parse(statement->words[*index].text, &addr))
			complain_word(reader, COMPLAINT_ERROR, statement, *index, NULL,
			              "'%s' is not an address, ignoring",
			              statement->words[*index].text);
		return true;
	}
	return false;
}

void take_sync_daemon(struct reader *reader, const struct statement *statement)
{
	if (reader->config->lvs_sync_daemon) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, NULL,
		              "'lvs_sync_daemon' is given twice, ignoring this one");
		return;
	}
	if (statement->count < 2 || strlen(statement->words[1].text) >= 16) {
		complain_word(reader, COMPLAINT_ERROR, statement, statement->count > 1, NULL,
		              "'lvs_sync_daemon' needs the name of an interface, ignoring");
		return;
	}
	reader->config->lvs_sync_daemon = true;
	reader->sync_daemon = mark_of(statement, 0);
	for (size_t i = 2; i < statement->count; i++) {
		uint32_t id;

		if (sync_daemon_option(reader, statement, &i) || i == 2)
			continue; /* the old form: interface, instance, id */
		if (i > 3)
			complain_word(reader, COMPLAINT_ERROR, statement, i, NULL,
			              "unknown option '%s', ignoring", statement->words[i].text);
		else if (value_number(reader, statement, i, 0, 255, STRICT, "ignoring", &id))
			complain_word(reader, COMPLAINT_ERROR, statement, i, "write 'id' before it",
			              "old form of the sync id");
	}
}

void take_timeouts(struct reader *reader, const struct statement *statement)
{
	if (statement->count < 3) {
		complain_word(reader, COMPLAINT_ERROR, statement, 0, "tcp N, tcpfin N, udp N",
		              "'lvs_timeouts' needs a name and a number, ignoring");
		return;
	}
	for (size_t i = 1; i < statement->count; i++) {
		const char *name = statement->words[i].text;
		uint32_t number;

		if (strcmp(name, "tcp") && strcmp(name, "tcpfin") && strcmp(name, "udp"))
			complain_word(reader, COMPLAINT_ERROR, statement, i, "tcp, tcpfin or udp",
			              "unknown timeout '%s', ignoring", name);
		else if (++i == statement->count)
			complain_word(reader, COMPLAINT_ERROR, statement, i - 1, NULL,
			              "'%s' lacks its value, ignoring", name);
		else
			(void)value_number(reader, statement, i, 0, DRAFT_TIMEOUT_MAX, STRICT,
			                   "ignoring", &number);
	}
}

void take_flush_on_stop(struct reader *reader, const struct statement *statement)
{
	if (statement->count > 1 && strcmp(statement->words[1].text, "VS"))
		complain_word(reader, COMPLAINT_ERROR, statement, 1, "VS, or nothing",
		              "unknown kind '%s', ignoring", statement->words[1].text);
}

void take_include_check(struct reader *reader, const struct statement *statement)
{
	lexer_include_check(reader->lexer, statement);
}

/* default_interface, vmac_prefix, vmac_addr_prefix */
void take_global_name(struct reader *reader, const struct statement *statement)
{
	const char *name = statement->words[0].text;
	const char **field = *name == 'd'                   ? &reader->default_interface
	                     : !strcmp(name, "vmac_prefix") ? &reader->vmac_prefix
	                                                    : &reader->vmac_addr_prefix;

	if (statement->count < 2 || strlen(statement->words[1].text) >= 16)
		complain_word(reader, COMPLAINT_ERROR, statement, statement->count > 1, NULL,
		              "'%s' needs a name of at most 15 characters, ignoring", name);
	else
		*field = keep(reader, statement->words[1].text);
}
