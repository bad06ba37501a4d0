// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon.c - what is looked at when, and what follows.
 *
 * One way: the IPVS table (what is in force) and keepalived.conf (what is declared) are joined and judged; the result is
 * compared with the generation that the data plane has; the difference is carried out. Hints (a FIFO line, an address, a
 * neighbour, a reload) only make it happen sooner; a timer does it anyway, so nothing depends on a hint.
 *
 * The timer also lets the heart beat (packets of new connections go to the kernel when it stops), sweeps the connection table
 * and hands counters to the IPVS interface where the kernel has no IPVS. If the table cannot be read, the generation in
 * force stays in force: traffic goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "xlbd/cleanup.h"
#include "xlbd/control/server.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/judge.h"
#include "xlbd/model/plan.h"
#include "xlbd/privileges.h"
#include "xlbd/readiness.h"
#include "xlbd/sync/sync.h"
#include "xlbd/xlbd.h"

#define TOPIC "daemon"

int64_t xlbd_boot_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what is in force ------------------------------------------------------------------------- */

/* Timeouts from the table in force into the control block, by phase, in ticks. */
static void set_timeouts(struct xlbd *xlbd)
{
	struct xlb_control *control = dataplane_control(xlbd->dataplane);
	uint64_t tick = dataplane_tick_ms(xlbd->dataplane);
	struct ipvs_timeouts seconds = {.tcp = xlbd->conf->timeout_tcp,
	                                .tcp_fin = xlbd->conf->timeout_tcp_fin,
	                                .udp = xlbd->conf->timeout_udp};
	unsigned by_phase[XLB_PHASES] = {0};

	if (xlbd->ipvs)
		(void)ipvs_netlink_timeouts(xlbd->ipvs, &seconds);
	else if (xlbd->api)
		(void)ipvs_api_timeouts(xlbd->api, &seconds);
	xlbd->timeouts = seconds;
	/* those that can be set; the others are constants of ip_vs_proto_tcp.c */
	by_phase[XLB_PHASE_SYN] = 60;
	by_phase[XLB_PHASE_ESTABLISHED] = seconds.tcp;
	by_phase[XLB_PHASE_FIN_WAIT] = seconds.tcp_fin;
	by_phase[XLB_PHASE_CLOSE] = 10;
	by_phase[XLB_PHASE_DATAGRAM] = seconds.udp;
	by_phase[XLB_PHASE_TIME_WAIT] = 120;
	by_phase[XLB_PHASE_CLOSE_WAIT] = 60;
	by_phase[XLB_PHASE_SYN_SENT] = 120;
	for (size_t i = 0; i < XLB_PHASES; i++)
		control->timeout[i] = (uint32_t)((by_phase[i] * 1000ull + tick - 1) / tick);
}

static void set_flag(struct xlb_control *control, uint32_t flag, bool on)
{
	if (on)
		__atomic_or_fetch(&control->flags, flag, __ATOMIC_SEQ_CST);
	else
		__atomic_and_fetch(&control->flags, ~flag, __ATOMIC_SEQ_CST);
}

/* ---- the look --------------------------------------------------------------------------------- */

static void look_at_firewall(struct xlbd *xlbd)
{
	struct firewall *fresh = NULL;
	uint64_t generation = 0;

	if (xlbd->conf->firewall == CONF_FIREWALL_IGNORE) {
		xlbd->firewall = firewall_free(xlbd->firewall);
		return;
	}
	if (firewall_generation(&xlbd->ask_netfilter, &generation) == 0 && xlbd->firewall &&
	    generation == xlbd->firewall_generation)
		return;
	if (firewall_read(&fresh) < 0)
		return;
	firewall_free(xlbd->firewall);
	xlbd->firewall = fresh;
	xlbd->firewall_generation = generation;
}

/*
 * Every real server that XDP might send to is a target of the neighbours module. So are the gateways of the default routes where there
 * is NAT: answers leave by them, and no packet of the kernel's may go there for long enough that it forgets their MACs.
 */
