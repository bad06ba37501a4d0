// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent.c - the only file that knows net-snmp: registration, GET and GETNEXT, the loop.
 *
 * mib.c says what there is; here each table becomes a container of net-snmp's, sorted by index and
 * rebuilt when a newer snapshot is asked for, not before: a container finds the next row in
 * O(log n), where net-snmp's iterator helper takes O(n). Answers come from memory alone, because
 * snmpd waits for them (and gives a subagent up after six seconds). The library asks snmpd every
 * second whether it is there, and connects again when it is not; that question is the one
 * thing that can block, for a second, and harms nobody but this process. The ping interval must be
 * set between init_agent() and init_snmp(): the former puts the default back.
 */
#include <errno.h>
#include <string.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include <net-snmp/agent/net-snmp-agent-includes.h>

#include <net-snmp/agent/agent_callbacks.h>
#include <net-snmp/agent/agent_sysORTable.h>

#include "snmp/agent.h"
#include "snmp/mib.h"
#include "snmp/traps.h"
#include "snmp/value.h"
#include "xlbd/log.h"

#define TOPIC         "agent"
#define PROGRAM       "xlb-snmp"
#define PING_SECONDS  1
#define TABLES_MOST   10
#define COLUMNS_MOST  40
#define GROUP_OBJECTS 1 /* root.1: objects; root.0: notifications */

struct row {
	netsnmp_index index; /* must be the first: that is what containers compare */
	oid oids[MIB_INDEX_MOST];
	const void *data;
};

struct served {
	struct agent *agent;
	const struct mib_table *table;
	netsnmp_table_registration_info *info;
	netsnmp_container *container;
	netsnmp_column_info columns;
	unsigned int numbers[COLUMNS_MOST]; /* of the columns */
	struct row *rows;
	uint64_t shown; /* version of the snapshot in the container */
};

struct agent {
	oid root[MAX_OID_LEN];
	size_t root_length;
	const struct snapshot *snapshot;
	struct snapshot own; /* what is told without the daemon */
	uint64_t version;
	struct served served[TABLES_MOST];
	int fd;
	bool connected;
	uint64_t start; /* of snmpd's sysUpTime */
	struct log_limit limit;
	const struct agent_callbacks *callbacks;
};

/* ---- tables ----------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return snmp_oid_compare(a->oids, a->index.len, b->oids, b->index.len);
}

static void fill_row(struct row *row, const struct mib_table *table, const void *data)
{
	uint32_t index[MIB_INDEX_MOST];

	row->data = data;
	row->index.len = table->index(data, index);
	for (size_t i = 0; i < row->index.len; i++)
		row->oids[i] = index[i];
}

static void rebuild(struct served *served)
{
	const struct mib_table *table = served->table;
	const struct snapshot *snapshot = served->agent->snapshot;
	struct mib_rows rows = snapshot ? table->rows(snapshot) : (struct mib_rows){};

	CONTAINER_CLEAR(served->container, NULL, NULL);
	free(served->rows);
	served->rows = rows.count ? calloc(rows.count, sizeof(*served->rows)) : NULL;
	served->shown = served->agent->version;
	for (size_t i = 0; served->rows && i < rows.count; i++)
		fill_row(&served->rows[i], table, (const char *)rows.rows + i * table->row_size);
	/* in order: each insertion is at the end then */
	if (served->rows)
		qsort(served->rows, rows.count, sizeof(*served->rows), compare_rows);
	for (size_t i = 0; served->rows && i < rows.count; i++) {
		served->rows[i].index.oids = served->rows[i].oids;
		CONTAINER_INSERT(served->container, &served->rows[i]);
	}
}

/* Stands before net-snmp's container helper. */
static int refresh(netsnmp_mib_handler *handler, netsnmp_handler_registration *registration,
                   netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	struct served *served = handler->myvoid;

	if (served->shown != served->agent->version)
		rebuild(served);
	return netsnmp_call_next_handler(handler, registration, info, requests);
}

static const struct mib_object *find_column(const struct mib_table *table, unsigned number)
{
	for (const struct mib_object *column = table->columns; column->number; column++)
		if (column->number == number)
			return column;
	return NULL;
}

