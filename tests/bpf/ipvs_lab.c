// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ipvs_lab.c - a place of its own for tests of the IPVS interface; see ipvs_lab.h.
 *
 * The host is left as it was: programs are attached to a cgroup that only the test is in, pins lie in a bpffs that is mounted in
 * a mount namespace of the test's, and the interface answers only for the test's network namespace anyway.
 */
#include "config.h" /* _GNU_SOURCE: unshare() */

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "tests/bpf/ipvs_lab.h"

static _Noreturn void skip(const char *what)
{
	printf("skipped: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void print_versions(void)
{
	struct utsname host;

	uname(&host);
	printf("kernel %s, libbpf %s\n", host.release, libbpf_version_string());
	fflush(stdout);
	if (system("clang --version 2>/dev/null | head -n 1") != 0)
		printf("clang is not in PATH\n");
}

static bool join(const char *procs)
{
	FILE *file = fopen(procs, "we");

	if (!file)
		return false;
	fprintf(file, "%d\n", (int)getpid());
	return fclose(file) == 0;
}

/* The cgroup2 mount, and where in it we are. */
static bool find_cgroup(char mount_point[256], char own[256])
{
	FILE *file = fopen("/proc/self/mounts", "re");
	bool found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %255s cgroup2 ", mount_point) == 1 &&
		        strstr(line, " cgroup2 ");
	if (file)
		fclose(file);
	file = fopen("/proc/self/cgroup", "re");
	own[0] = '\0';
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "0::%255s", own) == 1)
			break;
	if (file)
		fclose(file);
	return found && own[0];
}

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

void ipvs_lab_enter(struct ipvs_lab *lab)
{
	char mount_point[256], own[256];

	print_versions();
	if (geteuid() != 0) {
		errno = EPERM;
		skip("root is needed");
	}
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		skip("no namespaces of our own");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip("no mounts of our own");
	snprintf(lab->bpffs, sizeof(lab->bpffs), "/tmp/xlbd-ipvs-XXXXXX");
	if (!mkdtemp(lab->bpffs) || mount("bpf", lab->bpffs, "bpf", 0, NULL) < 0)
		skip("no bpffs of our own");
	snprintf(lab->pins, sizeof(lab->pins), "%s/xlbd/ipvs", lab->bpffs);
	errno = ENODEV;
	if (!find_cgroup(mount_point, own))
		skip("no cgroup2 is mounted");
	snprintf(lab->home, sizeof(lab->home), "%s%s/cgroup.procs", mount_point, own);
	snprintf(lab->cgroup, sizeof(lab->cgroup), "%s/xlbd-test-%d", mount_point, (int)getpid());
	if (mkdir(lab->cgroup, 0755) < 0)
		skip("no cgroup of our own");
	snprintf(own, sizeof(own), "%.200s/cgroup.procs", lab->cgroup);
	if (!join(own))
		skip("cannot move into our own cgroup");
	libbpf_set_print(quiet);
}

void ipvs_lab_leave(const struct ipvs_lab *lab)
{
	if (!join(lab->home) || rmdir(lab->cgroup) < 0)
		printf("cannot remove '%s': %s\n", lab->cgroup, strerror(errno));
	if (umount2(lab->bpffs, MNT_DETACH) < 0 || rmdir(lab->bpffs) < 0)
		printf("cannot remove '%s': %s\n", lab->bpffs, strerror(errno));
}

struct ipvs_api *ipvs_lab_open(const struct ipvs_lab *lab)
{
	struct ipvs_api_options options = {.pin_folder = lab->pins, .cgroup = lab->cgroup};
	struct ipvs_api *api = NULL;
	int r = ipvs_api_open(&options, &api);

	if (r == -EEXIST) {
		ipvs_lab_leave(lab);
		errno = -r;
		skip(ipvs_api_problem(r));
	}
	if (r < 0) {
		printf("ipvs_api_open: %s (%s)\n", ipvs_api_problem(r), strerror(-r));
		abort();
	}
	return api;
}

int ipvs_set(int fd, int command, const void *value, socklen_t length)
{
	return setsockopt(fd, IPPROTO_IP, command, value, length) < 0 ? -errno : 0;
}

int ipvs_get(int fd, int command, void *value, socklen_t *length)
{
	return getsockopt(fd, IPPROTO_IP, command, value, length) < 0 ? -errno : 0;
}

struct ip_vs_service_user a_service(uint16_t port)
{
	return (struct ip_vs_service_user){
		.protocol = IPPROTO_TCP,
		.addr = htonl(0xc0000201),
		.port = htons(port),
		.sched_name = "rr",
		.netmask = 0xffffffff,
	};
}

struct ip_vs_dest_user a_real(uint8_t n, uint16_t port)
{
	return (struct ip_vs_dest_user){
		.addr = htonl(0xc6336400 | n),
		.port = htons(port),
		.conn_flags = IP_VS_CONN_F_DROUTE,
		.weight = 1,
	};
}

int add_service(int fd, uint16_t port)
{
	struct ip_vs_service_user service = a_service(port);

	return ipvs_set(fd, IP_VS_SO_SET_ADD, &service, sizeof(service));
}

static int real_command(int fd, int command, uint16_t port, uint8_t n)
{
	struct ipvs_words words = {a_service(port), a_real(n, port)};

	return ipvs_set(fd, command, &words, sizeof(words));
}

int add_real(int fd, uint16_t port, uint8_t n)
{
	return real_command(fd, IP_VS_SO_SET_ADDDEST, port, n);
}

int delete_real(int fd, uint16_t port, uint8_t n)
{
	return real_command(fd, IP_VS_SO_SET_DELDEST, port, n);
}

struct ip_vs_get_dests *get_reals(int fd, uint16_t port, unsigned most)
{
	socklen_t length = (socklen_t)(sizeof(struct ip_vs_get_dests) +
	                               most * sizeof(struct ip_vs_dest_entry));
	struct ip_vs_get_dests *answer = calloc(1, length);
	struct ip_vs_service_user service = a_service(port);

	if (!answer)
		abort();
	answer->protocol = service.protocol;
	answer->addr = service.addr;
	answer->port = service.port;
	answer->num_dests = most;
	if (ipvs_get(fd, IP_VS_SO_GET_DESTS, answer, &length) < 0) {
		free(answer);
		return NULL;
	}
	return answer;
}

const char *order_of_reals(int fd, uint16_t port, char text[256])
{
	struct ip_vs_get_dests *answer = get_reals(fd, port, 40);
	int used = 0;

	if (!answer)
		return "refused";
	text[0] = '\0';
	for (unsigned i = 0; i < answer->num_dests; i++)
		used += snprintf(text + used, 256 - (size_t)used, "%s%u", i ? " " : "",
		                 ntohl(answer->entrytable[i].addr) & 255);
	free(answer);
	return text;
}

int in_child(int (*function)(void *context), void *context)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(function(context));
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 100;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}
