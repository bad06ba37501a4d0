// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sync.c - the daemon's side of xlbd-sync: where the pure protocol (node.c) meets sockets, the clock, ids and roles.
 *
 * A timer of five milliseconds drives the node; what comes in goes to it at once. The daemon tells what changed: after a look, which
 * services are ours; after a sweep, that ids may have other owners; after a step of another table size, that the mapping is another
 * one. Policy per virtual server comes from xlbd.yaml.
 *
 * Sync never stands in anybody's way: if it cannot begin (no key file, one that others can read) the daemon goes on without it and says so,
 * and the gate is open, since nobody would ever open it. Two directors that both say to be active for one service are an
 * alarm within a fifth of a second; both go on forwarding.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>
#include <sodium.h>

#include "xlbd/log.h"
#include "xlbd/sync/guard.h"
#include "xlbd/sync/sync.h"
#include "xlbd/xlbd.h"

#define TOPIC       "sync"
#define REPAIR_MS   1000
#define GUARD_MS    5000
#define SPLIT_MS    100 /* on top of the 50 ms until it is first seen */
#define TEXT_LENGTH 400

struct sync_link {
	struct sync *sync;
	size_t number;
	struct event *event;
};

struct sync {
	struct xlbd *xlbd;
	struct channel *channel;
	struct replica *replica;
	struct sync_node *node;
	struct gate *gate;
	struct guard *guard; /* NULL: the kernel has no nf_tables */
	struct xlb_service_key guarded[GUARD_MAX];
	int64_t guarded_until[GUARD_MAX]; /* ms; 0: stands by */
	size_t guarded_count;
	struct node_time now;
	struct event *tick;
	struct sync_link link[CONF_SYNC_LINKS];
	uint64_t ours[XLB_IDS / 64]; /* services that we said to be active for */
	int64_t repaired, split_since;
	bool split_told;
	uint64_t same_id;
	char problem[TEXT_LENGTH];
};

int64_t sync_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The tick costs a system call: asked for once a millisecond, not once a datagram. */
static struct node_time now_of(struct sync *sync)
{
	int64_t ms = sync_now();

	if (ms != sync->now.ms)
		sync->now = (struct node_time){ms, dataplane_now(sync->xlbd->dataplane)};
	return sync->now;
}

/* ---- what the node asks for ------------------------------------------------------------------- */

static bool name_of(void *context, bool real, uint16_t id, struct xlb_name *ret)
{
	const struct sync *sync = context;

	return real ? apply_name_of_real(sync->xlbd->apply, id, ret)
	            : apply_name_of_service(sync->xlbd->apply, id, ret);
}

static uint64_t hash_of(void *context, bool real, uint16_t id)
{
	struct xlb_name name;

	return name_of(context, real, id, &name) ? replica_hash_name(&name) : 0;
}

static uint16_t id_of(void *context, const struct xlb_name *name)
{
	const struct sync *sync = context;

	if (!name->is_real)
		return apply_service_id(sync->xlbd->apply, &name->service);
	return apply_real_id(sync->xlbd->apply, &name->service, &name->real,
	                     ntohs(name->real_port));
}

static void send_message(void *context, const uint8_t *message, size_t length)
{
	const struct sync *sync = context;

	channel_send(sync->channel, message, length);
}

static void draw(void *context, void *to, size_t size)
{
	(void)context;
	randombytes_buf(to, size);
}

/* ---- the loop --------------------------------------------------------------------------------- */

static void take_message(void *context, uint8_t *message, size_t length)
{
	struct sync *sync = context;

	node_receive(sync->node, message, length, now_of(sync));
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct sync_link *link = context;

	(void)fd;
	(void)what;
	channel_read(link->sync->channel, link->number, take_message, link->sync);
}

static void watch_links(struct sync *sync)
{
	for (size_t i = 0; i < CONF_SYNC_LINKS; i++) {
		struct sync_link *link = &sync->link[i];
		int fd = channel_fd(sync->channel, i);

		link->sync = sync;
		link->number = i;
		if (link->event)
			event_free(link->event);
		link->event = NULL;
		if (fd < 0)
			continue;
		link->event =
			event_new(sync->xlbd->base, fd, EV_READ | EV_PERSIST, on_readable, link);
		if (link->event)
			event_add(link->event, NULL);
	}
}

