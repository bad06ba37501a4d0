/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draft.h - what the reader has read so far, before it is made into what keepalived declares. For the files of the reader only.
 *
 * reader.c reads blocks by the tables of keywords.c, whose handlers (virtual_server.c, group.c, vrrp.c, globals.c)
 * fill drafts; when the file is through, declare.c judges them as keepalived does and makes the configuration.
 */
#ifndef XLBD_KEEPALIVED_DRAFT_H
#define XLBD_KEEPALIVED_DRAFT_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlbd/keepalived/lexer.h"
#include "xlbd/keepalived/reader.h"

#define DRAFT_UNSET          -1
#define DRAFT_FLAG_ONE       0x0008 /* IP_VS_SVC_F_SCHED1 to 3 */
#define DRAFT_FLAG_TWO       0x0010
#define DRAFT_FLAG_THREE     0x0020
#define DRAFT_PERSISTENT     360     /* seconds, when no number is given */
#define DRAFT_TIMEOUT_MAX    2678400 /* 31 days */
#define DRAFT_GROUP_MAX      SERVICES_MAX
#define DRAFT_PRIORITY_OWNER 255
#define DRAFT_PRIORITY       100

struct mark { /* where something was written */
	struct place place;
	unsigned column, length;
};

struct draft_method {   /* how packets get to a real server */
	int forwarding; /* enum xlb_forwarding, DRAFT_UNSET */
	uint8_t tunnel_type;
	uint16_t tunnel_port, tunnel_flags;
};

struct draft_real {
	struct xlb_addr addr;
	uint16_t port;
	struct draft_method method;
	int64_t weight; /* DRAFT_UNSET: that of the service */
	int inhibit;    /* DRAFT_UNSET: that of the service */
	uint32_t upper_threshold, lower_threshold;
	struct mark mark;
	struct draft_real *next;
};

enum draft_kind { DRAFT_ADDRESS, DRAFT_FWMARK, DRAFT_GROUP };

struct draft_service {
	enum draft_kind kind;
	struct xlb_addr addr;
	uint16_t port;
	uint32_t fwmark;
	const char *group_name;
	struct draft_group *group; /* found when the file is through */
	int family;                /* AF_UNSPEC: not known yet */
	uint8_t protocol;          /* 0: not given */
	char scheduler[16];        /* "": not given */
	uint32_t flags;
	uint32_t timeout; /* 0: not persistent */
	uint32_t netmask;
	bool has_netmask;
	char engine[16];
	struct draft_method method;
	uint32_t weight;
	uint32_t quorum, hysteresis;
	bool inhibit, ha_suspend;
	const char *snmp_name;
	struct draft_real *reals, **last_real;
	size_t real_count;
	struct draft_real *sorry;
	const char *doubt;
	struct mark mark, flag_mark; /* of the block; of the last scheduler flag */
	struct draft_service *next;
};

struct draft_entry { /* of a virtual_server_group */
	bool is_fwmark;
	struct xlb_addr addr;
	uint32_t count; /* addresses from addr on */
	uint16_t port;
	uint32_t fwmark;
	int family;   /* AF_UNSPEC: fwmark without family */
	bool crosses; /* keepalived's loop never meets the end of the range */
	struct mark mark;
	struct draft_entry *next;
};

struct draft_group {
	const char *name;
	struct draft_entry *entries, **last_entry;
	size_t fwmarks, addresses; /* entries of each kind */
	bool has_ipv4, has_ipv6, has_fwmark_without_family;
	bool removed, used;
	const char *doubt;
	struct mark mark;
	struct draft_group *next;
};

struct draft_address {
	struct declared_address address;
	bool vmac; /* use_vmac behind it */
	struct draft_address *next;
};

struct draft_instance {
	const char *name;
	char interface[16], vmac[16];
	bool use_vmac, use_vmac_addr, is_master, is_unicast;
	uint8_t virtual_router_id, priority; /* 0: not given */
	int family;
	struct draft_address *addresses, **last_address;
	size_t address_count;
	const char *sync_group;
	struct mark mark;
	struct draft_instance *next;
};

struct draft_vmac { /* a device that keepalived makes */
	char name[16];
	char base[16];
	int family;
	uint8_t virtual_router_id;
	struct draft_vmac *next;
};

struct draft_member { /* of a vrrp_sync_group */
	const char *group, *instance;
	struct mark mark;
	struct draft_member *next;
};

struct reader {
	struct lexer *lexer;
	struct complaints *complaints;
	struct obstack *arena;  /* of the configuration */
	struct obstack scratch; /* of the drafts */
	struct keepalived_config *config;
	struct draft_service *services, **last_service,
		*service; /* service: the one that is open */
	struct draft_real *real;
	struct draft_group *groups, **last_group, *group;
	struct draft_instance *instances, **last_instance, *instance;
	struct draft_member *members, **last_member;
	struct draft_vmac *vmacs;
	const char *sync_group, *vmac_prefix, *vmac_addr_prefix, *default_interface;
	struct mark sync_daemon;
	const char *fifo; /* keyword that named the first FIFO without a user; NULL: none */
	struct mark fifo_mark;
};

/* A copy of the text that lives as long as the drafts. */
const char *keep(struct reader *reader, const char *text);
struct mark mark_of(const struct statement *statement, size_t word);
/* The service (or group) that is open is not to be trusted. */
void doubt(struct reader *reader, const char *reason);