static void set_targets(struct xlbd *xlbd, const struct service_set *in_force)
{
	size_t count = 0, room = ARRAY_SIZE(xlbd->gateway);
	_cleanup_free_ struct xlb_addr *targets = NULL;
	const struct service *service;
	bool nat = false;

	for (size_t i = 0; (service = service_set_get(in_force, i)); i++)
		room += service->real_count;
	targets = calloc(room, sizeof(*targets));
	if (!targets)
		return;
	for (size_t i = 0; (service = service_set_get(in_force, i)); i++)
		for (size_t j = 0; j < service->real_count; j++) {
			targets[count++] = service->reals[j].addr;
			nat |= service->reals[j].forwarding == XLB_FORWARD_NAT;
		}
	for (size_t i = 0; nat && i < ARRAY_SIZE(xlbd->gateway); i++)
		if (!addr_is_zero(&xlbd->gateway[i]))
			targets[count++] = xlbd->gateway[i];
	(void)neighbours_set(xlbd->neighbours, targets, count);
}

/* The generation `services` into the data plane; it replaces the one in force. */
static void bring_in_line(struct xlbd *xlbd, struct service_set *services, const char *why)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	int r;

	if (!xlbd->adopted) {
		apply_adopt(xlbd->apply, services);
		xlbd->adopted = true;
	}
	r = plan_make(xlbd->services, services, &plan);
	if (r < 0) {
		log_errno(r, TOPIC, "cannot plan");
		service_set_free(services);
		return;
	}
	if (plan_count(plan)) {
		xlbd->generation++;
		xlbd->changed = xlbd_boot_ms();
		log_info(TOPIC, "%s: %zu steps to generation %llu", why, plan_count(plan),
		         (unsigned long long)xlbd->generation);
		if (apply_plan(xlbd->apply, plan, xlbd->neighbours) < 0)
			xlbd_look_soon(xlbd, "a step failed");
	}
	plan = plan_free(plan);
	service_set_free(xlbd->services);
	xlbd->services = services;
}

/* The kernel's where it has IPVS, xlbd.yaml's where not. */
static void read_sysctls(struct xlbd *xlbd)
{
	struct sysctls defaults;

	sysctls_defaults(&defaults);
	defaults.expire_nodest_conn = xlbd->conf->expire_nodest_conn;
	defaults.sloppy_tcp = xlbd->conf->sloppy_tcp;
	sysctls_read(SYSCTLS_FOLDER, &defaults, &xlbd->sysctls);
}

void xlbd_look(struct xlbd *xlbd, const char *why)
{
	_cleanup_(service_set_freep) struct service_set *in_force = NULL;
	struct xlb_control *control = dataplane_control(xlbd->dataplane);
	struct service_set *judged = NULL;
	struct judge_world world;
	int r = xlbd_read_table(xlbd, &in_force);

	if (r < 0)
		return;
	xlbd_follow_keepalived(xlbd, in_force);
	read_sysctls(xlbd);
	set_timeouts(xlbd);
	set_flag(control, XLB_CONTROL_EXPIRE_NODEST, xlbd->sysctls.expire_nodest_conn);
	set_flag(control, XLB_CONTROL_BYPASS, xlbd->bypass_all);
	look_at_firewall(xlbd);
	set_targets(xlbd, in_force);
	xlbd_attach(xlbd, in_force);
	xlbd_world(xlbd, &world);
	r = judge(xlbd->declared ? xlbd->declared->services : NULL, in_force, &world, &judged);
	if (r < 0) {
		log_errno(r, TOPIC, "cannot judge the services");
		return;
	}
	bring_in_line(xlbd, judged, why);
	sync_looked(xlbd);
}

static void on_look(evutil_socket_t fd, short what, void *context)
{
	struct xlbd *xlbd = context;

	(void)fd;
	(void)what;
	xlbd_look(xlbd, xlbd->look_reason);
}

void xlbd_look_soon(struct xlbd *xlbd, const char *why)
{
	struct timeval now = {0};

	xlbd->look_reason = why;
	if (!evtimer_pending(xlbd->look, NULL))
		evtimer_add(xlbd->look, &now);
}

/* ---- the timer -------------------------------------------------------------------------------- */

static void sweep(struct xlbd *xlbd)
{
	if (apply_prepare_sweep(xlbd->apply) < 0)
		return;
	flows_sweep(xlbd->flows, dataplane_now(xlbd->dataplane), NULL, NULL, &xlbd->census);
	apply_swept(xlbd->apply, &xlbd->census);
	sync_swept(xlbd);
}

