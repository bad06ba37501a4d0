/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial.h - one case before judge(), and the world it is asked about.
 *
 * The case at rest: 192.0.2.1:80/tcp with 'mh' over two real servers by DR, declared and in force, nothing in the way.
 */
#ifndef TESTS_UNIT_TRIAL_H
#define TESTS_UNIT_TRIAL_H

#include "xlbd/model/judge.h"

/* A case, and what its world answers. */
struct trial {
	struct judge_world world;
	struct real_server declared_reals[3], reals[3];
	struct service declared, service;
	bool is_declared, is_in_force, no_configuration;
	const char *firewall, *route, *doubt, *instance;
	bool foreign, bypassed;
	struct xlb_addr local;
	int32_t last_weight;
	size_t asked; /* how often the world was asked about a service that is not in force */
};

void make_trial(struct trial *trial); /* at rest */
struct service_set *judged(struct trial *trial);
/* The verdict: side, and the reason word for word (NULL: none). */
void expect(struct trial *trial, enum service_side side, const char *reason);
/* Left to IPVS where the kernel has it, unserved where not. */
void expect_hands_off(struct trial *trial, const char *reason);
struct xlb_addr parsed(const char *text);

#endif
