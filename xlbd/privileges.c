// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * privileges.c - looks that the capabilities we need are there, and gives the rest away.
 *
 * main.c calls privileges_check() before anything else touches the kernel, so that a missing
 * capability is one sentence and not twenty lines of libbpf, and privileges_drop() as soon as the
 * configuration is read. Confinement beyond this is the unit's job (xlbd.service). One table says
 * what each capability is for; xlbd(8) and the unit follow it.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cap-ng.h>

#include "xlbd/cleanup.h"
#include "xlbd/log.h"
#include "xlbd/privileges.h"

#define TOPIC "privileges"

/* Debian 12's libcap-ng knows them all; headers of a distribution before 5.8 may not. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

enum need { NEEDED, WANTED, NEEDED_FOR_NAMESPACE, KEPT_IF_NOT_ROOT };

static const struct {
	unsigned capability;
	const char *name, *purpose;
	enum need need;
} table[] = {
	{CAP_BPF, "CAP_BPF", "to load programs and maps", NEEDED},
	{CAP_NET_ADMIN, "CAP_NET_ADMIN", "for XDP, IPVS and next hops", NEEDED},
	{CAP_PERFMON, "CAP_PERFMON", "to load the program without Spectre barriers", WANTED},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "to enter keepalived's net_namespace_ipvs",
         NEEDED_FOR_NAMESPACE},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "to read what only root may",
         KEPT_IF_NOT_ROOT},
};

static bool is_there(unsigned capability)
{
	/* before 5.8 CAP_SYS_ADMIN held what CAP_BPF and CAP_PERFMON hold now, and it still does */
	return capng_have_capability(CAPNG_EFFECTIVE, capability) ||
	       ((capability == CAP_BPF || capability == CAP_PERFMON) &&
	        capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN));
}

static size_t append(char *text, size_t used, const char *name, const char *purpose)
{
	int more = snprintf(text + used, PRIVILEGES_SENTENCE - used, "%s%s (%s)",
	                    used ? ", " : "missing ", name, purpose);

	return used + (size_t)more < PRIVILEGES_SENTENCE ? used + (size_t)more
	                                                 : PRIVILEGES_SENTENCE - 1;
}

int privileges_check(bool other_namespace, char ret_sentence[PRIVILEGES_SENTENCE])
{
	char missing[PRIVILEGES_SENTENCE] = "", unwell[PRIVILEGES_SENTENCE] = "";
	size_t missing_length = 0, unwell_length = 0;

	if (capng_get_caps_process() < 0)
		return -EIO;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (is_there(table[i].capability))
			continue;
		if (table[i].need == NEEDED ||
		    (table[i].need == NEEDED_FOR_NAMESPACE && other_namespace))
			missing_length =
				append(missing, missing_length, table[i].name, table[i].purpose);
		else if (table[i].need == WANTED)
			unwell_length =
				append(unwell, unwell_length, table[i].name, table[i].purpose);
	}
	memcpy(ret_sentence, missing[0] ? missing : unwell, PRIVILEGES_SENTENCE);
	return missing[0] ? -EPERM : 0;
}

static bool is_kept(enum need need, bool other_namespace)
{
	return need == NEEDED || need == WANTED ||
	       (need == NEEDED_FOR_NAMESPACE && other_namespace) ||
	       (need == KEPT_IF_NOT_ROOT && geteuid() != 0);
}

int privileges_drop(bool other_namespace)
{
	bool had[ARRAY_SIZE(table)], bounding;

	if (capng_get_caps_process() < 0)
		return log_errno(-EIO, TOPIC, "cannot read our capabilities");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		had[i] = capng_have_capability(CAPNG_PERMITTED, table[i].capability);
	bounding = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (had[i] && is_kept(table[i].need, other_namespace))
			capng_updatev(CAPNG_ADD,
			              CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
			              table[i].capability, -1);
	if (capng_apply(bounding ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
		return log_errno(-EPERM, TOPIC, "cannot drop capabilities");
	/* what is no longer inheritable cannot be ambient: the kernel has taken it from there too */
	return 0;
}