/* Counters of the data plane into the IPVS interface, so that ipvsadm and keepalived see them. */
static void tell_counters(struct xlbd *xlbd)
{
	const struct service *service;

	for (size_t i = 0; (service = service_set_get(xlbd->services, i)); i++) {
		for (size_t j = 0; j < service->real_count; j++) {
			const struct real_server *real = &service->reals[j];
			uint16_t id =
				apply_real_id(xlbd->apply, &service->key, &real->addr, real->port);
			struct xlb_real_counters counted;
			struct ipvs_api_stats stats;

			if (!id || counters_real(xlbd->counters, id, &counted) < 0)
				continue;
			stats = (struct ipvs_api_stats){.connections = counted.connections,
			                                .packets = counted.packets,
			                                .bytes = counted.bytes,
			                                .active = xlbd->census.active[id],
			                                .inactive = xlbd->census.inactive[id]};
			(void)ipvs_api_write_stats(xlbd->api, service, real, &stats);
		}
	}
}

/* With the timeouts that the connections were kept by, so before they are set, and before the heart beats. */
static void wake_flows(struct xlbd *xlbd)
{
	uint64_t gone = flows_wake(xlbd->flows, dataplane_now(xlbd->dataplane),
	                           dataplane_control(xlbd->dataplane)->heartbeat);

	if (gone)
		log_warning(TOPIC,
		            "nobody looked after the connection table for days: %llu connections "
		            "whose age cannot be told were removed",
		            (unsigned long long)gone);
}

static void on_tick(evutil_socket_t fd, short what, void *context)
{
	struct xlbd *xlbd = context;

	(void)fd;
	(void)what;
	wake_flows(xlbd);
	if (dataplane_heartbeat(xlbd->dataplane) < 0)
		log_error(TOPIC,
		          "the heartbeat cannot be written: new connections will go to the kernel");
	readiness_watchdog();
	xlbd_look(xlbd, "timer");
	sweep(xlbd);
	if (xlbd->api && xlbd->services)
		tell_counters(xlbd);
}

/* Steps of another size of the connection table, until it has it; each asks for the next. */
static void on_resizing(evutil_socket_t fd, short what, void *context)
{
	struct xlbd *xlbd = context;
	const struct flows *before = xlbd->flows;
	unsigned ms = resize_step(xlbd->resize, &xlbd->flows, dataplane_now(xlbd->dataplane));
	struct timeval next = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};

	(void)fd;
	(void)what;
	if (xlbd->flows != before)
		sync_tables_changed(xlbd);
	if (ms)
		evtimer_add(xlbd->resizing, &next);
}

static void want_connections(struct xlbd *xlbd)
{
	struct timeval now = {0};

	resize_want(xlbd->resize, xlbd->conf->connections_ipv4, xlbd->conf->connections_ipv6);
	if (!evtimer_pending(xlbd->resizing, NULL))
		evtimer_add(xlbd->resizing, &now);
}

/* ---- hints ------------------------------------------------------------------------------------ */

static void on_network(void *context)
{
	struct xlbd *xlbd = context;

	if (xlbd->neighbours)
		neighbours_refresh(xlbd->neighbours);
	role_refresh(xlbd->role, xlbd->network);
	xlbd_look_soon(xlbd, "links or addresses changed");
}

static void on_next_hop(void *context, const struct xlb_addr *addr, const struct next_hop *hop)
{
	struct xlbd *xlbd = context;
	char text[ADDR_TEXT];

	log_debug(TOPIC, "next hop of %s: %s", addr_print(addr, text),
	          next_hop_state_name(hop->state));
	if (apply_next_hop(xlbd->apply, addr, hop) < 0)
		log_error(TOPIC, "the next hop of %s cannot be written", addr_print(addr, text));
	xlbd_look_soon(xlbd, "a next hop changed");
}

static void on_lvs_line(void *context)
{
	xlbd_look(context, "keepalived wrote to its FIFO");
}