#define complain_word(reader, level, statement, index, hint, ...)                             \
	complain_at((reader)->complaints, level, &(statement)->place,                         \
	            (statement)->words[index].column, (statement)->words[index].length, hint, \
	            __VA_ARGS__)
#define complain_mark(reader, level, mark, hint, ...)                                            \
	complain_at((reader)->complaints, level, &(mark)->place, (mark)->column, (mark)->length, \
	            hint, __VA_ARGS__)

/* ---- keywords.c ------------------------------------------------------------------------------- */

enum keyword_shape {
	KEYWORD_LINE,  /* words */
	KEYWORD_BLOCK, /* words { keywords } */
	KEYWORD_LIST,  /* words { lines } */
};

enum keyword_value { VALUE_ANY, VALUE_NUMBER, VALUE_TIMER, VALUE_SWITCH };

struct keyword {
	const char *name;
	enum keyword_shape shape;
	unsigned words; /* behind the keyword; with less of them keepalived ends */
	/* of a line: takes it. */
	void (*take)(struct reader *reader, const struct statement *statement);
	/* of a block: begins it; false: what is in it is skipped */
	bool (*open)(struct reader *reader, const struct statement *statement);
	void (*close)(struct reader *reader);
	const struct keyword *block; /* ends with a name of NULL */
	/* of a list: takes a line of it; NULL: nobody wants to know */
	void (*entry)(struct reader *reader, const struct statement *statement);
	/* what the first word must be, where nobody takes it */
	enum keyword_value value;
	uint32_t least, most; /* of a number; of a timer: least microseconds */
};

const struct keyword *keywords_root(void);

/* ---- handlers --------------------------------------------------------------------------------- */

bool service_open(struct reader *reader, const struct statement *statement);
void service_close(struct reader *reader);
void take_family(struct reader *reader, const struct statement *statement);
void take_protocol(struct reader *reader, const struct statement *statement);
void take_scheduler(struct reader *reader, const struct statement *statement);
void take_flag(struct reader *reader, const struct statement *statement);
void take_method(struct reader *reader, const struct statement *statement);
void take_timeout(struct reader *reader, const struct statement *statement);
void take_granularity(struct reader *reader, const struct statement *statement);
void take_engine(struct reader *reader, const struct statement *statement);
void take_quorum(struct reader *reader, const struct statement *statement);
void take_hysteresis(struct reader *reader, const struct statement *statement);
void take_service_weight(struct reader *reader, const struct statement *statement);
void take_service_switch(struct reader *reader, const struct statement *statement);
void take_snmp_name(struct reader *reader, const struct statement *statement);
void take_sorry(struct reader *reader, const struct statement *statement);
void take_sorry_inhibit(struct reader *reader, const struct statement *statement);
void take_sorry_method(struct reader *reader, const struct statement *statement);

bool real_open(struct reader *reader, const struct statement *statement);
void real_close(struct reader *reader);
void take_weight(struct reader *reader, const struct statement *statement);
void take_real_method(struct reader *reader, const struct statement *statement);
void take_threshold(struct reader *reader, const struct statement *statement);
void take_inhibit(struct reader *reader, const struct statement *statement);

bool group_open(struct reader *reader, const struct statement *statement);
void group_entry(struct reader *reader, const struct statement *statement);
void group_close(struct reader *reader);

bool instance_open(struct reader *reader, const struct statement *statement);
void instance_close(struct reader *reader);
void take_interface(struct reader *reader, const struct statement *statement);
void take_state(struct reader *reader, const struct statement *statement);
void take_router_id(struct reader *reader, const struct statement *statement);
void take_priority(struct reader *reader, const struct statement *statement);
void take_vmac(struct reader *reader, const struct statement *statement);
void take_vmac_addr(struct reader *reader, const struct statement *statement);
void take_native_ipv6(struct reader *reader, const struct statement *statement);
void take_instance_sync_daemon(struct reader *reader, const struct statement *statement);
void take_unicast_peer(struct reader *reader, const struct statement *statement);
void address_entry(struct reader *reader, const struct statement *statement);
void address_excluded_entry(struct reader *reader, const struct statement *statement);
bool sync_group_open(struct reader *reader, const struct statement *statement);
void sync_group_entry(struct reader *reader, const struct statement *statement);

void take_namespace(struct reader *reader, const struct statement *statement);
void take_fifo(struct reader *reader, const struct statement *statement);
void take_script_user(struct reader *reader, const struct statement *statement);
void take_nftables_ipvs(struct reader *reader, const struct statement *statement);
void take_sync_daemon(struct reader *reader, const struct statement *statement);
void take_timeouts(struct reader *reader, const struct statement *statement);
void take_flush_on_stop(struct reader *reader, const struct statement *statement);
void take_include_check(struct reader *reader, const struct statement *statement);
void take_global_name(struct reader *reader, const struct statement *statement);

/* ---- when the file is through ----------------------------------------------------------------- */

/* vrrp.c: instances with their devices. */
void declare_instances(struct reader *reader);
/* declare.c: services. 0, -E2BIG (said in a complaint) or -ENOMEM. */
int declare_services(struct reader *reader);

#endif