static void watch_split(struct sync *sync, const struct node_status *status, int64_t now)
{
	if (!status->split) {
		if (sync->split_told)
			log_notice(TOPIC, "only one director is active for each service again");
		sync->split_since = 0;
		sync->split_told = false;
		return;
	}
	if (!sync->split_since)
		sync->split_since = now;
	if (sync->split_told || now - sync->split_since < SPLIT_MS)
		return;
	sync->split_told = true;
	log_error(
		TOPIC,
		"another director is active for %zu of our services too: keepalived's directors do "
		"not hear each other; both go on forwarding",
		status->split);
}

static void watch_id(struct sync *sync, const struct node_status *status)
{
	if (status->same_id && !sync->same_id)
		log_error(TOPIC, "another director has the number %u too: 'sync.node' must differ",
		          status->id);
	sync->same_id = status->same_id;
}

static bool end_guards(struct sync *sync, int64_t now);
static void set_guard(struct sync *sync);

static void on_tick(evutil_socket_t fd, short what, void *context)
{
	struct sync *sync = context;
	struct node_time now = now_of(sync);
	struct node_status status;

	(void)fd;
	(void)what;
	node_tick(sync->node, now);
	node_status(sync->node, now.ms, &status);
	gate_tick(sync->gate, status.state, now.ms);
	watch_split(sync, &status, now.ms);
	watch_id(sync, &status);
	if (now.ms - sync->repaired < REPAIR_MS)
		return;
	sync->repaired = now.ms;
	if (channel_repair(sync->channel))
		watch_links(sync);
	if (end_guards(sync, now.ms))
		set_guard(sync);
}

/* ---- what the daemon tells -------------------------------------------------------------------- */

static enum conf_policy policy_of(const struct xlbd_conf *conf, const struct xlb_service_key *key)
{
	for (size_t i = 0; i < conf->service_count; i++)
		if (memcmp(&conf->service[i].key, key, sizeof(*key)) == 0)
			return conf->service[i].sync;
	return CONF_SYNC_ALL;
}

static size_t find_guarded(const struct sync *sync, const struct xlb_service_key *key)
{
	size_t i = 0;

	while (i < sync->guarded_count && memcmp(&sync->guarded[i], key, sizeof(*key)) != 0)
		i++;
	return i;
}

/* A service that stands by is guarded; one that is ours now for some seconds more. */
static void guard_service(struct sync *sync, const struct service *service)
{
	size_t i = find_guarded(sync, &service->key);

	if (service->key.protocol != IPPROTO_TCP)
		return;
	if (i == sync->guarded_count) {
		if (!service->standby || i == GUARD_MAX)
			return;
		sync->guarded[sync->guarded_count++] = service->key;
		sync->guarded_until[i] = 0;
	}
	if (service->standby)
		sync->guarded_until[i] = 0;
	else if (!sync->guarded_until[i])
		sync->guarded_until[i] = sync_now() + GUARD_MS;
}

/* Takes those out whose time is over; true: there were some. */
static bool end_guards(struct sync *sync, int64_t now)
{
	size_t kept = 0, count = sync->guarded_count;

	for (size_t i = 0; i < count; i++) {
		if (sync->guarded_until[i] && sync->guarded_until[i] < now)
			continue;
		sync->guarded[kept] = sync->guarded[i];
		sync->guarded_until[kept++] = sync->guarded_until[i];
	}
	sync->guarded_count = kept;
	return kept != count;
}

static void set_guard(struct sync *sync)
{
	int r = sync->guard ? guard_set(sync->guard, sync->guarded, sync->guarded_count) : 0;

	if (r < 0)
		log_errno(r, TOPIC, "this host may reset connections while it takes over");
}

static void look_at(struct sync *sync, const struct service *service, uint64_t *seen)
{
	uint16_t id = apply_service_id(sync->xlbd->apply, &service->key);
	enum conf_policy policy;
	bool ours = !service->standby;

	if (service->fwmark || !id || id >= XLB_IDS)
		return;
	policy = policy_of(sync->xlbd->conf, &service->key);
	replica_set_policy(sync->replica, id, policy == CONF_SYNC_OFF,
	                   policy == CONF_SYNC_ESTABLISHED);
	ours = ours && policy != CONF_SYNC_OFF;
	if (policy != CONF_SYNC_OFF)
		guard_service(sync, service);
	if (ours)
		seen[id / 64] |= 1ull << id % 64;
	node_set_active(sync->node, id, ours);
}