static void on_instance(void *context, const char *name, enum vrrp_state state)
{
	struct xlbd *xlbd = context;

	log_notice(TOPIC, "keepalived says: VRRP instance '%s' is %s", name,
	           vrrp_state_name(state));
	role_event(xlbd->role, name, state);
	xlbd_look(xlbd, "a VRRP instance changed its state");
}

/* ---- verbs ------------------------------------------------------------------------------------ */

int xlbd_reload(struct xlbd *xlbd, struct complaints *complaints)
{
	struct complaints *list = complaints ? complaints : complaints_new();
	_cleanup_(conf_freep) struct xlbd_conf *conf = NULL;
	int r;

	if (!list)
		return -ENOMEM;
	r = conf_load(xlbd->conf_file, xlbd->overrides, xlbd->overrides_count, list, &conf);
	if (r >= 0)
		r = xlbd_read_declared(xlbd, conf, list);
	if (r >= 0) {
		bool same_sync = sync_same_conf(&xlbd->conf->sync, &conf->sync);

		if (!same_sync)
			sync_stop(xlbd);
		conf_free(xlbd->conf);
		xlbd->conf = take_ptr(conf);
		if (!same_sync)
			sync_start(xlbd);
	}
	xlbd->reload_error[0] = '\0';
	if (r < 0) {
		const struct complaint *first = complaints_get(list, 0);

		snprintf(xlbd->reload_error, sizeof(xlbd->reload_error), "%s:%u: %s",
		         first && first->file ? first->file : xlbd->conf_file,
		         first ? first->line : 0, first ? first->text : strerror(-r));
		log_error(TOPIC, "reload refused, the old configuration stays in force: %s",
		          xlbd->reload_error);
	} else {
		log_notice(TOPIC, "reloaded");
		want_connections(xlbd);
	}
	if (!complaints)
		complaints_free(list);
	xlbd_look(xlbd, "reload");
	return r;
}

static size_t bypass_find(const struct xlbd *xlbd, const struct xlb_service_key *key)
{
	size_t i = 0;

	while (i < xlbd->bypass_count && memcmp(&xlbd->bypass[i], key, sizeof(*key)))
		i++;
	return i;
}

int xlbd_bypass(struct xlbd *xlbd, const struct xlb_service_key *key, bool on)
{
	size_t at;

	if (!key) {
		xlbd->bypass_all = on;
		xlbd_look(xlbd, "bypass");
		return 0;
	}
	if (!xlbd->services || !service_set_find(xlbd->services, key))
		return -ENOENT;
	at = bypass_find(xlbd, key);
	if (on && at == xlbd->bypass_count) {
		struct xlb_service_key *more =
			reallocarray(xlbd->bypass, at + 1, sizeof(*xlbd->bypass));

		if (!more)
			return -ENOMEM;
		xlbd->bypass = more;
		xlbd->bypass[xlbd->bypass_count++] = *key;
	} else if (!on && at < xlbd->bypass_count) {
		xlbd->bypass[at] = xlbd->bypass[--xlbd->bypass_count];
	}
	xlbd_look(xlbd, "bypass");
	return 0;
}

/* ---- start and stop --------------------------------------------------------------------------- */

static int open_dataplane(struct xlbd *xlbd)
{
	struct dataplane_options options = {
		.pin_folder = xlbd->conf->pin_folder,
		.connections_ipv4 = xlbd->conf->connections_ipv4,
		.connections_ipv6 = xlbd->conf->connections_ipv6,
		.silence_ms = xlbd->conf->silence * 1000,
	};
	int r = dataplane_open(&options, &xlbd->dataplane);

	if (r < 0)
		return r;
	r = counters_open(dataplane_map(xlbd->dataplane, MAP_VERDICT_COUNTERS),
	                  dataplane_map(xlbd->dataplane, MAP_REAL_COUNTERS),
	                  dataplane_map(xlbd->dataplane, MAP_SERVICE_COUNTERS), &xlbd->counters);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot open the counters");
	r = resize_open_flows(xlbd->dataplane, &xlbd->flows);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot map the connection table");
	wake_flows(xlbd);
	set_timeouts(xlbd);
	r = resize_open(xlbd->dataplane, &xlbd->resize);
	if (r < 0)
		return r;
	r = interfaces_open(xlbd->dataplane, &xlbd->interfaces);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot map the interface table");
	r = apply_open(xlbd->dataplane, xlbd->counters, xlbd->interfaces, xlbd->conf->maglev_size,
	               &xlbd->apply);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot take over the service table");
	return 0;
}

