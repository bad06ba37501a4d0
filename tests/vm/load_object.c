// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_object.c - has the kernel's verifier judge every program of one BPF object, and prints its verdict.
 *
 *	load_object OBJECT [CONSTANT=VALUE]...
 *
 * For test_load.sh. The constants are those of the object's rodata (bpf/settings.h), which the daemon sets before it loads: what the
 * verifier sees depends on them. Each program gets a line: what it cost the verifier, in its own words (BPF_LOG_STATS), and the size
 * of what came out. If one is refused, the verifier's last lines follow, and the exit status is 1.
 *
 * The verifier writes its statistics only. A log of every step (bpftool -d) is 100 MB long for xlb_ingress, and printing it takes an
 * emulated machine many minutes, where the verdict takes a second. Only when a program has been refused is it judged once more
 * with a log of the path that led there.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define LOG_PATH    1 /* BPF_LOG_LEVEL1: instructions and states of the path to the end */
#define LOG_STATS   4 /* BPF_LOG_STATS */
#define LOG_SIZE    (8u << 20)
#define LINES_SHOWN 60

static int say_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments; /* libbpf would print the whole log */
	return 0;
}

/* The map that holds the constants. */
static struct bpf_map *find_rodata(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) if (strstr(bpf_map__name(map), ".rodata")) return map;
	return NULL;
}

/* Where in rodata the constant lies, by the object's own type information; negative: nowhere. */
static long find_constant(const struct btf *btf, const char *name, size_t length)
{
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_var_secinfo *variable;

	if (section < 0)
		return section;
	variable = btf_var_secinfos(btf__type_by_id(btf, (uint32_t)section));
	for (int i = btf_vlen(btf__type_by_id(btf, (uint32_t)section)); i > 0; i--, variable++) {
		const struct btf_type *type = btf__type_by_id(btf, variable->type);
		const char *found = btf__name_by_offset(btf, type->name_off);

		if (strlen(found) == length && !strncmp(found, name, length))
			return variable->size == sizeof(uint32_t) ? (long)variable->offset : -1;
	}
	return -1;
}

static bool set_constant(struct bpf_object *object, const char *text)
{
	size_t length = strcspn(text, "="), size = 0;
	struct bpf_map *rodata = find_rodata(object);
	const void *values = rodata ? bpf_map__initial_value(rodata, &size) : NULL;
	long offset =
		values && text[length] ? find_constant(bpf_object__btf(object), text, length) : -1;
	uint32_t value = (uint32_t)strtoul(text + length + !!text[length], NULL, 0);
	char copy[4096];

	if (offset < 0 || size > sizeof(copy)) {
		fprintf(stderr, "load_object: '%s' sets no constant of the object\n", text);
		return false;
	}
	memcpy(copy, values, size);
	memcpy(copy + offset, &value, sizeof(value));
	return bpf_map__set_initial_value(rodata, copy, size) == 0;
}

/* Opened, constants set, every program with a log of its own. NULL: it cannot be, and why was said. */
static struct bpf_object *open_object(int count, char **words, uint32_t level)
{
	struct bpf_object *object = bpf_object__open(words[0]);
	struct bpf_program *program;

	if (!object) {
		fprintf(stderr, "load_object: %s: %s\n", words[0], strerror(errno));
		return NULL;
	}
	for (int i = 1; i < count; i++)
		if (!set_constant(object, words[i])) {
			bpf_object__close(object);
			return NULL;
		}
	bpf_object__for_each_program(program, object)
	{
		char *log = calloc(1, LOG_SIZE);

		if (!log || bpf_program__set_log_buf(program, log, LOG_SIZE) < 0 ||
		    bpf_program__set_log_level(program, level) < 0)
			abort();
	}
	return object;
}

static void close_object(struct bpf_object *object)
{
	struct bpf_program *program;
	size_t size;

	bpf_object__for_each_program(program, object)
		free((char *)bpf_program__log_buf(program, &size));
	bpf_object__close(object);
}

/* The value that follows the word in the verifier's statistics. */
static unsigned long statistic(const char *log, const char *word)
{
	const char *found = strstr(log, word);

	return found ? strtoul(found + strlen(word), NULL, 10) : 0;
}

static void print_accepted(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof(info);
	size_t size;
	const char *log = bpf_program__log_buf(program, &size);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &length) < 0)
		length = 0;
	printf("\t%s: accepted: %lu of 1000000 instructions in %lu ms, peak_states %lu, "
	       "stack %lu; %u bytes, jited %u\n",
	       bpf_program__name(program), statistic(log, "processed "),
	       statistic(log, "verification time ") / 1000, statistic(log, "peak_states "),
	       statistic(log, "stack depth "), info.xlated_prog_len, info.jited_prog_len);
}

/* The last lines: what the verifier objects to, and the way there. */
static void print_refused(const struct bpf_program *program)
{
	size_t size;
	const char *log = bpf_program__log_buf(program, &size), *from = log + strlen(log);

	for (int lines = 0; from > log && lines <= LINES_SHOWN; from--)
		lines += from[-1] == '\n';
	printf("\t%s: REFUSED\n%s", bpf_program__name(program), from);
}

/* 0: every program was accepted; negative: one was refused, and none behind it was tried; 1: there is nothing to be judged. */
static int judge(int count, char **words, uint32_t level)
{
	struct bpf_object *object = open_object(count, words, level);
	struct bpf_program *program;
	int r;

	if (!object)
		return 1;
	r = bpf_object__load(object);
	bpf_object__for_each_program(program, object)
	{
		size_t size;

		if (r == 0)
			print_accepted(program);
		else if (*bpf_program__log_buf(program, &size))
			print_refused(program);
	}
	if (r < 0 && level == LOG_STATS)
		printf("\t%s: %s\n", words[0], strerror(-r));
	close_object(object);
	return r;
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 2)
		return 2;
	libbpf_set_print(say_nothing);
	r = judge(argc - 1, argv + 1, LOG_STATS);
	if (r < 0)
		(void)judge(argc - 1, argv + 1, LOG_PATH); /* refused already: this says why */
	return r != 0;
}
