// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sources.c - where answers of NAT real servers come from.
 *
 * A packet that is for no virtual server may be an answer of a real server: the data plane looks for its source in the service table
 * (bpf/stage/reply.h). One address and port may stand behind several services; the entry has one real server's id and
 * the others follow in a list through their entries, sorted by id so that nothing changes that need not.
 *
 * Made anew as a whole, when real servers came, before anything sends packets to them; and when they leave for good, before their ids
 * are given back. Real servers that are gone but still have connections stay: their answers go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "xlbd/dataplane/sources.h"
#include "xlbd/log.h"
#include "xlbd/model/addr.h"

#define TOPIC "sources"

struct source {
	struct xlb_service_key key;
	uint16_t id[XLB_NAT_LIST]; /* ascending */
	size_t count;
	UT_hash_handle hh;
};

struct sources {
	struct source *known; /* uthash, by key: what stands in the table */
};

static void forget(struct source **set)
{
	struct source *source, *next;

	HASH_ITER(hh, *set, source, next) {
		HASH_DEL(*set, source);
		free(source);
	}
}

int sources_open(struct sources **ret)
{
	struct sources *sources = calloc(1, sizeof(*sources));

	if (!sources)
		return -ENOMEM;
	*ret = sources;
	return 0;
}

struct sources *sources_close(struct sources *sources)
{
	if (sources)
		forget(&sources->known);
	free(sources);
	return NULL;
}

struct gathering {
	const struct reals *reals;
	bool (*leaves)(void *context, const struct xlb_name *name, const struct xlb_id *id);
	void *context;
	struct source *found;
	int result;
};

static struct source *take(struct gathering *gathering, const struct xlb_name *name)
{
	struct xlb_service_key key = {.addr = name->real,
	                              .port = name->real_port,
	                              .protocol =
	                                      (uint8_t)(name->service.protocol | XLB_KEY_SOURCE)};
	struct source *source;

	HASH_FIND(hh, gathering->found, &key, sizeof(key), source);
	if (source)
		return source;
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->key = key;
	HASH_ADD(hh, gathering->found, key, sizeof(key), source);
	return source;
}

/* In its place. Beyond the most it is left out: the judge gives no such service to XDP. */
static void insert(struct source *source, uint16_t id)
{
	size_t at = source->count;

	if (source->count == XLB_NAT_LIST) {
		log_warning(TOPIC, "real server %u: more than %d services share it by NAT", id,
		            XLB_NAT_LIST);
		return;
	}
	for (; at > 0 && source->id[at - 1] > id; at--)
		source->id[at] = source->id[at - 1];
	source->id[at] = id;
	source->count++;
}

static void gather(void *context, const struct xlb_name *name, const struct xlb_id *id)
{
	struct gathering *gathering = context;
	struct source *source;

	if (!name->is_real || gathering->result < 0 ||
	    !(reals_get(gathering->reals, id->id).real.flags & XLB_REAL_NAT))
		return;
	if (gathering->leaves && gathering->leaves(gathering->context, name, id))
		return;
	source = take(gathering, name);
	if (source)
		insert(source, id->id);
	else
		gathering->result = -ENOMEM;
}

/* Lists first, from their ends: who follows one already sees all that stand behind it. */
static int put(struct reals *reals, struct service_table *table, const struct source *source)
{
	struct xlb_service slot = {.key = source->key, .id = source->id[0]};

	for (size_t i = source->count; i > 0; i--)
		reals_set_next(reals, source->id[i - 1], i < source->count ? source->id[i] : 0);
	return service_table_put(table, &slot);
}

int sources_set(struct sources *sources, struct ids *ids, struct reals *reals,
                struct service_table *table,
                bool (*leaves)(void *context, const struct xlb_name *name, const struct xlb_id *id),
                void *context)
{
	struct gathering gathering = {.reals = reals, .leaves = leaves, .context = context};
	struct source *source, *next, *same;
	int r = 0;

	ids_each(ids, gather, &gathering);
	if (gathering.result < 0) {
		forget(&gathering.found);
		return gathering.result;
	}
	HASH_ITER(hh, gathering.found, source, next) {
		int one = put(reals, table, source);

		r = r < 0 ? r : one;
	}
	HASH_ITER(hh, sources->known, source, next) {
		HASH_FIND(hh, gathering.found, &source->key, sizeof(source->key), same);
		if (!same)
			service_table_drop(table, &source->key);
	}
	forget(&sources->known);
	sources->known = gathering.found;
	return r < 0 ? r : (int)HASH_COUNT(sources->known);
}
