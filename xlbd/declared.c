// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * declared.c - keepalived.conf as keepalived has it: when it is read, and when again.
 *
 * It is read at the start, when an operator says reload, and when keepalived did. Nothing tells us the last, but it
 * shows: keepalived.conf is not what we read, and the table in force changes. The file alone is no reason: while somebody edits it, keepalived still
 * has the old one, and what XDP forwards must not follow a text that is half written. The table alone is one if it
 * holds a service that is not declared, as an include pattern may mean files that did not exist before. What was declared
 * stays declared as long as it is in force, whatever the file says by then (xlbd_world()).
 *
 * What cannot be read leaves in force what was read before. Mistakes do not: keepalived goes on after them, so do we; only
 * a reload by hand is refused then, which is what an operator expects who has just written them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>

#include "xlbd/cleanup.h"
#include "xlbd/log.h"
#include "xlbd/xlbd.h"

#define TOPIC "keepalived"

/* ---- fingerprints ------------------------------------------------------------------------------ */

#define FINGERPRINT_START 0xcbf29ce484222325ull

/* FNV-1a: these texts come from root. */
static void fingerprint(uint64_t *print, const void *data, size_t length)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < length; i++)
		*print = (*print ^ byte[i]) * 0x100000001b3ull;
}

static void fingerprint_file(uint64_t *print, const char *file)
{
	struct stat is = {0};
	int r = stat(file, &is);

	fingerprint(print, &r, sizeof(r));
	fingerprint(print, &is.st_dev, sizeof(is.st_dev));
	fingerprint(print, &is.st_ino, sizeof(is.st_ino));
	fingerprint(print, &is.st_size, sizeof(is.st_size));
	fingerprint(print, &is.st_mtim, sizeof(is.st_mtim));
}

/* keepalived.conf and all that it included when it was read. */
static uint64_t fingerprint_files(const struct xlbd_conf *conf,
                                  const struct keepalived_config *declared)
{
	uint64_t print = FINGERPRINT_START;

	fingerprint_file(&print, conf->keepalived_conf);
	for (size_t i = 0; declared && declared->files && declared->files[i]; i++)
		fingerprint_file(&print, declared->files[i]);
	return print;
}

/* What keepalived has put into the table; counters aside. */
static uint64_t fingerprint_table(const struct service_set *in_force)
{
	uint64_t print = FINGERPRINT_START;
	const struct service *service;

	for (size_t i = 0; (service = service_set_get(in_force, i)); i++) {
		fingerprint(&print, &service->key, sizeof(service->key));
		fingerprint(&print, service->scheduler, strlen(service->scheduler));
		fingerprint(&print, &service->flags, sizeof(service->flags));
		for (size_t j = 0; j < service->real_count; j++) {
			const struct real_server *real = &service->reals[j];

			fingerprint(&print, &real->addr, sizeof(real->addr));
			fingerprint(&print, &real->port, sizeof(real->port));
			fingerprint(&print, &real->weight, sizeof(real->weight));
		}
	}
	return print;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static void pass_on(const struct complaints *complaints, struct complaints *extra)
{
	for (size_t i = 0; extra && i < complaints_count(complaints); i++) {
		const struct complaint *complaint = complaints_get(complaints, i);

		complain(extra, complaint, "%s", complaint->text);
	}
}

int xlbd_read_declared(struct xlbd *xlbd, const struct xlbd_conf *conf, struct complaints *strict)
{
	struct keepalived_options options = {.config_id = conf->keepalived_config_id};
	_cleanup_(keepalived_config_freep) struct keepalived_config *declared = NULL;
	_cleanup_(complaints_freep) struct complaints *complaints = complaints_new();
	const char *file = conf->keepalived_conf;
	uint64_t before = fingerprint_files(conf, NULL);
	int r;

	if (!complaints)
		return -ENOMEM;
	r = keepalived_read(file, &options, complaints, &declared);
	if (r < 0)
		log_errno(r, TOPIC, "cannot read '%s'; what was read before stays in force", file);
	pass_on(complaints, strict);
	if (r >= 0 && strict && complaints_errors(complaints))
		r = -EINVAL;
	if (r < 0)
		return r;
	if (complaints_errors(complaints))
		log_warning(TOPIC, "%s: %zu mistakes; `xlbctl check` shows them", file,
		            complaints_errors(complaints));
	role_set_instances(xlbd->role, declared);
	/* a file that changed while it was read is one that we have not read */
	xlbd->files_read =
		before == fingerprint_files(conf, NULL) ? fingerprint_files(conf, declared) : 0;
	keepalived_config_free(xlbd->declared);
	complaints_free(xlbd->declared_complaints);
	xlbd->declared = take_ptr(declared);
	xlbd->declared_complaints = take_ptr(complaints);
	return 0;
}

static bool holds_undeclared(const struct service_set *in_force,
                             const struct keepalived_config *declared)
{
	const struct service *service;

	for (size_t i = 0; (service = service_set_get(in_force, i)); i++)
		if (!service->fwmark &&
		    (!declared || !service_set_find(declared->services, &service->key)))
			return true;
	return false;
}

void xlbd_follow_keepalived(struct xlbd *xlbd, const struct service_set *in_force)
{
	uint64_t table = fingerprint_table(in_force);

	if (table == xlbd->table_seen)
		return;
	xlbd->table_seen = table;
	if (xlbd->files_read == fingerprint_files(xlbd->conf, xlbd->declared) &&
	    !holds_undeclared(in_force, xlbd->declared))
		return;
	if (xlbd_read_declared(xlbd, xlbd->conf, NULL) == 0)
		log_info(TOPIC, "'%s' was read again", xlbd->conf->keepalived_conf);
}
