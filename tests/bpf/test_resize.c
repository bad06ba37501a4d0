// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_resize.c - the connection table changes its size under packets: real programs, pins in a bpffs of our own, links on devices.
 *
 * Fifty thousand connections are put in by the daemon's own insertion, a few hundred by packets, in several phases and of both
 * families. Between all steps of the change every one of them must be found where it belongs, in its phase; the count of live
 * connections must be exact; packets, which go through the program that is on the link at that moment, must reach the same real
 * servers, open new connections and move others on.
 *
 * A daemon that dies is one that closes everything and leaves pins and links; the next one is opened on them. Deaths inside a
 * step are made by hand, by the renaming of pins that the step would have done.
 */
#define _GNU_SOURCE /* unshare() */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <netinet/in.h>

#include "tests/bpf/lab.h"
#include "xlbd/dataplane/links.h"
#include "xlbd/dataplane/resize.h"
#include "xlbd/dataplane/table_pins.h"
#include "xlbd/model/addr.h"

#define SMALL   100000 /* connections: 2^16 buckets */
#define LARGE   300000 /* 2^18 */
#define CROWD   25000  /* put in by the daemon's insertion, of each family */
#define CLIENTS 240    /* by packets, of each family */
#define STEPS   10000  /* no change takes so many */

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "rr", .real = {"10.0.0.1", "10.0.0.2", "10.0.0.3"}},
	{"[2001:db8::10]:80/tcp", "rr",
         .real = {"2001:db8:1::1", "2001:db8:1::2", "2001:db8:1::3"}},
	{.endpoint = NULL},
};
static const char *const endpoint[] = {"192.0.2.10:80/tcp", "[2001:db8::10]:80/tcp"};

struct client {
	uint8_t phase; /* 0: not there yet */
	unsigned real; /* last byte of its address */
};

struct trial {
	char bpffs[64], pins[80];
	struct lab *lab;
	struct resize *resize;
	uint32_t crowd; /* of each family */
	uint16_t crowd_real[2], service[2];
	struct client client[2][CLIENTS];
	uint64_t size;                /* connections that the daemon is asked for */
	double longest_ms, moving_ms; /* of steps that move */
};

/* ---- daemons ---------------------------------------------------------------------------------- */

static int link_program(const struct trial *trial, const char *device)
{
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	char path[160];
	int link, program;

	snprintf(path, sizeof(path), "%s/link-%s", trial->pins, device);
	link = bpf_obj_get(path);
	assert_true(link >= 0);
	assert_int_equal(bpf_obj_get_info_by_fd(link, &info, &length), 0);
	close(link);
	program = bpf_prog_get_fd_by_id(info.prog_id);
	assert_true(program >= 0);
	return program;
}

/* Packets go through what is on the device now, as they do. */
static void use_link(struct trial *trial)
{
	if (trial->lab->program)
		close(trial->lab->program);
	trial->lab->program = link_program(trial, "other");
}

static void start(struct trial *trial, bool first)
{
	struct xlb_service_key key;
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;
	bool native;
	int fd;

	trial->lab = first ? lab_open_at(trial->pins, trial->size, trial->size)
	                   : lab_open_again(trial->pins, trial->size, trial->size);
	/* down: no packet but ours meets the programs on the links */
	if (first)
		assert_int_equal(system("ip link set other down && ip link set far down"), 0);
	assert_int_equal(resize_open(trial->lab->dataplane, &trial->resize), 0);
	lab_serve(trial->lab, services);
	for (int i = 0; i < 2; i++) {
		assert_true(endpoint_parse(endpoint[i], &addr, &port, &protocol));
		key = service_key(&addr, port, protocol);
		trial->service[i] = apply_service_id(trial->lab->apply, &key);
		assert_true(addr_parse(services[i].real[0], &addr));
		trial->crowd_real[i] = apply_real_id(trial->lab->apply, &key, &addr, 80);
		assert_true(trial->service[i] && trial->crowd_real[i]);
	}
	assert_int_equal(links_attach(trial->pins, dataplane_ingress_fd(trial->lab->dataplane),
	                              if_nametoindex("other"), "other", LINKS_NATIVE_OR_GENERIC,
	                              &native, &fd),
	                 0);
	if (first) /* later daemons do not choose this one any more */
		assert_int_equal(links_attach(trial->pins,
		                              dataplane_ingress_fd(trial->lab->dataplane),
		                              if_nametoindex("far"), "far", LINKS_NATIVE_OR_GENERIC,
		                              &native, &fd),
		                 0);
	use_link(trial);
	resize_want(trial->resize, trial->size, trial->size);
}

