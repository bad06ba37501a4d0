// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counters.c - per-CPU counters of the data plane, summed; and the words for verdicts.
 *
 * Each CPU writes its own line, so a read is a sum over all possible CPUs. One buffer is kept for that: a reading every
 * second over thousands of real servers allocates nothing. The list of verdicts is expanded here once for
 * everybody who shows them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xlbd/dataplane/counters.h"

#define WORDS_MOST 6 /* of the largest value */

struct counters {
	int verdicts, reals, services;
	int cpus;
	uint64_t *buffer; /* cpus * WORDS_MOST */
};

int counters_open(int verdicts_fd, int reals_fd, int services_fd, struct counters **ret)
{
	_cleanup_(counters_closep) struct counters *counters = calloc(1, sizeof(*counters));

	if (!counters)
		return -ENOMEM;
	counters->verdicts = verdicts_fd;
	counters->reals = reals_fd;
	counters->services = services_fd;
	counters->cpus = libbpf_num_possible_cpus();
	if (counters->cpus < 0)
		return counters->cpus;
	counters->buffer = calloc((size_t)counters->cpus * WORDS_MOST, sizeof(uint64_t));
	if (!counters->buffer)
		return -ENOMEM;
	*ret = take_ptr(counters);
	return 0;
}

struct counters *counters_close(struct counters *counters)
{
	if (counters)
		free(counters->buffer);
	free(counters);
	return NULL;
}

/* Sums a value of `words` words over the CPUs. */
static int sum(struct counters *counters, int fd, uint32_t key, size_t words, void *ret)
{
	uint64_t total[WORDS_MOST] = {0};

	if (bpf_map_lookup_elem(fd, &key, counters->buffer))
		return -errno;
	for (size_t cpu = 0; cpu < (size_t)counters->cpus; cpu++)
		for (size_t word = 0; word < words; word++)
			total[word] += counters->buffer[cpu * words + word];
	memcpy(ret, total, words * sizeof(total[0]));
	return 0;
}

static int clear(struct counters *counters, int fd, uint32_t key)
{
	memset(counters->buffer, 0, (size_t)counters->cpus * WORDS_MOST * sizeof(uint64_t));
	return bpf_map_update_elem(fd, &key, counters->buffer, BPF_ANY) ? -errno : 0;
}

int counters_verdict(struct counters *counters, enum xlb_verdict verdict,
                     struct xlb_verdict_counters *ret)
{
	return sum(counters, counters->verdicts, verdict, sizeof(*ret) / sizeof(uint64_t), ret);
}

int counters_real(struct counters *counters, uint16_t id, struct xlb_real_counters *ret)
{
	return sum(counters, counters->reals, id, sizeof(*ret) / sizeof(uint64_t), ret);
}

int counters_service(struct counters *counters, uint16_t id, struct xlb_service_counters *ret)
{
	return sum(counters, counters->services, id, sizeof(*ret) / sizeof(uint64_t), ret);
}

size_t counters_cpus(const struct counters *counters)
{
	return (size_t)counters->cpus;
}

int counters_verdict_by_cpu(struct counters *counters, enum xlb_verdict verdict,
                            struct xlb_verdict_counters *ret)
{
	uint32_t key = verdict;

	return bpf_map_lookup_elem(counters->verdicts, &key, ret) ? -errno : 0;
}

int counters_clear_real(struct counters *counters, uint16_t id)
{
	return clear(counters, counters->reals, id);
}

int counters_clear_service(struct counters *counters, uint16_t id)
{
	return clear(counters, counters->services, id);
}

static const struct {
	const char *word, *sentence, *action;
} verdicts[XLB_VERDICT_COUNT] = {
#define XLB_TX       "forward"
#define XLB_REDIRECT "forward"
#define XLB_PASS     "pass"
#define XLB_DROP     "drop"
#define XLB_ANSWER   "drop" /* of the packet: what leaves is ours */
#define V(number, name, act, word_, sentence_) \
	[number] = {.word = (word_), .sentence = (sentence_), .action = XLB_##act},
	XLB_VERDICTS(V)
#undef V
};

const char *verdict_word(enum xlb_verdict verdict)
{
	return verdict < XLB_VERDICT_COUNT ? verdicts[verdict].word : NULL;
}

const char *verdict_sentence(enum xlb_verdict verdict)
{
	return verdict < XLB_VERDICT_COUNT ? verdicts[verdict].sentence : NULL;
}

const char *verdict_action(enum xlb_verdict verdict)
{
	return verdict < XLB_VERDICT_COUNT ? verdicts[verdict].action : NULL;
}