static int start_hints(struct xlbd *xlbd)
{
	const struct events_callbacks callbacks = {
		.context = xlbd, .look = on_lvs_line, .instance = on_instance};
	int r;

	r = network_start(xlbd->base, on_network, xlbd, &xlbd->network);
	if (r < 0)
		return r;
	r = neighbours_start(xlbd->base, xlbd->network, on_next_hop, xlbd, &xlbd->neighbours);
	if (r < 0)
		return r;
	r = events_start(xlbd->base, xlbd->conf->lvs_notify_fifo, xlbd->conf->vrrp_notify_fifo,
	                 &callbacks, &xlbd->events);
	if (r < 0) /* nothing depends on them: the timer looks anyway */
		log_warning(TOPIC,
		            "going on without keepalived's FIFOs: changes are seen every %u ms",
		            xlbd->conf->poll);
	return 0;
}

int xlbd_start(struct xlbd *xlbd)
{
	struct timeval poll = {.tv_sec = xlbd->conf->poll / 1000,
	                       .tv_usec = (xlbd->conf->poll % 1000) * 1000};
	int r;

	xlbd->started = xlbd_boot_ms();
	xlbd->tick = event_new(xlbd->base, -1, EV_PERSIST, on_tick, xlbd);
	xlbd->look = evtimer_new(xlbd->base, on_look, xlbd);
	xlbd->resizing = evtimer_new(xlbd->base, on_resizing, xlbd);
	xlbd->role = role_new();
	if (!xlbd->tick || !xlbd->look || !xlbd->resizing || !xlbd->role)
		return -ENOMEM;
	r = open_dataplane(xlbd);
	if (r < 0)
		return r;
	r = start_hints(xlbd);
	if (r < 0)
		return r;
	if (xlbd_read_declared(xlbd, xlbd->conf, NULL) < 0)
		log_warning(TOPIC, "no service is declared until '%s' can be read",
		            xlbd->conf->keepalived_conf);
	role_refresh(xlbd->role, xlbd->network);
	/*
	 * The heart beats only when everything is in its place: until then new connections are the kernel's. That of the daemon
	 * before goes on beating: what it left was right a moment ago, and the first look may take a second.
	 */
	(void)dataplane_keep_heart(xlbd->dataplane);
	xlbd_look(xlbd, "start");
	sweep(xlbd); /* so that there is something to show from the beginning */
	r = dataplane_heartbeat(xlbd->dataplane);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot write the heartbeat");
	r = control_start(xlbd->base, xlbd->conf->control_socket, xlbd->conf->control_group, xlbd,
	                  &xlbd->control);
	if (r < 0)
		return r;
	sync_start(xlbd);
	want_connections(xlbd);
	r = privileges_drop(xlbd->ipvs_netns != NULL);
	if (r < 0)
		log_warning(TOPIC, "going on with more privileges than needed");
	return event_add(xlbd->tick, &poll) < 0 ? -ENOMEM : 0;
}

void xlbd_stop(struct xlbd *xlbd)
{
	control_stop(xlbd->control);
	sync_stop(xlbd);
	events_stop(xlbd->events);
	if (xlbd->tick)
		event_free(xlbd->tick);
	if (xlbd->look)
		event_free(xlbd->look);
	if (xlbd->resizing)
		event_free(xlbd->resizing);
	neighbours_stop(xlbd->neighbours);
	network_stop(xlbd->network);
	xlbd_close_table(xlbd);
	apply_close(xlbd->apply);
	interfaces_close(xlbd->interfaces);
	resize_close(xlbd->resize);
	flows_close(xlbd->flows);
	counters_close(xlbd->counters);
	dataplane_close(xlbd->dataplane);
	firewall_free(xlbd->firewall);
	netsocket_close(xlbd->ask_netfilter);
	netsocket_close(xlbd->ask_routes);
	role_free(xlbd->role);
	service_set_free(xlbd->services);
	keepalived_config_free(xlbd->declared);
	complaints_free(xlbd->declared_complaints);
	free(xlbd->bypass);
}
