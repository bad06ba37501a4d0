// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * neighbours.c - next hops of real servers: asked for, heard about, and kept alive.
 *
 * A target (a real server's address) has a route, the route names a device and a neighbour (the gateway, or the target itself),
 * several targets may share a neighbour. Two sockets: one asks (routes and neighbours, many in one system call), one hears
 * (neighbours, routes, rules) and tells the kernel which neighbours are in use.
 *
 * XDP sends frames that the kernel never sees, so to the kernel these neighbours look idle: REACHABLE would become STALE, and STALE
 * be collected. Once a second each entry that is STALE, failed or gone is "used" by message (NTF_USE), which makes the kernel confirm
 * or resolve it as traffic would: about one ARP a neighbour in 35 s. An entry that vanishes though nobody failed to
 * answer (`ip neigh flush`, collection) keeps its MAC for a while (neighbour_entry.c) while it is asked for: the kernel would have held the
 * packets back, XDP cannot. Permanent entries are never used by message: NTF_USE makes them mortal.
 *
 * Changes of routes come in storms. The first one arms a timer, all targets are asked again in slices between which the loop
 * runs, and the next look starts at the earliest GAP later. Every LOOK_EVERY seconds a look is made anyway: it repairs what messages
 * did not tell (path MTU, lost messages).
 */
#include <errno.h>
#include <event2/event.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <time.h>

#define HASH_FUNCTION HASH_FNV /* uthash's default has fall-throughs that clang reports */
#include <uthash.h>

#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/neighbour_entry.h"
#include "xlbd/neighbours.h"
#include "xlbd/netmessages.h"
#include "xlbd/netsocket.h"
#include "xlbd/next_hop.h"
#include "xlbd/routes.h"

#define TOPIC "neighbours"

enum {
	SLICE = 128,     /* targets looked at before the loop gets its turn */
	USES = 128,      /* neighbours used by message before the loop gets its turn */
	USE_GAP = 5,     /* ms between two such slices */
	USE_EVERY = 900, /* ms between two uses of one neighbour */
	SETTLE = 20,     /* ms from the first message about a route to the look */
	GAP = 500,       /* ms between the starts of two looks */
	LOOK_EVERY = 30, /* s */
};

struct neighbour_key {
	uint32_t ifindex;
	struct xlb_addr addr;
};
_Static_assert(sizeof(struct neighbour_key) == 20, "compared by bytes");

struct neighbour {
	struct neighbour_key key;
	struct neighbour_entry entry;
	bool dirty;   /* hops through it must be made again */
	int64_t used; /* ms: when it was used by message last */
	size_t users;
	UT_hash_handle hh;
};

struct target {
	struct xlb_addr addr;
	struct route_info route;
	struct neighbour *neighbour; /* NULL: needs none */
	struct next_hop hop;         /* as last told */
	bool told, wanted;
	UT_hash_handle hh;
};

struct neighbours {
	struct network *network;
	struct netsocket *asking, *hearing;
	struct event *readable, *look, *use, *tick;
	struct neighbour *by_key; /* uthash */
	struct target *targets;   /* uthash */
	struct target **queue;    /* targets of the look that goes on; NULLs: removed meanwhile */
	size_t queue_count, queue_next;
	bool look_wanted;
	int64_t look_started;
	unsigned ticks;
	void (*changed)(void *context, const struct xlb_addr *addr, const struct next_hop *hop);
	void *context;
	struct log_limit limit;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- from what is known to a next hop ---------------------------------------------------------- */

static void log_hop(struct neighbours *neighbours, const struct target *target,
                    const struct next_hop *before)
{
	const struct next_hop *hop = &target->hop;
	const struct link_info *link = network_link(neighbours->network, hop->ifindex);
	bool lost = before->ifindex && before->state == NEXT_HOP_RESOLVED &&
	            hop->state == NEXT_HOP_RESOLVING && before->ifindex == hop->ifindex &&
	            addr_equal(&before->gateway, &hop->gateway);
	char addr[ADDR_TEXT], gateway[ADDR_TEXT];

	addr_print(&target->addr, addr);
	addr_print(&hop->gateway, gateway);
	if (lost && log_allowed(&neighbours->limit, 10, TOPIC))
		log_warning(TOPIC, "%s on %s does not answer any more, the next hop of %s", gateway,
		            link ? link->name : "?", addr);
	log_debug(TOPIC, "%s: %s by %s on %s", addr, next_hop_state_name(hop->state), gateway,
	          link ? link->name : "?");
}

static void tell(struct neighbours *neighbours, struct target *target)
{
	const uint8_t *mac =
		target->neighbour ? neighbour_entry_mac(&target->neighbour->entry, now_ms()) : NULL;
	struct next_hop before = target->hop;

	target->hop = next_hop_make(neighbours->network, &target->addr, &target->route, mac);
	if (target->told && next_hop_equal(&before, &target->hop))
		return;
	target->told = true;
	log_hop(neighbours, target, &before);
	neighbours->changed(neighbours->context, &target->addr, &target->hop);
}

/* ---- the kernel's entries ---------------------------------------------------------------------- */

static struct neighbour *find_neighbour(struct neighbours *neighbours, uint32_t ifindex,
                                        const struct xlb_addr *addr)
{
	struct neighbour_key key = {.ifindex = ifindex, .addr = *addr};
	struct neighbour *found;

	HASH_FIND(hh, neighbours->by_key, &key, sizeof(key), found);
	return found;
}

/* info NULL: the kernel has no entry (any more). */
static void heard(struct neighbour *neighbour, const struct neighbour_info *info)
{
	neighbour_entry_heard(&neighbour->entry, info, now_ms());
	neighbour->dirty = true;
}

static void put_use(void *context, size_t index, char *buffer)
{
	struct neighbour *const *used = context;

	netmessage_use_neighbour(buffer, used[index]->key.ifindex, &used[index]->key.addr);
}

static void arm(struct event *timer, int64_t ms)
{
	const struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	(void)event_add(timer, &delay); /* fails only without memory; the next tick tries again */
}

static bool wants_use(const struct neighbours *neighbours, const struct neighbour *neighbour,
                      int64_t now)
{
	const struct link_info *link = network_link(neighbours->network, neighbour->key.ifindex);

	if (!neighbour_entry_wants_use(&neighbour->entry))
		return false;
	return link && link->up && now - neighbour->used >= USE_EVERY;
}

/* Uses a slice of those that want it; comes again soon if that was not all. */
static void use_neighbours(struct neighbours *neighbours)
{
	struct neighbour *used[USES], *neighbour, *next;
	struct netsocket_questions questions = {.context = used, .put = put_use};
	int64_t now = now_ms();
	int result;

	HASH_ITER(hh, neighbours->by_key, neighbour, next) {
		if (questions.count == USES)
			break;
		if (!wants_use(neighbours, neighbour, now))
			continue;
		neighbour->used = now;
		used[questions.count++] = neighbour;
	}
	result = netsocket_tell(neighbours->hearing, &questions);
	if (result < 0 && log_allowed(&neighbours->limit, 10, TOPIC))
		log_errno(result, TOPIC, "cannot ask for neighbours");
	if (questions.count == USES)
		arm(neighbours->use, USE_GAP);
}

static void use(evutil_socket_t fd, short what, void *argument)
{
	(void)fd;
	(void)what;
	use_neighbours(argument);
}

/* Makes the hops anew whose neighbour changed. */
static void tell_dirty(struct neighbours *neighbours)
{
	struct neighbour *neighbour, *next_neighbour;
	struct target *target, *next;

	HASH_ITER(hh, neighbours->targets, target, next) {
		if (target->neighbour && target->neighbour->dirty)
			tell(neighbours, target);
	}
	HASH_ITER(hh, neighbours->by_key, neighbour, next_neighbour) {
		neighbour->dirty = false;
	}
}

/* ---- a look at targets ------------------------------------------------------------------------- */

static void leave_neighbour(struct neighbours *neighbours, struct target *target)
{
	struct neighbour *neighbour = take_ptr(target->neighbour);

	if (!neighbour || --neighbour->users)
		return;
	HASH_DEL(neighbours->by_key, neighbour);
	free(neighbour);
}

/* Gives the target the neighbour that its route names. */
static int join_neighbour(struct neighbours *neighbours, struct target *target)
{
	const struct xlb_addr *addr =
		addr_is_zero(&target->route.gateway) ? &target->addr : &target->route.gateway;
	struct neighbour *neighbour = find_neighbour(neighbours, target->route.ifindex, addr);

	if (target->route.error || target->route.type != RTN_UNICAST) {
		leave_neighbour(neighbours, target);
		return 0;
	}
	if (neighbour && neighbour == target->neighbour)
		return 0;
	if (!neighbour) {
		neighbour = calloc(1, sizeof(*neighbour));
		if (!neighbour)
			return -ENOMEM;
		neighbour->key = (struct neighbour_key){target->route.ifindex, *addr};
		HASH_ADD(hh, neighbours->by_key, key, sizeof(neighbour->key), neighbour);
	}
	neighbour->users++;
	leave_neighbour(neighbours, target);
	target->neighbour = neighbour;
	return 0;
}

static void put_neighbour(void *context, size_t index, char *buffer)
{
	struct neighbour *const *asked = context;

	netmessage_ask_neighbour(buffer, asked[index]->key.ifindex, &asked[index]->key.addr);
}

static void answer_neighbour(void *context, size_t index, const struct nlmsghdr *message, int error)
{
	struct neighbour *const *asked = context;
	struct neighbour_info info = {};

	if (message && netmessage_neighbour(message, &info))
		heard(asked[index], &info);
	else if (error == -ENOENT)
		heard(asked[index], NULL);
}

/* Routes, then neighbours, of at most SLICE targets; NULLs are skipped. */
static int look_at(struct neighbours *neighbours, struct target *const *targets, size_t count)
{
	struct xlb_addr addrs[SLICE] = {};
	struct route_info routes[SLICE];
	struct target *looked[SLICE];
	struct neighbour *asked[SLICE];
	struct netsocket_questions questions = {
		.context = asked, .put = put_neighbour, .answer = answer_neighbour};
	size_t n = 0;
	int result;

	for (size_t i = 0; i < count; i++)
		if (targets[i]) {
			looked[n] = targets[i];
			addrs[n++] = targets[i]->addr;
		}
	result = routes_ask(neighbours->asking, addrs, n, routes);
	for (size_t i = 0; result == 0 && i < n; i++) {
		looked[i]->route = routes[i];
		result = join_neighbour(neighbours, looked[i]);
		if (looked[i]->neighbour && !looked[i]->neighbour->dirty) {
			looked[i]->neighbour->dirty = true; /* asked for once */
			asked[questions.count++] = looked[i]->neighbour;
		}
	}
	if (result == 0)
		result = netsocket_ask(neighbours->asking, &questions);
	for (size_t i = 0; i < n; i++)
		tell(neighbours, looked[i]);
	return result;
}

static void want_look(struct neighbours *neighbours)
{
	int64_t wait = neighbours->look_started + GAP - now_ms();

	if (neighbours->look_wanted)
		return;
	neighbours->look_wanted = true;
	if (!neighbours->queue)
		arm(neighbours->look, wait > SETTLE ? wait : SETTLE);
}

static int fill_queue(struct neighbours *neighbours)
{
	struct target *target, *next;

	neighbours->queue_count = neighbours->queue_next = 0;
	neighbours->queue = calloc(HASH_COUNT(neighbours->targets) + 1, sizeof(struct target *));
	if (!neighbours->queue)
		return -ENOMEM;
	HASH_ITER(hh, neighbours->targets, target, next) {
		neighbours->queue[neighbours->queue_count++] = target;
	}
	return 0;
}

static void end_look(struct neighbours *neighbours, int result)
{
	free(take_ptr(neighbours->queue));
	if (result < 0 && log_allowed(&neighbours->limit, 10, TOPIC))
		log_errno(result, TOPIC, "cannot ask for next hops");
	if (result < 0 && !neighbours->look_wanted)
		neighbours->look_wanted = true;
	if (neighbours->look_wanted)
		arm(neighbours->look, GAP);
	use_neighbours(neighbours);
}

/* The timer of a look: begins one, or goes on with the next slice of it. */
static void look(evutil_socket_t fd, short what, void *argument)
{
	struct neighbours *neighbours = argument;
	size_t count;
	int result = 0;

	(void)fd;
	(void)what;
	if (!neighbours->queue) {
		neighbours->look_wanted = false;
		neighbours->look_started = now_ms();
		result = fill_queue(neighbours);
	}
	if (result < 0) {
		end_look(neighbours, result);
		return;
	}
	count = neighbours->queue_count - neighbours->queue_next;
	if (count > SLICE)
		count = SLICE;
	result = look_at(neighbours, neighbours->queue + neighbours->queue_next, count);
	tell_dirty(neighbours);
	neighbours->queue_next += count;
	if (result < 0 || neighbours->queue_next == neighbours->queue_count)
		end_look(neighbours, result);
	else
		arm(neighbours->look, 0);
}

/* ---- events ------------------------------------------------------------------------------------ */

static void hear(void *context, const struct nlmsghdr *message)
{
	struct neighbours *neighbours = context;
	struct neighbour_info info;
	struct neighbour *neighbour;

	if (!netmessage_neighbour(message, &info)) {
		want_look(neighbours); /* a route or a rule */
		return;
	}
	neighbour = find_neighbour(neighbours, info.ifindex, &info.addr);
	if (neighbour)
		heard(neighbour, message->nlmsg_type == RTM_DELNEIGH ? NULL : &info);
}

static void readable(evutil_socket_t fd, short what, void *argument)
{
	struct neighbours *neighbours = argument;
	int result = netsocket_read(neighbours->hearing, hear, neighbours);

	(void)fd;
	(void)what;
	if (result < 0) {
		if (log_allowed(&neighbours->limit, 10, TOPIC))
			log_notice(TOPIC, "messages about neighbours were lost (%s), asking again",
			           strerror(-result));
		want_look(neighbours);
	}
	tell_dirty(neighbours);
}

/* Each second: graces that ended, neighbours that want to be used, now and then a look. */
static void tick(evutil_socket_t fd, short what, void *argument)
{
	struct neighbours *neighbours = argument;
	struct neighbour *neighbour, *next;

	(void)fd;
	(void)what;
	HASH_ITER(hh, neighbours->by_key, neighbour, next) {
		if (neighbour->entry.lost && !neighbour_entry_mac(&neighbour->entry, now_ms()))
			neighbour->dirty = true;
	}
	tell_dirty(neighbours);
	use_neighbours(neighbours);
	if (++neighbours->ticks % LOOK_EVERY == 0)
		want_look(neighbours);
}

void neighbours_refresh(struct neighbours *neighbours)
{
	struct target *target, *next;

	/* a link that went down is known here and now, whatever the routes say later */
	HASH_ITER(hh, neighbours->targets, target, next) {
		tell(neighbours, target);
	}
	want_look(neighbours);
}

/* ---- the set of targets ------------------------------------------------------------------------ */

static void remove_target(struct neighbours *neighbours, struct target *target)
{
	for (size_t i = neighbours->queue ? neighbours->queue_next : 0;
	     neighbours->queue && i < neighbours->queue_count; i++)
		if (neighbours->queue[i] == target)
			neighbours->queue[i] = NULL;
	leave_neighbour(neighbours, target);
	HASH_DEL(neighbours->targets, target);
	free(target);
}

/* The target; *ret_new: it was not there. NULL: out of memory. */
static struct target *want_target(struct neighbours *neighbours, const struct xlb_addr *addr,
                                  bool *ret_new)
{
	struct target *target;

	HASH_FIND(hh, neighbours->targets, addr, sizeof(*addr), target);
	*ret_new = !target;
	if (target) {
		target->wanted = true;
		return target;
	}
	target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	target->addr = *addr;
	target->wanted = true;
	HASH_ADD(hh, neighbours->targets, addr, sizeof(target->addr), target);
	return target;
}

int neighbours_set(struct neighbours *neighbours, const struct xlb_addr *targets, size_t count)
{
	_cleanup_free_ struct target **added = calloc(count + 1, sizeof(struct target *));
	struct target *target, *next;
	size_t added_count = 0;
	int result = 0;
	bool new;

	if (!added)
		return -ENOMEM;
	HASH_ITER(hh, neighbours->targets, target, next) {
		target->wanted = false;
	}
	for (size_t i = 0; i < count; i++) {
		target = want_target(neighbours, &targets[i], &new);
		if (!target)
			return -ENOMEM;
		if (new)
			added[added_count++] = target;
	}
	HASH_ITER(hh, neighbours->targets, target, next) {
		if (!target->wanted)
			remove_target(neighbours, target);
	}
	for (size_t first = 0; result == 0 && first < added_count; first += SLICE) {
		size_t slice = added_count - first < SLICE ? added_count - first : SLICE;

		result = look_at(neighbours, added + first, slice);
	}
	tell_dirty(neighbours);
	if (result < 0)
		want_look(neighbours);
	if (added_count)
		use_neighbours(neighbours);
	return result;
}

const struct next_hop *neighbours_get(const struct neighbours *neighbours,
                                      const struct xlb_addr *addr)
{
	struct target *target;

	HASH_FIND(hh, neighbours->targets, addr, sizeof(*addr), target);
	return target ? &target->hop : NULL;
}

bool neighbours_all(const struct neighbours *neighbours, neighbours_fine *is_fine, const void *who)
{
	const struct target *target = neighbours->targets;

	while (target && is_fine(who, &target->hop))
		target = target->hh.next;
	return !target;
}

/* ---- start and stop ---------------------------------------------------------------------------- */

static int open_sockets(struct neighbours *neighbours)
{
	static const unsigned groups[] = {RTNLGRP_NEIGH,     RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
	                                  RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,  RTNLGRP_NEXTHOP};
	int result = netsocket_open(NETLINK_ROUTE, NULL, 0, &neighbours->asking);

	if (result < 0)
		return result;
	return netsocket_open(NETLINK_ROUTE, groups, ARRAY_SIZE(groups), &neighbours->hearing);
}

static int add_events(struct neighbours *neighbours, struct event_base *base)
{
	static const struct timeval second = {.tv_sec = 1};

	neighbours->readable = event_new(base, netsocket_fd(neighbours->hearing),
	                                 EV_READ | EV_PERSIST, readable, neighbours);
	neighbours->look = event_new(base, -1, 0, look, neighbours);
	neighbours->use = event_new(base, -1, 0, use, neighbours);
	neighbours->tick = event_new(base, -1, EV_PERSIST, tick, neighbours);
	if (!neighbours->readable || !neighbours->look || !neighbours->use || !neighbours->tick)
		return -ENOMEM;
	if (event_add(neighbours->readable, NULL) < 0 || event_add(neighbours->tick, &second) < 0)
		return -ENOMEM;
	return 0;
}

int neighbours_start(struct event_base *base, struct network *network,
                     void (*changed)(void *context, const struct xlb_addr *addr,
                                     const struct next_hop *hop),
                     void *context, struct neighbours **ret)
{
	_cleanup_(neighbours_stopp) struct neighbours *neighbours = calloc(1, sizeof(*neighbours));
	int result;

	if (!neighbours)
		return log_errno(-ENOMEM, TOPIC, "cannot start");
	neighbours->network = network;
	neighbours->changed = changed;
	neighbours->context = context;
	result = open_sockets(neighbours);
	if (result < 0)
		return log_errno(result, TOPIC, "cannot open an rtnetlink socket");
	result = add_events(neighbours, base);
	if (result < 0)
		return log_errno(result, TOPIC, "cannot wait for neighbours");
	*ret = take_ptr(neighbours);
	return 0;
}

struct neighbours *neighbours_stop(struct neighbours *neighbours)
{
	struct target *target, *next;

	if (!neighbours)
		return NULL;
	struct event *events[] = {neighbours->readable, neighbours->look, neighbours->use,
	                          neighbours->tick};

	HASH_ITER(hh, neighbours->targets, target, next) {
		remove_target(neighbours, target);
	}
	free(neighbours->queue);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (events[i])
			event_free(events[i]);
	netsocket_close(neighbours->asking);
	netsocket_close(neighbours->hearing);
	free(neighbours);
	return NULL;
}