static int get_cells(netsnmp_mib_handler *handler, netsnmp_handler_registration *registration,
                     netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	const struct served *served = registration->my_reg_void;

	(void)handler;
	for (netsnmp_request_info *one = requests; one; one = one->next) {
		const struct row *row = netsnmp_container_table_row_extract(one);
		const netsnmp_table_request_info *where = netsnmp_extract_table_info(one);
		const struct mib_object *column =
			where ? find_column(served->table, where->colnum) : NULL;

		if (one->processed)
			continue;
		if (row && column)
			value_put(one->requestvb, column, row->data, served->agent->start);
		else
			netsnmp_set_request_error(info, one,
			                          column ? SNMP_NOSUCHINSTANCE : SNMP_NOSUCHOBJECT);
	}
	return SNMP_ERR_NOERROR;
}

static void add_indexes(netsnmp_table_registration_info *info, const char *types)
{
	for (; *types; types++)
		netsnmp_table_helper_add_index(info, *types == 'i'   ? ASN_INTEGER
		                                     : *types == 's' ? ASN_OCTET_STR
		                                                     : ASN_UNSIGNED);
}

static void list_columns(struct served *served, netsnmp_table_registration_info *info)
{
	const struct mib_object *column = served->table->columns;
	size_t count = 0;

	for (; column[count].number && count < COLUMNS_MOST; count++)
		served->numbers[count] = column[count].number;
	served->columns.isRange = 0;
	served->columns.details.list = served->numbers;
	served->columns.list_count = (char)count;
	info->min_column = served->numbers[0];
	info->max_column = served->numbers[count - 1];
	info->valid_columns = &served->columns;
}

static int register_table(struct agent *agent, struct served *served, const struct mib_table *table)
{
	netsnmp_table_registration_info *info =
		SNMP_MALLOC_TYPEDEF(netsnmp_table_registration_info);
	netsnmp_handler_registration *registration;
	netsnmp_mib_handler *before;
	oid where[MAX_OID_LEN];
	size_t length = agent->root_length;

	memcpy(where, agent->root, length * sizeof(oid));
	where[length++] = GROUP_OBJECTS;
	where[length++] = table->group;
	where[length++] = table->table;
	served->agent = agent;
	served->table = table;
	served->info = info;
	served->container = netsnmp_container_find("table_container");
	registration = netsnmp_create_handler_registration(table->name, get_cells, where, length,
	                                                   HANDLER_CAN_RONLY);
	before = netsnmp_create_handler("xlb_refresh", refresh);
	if (!info || !served->container || !registration || !before)
		return -ENOMEM;
	registration->my_reg_void = served;
	before->myvoid = served;
	add_indexes(info, table->index_types);
	list_columns(served, info);
	if (netsnmp_container_table_register(registration, info, served->container,
	                                     TABLE_CONTAINER_KEY_NETSNMP_INDEX) !=
	            SNMPERR_SUCCESS ||
	    netsnmp_inject_handler(registration, before) != SNMPERR_SUCCESS)
		return -EIO;
	return 0;
}

/* After the library's end: of what it was given it frees the handlers only. */
static void forget_table(struct served *served)
{
	if (served->container)
		CONTAINER_FREE(served->container);
	if (served->info)
		netsnmp_table_registration_info_free(served->info);
	free(served->rows);
}

/* ---- scalars ---------------------------------------------------------------------------------- */

#define GROUP_NOTIFY 10

/* Without a daemon little is left to say: that there is none, and what this program itself does. */
static bool is_told(const struct agent *agent, const struct mib_scalar *scalar)
{
	return agent->snapshot || scalar->group == GROUP_NOTIFY ||
	       scalar->object.offset == offsetof(struct snapshot, status);
}

/* The instance's OID; its length. */
static size_t name_of(const struct agent *agent, const struct mib_scalar *scalar, oid *ret)
{
	size_t length = agent->root_length;

	memcpy(ret, agent->root, length * sizeof(oid));
	ret[length++] = GROUP_OBJECTS;
	ret[length++] = scalar->group;
	if (scalar->within)
		ret[length++] = scalar->within;
	ret[length++] = scalar->object.number;
	ret[length++] = 0;
	return length;
}

/* Of the registered group: the scalar of this name, or the first behind it. */
static const struct mib_scalar *find_scalar(const struct agent *agent,
                                            const struct mib_scalar *group,
                                            const netsnmp_variable_list *asked, bool behind)
{
	const struct mib_scalar *one = group;
	oid name[MAX_OID_LEN];

	for (; one->group == group->group && one->within == group->within; one++) {
		size_t length = name_of(agent, one, name);
		int order = snmp_oid_compare(name, length, asked->name, asked->name_length);

		if ((behind ? order > 0 : order == 0) && is_told(agent, one))
			return one;
	}
	return NULL;
}

