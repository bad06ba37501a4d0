// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_sync.c - `sync` and `ha`: the other directors, as JSON, and the few things that an operator may ask of them.
 *
 * Everything is copied from the node (xlbd/sync/node.h), the sockets and the gate. `sync_change` and `ha_change` are commands of their own,
 * since only root may give them: compare anew, read the key file again, hand over. A hand-over only closes the gate, and only when
 * a peer holds everything: the election stays keepalived's. Documented in xlbctl(8), section JSON.
 */
#include <errno.h>
#include <string.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/show_sync.h"
#include "xlbd/sync/sync.h"
#include "xlbd/xlbd.h"

static const char *const state_words[] = {
	[NODE_ALONE] = "alone", [NODE_JOINING] = "joining", [NODE_EQUAL] = "equal"};

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* ---- sync ------------------------------------------------------------------------------------- */

static json_t *counters_value(const struct peer_counters *count)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"messages", count->messages},   {"records", count->records},
		{"applied", count->applied},     {"old", count->old},
		{"no_room", count->no_room},     {"unknown", count->unknown},
		{"malformed", count->malformed}, {"duplicates", count->duplicates},
		{"forged", count->forged},       {"untrusted", count->untrusted},
		{"requests", count->gaps},       {"repaired", count->repaired},
		{"lost", count->lost},           {"given_up", count->given_up},
		{"parked", count->parked},
	};
	json_t *object = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		json_object_set_new(object, counters[i].name, number(counters[i].value));
	return object;
}

static const char *peer_word(const struct peer *peer, int64_t now)
{
	if (!peer->epoch)
		return "not trusted";
	if (!peer_is_there(peer, now))
		return "silent";
	return peer->fetch.equal ? "equal" : "fetching";
}

static json_t *peer_value(const struct peer *peer, const struct node_status *node, int64_t now)
{
	const struct window *window = &peer->window[WIRE_STREAM];
	uint64_t behind = node->sequence > peer->reported ? node->sequence - peer->reported : 0;
	json_t *object =
		json_pack("{s:i, s:s, s:b, s:i}", "node", peer->id, "state", peer_word(peer, now),
	                  "holds", peer->heart.flags & WIRE_HEART_HOLDS, "term", (int)peer->term);

	json_object_set_new(object, "heard_ms",
	                    peer->epoch ? json_integer(now - peer->heard_at) : json_null());
	json_object_set_new(object, "round_trip_ms", number(peer->round_trip));
	json_object_set_new(object, "connections", number(peer->heart.connections));
	json_object_set_new(object, "sequence", number(window->highest));
	json_object_set_new(object, "missing", number(window->highest - window->received));
	json_object_set_new(object, "behind", number(behind));
	json_object_set_new(object, "digest",
	                    answer_printf("%016llx", (unsigned long long)peer->heart.sum));
	json_object_set_new(object, "keys", number(peer->heart.keys));
	json_object_set_new(object, "same_configuration",
	                    json_boolean(peer->heart.configuration == node->configuration));
	json_object_set_new(object, "counters", counters_value(&peer->count));
	return object;
}

static json_t *links_value(const struct sync *sync)
{
	json_t *list = json_array();
	struct channel_link link;

	for (size_t i = 0; sync_channel(sync) && i < CONF_SYNC_LINKS; i++) {
		if (!channel_link(sync_channel(sync), i, &link))
			continue;
		json_array_append_new(
			list, json_pack("{s:s, s:b, s:o, s:I, s:I, s:I, s:I}", "device",
		                        link.device, "open", link.open, "problem",
		                        answer_text(link.problem ? strerror(-link.problem) : NULL),
		                        "sent", (json_int_t)link.sent, "received",
		                        (json_int_t)link.received, "failed",
		                        (json_int_t)link.failed, "far", (json_int_t)link.far));
	}
	return list;
}

static void add_node(json_t *answer, const struct sync *sync, int64_t now)
{
	const struct sync_node *node = sync_node(sync);
	json_t *peers = json_array();
	struct node_status status;

	node_status(node, now, &status);
	json_object_set_new(answer, "state", json_string(state_words[status.state]));
	json_object_set_new(answer, "node", number(status.id));
	json_object_set_new(answer, "term", number(status.term));
	json_object_set_new(answer, "key", number(status.key));
	json_object_set_new(answer, "active_services", number(status.active));
	json_object_set_new(answer, "split_services", number(status.split));
	json_object_set_new(answer, "sequence", number(status.sequence));
	json_object_set_new(answer, "messages", number(status.messages));
	json_object_set_new(answer, "bytes", number(status.bytes));
	json_object_set_new(answer, "records", number(status.records));
	json_object_set_new(answer, "repeated", number(status.repeated));
	json_object_set_new(answer, "digest",
	                    answer_printf("%016llx", (unsigned long long)status.digest));
	json_object_set_new(answer, "strangers", number(status.strangers));
	json_object_set_new(answer, "same_id", number(status.same_id));
	json_object_set_new(answer, "other_versions", number(status.versions));
	for (size_t i = 0; i < status.peers; i++)
		json_array_append_new(peers, peer_value(node_peer(node, i), &status, now));
	json_object_set_new(answer, "peers", peers);
}