/* What keepalived.conf declares, in a number: the same on directors with the same files. */
static uint32_t configuration_of(const struct xlbd *xlbd)
{
	const struct service_set *set = xlbd->declared ? xlbd->declared->services : NULL;
	uint64_t sum = xlbd->conf->maglev_size;
	const struct service *service;

	for (size_t i = 0; set && (service = service_set_get(set, i)); i++) {
		struct xlb_name name = {.service = service->key};
		uint64_t hash = replica_mix(replica_hash_name(&name), service->flags);

		for (const char *letter = service->scheduler; *letter; letter++)
			hash = replica_mix(hash, (uint8_t)*letter);
		for (size_t j = 0; j < service->real_count; j++) {
			const struct real_server *real = &service->reals[j];

			name.is_real = 1;
			name.real = real->addr;
			name.real_port = htons(real->port);
			sum += replica_mix(replica_hash_name(&name), (uint64_t)real->weight);
		}
		sum += hash;
	}
	return (uint32_t)(sum ^ sum >> 32);
}

void sync_looked(struct xlbd *xlbd)
{
	struct sync *sync = xlbd->sync;
	uint64_t seen[XLB_IDS / 64] = {};
	const struct service *service;

	if (!sync || !sync->node)
		return;
	for (size_t i = 0; xlbd->services && (service = service_set_get(xlbd->services, i)); i++)
		look_at(sync, service, seen);
	for (size_t id = 0; id < XLB_IDS; id++)
		if (sync->ours[id / 64] >> id % 64 & 1 && !(seen[id / 64] >> id % 64 & 1))
			node_set_active(sync->node, (uint16_t)id, false);
	memcpy(sync->ours, seen, sizeof(seen));
	set_guard(sync);
	node_set_configuration(sync->node, configuration_of(xlbd));
}

void sync_swept(struct xlbd *xlbd)
{
	if (!xlbd->sync || !xlbd->sync->node)
		return;
	node_forget_names(xlbd->sync->node);
	node_set_connections(xlbd->sync->node, (uint32_t)xlbd->census.live);
}

/* Everything that is in the table counts as told; digests show what is not. */
static int open_replica(struct sync *sync, struct replica **ret)
{
	struct xlbd *xlbd = sync->xlbd;

	return replica_open(xlbd->flows, dataplane_tick_ms(xlbd->dataplane) * 1000, hash_of, sync,
	                    ret);
}

static void take_over_table(struct sync *sync)
{
	const struct replica_pass pass = {.now = dataplane_now(sync->xlbd->dataplane)};
	struct replica_cursor cursor = {};

	(void)replica_scan(sync->replica, &cursor, SIZE_MAX, ~0u, &pass);
}

void sync_tables_changed(struct xlbd *xlbd)
{
	struct sync *sync = xlbd->sync;
	struct replica *replica = NULL;
	int r;

	if (!sync || !sync->node)
		return;
	r = open_replica(sync, &replica);
	if (r < 0) {
		log_errno(r, TOPIC, "sync ends: no memory for another size of the table");
		sync_stop(xlbd);
		return;
	}
	node_set_replica(sync->node, replica);
	replica_close(sync->replica);
	sync->replica = replica;
	take_over_table(sync);
	node_resync(sync->node);
}

int sync_rekey(struct xlbd *xlbd, char ret_sentence[SEAL_SENTENCE])
{
	const struct conf_sync *conf = &xlbd->conf->sync;
	struct keyring keys;
	int r;

	if (!xlbd->sync || !xlbd->sync->node) {
		snprintf(ret_sentence, SEAL_SENTENCE, "sync does not run");
		return -ENOENT;
	}
	r = keyring_read(conf->key_file, conf->cluster, &keys, ret_sentence);
	if (r < 0)
		return r;
	node_set_keys(xlbd->sync->node, &keys);
	log_notice(TOPIC, "the key file '%s' was read again: %zu key%s", conf->key_file, keys.count,
	           keys.count == 1 ? "" : "s");
	keyring_forget(&keys);
	return 0;
}

/* ---- start and stop --------------------------------------------------------------------------- */

