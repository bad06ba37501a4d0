// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_ipvs_rights.c - who may use the IPVS interface, whose table it is, and how long that lives.
 *
 * The kernel checks nothing before a cgroup program runs, so what ns_capable() would have said is proved here with real credentials: an
 * unprivileged user, root of a user namespace, the owner of one. Then: statistics, restarts, and two callers at once.
 */
#include "config.h" /* _GNU_SOURCE: unshare(), setresuid() */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cap-ng.h>
#include <cmocka.h>

#include "ipvs_api.h"
#include "tests/bpf/ipvs_lab.h"
#include "xlbd/model/addr.h"

#define USER 12345

struct fixture {
	struct ipvs_lab lab;
	struct ipvs_api *api;
	int fd;
};

static int open_fixture(void **state)
{
	struct fixture *fixture = *state;

	fixture->api = ipvs_lab_open(&fixture->lab);
	fixture->fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	return fixture->fd < 0;
}

static int close_fixture(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->fd);
	if (ipvs_api_detach(fixture->api) < 0)
		return -1;
	fixture->api = ipvs_api_close(fixture->api);
	return 0;
}

/* ---- rights ------------------------------------------------------------------------------------ */

static int try_info(int fd)
{
	struct ip_vs_getinfo info;
	socklen_t length = sizeof(info);

	return -ipvs_get(fd, IP_VS_SO_GET_INFO, &info, &length);
}

static int as_a_user(void *context)
{
	int *fd = context, own;

	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		return 100;
	own = socket(AF_INET, SOCK_DGRAM, 0);
	if (try_info(own) != EPERM || add_service(*fd, 81) != -EPERM)
		return 101;
	return try_info(*fd); /* root's socket in a user's hand */
}

static void a_user_may_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_api_counts counts;

	assert_int_equal(try_info(fixture->fd), 0);
	assert_int_equal(in_child(as_a_user, &fixture->fd), EPERM);
	assert_int_equal(ipvs_api_counts(fixture->api, &counts), 0);
	assert_int_equal(counts.denied, 3);
	assert_int_equal(counts.refused, 0);
}

static int without_net_admin(void *context)
{
	int *fd = context;

	capng_get_caps_process();
	capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, CAP_NET_ADMIN);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return 100;
	return try_info(*fd);
}

static int with_net_admin_alone(void *context)
{
	int *fd = context;

	capng_clear(CAPNG_SELECT_CAPS);
	capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_ADMIN, CAP_SETUID,
	              CAP_SETGID, -1);
	if (capng_change_id(USER, USER, CAPNG_DROP_SUPP_GRP) < 0)
		return 100;
	return try_info(*fd);
}

static void it_is_the_capability_that_counts_not_the_user(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(in_child(without_net_admin, &fixture->fd), EPERM);
	assert_int_equal(in_child(with_net_admin_alone, &fixture->fd), 0);
}

/* A child of user USER that is root in a user and network namespace of its own, and does as it is told. */
struct guest {
	pid_t pid;
	int talk;        /* one byte asks: o(wn) or h(ost); one byte answers: errno */
	int fd;          /* a socket of the guest's network namespace */
	int host_socket; /* what the guest got from us */
};

static void send_fd(int talk, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = room,
	                         .msg_controllen = sizeof(room)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(talk, &message, 0) != 1)
		abort();
}

static int receive_fd(int talk)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = room,
	                         .msg_controllen = sizeof(room)};
	int fd;

	if (recvmsg(talk, &message, 0) != 1)
		abort();
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static _Noreturn void be_guest(int talk, int host_socket)
{
	char order, answer;
	int own;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0 ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		_exit(100);
	own = socket(AF_INET, SOCK_RAW, IPPROTO_RAW); /* takes CAP_NET_RAW: we are root here */
	send_fd(talk, own);
	while (read(talk, &order, 1) == 1) {
		answer = (char)(order == 'a' ? -add_service(own, 80)
		                             : try_info(order == 'o' ? own : host_socket));
		if (write(talk, &answer, 1) != 1)
			break;
	}
	_exit(0);
}

