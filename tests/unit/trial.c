// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trial.c - one case before judge(), and the world it is asked about.
 *
 * For test_judge.c and test_judge_join.c. The world's answers are fields of the trial; it fails the test if it is asked about a
 * service that is not in force, which nobody could answer for.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trial.h"
#include "xlbd/model/addr.h"
#include "xlbd/model/ring.h"

struct xlb_addr parsed(const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	return addr;
}

static struct trial *asked(void *context, const struct service *service)
{
	struct trial *trial = context;

	trial->asked += !service->in_force;
	return trial;
}

static const char *answer_firewall(void *context, const struct service *service)
{
	return asked(context, service)->firewall;
}

static bool answer_owns(void *context, const struct service *service, const char **ret_instance)
{
	struct trial *trial = asked(context, service);

	if (trial->instance)
		*ret_instance = trial->instance;
	return !trial->foreign;
}

static bool answer_local(void *context, const struct xlb_addr *addr)
{
	return addr_equal(addr, &((struct trial *)context)->local);
}

static const char *answer_route(void *context, const struct real_server *real)
{
	(void)real;
	return ((struct trial *)context)->route;
}

static bool answer_bypassed(void *context, const struct service *service)
{
	return asked(context, service)->bypassed;
}

static int32_t answer_last_weight(void *context, const struct service *service,
                                  const struct real_server *real)
{
	(void)real;
	return asked(context, service)->last_weight;
}

static const char *answer_doubt(void *context, const struct service *service)
{
	return asked(context, service)->doubt;
}

void make_trial(struct trial *trial)
{
	struct xlb_addr vip = parsed("192.0.2.1");

	*trial = (struct trial){.is_declared = true, .is_in_force = true};
	trial->world = (struct judge_world){.kernel_ipvs = true,
	                                    .mh_exact = true,
	                                    .mh_size = RING_MH_SIZE,
	                                    .context = trial,
	                                    .firewall = answer_firewall,
	                                    .owns = answer_owns,
	                                    .is_local = answer_local,
	                                    .forwards_ipv4 = true,
	                                    .forwards_ipv6 = true,
	                                    .route = answer_route,
	                                    .bypassed = answer_bypassed,
	                                    .last_weight = answer_last_weight,
	                                    .doubt = answer_doubt};
	trial->service = (struct service){.key = service_key(&vip, 80, IPPROTO_TCP),
	                                  .family = AF_INET,
	                                  .scheduler = "mh",
	                                  .reals = trial->reals,
	                                  .real_count = 2};
	for (unsigned i = 0; i < 3; i++)
		trial->reals[i] =
			(struct real_server){.addr = addr_from_ipv4(htonl(0x0a000001 + i)),
		                             .port = 80,
		                             .forwarding = XLB_FORWARD_DIRECT,
		                             .weight = 1};
	memcpy(trial->declared_reals, trial->reals, sizeof(trial->reals));
	trial->declared = trial->service;
	trial->declared.reals = trial->declared_reals;
}

struct service_set *judged(struct trial *trial)
{
	struct service_set *declared = service_set_new(), *in_force = service_set_new();
	struct service_set *set = NULL;

	assert_non_null(declared);
	assert_non_null(in_force);
	if (trial->is_declared)
		assert_int_equal(service_set_add(declared, &trial->declared), 0);
	if (trial->is_in_force)
		assert_int_equal(service_set_add(in_force, &trial->service), 0);
	assert_int_equal(
		judge(trial->no_configuration ? NULL : declared, in_force, &trial->world, &set), 0);
	service_set_free(declared);
	service_set_free(in_force);
	assert_int_equal(trial->asked, 0);
	return set;
}

void expect(struct trial *trial, enum service_side side, const char *reason)
{
	struct service_set *set = judged(trial);
	const struct service *service = service_set_get(set, 0);

	assert_int_equal(service_set_count(set), 1);
	if (reason)
		assert_string_equal(service->reason ? service->reason : "(none)", reason);
	else
		assert_null(service->reason);
	assert_int_equal(service->side, side);
	assert_int_equal(service->standby, trial->is_in_force && trial->foreign);
	service_set_free(set);
}

void expect_hands_off(struct trial *trial, const char *reason)
{
	expect(trial, SIDE_IPVS, reason);
	trial->world.kernel_ipvs = false;
	expect(trial, SIDE_UNSERVED, reason);
	trial->world.kernel_ipvs = true;
}