static int open_node(struct sync *sync)
{
	const struct conf_sync *conf = &sync->xlbd->conf->sync;
	struct node_setup setup = {.cluster = conf->cluster,
	                           .id = conf->node,
	                           .tick_us = dataplane_tick_ms(sync->xlbd->dataplane) * 1000,
	                           .context = sync,
	                           .send = send_message,
	                           .random = draw,
	                           .name = name_of,
	                           .id_of = id_of};
	char sentence[SEAL_SENTENCE];
	int r = keyring_read(conf->key_file, conf->cluster, &setup.keys, sentence);

	if (r < 0) {
		snprintf(sync->problem, sizeof(sync->problem), "the key file '%.80s' %s",
		         conf->key_file, sentence);
		return r;
	}
	snprintf(sync->problem, sizeof(sync->problem), "no memory");
	r = channel_open(conf, &sync->channel);
	if (r < 0)
		return r;
	r = open_replica(sync, &sync->replica);
	if (r < 0)
		return r;
	setup.message_max = channel_message_max(sync->channel);
	r = node_open(&setup, sync->replica, &sync->node);
	keyring_forget(&setup.keys);
	if (r == 0)
		sync->problem[0] = '\0';
	return r;
}

static int start_timer(struct sync *sync)
{
	const struct timeval interval = {.tv_usec = NODE_TICK_MS * 1000};

	sync->tick = event_new(sync->xlbd->base, -1, EV_PERSIST, on_tick, sync);
	if (!sync->tick || event_add(sync->tick, &interval) < 0)
		return -ENOMEM;
	return 0;
}

void sync_start(struct xlbd *xlbd)
{
	const struct conf_sync *conf = &xlbd->conf->sync;
	struct node_status status;
	struct sync *sync;
	int r;

	if (!conf->interface[0])
		return;
	sync = calloc(1, sizeof(*sync));
	if (!sync) {
		log_errno(-ENOMEM, TOPIC, "goes without");
		return;
	}
	sync->xlbd = xlbd;
	xlbd->sync = sync;
	if (open_node(sync) < 0) {
		log_error(TOPIC, "no sync: %s", sync->problem);
		gate_write(conf->gate, true);
		return;
	}
	r = guard_open(&sync->guard);
	if (r < 0)
		log_errno(r, TOPIC, "this host may reset connections while it takes over");
	sync_looked(xlbd);
	take_over_table(sync);
	node_status(sync->node, sync_now(), &status);
	if (gate_new(conf->gate, conf->deadline, status.active > 0, sync_now(), &sync->gate) < 0 ||
	    start_timer(sync) < 0) {
		log_errno(-ENOMEM, TOPIC, "goes without");
		sync_stop(xlbd);
		return;
	}
	watch_links(sync);
	log_notice(TOPIC, "node %u of cluster %u", conf->node, conf->cluster);
}

void sync_stop(struct xlbd *xlbd)
{
	struct sync *sync = xlbd->sync;

	if (!sync)
		return;
	xlbd->sync = NULL;
	if (sync->tick)
		event_free(sync->tick);
	for (size_t i = 0; i < CONF_SYNC_LINKS; i++)
		if (sync->link[i].event)
			event_free(sync->link[i].event);
	gate_free(sync->gate);
	guard_close(sync->guard);
	node_close(sync->node);
	replica_close(sync->replica);
	channel_close(sync->channel);
	free(sync);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool sync_same_conf(const struct conf_sync *a, const struct conf_sync *b)
{
	return same_text(a->interface[0], b->interface[0]) &&
	       same_text(a->interface[1], b->interface[1]) && same_text(a->key_file, b->key_file) &&
	       same_text(a->gate, b->gate) && memcmp(&a->group, &b->group, sizeof(a->group)) == 0 &&
	       a->port == b->port && a->peer_count == b->peer_count &&
	       memcmp(a->peer, b->peer, a->peer_count * sizeof(a->peer[0])) == 0 &&
	       a->cluster == b->cluster && a->node == b->node;
}

/* ---- for those who show it -------------------------------------------------------------------- */

const struct sync_node *sync_node(const struct sync *sync)
{
	return sync->node;
}

struct sync_node *sync_node_to_change(struct sync *sync)
{
	return sync->node;
}

const struct channel *sync_channel(const struct sync *sync)
{
	return sync->channel;
}

const struct gate *sync_gate(const struct sync *sync)
{
	return sync->gate;
}

struct gate *sync_gate_to_change(struct sync *sync)
{
	return sync->gate;
}

const char *sync_problem(const struct sync *sync)
{
	return sync->problem;
}

int64_t sync_split_since(const struct sync *sync)
{
	return sync->split_told ? sync->split_since : 0;
}
