// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_flows.c - `conn`: the connections that XDP knows and that fit a filter, a line each.
 *
 * The table can hold millions. One walk through its mapping (milliseconds, no system call) copies
 * those that fit, up to the limit, as 32 bytes each, and counts the others; what becomes JSON is
 * made later, when the client takes it. The filter on servers is worked out once, into one bit an
 * id, so that the walk compares nothing but numbers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "xlbd/control/answer.h"
#include "xlbd/control/commands.h"
#include "xlbd/control/pattern.h"
#include "xlbd/control/show_flows.h"
#include "xlbd/model/addr.h"
#include "xlbd/xlbd.h"

#define LIMIT_DEFAULT 1000
#define LIMIT_MAX     100000 /* of one answer: 3 MiB of copies */

struct flows_stream {
	const struct xlbd *xlbd;
	struct pattern client;
	int phase;            /* -1: any */
	bool *service, *real; /* by id: wanted; NULL: any */
	struct flow *flow;
	size_t count, limit, next;
	uint64_t matched;
	unsigned tick_ms;
};

static void stream_free(void *state)
{
	struct flows_stream *stream = state;

	if (!stream)
		return;
	free(stream->service);
	free(stream->real);
	free(stream->flow);
	free(stream);
}

static bool see(void *context, const struct flow *flow)
{
	struct flows_stream *stream = context;

	if ((stream->phase >= 0 && flow->phase != stream->phase) ||
	    (stream->service && !stream->service[flow->service % XLB_IDS]) ||
	    (stream->real && !stream->real[flow->real % XLB_IDS]) ||
	    !pattern_matches(&stream->client, &flow->client, flow->client_port, 0))
		return true;
	stream->matched++;
	if (stream->count < stream->limit)
		stream->flow[stream->count++] = *flow;
	return true;
}

static json_t *next_flow(void *state)
{
	struct flows_stream *stream = state;
	const struct apply *apply = stream->xlbd->apply;
	struct xlb_name service = {}, real = {};
	const struct flow *flow;
	bool service_known, real_known;

	if (stream->next == stream->count)
		return NULL;
	flow = &stream->flow[stream->next++];
	service_known = apply && apply_name_of_service(apply, flow->service, &service);
	if (flow->virtual_port) /* its virtual server has port 0: any */
		service.service.port = htons(flow->virtual_port);
	real_known = apply && apply_name_of_real(apply, flow->real, &real);
	return json_pack(
		"{s:o, s:o, s:o, s:s, s:I}", "client",
		answer_endpoint(&flow->client, flow->client_port, 0), "vip",
		service_known ? answer_endpoint(&service.service.addr, ntohs(service.service.port),
	                                        service.service.protocol)
			      : json_null(),
		"real",
		real_known ? answer_endpoint(&real.real, ntohs(real.real_port), 0) : json_null(),
		"state", phase_name(flow->phase), "idle_ms",
		(json_int_t)flow->idle * stream->tick_ms);
}

/* ---- the filter ------------------------------------------------------------------------------- */

static bool is_wanted_service(const struct xlbd *xlbd, const struct pattern *pattern,
                              const struct xlb_service_key *key)
{
	const struct service *known = xlbd->services ? service_set_find(xlbd->services, key) : NULL;

	return known ? pattern_matches_service(pattern, known)
	             : pattern_matches(pattern, &key->addr, ntohs(key->port), key->protocol);
}

/* Which ids the filter means; *ret stays NULL if it means all. */
static int want_services(const struct xlbd *xlbd, const char *text, bool **ret)
{
	struct pattern pattern = pattern_make(text);
	bool *wanted = text ? calloc(XLB_IDS, sizeof(*wanted)) : NULL;
	struct xlb_name name;

	if (!text)
		return 0;
	if (!wanted)
		return -ENOMEM;
	for (unsigned id = 1; xlbd->apply && id < XLB_IDS; id++)
		wanted[id] = apply_name_of_service(xlbd->apply, (uint16_t)id, &name) &&
		             is_wanted_service(xlbd, &pattern, &name.service);
	*ret = wanted;
	return 0;
}

static int want_reals(const struct xlbd *xlbd, const char *text, bool **ret)
{
	struct pattern pattern = pattern_make(text);
	bool *wanted = text ? calloc(XLB_IDS, sizeof(*wanted)) : NULL;
	struct xlb_name name;

	if (!text)
		return 0;
	if (!wanted)
		return -ENOMEM;
	for (unsigned id = 1; xlbd->apply && id < XLB_IDS; id++)
		wanted[id] = apply_name_of_real(xlbd->apply, (uint16_t)id, &name) &&
		             pattern_matches(&pattern, &name.real, ntohs(name.real_port), 0);
	*ret = wanted;
	return 0;
}

/* -1: none of that name. */
static int phase_named(const char *name)
{
	for (unsigned phase = XLB_PHASE_SYN; phase < XLB_PHASES; phase++) {
		const char *known = phase_name((uint8_t)phase);

		if (known && strcasecmp(known, name) == 0)
			return (int)phase;
	}
	return -1;
}

static int read_filter(struct control_call *call, struct flows_stream *stream)
{
	json_int_t limit = control_integer(call, "limit", LIMIT_DEFAULT);
	const char *client = control_text(call, "client"), *state = control_text(call, "state");
	int r;

	if (limit < 1 || limit > LIMIT_MAX)
		return control_fail(call, -EINVAL, "limit must be from 1 to %d", LIMIT_MAX);
	stream->limit = (size_t)limit;
	stream->client = pattern_make(client);
	if (client && !stream->client.has_addr)
		return control_fail(call, -EINVAL, "'%.100s' is no address", client);
	stream->client.text = client ? "" : NULL; /* the request goes before the stream does */
	stream->phase = state ? phase_named(state) : -1;
	if (state && stream->phase < 0)
		return control_fail(call, -EINVAL, "no such state: '%.60s'", state);
	r = want_services(stream->xlbd, control_text(call, "vip"), &stream->service);
	return r < 0 ? r : want_reals(stream->xlbd, control_text(call, "real"), &stream->real);
}

int show_conn(struct control_call *call)
{
	const struct xlbd *xlbd = call_xlbd(call);
	struct flows_stream *stream = calloc(1, sizeof(*stream));
	int r;

	if (!stream)
		return -ENOMEM;
	stream->xlbd = xlbd;
	r = read_filter(call, stream);
	if (r == 0 && xlbd->flows && xlbd->dataplane) {
		stream->flow = calloc(stream->limit, sizeof(*stream->flow));
		r = stream->flow ? 0 : -ENOMEM;
	}
	if (r < 0) {
		stream_free(stream);
		return r;
	}
	if (stream->flow) {
		stream->tick_ms = dataplane_tick_ms(xlbd->dataplane);
		flows_walk(xlbd->flows, dataplane_now(xlbd->dataplane), see, stream);
	}
	json_object_update_new(call->answer,
	                       json_pack("{s:I, s:I, s:b}", "shown", (json_int_t)stream->count,
	                                 "matched", (json_int_t)stream->matched, "more",
	                                 stream->matched > stream->count));
	call->stream =
		(struct control_stream){.next = next_flow, .release = stream_free, .state = stream};
	return 0;
}