static struct guest make_guest(int host_socket)
{
	struct guest guest;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	guest.pid = fork();
	if (guest.pid == 0) {
		close(pair[0]);
		be_guest(pair[1], host_socket);
	}
	close(pair[1]);
	guest.talk = pair[0];
	guest.fd = receive_fd(guest.talk);
	assert_true(guest.fd >= 0);
	return guest;
}

static int ask_guest(const struct guest *guest, char order)
{
	char answer = 0;

	assert_int_equal(write(guest->talk, &order, 1), 1);
	assert_int_equal(read(guest->talk, &answer, 1), 1);
	return answer;
}

static void end_guest(struct guest *guest)
{
	close(guest->talk);
	close(guest->fd);
	waitpid(guest->pid, NULL, 0);
}

/* An interface for the guest's network namespace, opened by us. */
static struct ipvs_api *open_for(const struct guest *guest, const struct ipvs_lab *lab)
{
	struct ipvs_lab other = *lab;
	struct ipvs_api *api;
	char path[64];
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), theirs;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)guest->pid);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(home >= 0 && theirs >= 0);
	assert_int_equal(setns(theirs, CLONE_NEWNET), 0);
	snprintf(other.pins, sizeof(other.pins), "%s/guest", lab->bpffs);
	api = ipvs_lab_open(&other);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	close(theirs);
	return api;
}

static int as_the_owner(void *context)
{
	int *fd = context;

	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		return 100;
	return try_info(*fd);
}

static int as_another(void *context)
{
	int *fd = context;

	if (setresgid(USER + 1, USER + 1, USER + 1) < 0 ||
	    setresuid(USER + 1, USER + 1, USER + 1) < 0)
		return 100;
	return try_info(*fd);
}

static void root_of_a_container_rules_its_own_table_alone(void **state)
{
	struct fixture *fixture = *state;
	struct guest guest = make_guest(fixture->fd);
	struct ipvs_api *api = open_for(&guest, &fixture->lab);
	struct service_set *set = NULL;

	assert_int_equal(ask_guest(&guest, 'o'), 0);
	assert_int_equal(ask_guest(&guest, 'h'), EPERM);
	assert_int_equal(ask_guest(&guest, 'a'), 0);
	assert_int_equal(add_service(guest.fd, 80), -EEXIST); /* we may, being root above it */
	assert_int_equal(add_service(fixture->fd, 80), 0);    /* another table */
	assert_int_equal(in_child(as_the_owner, &guest.fd), 0);
	assert_int_equal(in_child(as_another, &guest.fd), EPERM);
	assert_int_equal(ipvs_api_read(api, &set), 0);
	assert_int_equal(service_set_count(set), 1);
	service_set_free(set);
	assert_int_equal(ipvs_api_detach(api), 0);
	ipvs_api_close(api);
	end_guest(&guest);
}

static void a_namespace_without_an_xlbd_has_no_ipvs(void **state)
{
	struct fixture *fixture = *state;
	struct guest guest = make_guest(fixture->fd);

	assert_int_equal(ask_guest(&guest, 'o'), ENOPROTOOPT);
	assert_int_equal(ask_guest(&guest, 'a'), ENOPROTOOPT);
	end_guest(&guest);
}

/* ---- life -------------------------------------------------------------------------------------- */

static void the_table_outlives_the_daemon(void **state)
{
	struct fixture *fixture = *state;
	struct service_set *set = NULL;
	char text[256];

	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(add_real(fixture->fd, 80, 1), 0);
	fixture->api = ipvs_api_close(fixture->api);
	assert_int_equal(add_real(fixture->fd, 80, 2), 0); /* nobody there, and it works */
	fixture->api = ipvs_lab_open(&fixture->lab);
	assert_int_equal(add_real(fixture->fd, 80, 3), 0);
	assert_string_equal(order_of_reals(fixture->fd, 80, text), "3 2 1");
	assert_int_equal(ipvs_api_read(fixture->api, &set), 0);
	assert_int_equal(service_set_get(set, 0)->real_count, 3);
	service_set_free(set);
}