static void die(struct trial *trial)
{
	close(trial->lab->program);
	trial->resize = resize_close(trial->resize);
	lab_close(trial->lab);
}

static void open_trial(struct trial *trial)
{
	*trial = (struct trial){.size = SMALL};
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		printf("SKIP: no mount namespace: %s\n", strerror(errno));
		exit(77);
	}
	strcpy(trial->bpffs, "/tmp/xlbd-resize-XXXXXX");
	if (!mkdtemp(trial->bpffs) || mount("bpf", trial->bpffs, "bpf", 0, NULL) < 0) {
		printf("SKIP: no bpffs of our own: %s\n", strerror(errno));
		exit(77);
	}
	snprintf(trial->pins, sizeof(trial->pins), "%s/xlbd", trial->bpffs);
	start(trial, true);
}

static void close_trial(struct trial *trial)
{
	die(trial);
	assert_int_equal(links_remove(trial->pins), 0);
	assert_int_equal(umount2(trial->bpffs, MNT_DETACH), 0);
	assert_int_equal(rmdir(trial->bpffs), 0);
}

/* ---- connections ------------------------------------------------------------------------------ */

static struct flow crowd_flow(const struct trial *trial, int family, uint32_t i)
{
	struct flow flow = {.client_port = (uint16_t)(i % 60000 + 1024),
	                    .service = trial->service[family],
	                    .real = trial->crowd_real[family],
	                    .phase = i % 7 ? XLB_PHASE_ESTABLISHED : XLB_PHASE_FIN_WAIT};

	if (family) {
		flow.client.word[0] = htonl(0x20010db8);
		flow.client.word[3] = htonl(i);
	} else {
		flow.client.word[2] = htonl(0xffff);
		flow.client.word[3] = htonl(0xcb000000 + i / 3);
	}
	return flow;
}

static void add_crowd(struct trial *trial, uint32_t count)
{
	uint64_t now = dataplane_now(trial->lab->dataplane);

	for (; trial->crowd < count; trial->crowd++) {
		for (int family = 0; family < 2; family++) {
			struct flow flow = crowd_flow(trial, family, trial->crowd);

			assert_int_equal(flows_insert(trial->lab->flows, now, &flow, family), 0);
		}
	}
}

static const char *address_of(int family, int i, char text[40])
{
	snprintf(text, 40, family ? "2001:db8:c::%x" : "198.51.100.%d", i + 1);
	return text;
}

/* One TCP packet of a client; it must be forwarded, and to its real server if it has one. */
static void send_flags(struct trial *trial, int family, int i, uint8_t flags)
{
	struct client *client = &trial->client[family][i];
	char address[40];
	struct packet_spec spec = {.ipv6 = family,
	                           .source = address_of(family, i, address),
	                           .source_port = (uint16_t)(2000 + i),
	                           .flags = flags};
	struct lab_result result = lab_send(trial->lab, &spec);
	unsigned real = lab_real_of(&result);

	assert_int_not_equal(real, 0);
	if (client->real)
		assert_int_equal(real, client->real);
	client->real = real;
}

static void open_client(struct trial *trial, int family, int i)
{
	struct client *client = &trial->client[family][i];

	send_flags(trial, family, i, SPEC_SYN);
	client->phase = XLB_PHASE_SYN;
	if (i % 4 == 0)
		return;
	send_flags(trial, family, i, SPEC_ACK);
	client->phase = XLB_PHASE_ESTABLISHED;
	if (i % 4 != 1)
		return;
	send_flags(trial, family, i, SPEC_FIN | SPEC_ACK);
	client->phase = XLB_PHASE_FIN_WAIT;
}

