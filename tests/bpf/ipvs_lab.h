/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipvs_lab.h - a place of its own for tests of the IPVS interface, and the socket options as functions.
 *
 * Own network and mount namespace, own bpffs, own cgroup below the cgroup2 mount with the test process in it: what is attached
 * there is met by sockets that the test makes, and by nobody else on the host. All of it goes with ipvs_lab_leave().
 */
#ifndef XLBD_TESTS_IPVS_LAB_H
#define XLBD_TESTS_IPVS_LAB_H

#include <linux/ip_vs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "xlbd/ipvs/api.h"

struct ipvs_lab {
	char bpffs[64];   /* a bpffs of our own */
	char pins[96];    /* a folder on it, made by ipvs_api_open() */
	char cgroup[512]; /* ours */
	char home[512];   /* cgroup.procs of where we came from */
};

/* Prints kernel, clang and libbpf. Exits 77, saying why, if the place is not to be had. */
void ipvs_lab_enter(struct ipvs_lab *lab);
void ipvs_lab_leave(const struct ipvs_lab *lab);
/* The interface, for the network namespace that we are in. Fails the test otherwise. */
struct ipvs_api *ipvs_lab_open(const struct ipvs_lab *lab);

/* 0 or -errno; `command` counts from IP_VS_BASE_CTL as in <linux/ip_vs.h>. */
int ipvs_set(int fd, int command, const void *value, socklen_t length);
int ipvs_get(int fd, int command, void *value, socklen_t *length);

struct ipvs_words { /* what ADDDEST and its like carry */
	struct ip_vs_service_user service;
	struct ip_vs_dest_user real;
};

/* 192.0.2.1:port/tcp, rr; and 198.51.100.N:port, DR, weight 1. */
struct ip_vs_service_user a_service(uint16_t port);
struct ip_vs_dest_user a_real(uint8_t n, uint16_t port);
int add_service(int fd, uint16_t port);
int add_real(int fd, uint16_t port, uint8_t n);
int delete_real(int fd, uint16_t port, uint8_t n);
/* Room for `most` real servers; free() it. NULL: refused. */
struct ip_vs_get_dests *get_reals(int fd, uint16_t port, unsigned most);
/* As "3 2 1": the last bytes of the real servers' addresses in the order of the answer. */
const char *order_of_reals(int fd, uint16_t port, char text[256]);

/* Runs it in a child process; the child's return value, or 100 if it died otherwise. */
int in_child(int (*function)(void *context), void *context);

#endif