int show_sync(struct control_call *call)
{
	const struct sync *sync = call_xlbd(call)->sync;

	json_object_set_new(call->answer, "configured", json_boolean(sync != NULL));
	if (!sync)
		return 0;
	json_object_set_new(call->answer, "problem",
	                    sync_problem(sync)[0] ? json_string(sync_problem(sync)) : json_null());
	json_object_set_new(call->answer, "links", links_value(sync));
	if (sync_node(sync))
		add_node(call->answer, sync, sync_now());
	return 0;
}

int change_sync(struct control_call *call)
{
	struct xlbd *xlbd = call_xlbd(call);
	const char *what = control_text(call, "what");
	char sentence[SEAL_SENTENCE];
	int r;

	if (!xlbd->sync || !sync_node(xlbd->sync))
		return control_fail(call, -ENOENT, "sync does not run");
	if (strcmp(what, "resync") == 0) {
		node_resync(sync_node_to_change(xlbd->sync));
		return 0;
	}
	if (strcmp(what, "rekey") != 0)
		return control_fail(call, -EINVAL, "'%.60s' is neither resync nor rekey", what);
	r = sync_rekey(xlbd, sentence);
	if (r < 0)
		return control_fail(call, r, "the old keys stay: the key file %s", sentence);
	return 0;
}

/* ---- ha --------------------------------------------------------------------------------------- */

/* Does keepalived.conf name the file? Read as a text: track_file has no other meaning. */
static bool is_tracked(const struct xlbd *xlbd, const char *path)
{
	const char *const *file = xlbd->declared ? xlbd->declared->files : NULL;
	char line[1024];

	for (; path && file && *file; file++) {
		_cleanup_fclose_ FILE *in = fopen(*file, "re");

		while (in && fgets(line, sizeof(line), in)) {
			line[strcspn(line, "#!\n")] = '\0';
			if (strstr(line, path) && strstr(line, "file"))
				return true;
		}
	}
	return false;
}

static json_t *gate_value(const struct xlbd *xlbd)
{
	const struct gate *gate = xlbd->sync ? sync_gate(xlbd->sync) : NULL;

	if (!gate)
		return json_null();
	return json_pack("{s:o, s:b, s:s, s:b, s:o}", "file", answer_text(gate_path(gate)), "open",
	                 gate_is_open(gate), "reason", gate_reason_text(gate_reason(gate)),
	                 "tracked", is_tracked(xlbd, gate_path(gate)), "problem",
	                 answer_text(gate_problem(gate) ? strerror(-gate_problem(gate)) : NULL));
}

static json_t *instances_value(const struct xlbd *xlbd)
{
	json_t *list = json_array();

	for (size_t i = 0; xlbd->role && i < role_count(xlbd->role); i++) {
		struct role_instance one = {};

		role_get(xlbd->role, xlbd->network, i, &one);
		json_array_append_new(
			list, json_pack("{s:o, s:s, s:b}", "instance", answer_text(one.name),
		                        "state", vrrp_state_name(one.state), "active", one.active));
	}
	return list;
}

/* A peer that has everything that we have sent, and holds the table; 0: none. */
static uint16_t successor(const struct xlbd *xlbd, int64_t now)
{
	const struct sync_node *node = xlbd->sync ? sync_node(xlbd->sync) : NULL;
	struct node_status status;
	const struct peer *peer;

	if (!node)
		return 0;
	node_status(node, now, &status);
	for (size_t i = 0; (peer = node_peer(node, i)); i++)
		if (peer_is_there(peer, now) && peer->heart.flags & WIRE_HEART_HOLDS &&
		    peer->reported + 20 >= status.sequence)
			return peer->id;
	return 0;
}

int show_ha(struct control_call *call)
{
	const struct xlbd *xlbd = call_xlbd(call);
	int64_t now = sync_now();
	uint16_t peer = successor(xlbd, now);

	json_object_set_new(call->answer, "sync", json_boolean(xlbd->sync != NULL));
	json_object_set_new(call->answer, "instances", instances_value(xlbd));
	json_object_set_new(call->answer, "gate", gate_value(xlbd));
	json_object_set_new(call->answer, "successor", peer ? number(peer) : json_null());
	json_object_set_new(call->answer, "split_ms",
	                    xlbd->sync && sync_split_since(xlbd->sync)
	                            ? json_integer(now - sync_split_since(xlbd->sync))
	                            : json_null());
	return 0;
}

int change_ha(struct control_call *call)
{
	struct xlbd *xlbd = call_xlbd(call);
	const char *what = control_text(call, "what");
	struct gate *gate = xlbd->sync ? sync_gate_to_change(xlbd->sync) : NULL;
	bool hand_over = strcmp(what, "switch") == 0;

	if (!gate || !gate_path(gate))
		return control_fail(call, -ENOENT, "there is no gate: 'sync.gate' of xlbd.yaml");
	if (!hand_over && strcmp(what, "release") != 0)
		return control_fail(call, -EINVAL, "'%.60s' is neither switch nor release", what);
	if (hand_over && !is_tracked(xlbd, gate_path(gate)))
		return control_fail(
			call, -ENOENT,
			"no track_file of keepalived.conf names '%s': it would not notice",
			gate_path(gate));
	if (hand_over && !successor(xlbd, sync_now()))
		return control_fail(
			call, -EAGAIN,
			"no other director holds all connections now: see 'xlbctl sync'");
	gate_hold(gate, hand_over);
	return 0;
}
