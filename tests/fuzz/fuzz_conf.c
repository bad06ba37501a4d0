// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_conf.c - any bytes as xlbd.yaml, and as overrides.
 *
 * The first line of the input, if it begins with "# -o ", is an override, and so are the next ones, as in the golden files;
 * the whole input is the file. Besides what the sanitizers find, two promises are kept an eye on: a
 * refusal comes with an error that can be printed, and what check.c lets through is never refused by cyaml.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/load.h"
#include "xlbd/complaint.h"

#define OVERRIDES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies the overrides at the head of the input. */
static size_t take_overrides(const char *text, size_t size, char *overrides[OVERRIDES])
{
	const char prefix[] = "# -o ";
	const size_t skip = sizeof(prefix) - 1;
	size_t count = 0;

	while (count < OVERRIDES && size > skip && memcmp(text, prefix, skip) == 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		overrides[count++] = strndup(text + skip, length - skip);
		length += end != NULL;
		text += length;
		size -= length;
	}
	return count;
}

static void print_all(const struct complaints *complaints)
{
	const char refusal[] = "libcyaml refuses";
	FILE *out = fopen("/dev/null", "w");
	const struct complaint *complaint;

	if (!out)
		abort();
	for (size_t i = 0; (complaint = complaints_get(complaints, i)); i++) {
		if (strncmp(complaint->text, refusal, strlen(refusal)) == 0)
			abort();
		complaint_print(complaint, out);
	}
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *overrides[OVERRIDES];
	struct complaints *complaints = complaints_new();
	struct xlbd_conf *conf = NULL;
	size_t count;
	int r;

	if (!text || !complaints)
		abort();
	memcpy(text, data, size);
	count = take_overrides(text, size, overrides);
	r = conf_load_text("fuzz.yaml", text, size, overrides, count, complaints, &conf);
	if ((r == 0) != (conf != NULL) || (r == 0) != (complaints_errors(complaints) == 0))
		abort();
	print_all(complaints);
	conf_free(conf);
	complaints_free(complaints);
	for (size_t i = 0; i < count; i++)
		free(overrides[i]);
	free(text);
	return 0;
}
