/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.h - per-CPU counters of the data plane, summed.
 */
#ifndef XLBD_DATAPLANE_COUNTERS_H
#define XLBD_DATAPLANE_COUNTERS_H

#include <stddef.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

struct counters; /* opaque */

int counters_open(int verdicts_fd, int reals_fd, int services_fd, struct counters **ret);
struct counters *counters_close(struct counters *counters); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct counters, counters_close)

int counters_verdict(struct counters *counters, enum xlb_verdict verdict,
                     struct xlb_verdict_counters *ret);
int counters_real(struct counters *counters, uint16_t id, struct xlb_real_counters *ret);
int counters_service(struct counters *counters, uint16_t id, struct xlb_service_counters *ret);
/* How many CPUs the next one fills in; what each of them counted of one verdict. */
size_t counters_cpus(const struct counters *counters);
int counters_verdict_by_cpu(struct counters *counters, enum xlb_verdict verdict,
                            struct xlb_verdict_counters *ret);
/* Puts an id's counters back to 0 before it gets a new owner. */
int counters_clear_real(struct counters *counters, uint16_t id);
int counters_clear_service(struct counters *counters, uint16_t id);

const char *verdict_word(
	enum xlb_verdict verdict); /* "sent", "no-entry", ...; NULL: none of that number */
const char *verdict_sentence(enum xlb_verdict verdict); /* what it means */
const char *verdict_action(enum xlb_verdict verdict);   /* "forward", "pass", "drop" */

#endif
