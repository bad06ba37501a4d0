// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.c - how long a jiffy is.
 *
 * Packets stamp connections with bpf_jiffies64() shifted right, since that costs nothing where a clock would cost 30 ns.
 * User space cannot see jiffies or CONFIG_HZ, so the smallest possible program is run twice and its answers are
 * compared with the monotonic clock. CONFIG_HZ has few values; the nearest is meant.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/clock.h"

struct tick clock_tick(unsigned hz)
{
	/* the shift whose tick lies nearest to 256 ms from below 330 ms */
	unsigned shift = 0;

	while ((1000u << (shift + 1)) / hz <= 330)
		shift++;
	return (struct tick){.shift = shift,
	                     .microseconds = (unsigned)((1000000ull << shift) / hz)};
}

static int run(int program, uint32_t *ret)
{
	unsigned char frame[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame));

	if (bpf_prog_test_run_opts(program, &options))
		return -errno;
	*ret = options.retval;
	return 0;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int clock_now(const struct tick *tick, uint64_t *ret)
{
	/* the answer has 32 bits: of ticks that is enough for decades, of jiffies not for a year */
	const struct bpf_insn code[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_jiffies64},
		{.code = BPF_ALU64 | BPF_RSH | BPF_K, .imm = (int)tick->shift},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int program =
		bpf_prog_load(BPF_PROG_TYPE_XDP, "tick", "GPL", code, ARRAY_SIZE(code), NULL);
	uint32_t now;
	int r;

	if (program < 0)
		return -errno;
	r = run(program, &now);
	if (r < 0)
		return r;
	*ret = now;
	return 0;
}

int clock_measure(struct tick *ret)
{
	static const unsigned known[] = {100, 250, 300, 1000};
	const struct bpf_insn code[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_jiffies64},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
	_cleanup_close_ int program =
		bpf_prog_load(BPF_PROG_TYPE_XDP, "jiffies", "GPL", code, ARRAY_SIZE(code), NULL);
	unsigned hz = known[0];
	uint32_t first, last;
	double start, rate;
	int r;

	if (program < 0)
		return -errno;
	r = run(program, &first);
	if (r < 0)
		return r;
	start = seconds();
	nanosleep(&pause, NULL);
	r = run(program, &last);
	if (r < 0)
		return r;
	rate = (last - first) / (seconds() - start);
	for (size_t i = 1; i < ARRAY_SIZE(known); i++)
		if (rate > (known[i - 1] + known[i]) / 2.0)
			hz = known[i];
	*ret = clock_tick(hz);
	return 0;
}
