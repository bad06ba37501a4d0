// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_lexer.c - any bytes as keepalived.conf, through lexer and reader.
 *
 * Includes are not followed. What is read or expanded is bounded to 256 KiB instead of the usual limit, so that one input
 * takes milliseconds. Besides what the sanitizers find, promises are kept an eye on: a failure comes with a
 * complaint and leaves the result alone; every service has a scheduler, real servers and an origin; every complaint
 * can be printed; the same bytes give the same services.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "xlbd/complaint.h"
#include "xlbd/keepalived/reader.h"

#define BYTES_MAX (256 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool promise)
{
	if (!promise)
		abort();
}

static void check_config(const struct keepalived_config *config)
{
	const struct service *service;

	for (size_t i = 0; (service = service_set_get(config->services, i)); i++) {
		insist(service->scheduler[0] && service->real_count && service->declared);
		insist(service->origin.file && service->origin.line);
		insist(service->fwmark || service->key.protocol);
		insist(service->fwmark ||
		       service_set_find(config->services, &service->key) == service);
	}
	for (size_t i = 0; i < config->instance_count; i++)
		insist(config->instances[i].name && config->instances[i].priority);
	insist(config->files[0] && !config->files[1]);
}

static void print_all(const struct complaints *complaints)
{
	const struct complaint *complaint;
	FILE *out = fopen("/dev/null", "we");

	insist(out);
	for (size_t i = 0; (complaint = complaints_get(complaints, i)); i++)
		complaint_print(complaint, out);
	fclose(out);
}

static struct keepalived_config *read_once(const uint8_t *data, size_t size,
                                           struct complaints *complaints)
{
	const struct keepalived_options options = {.config_id = "me"};
	struct keepalived_config *config = NULL;
	int r = keepalived_read_text("f", (const char *)data, size, &options, BYTES_MAX, complaints,
	                             &config);

	insist(r == 0 || (r == -E2BIG && !config));
	insist(r == 0 || !complaints || complaints_errors(complaints));
	return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(keepalived_config_freep) struct keepalived_config *first = NULL, *second = NULL;
	struct complaints *complaints = complaints_new();

	insist(complaints);
	first = read_once(data, size, complaints);
	print_all(complaints);
	complaints_free(complaints);
	second = read_once(data, size, NULL);
	insist(!first == !second);
	if (first) {
		check_config(first);
		insist(service_set_equal(first->services, second->services));
	}
	return 0;
}
