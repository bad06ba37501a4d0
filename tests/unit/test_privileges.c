// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_privileges.c - what is said when a capability is missing, and what is left after the rest
 * was dropped.
 *
 * Capabilities cannot be taken back, so each case is a child process. Needs root: without it there
 * is nothing to take away (77).
 */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cap-ng.h>
#include <cmocka.h>

#include "xlbd/privileges.h"

/* Runs act() in a child that has lost `capability` (-1: none); returns its exit status. */
static int in_child(int capability, int (*act)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		capng_get_caps_process();
		if (capability >= 0) {
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
			             (unsigned)capability);
			/* it stands for CAP_BPF and CAP_PERFMON too */
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_ADMIN);
			capng_apply(CAPNG_SELECT_CAPS);
		}
		_exit(act());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* 0 if privileges_check() answers so. */
static int answers(bool other_namespace, int expected, const char *sentence)
{
	char said[PRIVILEGES_SENTENCE] = "";
	int r = privileges_check(other_namespace, said);

	if (r == expected && strcmp(said, sentence) == 0)
		return 0;
	fprintf(stderr, "%d '%s'\n", r, said);
	return 1;
}

static int all_is_well(void)
{
	return answers(true, 0, "");
}

static int bpf_is_missing(void)
{
	return answers(false, -EPERM, "missing CAP_BPF (to load programs and maps)");
}

static int perfmon_is_missing(void)
{
	return answers(false, 0,
	               "missing CAP_PERFMON (to load the program without Spectre barriers)");
}

static int two_are_missing(void)
{
	return answers(true, -EPERM,
	               "missing CAP_NET_ADMIN (for XDP, IPVS and next hops), CAP_SYS_ADMIN "
	               "(to enter keepalived's net_namespace_ipvs)");
}

static bool has(unsigned capability)
{
	return capng_have_capability(CAPNG_EFFECTIVE, capability) &&
	       capng_have_capability(CAPNG_PERMITTED, capability);
}

static int only_three_are_left(void)
{
	if (privileges_drop(false) < 0)
		return 1;
	capng_get_caps_process();
	if (!has(CAP_BPF) || !has(CAP_NET_ADMIN) || !has(CAP_PERFMON))
		return 2;
	for (unsigned other = 0; other <= CAP_LAST_CAP; other++)
		if (other != CAP_BPF && other != CAP_NET_ADMIN && other != CAP_PERFMON &&
		    (capng_have_capability(CAPNG_EFFECTIVE, other) ||
		     capng_have_capability(CAPNG_PERMITTED, other) ||
		     capng_have_capability(CAPNG_BOUNDING_SET, other)))
			return 3;
	return privileges_drop(false) < 0 ? 4 : 0; /* again, without CAP_SETPCAP */
}

static int the_namespace_keeps_its_own(void)
{
	if (privileges_drop(true) < 0)
		return 1;
	capng_get_caps_process();
	return has(CAP_SYS_ADMIN) && !has(CAP_SYS_CHROOT) ? 0 : 2;
}

static void what_is_missing_is_named_with_its_purpose(void **state)
{
	(void)state;
	assert_int_equal(in_child(-1, all_is_well), 0);
	assert_int_equal(in_child(CAP_BPF, bpf_is_missing), 0);
	assert_int_equal(in_child(CAP_PERFMON, perfmon_is_missing), 0);
	assert_int_equal(in_child(CAP_NET_ADMIN, two_are_missing), 0);
}

static void what_is_not_needed_is_dropped_for_good(void **state)
{
	(void)state;
	assert_int_equal(in_child(-1, only_three_are_left), 0);
	assert_int_equal(in_child(-1, the_namespace_keeps_its_own), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_missing_is_named_with_its_purpose),
		cmocka_unit_test(what_is_not_needed_is_dropped_for_good),
	};

	if (capng_get_caps_process() < 0 || !has(CAP_BPF) || !has(CAP_SYS_ADMIN)) {
		fprintf(stderr, "skipped: needs root's capabilities\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