static void detached_nothing_answers(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_api *api = fixture->api;

	assert_int_equal(ipvs_api_detach(api), 0);
	assert_int_equal(add_service(fixture->fd, 80), -ENOPROTOOPT);
	assert_int_not_equal(access(fixture->lab.pins, F_OK), 0);
	ipvs_api_close(api);
	fixture->api = ipvs_lab_open(&fixture->lab);
	assert_int_equal(add_service(fixture->fd, 80), 0);
}

static int open_elsewhere(void *context)
{
	struct fixture *fixture = context;
	struct ipvs_api_options options = {.pin_folder = fixture->lab.pins,
	                                   .cgroup = fixture->lab.cgroup};
	struct ipvs_api *api;

	return unshare(CLONE_NEWNET) < 0 ? 100 : -ipvs_api_open(&options, &api);
}

static int open_with(const struct fixture *fixture, const char *pins, const char *cgroup)
{
	struct ipvs_api_options options = {.pin_folder = pins, .cgroup = cgroup};
	struct ipvs_api *api = NULL;
	int r = ipvs_api_open(&options, &api);

	(void)fixture;
	ipvs_api_close(api);
	return r;
}

static void what_is_pinned_by_others_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct ipvs_api_control control;
	uint32_t zero = 0;
	char path[128];
	int fd;

	assert_int_equal(in_child(open_elsewhere, fixture), EXDEV);
	snprintf(path, sizeof(path), "%s/control", fixture->lab.pins);
	fd = bpf_obj_get(path);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, &control), 0);
	control.layout++;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &control, 0), 0);
	assert_int_equal(open_with(fixture, fixture->lab.pins, fixture->lab.cgroup), -ESTALE);
	control.layout--;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &control, 0), 0);
	close(fd);
	assert_int_equal(open_with(fixture, fixture->lab.pins, fixture->lab.cgroup), 0);
	assert_int_equal(open_with(fixture, "/tmp", fixture->lab.cgroup), -EBADF);
	assert_int_equal(open_with(fixture, fixture->lab.pins, "/nowhere"), -ENOENT);
}

static void another_cgroup_is_moved_to(void **state)
{
	struct fixture *fixture = *state;
	char below[600];

	snprintf(below, sizeof(below), "%s/below", fixture->lab.cgroup);
	assert_int_equal(mkdir(below, 0755), 0);
	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(open_with(fixture, fixture->lab.pins, below), 0);
	assert_int_equal(add_service(fixture->fd, 81), -ENOPROTOOPT); /* we are not in it */
	assert_int_equal(open_with(fixture, fixture->lab.pins, fixture->lab.cgroup), 0);
	assert_int_equal(add_service(fixture->fd, 80), -EEXIST);
	assert_int_equal(rmdir(below), 0);
}

/* ---- statistics -------------------------------------------------------------------------------- */

static struct ip_vs_service_entry get_service(int fd, uint16_t port)
{
	struct ip_vs_service_user service = a_service(port);
	struct ip_vs_service_entry entry = {
		.protocol = service.protocol, .addr = service.addr, .port = service.port};
	socklen_t length = sizeof(entry);

	assert_int_equal(ipvs_get(fd, IP_VS_SO_GET_SERVICE, &entry, &length), 0);
	return entry;
}

static int write_stats(struct fixture *fixture, uint16_t port, uint8_t n, uint64_t packets)
{
	struct xlb_addr addr = addr_from_ipv4(htonl(0xc0000201));
	struct service service = {.key = service_key(&addr, port, IPPROTO_TCP)};
	struct real_server real = {.addr = addr_from_ipv4(a_real(n, port).addr), .port = port};
	struct ipvs_api_stats stats = {packets / 10, packets, packets * 100, n, n + 1u};

	return ipvs_api_write_stats(fixture->api, &service, &real, &stats);
}