static int get_scalars(netsnmp_mib_handler *handler, netsnmp_handler_registration *registration,
                       netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	const struct agent *agent = handler->myvoid;
	const struct mib_scalar *group = registration->my_reg_void;
	bool behind = info->mode == MODE_GETNEXT;

	for (netsnmp_request_info *one = requests; one; one = one->next) {
		const struct mib_scalar *found;
		oid name[MAX_OID_LEN];

		if (one->processed)
			continue;
		found = find_scalar(agent, group, one->requestvb, behind);
		if (found && behind)
			snmp_set_var_objid(one->requestvb, name, name_of(agent, found, name));
		if (found)
			value_put(one->requestvb, &found->object,
			          agent->snapshot && found->group != GROUP_NOTIFY ? agent->snapshot
			                                                          : &agent->own,
			          agent->start);
		else if (!behind)
			netsnmp_set_request_error(info, one, SNMP_NOSUCHINSTANCE);
	}
	return SNMP_ERR_NOERROR;
}

static int register_scalars(struct agent *agent, const struct mib_scalar *group)
{
	netsnmp_handler_registration *registration;
	oid name[MAX_OID_LEN];
	/* without the scalar's own number and the instance's */
	size_t length = name_of(agent, group, name) - 2;

	registration = netsnmp_create_handler_registration("xlbScalars", get_scalars, name, length,
	                                                   HANDLER_CAN_RONLY);
	if (!registration)
		return -ENOMEM;
	registration->handler->myvoid = agent;
	registration->my_reg_void = (void *)group;
	return netsnmp_register_handler(registration) == SNMPERR_SUCCESS ? 0 : -EIO;
}

static int register_all(struct agent *agent)
{
	const struct mib_scalar *last = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < TABLES_MOST && mib_tables[i].name; i++)
		r = register_table(agent, &agent->served[i], &mib_tables[i]);
	for (const struct mib_scalar *one = mib_scalars; r == 0 && one->group; one++) {
		if (!last || last->group != one->group || last->within != one->within)
			r = register_scalars(agent, one);
		last = one;
	}
	return r;
}

/* ---- net-snmp's own words --------------------------------------------------------------------- */

static const struct {
	const char *part, *advice;
} advices[] = {
	{"connect to the agentx master",
         "is snmpd running, with 'master agentx', and may this user "
         "write to its socket (agentXPerms)?"},
	{"registering pdu failed", "this part of the tree is taken: does another xlb-snmp run?"},
};

static const char *advice_for(const char *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		if (strstr(message, advices[i].part))
			return advices[i].advice;
	return NULL;
}

static int on_log(int major, int minor, void *message, void *context)
{
	const struct snmp_log_message *said = message;
	const char *advice = advice_for(said->msg);
	int length = (int)strcspn(said->msg, "\n");
	struct agent *agent = context;

	(void)major;
	(void)minor;
	if (length == 0)
		return 0;
	if (said->priority > LOG_WARNING)
		log_debug(TOPIC, "net-snmp: %.*s", length, said->msg);
	else if (log_allowed(&agent->limit, 5, TOPIC))
		log_warning(TOPIC, "net-snmp: %.*s%s%s", length, said->msg, advice ? " - " : "",
		            advice ? advice : "");
	return 0;
}

static int on_connected(int major, int minor, void *session, void *context)
{
	struct agent *agent = context;

	(void)major;
	(void)session;
	agent->connected = minor == SNMPD_CALLBACK_INDEX_START;
	agent->start = value_start();
	if (agent->connected)
		log_notice(TOPIC, "connected to snmpd");
	else
		log_warning(TOPIC, "snmpd is gone, trying to reach it every %d s", PING_SECONDS);
	return 0;
}

/* ---- the loop --------------------------------------------------------------------------------- */

static void on_readable(int fd, void *context)
{
	struct agent *agent = context;

	(void)fd;
	agent->callbacks->readable(agent->callbacks->context);
}

static void on_second(unsigned int alarm, void *context)
{
	struct agent *agent = context;

	(void)alarm;
	agent->callbacks->second(agent->callbacks->context);
}

