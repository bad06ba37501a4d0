/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xlbd.h - the daemon: every module it has, in one structure.
 *
 * main.c makes and frees it; daemon.c runs it (what is looked at when, and what follows). control/ reads
 * it to show it and calls the verbs below to change it. Nobody else includes this.
 */
#ifndef XLBD_XLBD_H
#define XLBD_XLBD_H

#include "conf/conf.h"
#include "xlbd/dataplane/apply.h"
#include "xlbd/dataplane/counters.h"
#include "xlbd/dataplane/flows.h"
#include "xlbd/dataplane/interfaces.h"
#include "xlbd/dataplane/loader.h"
#include "xlbd/dataplane/resize.h"
#include "xlbd/firewall.h"
#include "xlbd/ipvs/api.h"
#include "xlbd/ipvs/netlink.h"
#include "xlbd/keepalived/events.h"
#include "xlbd/keepalived/reader.h"
#include "xlbd/model/service.h"
#include "xlbd/neighbours.h"
#include "xlbd/netsocket.h"
#include "xlbd/network.h"
#include "xlbd/role.h"
#include "xlbd/sysctls.h"

#define XLBD_DEVICES_MAX 64

struct event;
struct control;
struct sync;

struct xlbd_device { /* a device that carries the program */
	uint32_t ifindex;
	char name[16];
	bool attached;
	bool native;
	char why[100];     /* why it was chosen */
	char problem[200]; /* offload, MTU or refusal that stands in the way; "": none */
};

struct xlbd {
	struct event_base *base;
	struct event *tick;     /* every conf->poll ms */
	struct event *look;     /* as soon as the loop is idle: something hinted at a change */
	struct event *resizing; /* the next step of a change of the connection table's size */
	const char *look_reason;
	const char *conf_file; /* as given with -c */
	char *const *overrides;
	size_t overrides_count;
	struct xlbd_conf *conf;
	struct keepalived_config *declared; /* NULL: no readable keepalived.conf */
	struct complaints *declared_complaints;
	uint64_t files_read;          /* fingerprint of its files when they were read */
	uint64_t table_seen;          /* fingerprint of the table in force at the last look */
	struct service_set *services; /* joined and judged: the generation in force */
	struct ipvs_netlink *ipvs;    /* the kernel's table, or NULL */
	struct ipvs_api *api;         /* ours, or NULL */
	char *ipvs_netns;             /* where both are looked for; NULL: our namespace */
	int64_t api_rests_until;      /* CLOCK_BOOTTIME ms: opening it failed, try again then */
	struct ipvs_timeouts timeouts;
	struct sysctls sysctls;

	struct dataplane *dataplane;
	struct interfaces *interfaces;
	struct apply *apply;
	struct counters *counters;
	struct flows *flows;
	struct resize *resize;
	struct flows_census census; /* of the last sweep */
	struct network *network;
	struct neighbours *neighbours;
	bool routes_fine; /* at this look nothing stands in the way to any real server */
	struct role *role;
	struct firewall *firewall; /* NULL: not looked at (firewall: ignore, or no netfilter) */
	uint64_t firewall_generation;
	struct netsocket *ask_netfilter,
		*ask_routes; /* kept open from look to look; NULL: to be opened */
	struct events *events;
	struct control *control;
	struct sync *sync; /* NULL: not asked for */
	struct xlbd_device device[XLBD_DEVICES_MAX];
	size_t device_count;
	uint32_t clients;           /* device by which clients anywhere are answered; 0: none */
	struct xlb_addr gateway[2]; /* of the default routes, IPv4 and IPv6; zero: none */
	bool adopted;               /* what an earlier daemon left has been looked at */
	uint64_t generation;        /* of services: counts plans that changed something */
	int64_t started, changed;   /* CLOCK_BOOTTIME ms: of the daemon; of the last generation */
	bool table_readable;        /* the last look at the IPVS table succeeded */
	char trouble[200];          /* what is wrong now, in a sentence; "": nothing */
	bool bypass_all;
	struct xlb_service_key *bypass; /* by hand */
	size_t bypass_count;
	char reload_error[300]; /* why the last reload failed; "": it did not */
};

/* ---- daemon.c --------------------------------------------------------------------------------- */

/* Opens what runs on, starts the timers, takes a first look and attaches. Logs. */
int xlbd_start(struct xlbd *xlbd);
/* In reverse; the program stays on the devices, packets go on. */
void xlbd_stop(struct xlbd *xlbd);
/* Looks at everything now and brings the data plane in line. `why` for the log. */
void xlbd_look(struct xlbd *xlbd, const char *why);
/* Looks as soon as the loop is idle; many hints make one look. */
void xlbd_look_soon(struct xlbd *xlbd, const char *why);
/* Reads xlbd.yaml and keepalived.conf again; on failure the old ones stay. 0 or -errno; complaints may be NULL. */
int xlbd_reload(struct xlbd *xlbd, struct complaints *complaints);
/* key NULL: all services. -ENOENT: no such service. */
int xlbd_bypass(struct xlbd *xlbd, const struct xlb_service_key *key, bool on);

int64_t xlbd_boot_ms(void); /* CLOCK_BOOTTIME */

/* ---- table.c ---------------------------------------------------------------------------------- */

/*
 * The table in force, opened if it is not. On failure xlbd->trouble says why, logged when it is another reason than before;
 * what was read before stays in force.
 */
int xlbd_read_table(struct xlbd *xlbd, struct service_set **ret);
void xlbd_close_table(struct xlbd *xlbd);

/* ---- declared.c ------------------------------------------------------------------------------- */

/* Reads keepalived.conf. strict: complaints go there, and a mistake is -EINVAL; else NULL. On failure the old one stays. */
int xlbd_read_declared(struct xlbd *xlbd, const struct xlbd_conf *conf, struct complaints *strict);
/* Reads it again if keepalived seems to have done so. */
void xlbd_follow_keepalived(struct xlbd *xlbd, const struct service_set *in_force);

/* ---- world.c ---------------------------------------------------------------------------------- */

/* What judge() wants to know about the system; borrows the daemon. */
struct judge_world;
void xlbd_world(struct xlbd *xlbd, struct judge_world *ret);

/* ---- attach.c --------------------------------------------------------------------------------- */

/* Chooses devices, puts the program on them, brings the interface table in line. */
void xlbd_attach(struct xlbd *xlbd, const struct service_set *services);
/* Whether the device carries the program. */
bool xlbd_is_attached(const struct xlbd *xlbd, uint32_t ifindex);

#endif