static struct ip_vs_dest_entry get_first_real(int fd, uint16_t port)
{
	struct ip_vs_get_dests *answer = get_reals(fd, port, 4);
	struct ip_vs_dest_entry entry;

	assert_non_null(answer);
	assert_true(answer->num_dests > 0);
	entry = answer->entrytable[0];
	free(answer);
	return entry;
}

static void statistics_are_shown_and_summed(void **state)
{
	struct fixture *fixture = *state;
	struct ip_vs_dest_entry real;

	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(write_stats(fixture, 80, 1, 10), -ENOENT);
	assert_int_equal(add_real(fixture->fd, 80, 1), 0);
	assert_int_equal(add_real(fixture->fd, 80, 2), 0);
	assert_int_equal(get_first_real(fixture->fd, 80).stats.inpkts, 0);
	assert_int_equal(write_stats(fixture, 80, 1, 1000), 0);
	assert_int_equal(write_stats(fixture, 80, 2, 500), 0);
	assert_int_equal(write_stats(fixture, 80, 2, 600), 0);
	real = get_first_real(fixture->fd, 80);
	assert_int_equal(real.stats.conns, 60);
	assert_int_equal(real.stats.inpkts, 600);
	assert_int_equal(real.stats.inbytes, 60000);
	assert_int_equal(real.activeconns, 2);
	assert_int_equal(real.inactconns, 3);
	assert_int_equal(real.persistconns, 0);
	assert_int_equal(get_service(fixture->fd, 80).stats.inpkts, 1600);
	assert_int_equal(delete_real(fixture->fd, 80, 2),
	                 0); /* what it carried stays the service's */
	assert_int_equal(write_stats(fixture, 80, 1, 1001), 0);
	assert_int_equal(get_service(fixture->fd, 80).stats.inpkts, 1601);
}

static void a_slot_keeps_nothing_for_its_next_tenant(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(add_real(fixture->fd, 80, 1), 0);
	assert_int_equal(write_stats(fixture, 80, 1, 1000), 0);
	assert_int_equal(delete_real(fixture->fd, 80, 1), 0);
	assert_int_equal(add_real(fixture->fd, 80, 2), 0);
	assert_int_equal(get_first_real(fixture->fd, 80).stats.inpkts, 0);
	assert_int_equal(get_first_real(fixture->fd, 80).activeconns, 0);
	assert_int_equal(write_stats(fixture, 80, 1, 2000), -ENOENT);
	assert_int_equal(write_stats(fixture, 80, 2, 7), 0);
	assert_int_equal(get_first_real(fixture->fd, 80).stats.inpkts, 7);
}

static void zero_begins_anew_and_counts_on(void **state)
{
	struct fixture *fixture = *state;
	struct ip_vs_service_user all = {0};

	assert_int_equal(add_service(fixture->fd, 80), 0);
	assert_int_equal(add_real(fixture->fd, 80, 1), 0);
	assert_int_equal(write_stats(fixture, 80, 1, 1000), 0);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_ZERO, &all, sizeof(all)), 0);
	assert_int_equal(get_first_real(fixture->fd, 80).stats.inpkts, 0);
	assert_int_equal(get_first_real(fixture->fd, 80).activeconns, 1);
	assert_int_equal(write_stats(fixture, 80, 1, 1010), 0);
	assert_int_equal(get_first_real(fixture->fd, 80).stats.inpkts, 10);
	assert_int_equal(get_service(fixture->fd, 80).stats.inpkts, 10);
	all = a_service(80);
	assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_ZERO, &all, sizeof(all)), 0);
	fixture->api = ipvs_api_close(fixture->api); /* a restart in between changes nothing */
	fixture->api = ipvs_lab_open(&fixture->lab);
	assert_int_equal(write_stats(fixture, 80, 1, 1013), 0);
	assert_int_equal(get_first_real(fixture->fd, 80).stats.inpkts, 3);
	assert_int_equal(get_service(fixture->fd, 80).stats.inpkts, 3);
}