void agent_watch(struct agent *agent, int fd)
{
	if (agent->fd == fd)
		return;
	if (agent->fd >= 0)
		unregister_readfd(agent->fd);
	if (fd >= 0)
		register_readfd(fd, on_readable, agent);
	agent->fd = fd;
}

void agent_run(struct agent *agent, const struct agent_callbacks *callbacks,
               const volatile int *stop)
{
	unsigned int alarm;

	agent->callbacks = callbacks;
	alarm = snmp_alarm_register(1, SA_REPEAT, on_second, agent);
	on_second(alarm, agent);
	while (!*stop)
		agent_check_and_process(1);
	snmp_alarm_unregister(alarm);
}

/* ---- open, close ------------------------------------------------------------------------------ */

static int parse_root(struct agent *agent, const char *text)
{
	agent->root_length = MAX_OID_LEN;
	if (!read_objid(text, agent->root, &agent->root_length) || agent->root_length < 2 ||
	    agent->root_length > MAX_OID_LEN - MIB_INDEX_MOST - 8)
		return log_errno(-EINVAL, TOPIC, "'%s' is no OID for the root of XLB-MIB", text);
	return 0;
}

static void set_up_library(const char *agentx)
{
	/* numbers only: no MIB is read, nothing is written, no file of the library's configures us */
	setenv("MIBS", "", 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_ROLE, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_LOAD, 1);
	if (agentx)
		netsnmp_ds_set_string(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_X_SOCKET, agentx);
	snmp_disable_log();
	snmp_enable_calllog();
}

static const struct {
	int major, minor;
	SNMPCallback *function;
} callbacks[] = {
	{SNMP_CALLBACK_LIBRARY, SNMP_CALLBACK_LOGGING, on_log},
	{SNMP_CALLBACK_APPLICATION, SNMPD_CALLBACK_INDEX_START, on_connected},
	{SNMP_CALLBACK_APPLICATION, SNMPD_CALLBACK_INDEX_STOP, on_connected},
};

static void set_callbacks(struct agent *agent)
{
	for (size_t i = 0; i < ARRAY_SIZE(callbacks); i++)
		snmp_register_callback(callbacks[i].major, callbacks[i].minor,
		                       callbacks[i].function, agent);
}

/* The library frees what it finds registered at its end, and that is not its own. */
static void take_callbacks(struct agent *agent)
{
	for (size_t i = 0; i < ARRAY_SIZE(callbacks); i++)
		snmp_unregister_callback(callbacks[i].major, callbacks[i].minor,
		                         callbacks[i].function, agent, 1);
}

int agent_open(const char *agentx, const char *root, struct agent **ret)
{
	_cleanup_(agent_closep) struct agent *agent = calloc(1, sizeof(*agent));
	int r;

	if (!agent)
		return log_errno(-ENOMEM, TOPIC, "cannot start");
	agent->fd = -1;
	agent->version = 1;
	agent->own = (struct snapshot){.mode = 1, .status = 6};
	set_up_library(agentx);
	set_callbacks(agent);
	init_agent(PROGRAM);
	netsnmp_ds_set_int(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_AGENTX_PING_INTERVAL,
	                   PING_SECONDS);
	r = parse_root(agent, root);
	if (r < 0)
		return r;
	r = register_all(agent);
	if (r < 0)
		return log_errno(r, TOPIC, "cannot register XLB-MIB");
	register_sysORTable(agent->root, agent->root_length,
	                    "XLB-MIB: xlbd, the XDP load balancer");
	init_snmp(PROGRAM);
	*ret = take_ptr(agent);
	return 0;
}

struct agent *agent_close(struct agent *agent)
{
	if (!agent)
		return NULL;
	agent_watch(agent, -1);
	take_callbacks(agent);
	snmp_shutdown(PROGRAM);
	shutdown_agent();
	for (size_t i = 0; i < TABLES_MOST; i++)
		forget_table(&agent->served[i]);
	free(agent);
	return NULL;
}

void agent_show(struct agent *agent, const struct snapshot *snapshot)
{
	agent->snapshot = snapshot;
	agent->version++;
}

bool agent_connected(const struct agent *agent)
{
	return agent->connected;
}

void agent_notify(struct agent *agent, const struct notice *notice)
{
	traps_send(agent->root, agent->root_length, notice, agent->start);
}

void agent_count_notices(struct agent *agent, uint64_t most, uint64_t suppressed)
{
	agent->own.notify_most = most;
	agent->own.notify_suppressed = suppressed;
}