static void open_clients(struct trial *trial, int from, int to)
{
	for (int family = 0; family < 2; family++)
		for (int i = from; i < to; i++)
			open_client(trial, family, i);
}

/* ---- what must hold at every moment ----------------------------------------------------------- */

static void crowd_is_known(struct trial *trial)
{
	uint64_t now = dataplane_now(trial->lab->dataplane);

	for (int family = 0; family < 2; family++) {
		for (uint32_t i = 0; i < trial->crowd; i++) {
			struct flow wanted = crowd_flow(trial, family, i), found = {0};

			if (!flows_look(trial->lab->flows, now, &wanted, family, &found))
				fail_msg("connection %u of family %d is lost", i, family);
			assert_int_equal(found.phase, wanted.phase);
			assert_int_equal(found.real, wanted.real);
		}
	}
}

static void clients_are_known(struct trial *trial)
{
	for (int family = 0; family < 2; family++) {
		for (int i = 0; i < CLIENTS; i++) {
			struct client *client = &trial->client[family][i];
			struct flow found = {0};
			char address[40];
			bool known = lab_flow(trial->lab, endpoint[family],
			                      address_of(family, i, address), (uint16_t)(2000 + i),
			                      &found);

			assert_int_equal(known, client->phase != 0);
			if (!known)
				continue;
			assert_int_equal(found.phase, client->phase);
			if (client->phase == XLB_PHASE_ESTABLISHED)
				send_flags(trial, family, i, SPEC_ACK);
		}
	}
}

/* A sweep counts what there is, once each. */
static void counts_are_exact(struct trial *trial)
{
	uint64_t by_phase[XLB_PHASES] = {0}, live = 0;

	for (int family = 0; family < 2; family++) {
		for (uint32_t i = 0; i < trial->crowd; i++)
			by_phase[crowd_flow(trial, family, i).phase]++;
		for (int i = 0; i < CLIENTS; i++)
			by_phase[trial->client[family][i].phase]++;
	}
	lab_sweep(trial->lab);
	for (int phase = XLB_PHASE_SYN; phase < XLB_PHASES; phase++) {
		assert_int_equal(trial->lab->census.by_phase[phase], by_phase[phase]);
		live += by_phase[phase];
	}
	assert_int_equal(trial->lab->census.live, live);
	assert_int_equal(trial->lab->census.expired, 0);
}

static void all_holds(struct trial *trial)
{
	lab_beat(trial->lab);
	clients_are_known(trial);
	crowd_is_known(trial);
	counts_are_exact(trial);
}

static uint64_t slots_of(const struct trial *trial, int family)
{
	struct flows_table table[2];

	dataplane_tables(trial->lab->dataplane, &table[0], &table[1]);
	return table_capacity(table[family].bits);
}

static bool is_pinned(const struct trial *trial, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", trial->pins, name);
	return access(path, F_OK) == 0;
}

static double thread_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* False: nothing is left to do. */
static bool step(struct trial *trial)
{
	struct lab *lab = trial->lab;
	struct resize_progress progress;
	bool moves = resize_progress(trial->resize, &progress) && !strcmp(progress.stage, "move");
	uint64_t now = dataplane_now(lab->dataplane);
	double begun = thread_ms();
	unsigned ms = resize_step(trial->resize, &lab->flows, now);
	double lasted = thread_ms() - begun;

	if (moves && lasted > trial->longest_ms)
		trial->longest_ms = lasted;
	if (moves)
		trial->moving_ms += lasted;
	use_link(trial);
	return ms;
}