/* ---- two callers at once ------------------------------------------------------------------------ */

#define ROUNDS 300000

/* Adds and deletes the same few services and real servers as its twin, in another order. */
static int hammer(void *context)
{
	unsigned seed = *(unsigned *)context;
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	for (int i = 0; i < ROUNDS; i++) {
		uint16_t port;
		uint8_t n;
		struct ip_vs_service_user service;
		int r;

		seed = seed * 1103515245u + 12345u;
		port = (uint16_t)(1 + (seed >> 16) % 8);
		n = (uint8_t)(1 + (seed >> 20) % 16);
		service = a_service(port);
		if (seed >> 28 < 2)
			r = ipvs_set(fd, IP_VS_SO_SET_DEL, &service, sizeof(service));
		else if (seed >> 28 < 5)
			r = add_service(fd, port);
		else if (seed >> 28 < 11)
			r = add_real(fd, port, n);
		else
			r = delete_real(fd, port, n);
		if (r && r != -EEXIST && r != -ESRCH && r != -ENOENT)
			return -r;
	}
	return 0;
}

/* Every list holds each name once, and the counts are true. */
static void check_table(struct fixture *fixture)
{
	struct service_set *set = NULL;
	const struct service *service;

	assert_int_equal(ipvs_api_read(fixture->api, &set), 0); /* -EEXIST: a service twice */
	assert_true(service_set_count(set) <= 8);
	for (size_t i = 0; (service = service_set_get(set, i)); i++) {
		assert_true(service->real_count <= 16);
		for (size_t j = 0; j < service->real_count; j++) {
			const struct real_server *real = &service->reals[j];

			assert_ptr_equal(service_real(service, &real->addr, real->port), real);
			assert_int_equal(real->port, ntohs(service->key.port));
		}
	}
	service_set_free(set);
}

static void two_callers_do_not_harm_the_table(void **state)
{
	struct fixture *fixture = *state;
	struct ip_vs_get_dests *answer;
	unsigned seeds[2] = {1, 99};
	pid_t child[2];
	int status, left = 2;
	unsigned shown = 0;

	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		if (child[i] == 0)
			_exit(hammer(&seeds[i]));
	}
	while (left) {
		check_table(fixture);
		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
			left--;
		}
	}
	for (uint16_t port = 1; port <= 8; port++) {
		struct ip_vs_service_user service = a_service(port);

		answer = get_reals(fixture->fd, port, 40);
		if (!answer)
			continue;
		assert_int_equal(answer->num_dests, get_service(fixture->fd, port).num_dests);
		shown += answer->num_dests;
		free(answer);
		assert_int_equal(ipvs_set(fixture->fd, IP_VS_SO_SET_DEL, &service, sizeof(service)),
		                 0);
	}
	assert_true(shown > 0);
	check_table(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
	struct fixture fixture = {.fd = -1};
	struct CMUnitTest tests[] = {
		TEST(a_user_may_nothing),
		TEST(it_is_the_capability_that_counts_not_the_user),
		TEST(root_of_a_container_rules_its_own_table_alone),
		TEST(a_namespace_without_an_xlbd_has_no_ipvs),
		TEST(the_table_outlives_the_daemon),
		TEST(detached_nothing_answers),
		TEST(what_is_pinned_by_others_is_refused),
		TEST(another_cgroup_is_moved_to),
		TEST(statistics_are_shown_and_summed),
		TEST(a_slot_keeps_nothing_for_its_next_tenant),
		TEST(zero_begins_anew_and_counts_on),
		TEST(two_callers_do_not_harm_the_table),
	};
	int failed;

	ipvs_lab_enter(&fixture.lab);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tests[i].initial_state = &fixture;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	ipvs_lab_leave(&fixture.lab);
	return failed;
}
