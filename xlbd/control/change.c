// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * change.c - `bypass`, `reload`, `role`: the commands that change something; command.c has checked
 * who asks.
 *
 * Each is a question to a verb of daemon.c or role.c and the words for what came of it. None writes
 * maps: what follows from a change goes through xlbd_look(), the one way in. A reload must not stop
 * the control server that it is asked through.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/change.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/pattern.h"
#include "xlbd/xlbd.h"

/* All, and those that were switched one by one. */
static int bypass_all(struct control_call *call, bool on)
{
	struct xlbd *xlbd = call_xlbd(call);
	size_t count = on ? 0 : xlbd->bypass_count;
	_cleanup_free_ struct xlb_service_key *keys = calloc(count + 1, sizeof(*keys));
	int r;

	if (!keys)
		return -ENOMEM;
	if (count)
		memcpy(keys, xlbd->bypass, count * sizeof(*keys));
	r = xlbd_bypass(xlbd, NULL, on);
	for (size_t i = 0; r == 0 && i < count; i++)
		(void)!xlbd_bypass(xlbd, &keys[i], false); /* -ENOENT: it is not there any more */
	return r < 0 ? r : json_object_set_new(call->answer, "on", json_boolean(on));
}

int change_bypass(struct control_call *call)
{
	struct xlbd *xlbd = call_xlbd(call);
	bool on = control_boolean(call, "on");
	struct pattern pattern = pattern_make(control_text(call, "vip"));
	_cleanup_free_ struct xlb_service_key *keys = NULL;
	const struct service *service;
	size_t count = xlbd->services ? service_set_count(xlbd->services) : 0, found = 0;
	int r;

	json_object_set_new(call->answer, "ipvs", json_boolean(xlbd->ipvs != NULL));
	if (!pattern.text)
		return bypass_all(call, on);
	/* keys first: each xlbd_bypass() may put another generation in the place of this one */
	keys = calloc(count + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < count && (service = service_set_get(xlbd->services, i)); i++)
		if (!service->fwmark && pattern_matches_service(&pattern, service))
			keys[found++] = service->key;
	if (!found)
		return control_fail(call, -ENOENT, "no virtual server '%.100s'", pattern.text);
	for (size_t i = 0; i < found; i++) {
		r = xlbd_bypass(xlbd, &keys[i], on);
		if (r < 0)
			return control_fail(call, r, "cannot switch the bypass of '%.100s': %s",
			                    pattern.text, strerror(-r));
	}
	return json_object_update_new(call->answer,
	                              json_pack("{s:b, s:I}", "on", on, "vips", (json_int_t)found));
}

int change_reload(struct control_call *call)
{
	struct xlbd *xlbd = call_xlbd(call);
	struct complaints *complaints = complaints_new();
	json_t *list;
	int r;

	if (!complaints)
		return -ENOMEM;
	r = xlbd_reload(xlbd, complaints);
	list = answer_complaints(complaints);
	complaints_free(complaints);
	if (r < 0)
		control_fail(call, r, "nothing was changed: %s",
		             xlbd->reload_error[0] ? xlbd->reload_error : strerror(-r));
	json_object_set_new(call->answer, "generation", json_integer((json_int_t)xlbd->generation));
	json_object_set_new(call->answer, "complaints", list);
	return r;
}

static enum vrrp_state state_named(const char *name)
{
	for (int state = VRRP_MASTER; state <= VRRP_DELETED; state++)
		if (strcasecmp(vrrp_state_name((enum vrrp_state)state), name) == 0)
			return (enum vrrp_state)state;
	return VRRP_UNKNOWN;
}

int change_role(struct control_call *call)
{
	struct xlbd *xlbd = call_xlbd(call);
	const char *instance = control_text(call, "instance");
	const char *word = control_text(call, "state");
	enum vrrp_state state = state_named(word);
	bool known = false;

	if (state == VRRP_UNKNOWN)
		return control_fail(call, -EINVAL,
		                    "'%.60s' is no state of a VRRP instance (MASTER, BACKUP, "
		                    "FAULT, STOP, DELETED)",
		                    word);
	for (size_t i = 0; xlbd->role && !known && i < role_count(xlbd->role); i++) {
		struct role_instance one = {};

		role_get(xlbd->role, xlbd->network, i, &one);
		known = one.name && strcmp(one.name, instance) == 0;
	}
	if (!known)
		return control_fail(call, -ENOENT, "no VRRP instance '%.100s' in keepalived.conf",
		                    instance);
	role_event(xlbd->role, instance, state);
	xlbd_look(xlbd, "role");
	return 0;
}