/* At the end: the pins, and every link has the program that knows the new tables only. */
static void it_has_ended(struct trial *trial, uint64_t slots)
{
	struct resize_progress progress;
	struct flows_table old[2];

	assert_false(resize_progress(trial->resize, &progress));
	assert_false(is_pinned(trial, "connections_narrow_old"));
	assert_false(is_pinned(trial, "connections_wide_old"));
	dataplane_old_tables(trial->lab->dataplane, &old[0], &old[1]);
	for (int family = 0; family < 2; family++) {
		assert_int_equal(slots_of(trial, family), slots);
		assert_int_equal(old[family].bits, 0);
	}
	for (const char *const *device = (const char *[]){"other", "far", NULL}; *device;
	     device++) {
		struct bpf_prog_info here = {0}, ours = {0};
		uint32_t length = sizeof(here);
		int program = link_program(trial, *device);

		assert_int_equal(bpf_obj_get_info_by_fd(program, &here, &length), 0);
		assert_int_equal(bpf_obj_get_info_by_fd(dataplane_ingress_fd(trial->lab->dataplane),
		                                        &ours, &length),
		                 0);
		assert_int_equal(here.id, ours.id);
		close(program);
	}
	all_holds(trial);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void it_grows_under_packets_and_loses_nothing(void **state)
{
	struct trial trial;
	int steps = 0, opened = CLIENTS / 2;

	(void)state;
	open_trial(&trial);
	add_crowd(&trial, CROWD);
	open_clients(&trial, 0, opened);
	all_holds(&trial);
	assert_false(step(&trial)); /* it has the size that is asked for */
	resize_want(trial.resize, LARGE, LARGE);
	while (step(&trial)) {
		assert_true(++steps < STEPS);
		if (opened < CLIENTS) {
			open_clients(&trial, opened, opened + 1);
			opened++;
		}
		/* a handshake that began in the old table goes on */
		if (4 * steps < CLIENTS / 2)
			for (int family = 0; family < 2; family++) {
				send_flags(&trial, family, 4 * steps, SPEC_ACK);
				trial.client[family][4 * steps].phase = XLB_PHASE_ESTABLISHED;
			}
		all_holds(&trial);
	}
	printf("%d steps; those that moved took %.1f ms of CPU in all, the longest %.1f ms\n",
	       steps, trial.moving_ms, trial.longest_ms);
	assert_true(steps > 6); /* else nothing was looked at in between */
	assert_true(trial.longest_ms < 20);
	it_has_ended(&trial, 1u << 20);
	open_clients(&trial, opened, CLIENTS);
	close_trial(&trial);
}

static void a_daemon_may_die_behind_every_step(void **state)
{
	struct trial trial;
	int steps = 0, deaths = 0;

	(void)state;
	open_trial(&trial);
	add_crowd(&trial, 3000);
	open_clients(&trial, 0, 40);
	trial.size = LARGE;
	resize_want(trial.resize, LARGE, LARGE);
	while (step(&trial)) {
		assert_true(++steps < STEPS);
		if (deaths > 12) /* a walk must come to its end at last */
			continue;
		deaths++;
		/* between two daemons packets go on through the link */
		open_clients(&trial, 40 + deaths, 41 + deaths);
		die(&trial);
		start(&trial, false);
		all_holds(&trial);
	}
	assert_true(deaths >= 5);
	it_has_ended(&trial, 1u << 20);
	close_trial(&trial);
}

static void rename_pin(const struct trial *trial, const char *from, const char *to)
{
	char was[160], is[160];

	snprintf(was, sizeof(was), "%s/%s", trial->pins, from);
	snprintf(is, sizeof(is), "%s/%s", trial->pins, to);
	assert_int_equal(rename(was, is), 0);
}

static void a_daemon_may_die_between_two_pins(void **state)
{
	struct trial trial;

	(void)state;
	open_trial(&trial);
	add_crowd(&trial, 3000);
	open_clients(&trial, 0, 40);
	die(&trial);
	rename_pin(&trial, "connections_narrow", "connections_narrow_old");
	start(&trial, false);
	assert_false(is_pinned(&trial, "connections_narrow_old")); /* it is at rest again */
	assert_int_equal(slots_of(&trial, 0), 1u << 18);
	all_holds(&trial);
	/* one table turned over, the other not; no program for it yet */
	assert_int_equal(table_pins_grow(trial.pins, "connections_wide", 128, 18), 0);
	die(&trial);
	trial.size = LARGE;
	start(&trial, false);
	assert_int_equal(slots_of(&trial, 0), 1u << 18);
	assert_int_equal(slots_of(&trial, 1), 1u << 20);
	all_holds(&trial);
	for (int steps = 0; step(&trial); steps++) {
		assert_true(steps < STEPS);
		all_holds(&trial);
	}
	it_has_ended(&trial, 1u << 20); /* after the one, the other */
	close_trial(&trial);
}

static void it_becomes_smaller_only_when_empty(void **state)
{
	struct trial trial;
	char pin[160];

	(void)state;
	open_trial(&trial);
	open_clients(&trial, 0, 1);
	resize_want(trial.resize, 1000, 1000);
	assert_false(step(&trial));
	assert_int_equal(slots_of(&trial, 0), 1u << 18);
	it_has_ended(&trial, 1u << 18);
	/* its only connections end */
	for (int phase = 0; phase < XLB_PHASES; phase++)
		dataplane_control(trial.lab->dataplane)->timeout[phase] = 0;
	usleep(800000);
	lab_sweep(trial.lab);
	assert_int_equal(trial.lab->census.live, 0);
	memset(trial.client, 0, sizeof(trial.client));
	for (int phase = 0; phase < XLB_PHASES; phase++)
		dataplane_control(trial.lab->dataplane)->timeout[phase] = 400;
	resize_want(trial.resize, 1000, 1000);
	while (step(&trial))
		;
	it_has_ended(&trial, 1u << 11);
	open_clients(&trial, 0, 20);
	all_holds(&trial);
	snprintf(pin, sizeof(pin), "%s/connections_narrow", trial.pins);
	assert_int_equal(access(pin, F_OK), 0);
	close_trial(&trial);
}

/* As daemons pinned it that knew one size only. */
static void a_pinned_place_holder_is_in_nobodys_way(void **state)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct trial trial;
	char path[160];
	int fd;

	(void)state;
	open_trial(&trial);
	open_clients(&trial, 0, 10);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "holder", 4, 64, 17, &options);
	snprintf(path, sizeof(path), "%s/connections_narrow_old", trial.pins);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	close(fd);
	die(&trial);
	trial.size = LARGE;
	start(&trial, false);
	assert_false(is_pinned(&trial, "connections_narrow_old"));
	while (step(&trial))
		all_holds(&trial);
	it_has_ended(&trial, 1u << 20);
	close_trial(&trial);
}

