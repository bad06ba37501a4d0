/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forms.h - values that YAML and cyaml take for plain strings: counts, durations, paths, devices, virtual servers. Pure.
 */
#ifndef XLBD_CONF_FORMS_H
#define XLBD_CONF_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "xlb_shared.h"

enum conf_form {
	CONF_FORM_COUNT,        /* "2M", "500k", "4096" */
	CONF_FORM_SECONDS,      /* "5s", "15m", "2000ms": whole seconds */
	CONF_FORM_MILLISECONDS, /* "250ms", "1.5s", "1m" */
	CONF_FORM_PATH,         /* absolute */
	CONF_FORM_DEVICE,       /* a name that a network device may have */
	CONF_FORM_NAME,         /* no white space, no slash */
	CONF_FORM_ADDRESS,      /* "192.0.2.1", "2001:db8::1" */
	CONF_FORM_SERVER,       /* "192.0.2.1:80/tcp", "[2001:db8::1]:53/udp" */
	CONF_FORMS
};

#define CONF_CANONICAL_TEXT 64 /* room for the canonical text of a form that has one */

const char *form_name(enum conf_form form); /* "a duration" */
const char *form_hint(enum conf_form form); /* how it is written */
/* Of the forms that are numbers: the number, in the form's own unit. False: not of this form. */
bool form_number(enum conf_form form, const char *text, uint64_t *ret);
bool form_is_number(enum conf_form form);
bool form_fits(enum conf_form form, const char *text);
/* One text for everything that means the same; `text` itself if the form has no such thing. `text` fits. */
const char *form_canonical(enum conf_form form, const char *text, char buffer[CONF_CANONICAL_TEXT]);
/* Of CONF_FORM_SERVER. False: not of this form. */
bool form_server(const char *text, struct xlb_service_key *ret);

/*
 * How many slips of the pen (letter wrong, missing, too many, two swapped) lie between two words, capitals or not; 99: far
 * apart.
 */
unsigned form_distance(const char *a, const char *b);

#endif