/* With a map that has another size since: the layout must be what is complained about. */
static void maps_of_another_layout_are_refused(void **state)
{
	struct dataplane_options options = {.connections_ipv4 = SMALL, .connections_ipv6 = SMALL};
	struct dataplane *dataplane = NULL;
	struct trial trial;
	char path[160];
	int fd;

	(void)state;
	open_trial(&trial);
	dataplane_control(trial.lab->dataplane)->layout--;
	die(&trial);
	snprintf(path, sizeof(path), "%s/verdict_counters", trial.pins);
	assert_int_equal(unlink(path), 0);
	fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "verdict_counter", 4, 16, 3, NULL);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	close(fd);
	options.pin_folder = trial.pins;
	assert_int_equal(dataplane_open(&options, &dataplane), -EPROTO);
	assert_null(dataplane);
	assert_int_equal(links_remove(trial.pins), 0);
	trial.size = SMALL;
	start(&trial, false);
	close_trial(&trial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_grows_under_packets_and_loses_nothing),
		cmocka_unit_test(a_daemon_may_die_behind_every_step),
		cmocka_unit_test(a_daemon_may_die_between_two_pins),
		cmocka_unit_test(it_becomes_smaller_only_when_empty),
		cmocka_unit_test(a_pinned_place_holder_is_in_nobodys_way),
		cmocka_unit_test(maps_of_another_layout_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
