// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * keywords.c - every keyword of keepalived.conf, by the block it belongs to.
 *
 * reader.c looks words up here and does what the row says. Most keywords concern health checks, mail or VRRP's timing and
 * are only known, so that they are not complained about and their blocks are passed by structure; some of those have
 * a value that is checked. What matters to the data plane has a handler. The tables are of keepalived 2.2 and
 * hold what 2.3 and 2.4 added. A keyword more is a row more.
 */
#include "xlbd/keepalived/draft.h"

#define KNOWN(word)            \
	{                      \
		.name = (word) \
	}
#define LIST(word)                                    \
	{                                             \
		.name = (word), .shape = KEYWORD_LIST \
	}
#define BLOCK(word, table)                                               \
	{                                                                \
		.name = (word), .shape = KEYWORD_BLOCK, .block = (table) \
	}
#define NAMED(word, table)                                                           \
	{                                                                            \
		.name = (word), .shape = KEYWORD_BLOCK, .words = 1, .block = (table) \
	}
#define TAKEN(word, handler)                      \
	{                                         \
		.name = (word), .take = (handler) \
	}
#define TAKEN1(word, handler)                                 \
	{                                                     \
		.name = (word), .words = 1, .take = (handler) \
	}
#define TIMER(word, at_least)                                                         \
	{                                                                             \
		.name = (word), .words = 1, .value = VALUE_TIMER, .least = (at_least) \
	}
#define NUMBER(word, at_least, at_most)                                                 \
	{                                                                               \
		.name = (word), .words = 1, .value = VALUE_NUMBER, .least = (at_least), \
		.most = (at_most)                                                       \
	}
#define SWITCH(word)                                  \
	{                                             \
		.name = (word), .value = VALUE_SWITCH \
	}
#define END                  \
	{                    \
		.name = NULL \
	}

/* ---- health checks ---------------------------------------------------------------------------- */

#define CHECK_COMMON                                                                \
	TIMER("delay_before_retry", 0), TIMER("warmup", 0), TIMER("delay_loop", 1), \
		KNOWN("retry"), KNOWN("alpha"), KNOWN("log_all_failures")
#define CHECK_CONNECTION                                                                 \
	KNOWN("connect_ip"), KNOWN("connect_port"), KNOWN("bindto"), KNOWN("bind_port"), \
		KNOWN("bind_if"), TIMER("connect_timeout", 1), KNOWN("fwmark")

static const struct keyword url_keywords[] = {
	KNOWN("path"),
	KNOWN("digest"),
	KNOWN("status_code"),
	KNOWN("virtualhost"),
	KNOWN("regex"),
	KNOWN("regex_no_match"),
	KNOWN("regex_options"),
	KNOWN("regex_min_offset"),
	KNOWN("regex_max_offset"),
	KNOWN("regex_stack"),
	KNOWN("tls_compliant"),
	END,
};

static const struct keyword http_keywords[] = {
	CHECK_COMMON,
	CHECK_CONNECTION,
	KNOWN("nb_get_retry"),
	KNOWN("virtualhost"),
	KNOWN("http_protocol"),
	KNOWN("enable_sni"),
	KNOWN("sni_name"),
	KNOWN("fast_recovery"),
	KNOWN("tls_compliant"),
	BLOCK("url", url_keywords),
	END,
};

static const struct keyword tcp_keywords[] = {
	CHECK_COMMON,
	CHECK_CONNECTION,
	END,
};

static const struct keyword smtp_host_keywords[] = {
	CHECK_COMMON,
	CHECK_CONNECTION,
	END,
};

static const struct keyword smtp_keywords[] = {
	CHECK_COMMON, CHECK_CONNECTION, KNOWN("helo_name"), BLOCK("host", smtp_host_keywords), END,
};

static const struct keyword dns_keywords[] = {
	CHECK_COMMON, CHECK_CONNECTION, KNOWN("type"), KNOWN("name"), END,
};

static const struct keyword misc_keywords[] = {
	CHECK_COMMON,          KNOWN("misc_path"), KNOWN("misc_timeout"),
	KNOWN("misc_dynamic"), KNOWN("user"),      END,
};

static const struct keyword bfd_check_keywords[] = {
	KNOWN("name"),
	KNOWN("alpha"),
	END,
};

static const struct keyword ping_keywords[] = {
	CHECK_COMMON,
	CHECK_CONNECTION,
	END,
};

static const struct keyword udp_keywords[] = {
	CHECK_COMMON,
	CHECK_CONNECTION,
	KNOWN("payload"),
	KNOWN("require_reply"),
	KNOWN("min_reply_length"),
	KNOWN("max_reply_length"),
	END,
};

static const struct keyword file_keywords[] = {
	KNOWN("track_file"),
	KNOWN("weight"),
	END,
};

/* ---- virtual servers -------------------------------------------------------------------------- */

static const struct keyword real_keywords[] = {
	TAKEN1("weight", take_weight),
	TAKEN1("lvs_method", take_real_method),
	TAKEN1("uthreshold", take_threshold),
	TAKEN1("lthreshold", take_threshold),
	TAKEN("inhibit_on_failure", take_inhibit),
	KNOWN("notify_up"),
	KNOWN("notify_down"),
	SWITCH("alpha"),
	NUMBER("retry", 1, UINT32_MAX),
	TIMER("delay_before_retry", 0),
	TIMER("warmup", 0),
	TIMER("connect_timeout", 1),
	TIMER("delay_loop", 1),
	SWITCH("smtp_alert"),
	KNOWN("virtualhost"),
	KNOWN("snmp_name"),
	BLOCK("MISC_CHECK", misc_keywords),
	BLOCK("SMTP_CHECK", smtp_keywords),
	BLOCK("TCP_CHECK", tcp_keywords),
	BLOCK("PING_CHECK", ping_keywords),
	BLOCK("UDP_CHECK", udp_keywords),
	BLOCK("HTTP_GET", http_keywords),
	BLOCK("SSL_GET", http_keywords),
	BLOCK("DNS_CHECK", dns_keywords),
	BLOCK("FILE_CHECK", file_keywords),
	BLOCK("BFD_CHECK", bfd_check_keywords),
	END,
};

static const struct keyword service_keywords[] = {
	TAKEN1("ip_family", take_family),
	NUMBER("retry", 1, UINT32_MAX),
	TIMER("delay_before_retry", 0),
	TIMER("warmup", 0),
	TIMER("connect_timeout", 1),
	TIMER("delay_loop", 1),
	TAKEN("inhibit_on_failure", take_service_switch),
	TAKEN1("lb_algo", take_scheduler),
	TAKEN1("lvs_sched", take_scheduler),
	TAKEN("hashed", take_flag),
	TAKEN("ops", take_flag),
	TAKEN("flag-1", take_flag),
	TAKEN("flag-2", take_flag),
	TAKEN("flag-3", take_flag),
	TAKEN("sh-port", take_flag),
	TAKEN("sh-fallback", take_flag),
	TAKEN("mh-port", take_flag),
	TAKEN("mh-fallback", take_flag),
	TAKEN1("lb_kind", take_method),
	TAKEN1("lvs_method", take_method),
	TAKEN1("persistence_engine", take_engine),
	TAKEN("persistence_timeout", take_timeout),
	TAKEN1("persistence_granularity", take_granularity),
	TAKEN1("protocol", take_protocol),
	TAKEN("ha_suspend", take_service_switch),
	SWITCH("smtp_alert"),
	KNOWN("virtualhost"),
	TAKEN("snmp_name", take_snmp_name),
	KNOWN("alpha"),
	KNOWN("omega"),
	KNOWN("quorum_up"),
	KNOWN("quorum_down"),
	TAKEN1("quorum", take_quorum),
	TAKEN1("hysteresis", take_hysteresis),
	TAKEN1("weight", take_service_weight),
	TAKEN1("sorry_server", take_sorry),
	TAKEN("sorry_server_inhibit", take_sorry_inhibit),
	TAKEN1("sorry_server_lvs_method", take_sorry_method),
	{.name = "real_server",
         .shape = KEYWORD_BLOCK,
         .words = 1,
         .open = real_open,
         .close = real_close,
         .block = real_keywords},
	END,
};

static const struct keyword ssl_keywords[] = {
	KNOWN("password"), KNOWN("ca"), KNOWN("certificate"), KNOWN("key"), END,
};

/* ---- VRRP ------------------------------------------------------------------------------------- */

static const struct keyword authentication_keywords[] = {
	KNOWN("auth_type"),
	KNOWN("auth_pass"),
	END,
};

static const struct keyword sync_group_keywords[] = {
	{.name = "group", .shape = KEYWORD_LIST, .entry = sync_group_entry},
	LIST("track_interface"),
	LIST("track_script"),
	LIST("track_file"),
	LIST("track_process"),
	LIST("track_bfd"),
	KNOWN("notify_backup"),
	KNOWN("notify_master"),
	KNOWN("notify_fault"),
	KNOWN("notify_stop"),
	KNOWN("notify"),
	KNOWN("smtp_alert"),
	KNOWN("global_tracking"),
	KNOWN("sync_group_tracking_weight"),
	KNOWN("notify_priority_changes"),
	END,
};

static const struct keyword instance_keywords[] = {
	TAKEN("use_vmac", take_vmac),
	TAKEN("use_vmac_addr", take_vmac_addr),
	KNOWN("vmac_xmit_base"),
	KNOWN("use_ipvlan"),
	{.name = "unicast_peer", .shape = KEYWORD_LIST, .take = take_unicast_peer},
	TAKEN("unicast_src_ip", take_unicast_peer),
	TAKEN("native_ipv6", take_native_ipv6),
	TAKEN1("state", take_state),
	TAKEN1("interface", take_interface),
	TAKEN1("virtual_router_id", take_router_id),
	TAKEN1("priority", take_priority),
	TAKEN("lvs_sync_daemon_interface", take_instance_sync_daemon),
	{.name = "virtual_ipaddress", .shape = KEYWORD_LIST, .entry = address_entry},
	{.name = "virtual_ipaddress_excluded",
         .shape = KEYWORD_LIST,
         .entry = address_excluded_entry},
	LIST("virtual_routes"),
	LIST("virtual_rules"),
	LIST("track_interface"),
	LIST("track_script"),
	LIST("track_file"),
	LIST("track_process"),
	LIST("track_bfd"),
	KNOWN("notify_backup"),
	KNOWN("notify_master"),
	KNOWN("notify_fault"),
	KNOWN("notify_stop"),
	KNOWN("notify"),
	KNOWN("notify_deleted"),
	KNOWN("notify_master_rx_lower_pri"),
	KNOWN("unicast_fault_no_peer"),
	KNOWN("check_unicast_src"),
	KNOWN("old_unicast_checksum"),
	KNOWN("vrf"),
	KNOWN("dont_track_primary"),
	KNOWN("mcast_src_ip"),
	KNOWN("mcast_dst_ip"),
	KNOWN("track_src_ip"),
	KNOWN("unicast_ttl"),
	KNOWN("version"),
	KNOWN("advert_int"),
	KNOWN("promote_secondaries"),
	KNOWN("linkbeat_use_polling"),
	KNOWN("accept"),
	KNOWN("no_accept"),
	KNOWN("skip_check_adv_addr"),
	KNOWN("strict_mode"),
	KNOWN("preempt"),
	KNOWN("nopreempt"),
	KNOWN("preempt_delay"),
	KNOWN("debug"),
	KNOWN("smtp_alert"),
	KNOWN("notify_priority_changes"),
	KNOWN("garp_master_delay"),
	KNOWN("garp_master_refresh"),
	KNOWN("garp_master_repeat"),
	KNOWN("garp_master_refresh_repeat"),
	KNOWN("garp_lower_prio_delay"),
	KNOWN("garp_lower_prio_repeat"),
	KNOWN("down_timer_adverts"),
	KNOWN("garp_extra_if"),
	KNOWN("vmac_garp_intvl"),
	KNOWN("lower_prio_no_advert"),
	KNOWN("higher_prio_send_advert"),
	KNOWN("kernel_rx_buf_size"),
	KNOWN("no_virtual_ipaddress"),
	KNOWN("owner_ignore_adverts"),
	KNOWN("thread_timer_expired"),
	KNOWN("timer_expired_backup"),
	KNOWN("v3_checksum_as_v2"),
	BLOCK("authentication", authentication_keywords),
	END,
};

static const struct keyword garp_group_keywords[] = {
	KNOWN("garp_interval"), KNOWN("gna_interval"), KNOWN("interface"), LIST("interfaces"), END,
};

static const struct keyword script_keywords[] = {
	KNOWN("script"), KNOWN("interval"),  KNOWN("timeout"),
	KNOWN("weight"), KNOWN("rise"),      KNOWN("fall"),
	KNOWN("user"),   KNOWN("init_fail"), END,
};

static const struct keyword process_keywords[] = {
	KNOWN("process"),         KNOWN("param_match"),
	KNOWN("weight"),          KNOWN("quorum"),
	KNOWN("quorum_max"),      KNOWN("delay"),
	KNOWN("terminate_delay"), KNOWN("fork_delay"),
	KNOWN("full_command"),    END,
};

static const struct keyword track_file_keywords[] = {
	KNOWN("file"),
	KNOWN("weight"),
	KNOWN("init_file"),
	END,
};

static const struct keyword track_group_keywords[] = {
	LIST("group"),
	END,
};

static const struct keyword bfd_keywords[] = {
	KNOWN("source_ip"),  KNOWN("neighbor_ip"), KNOWN("neighbour_ip"),
	KNOWN("min_rx"),     KNOWN("min_tx"),      KNOWN("idle_tx"),
	KNOWN("multiplier"), KNOWN("passive"),     KNOWN("ttl"),
	KNOWN("hoplimit"),   KNOWN("max_hops"),    KNOWN("vrrp"),
	KNOWN("checker"),    KNOWN("weight"),      END,
};

/* ---- globals ---------------------------------------------------------------------------------- */

static const struct keyword global_keywords[] = {
	TAKEN("lvs_notify_fifo", take_fifo),
	TAKEN("vrrp_notify_fifo", take_fifo),
	TAKEN("notify_fifo", take_fifo),
	TAKEN("script_user", take_script_user),
	TAKEN("enable_script_security", take_script_user),
	TAKEN("nftables_ipvs", take_nftables_ipvs),
	TAKEN("lvs_sync_daemon", take_sync_daemon),
	TAKEN("lvs_timeouts", take_timeouts),
	TAKEN("lvs_flush_on_stop", take_flush_on_stop),
	TAKEN("lvs_flush_onstop", take_flush_on_stop),
	TAKEN("include_check", take_include_check),
	TAKEN("default_interface", take_global_name),
	TAKEN("vmac_prefix", take_global_name),
	TAKEN("vmac_addr_prefix", take_global_name),
	SWITCH("rs_init_notifies"),
	LIST("notification_email"),
	KNOWN("process_names"),
	KNOWN("process_name"),
	KNOWN("vrrp_process_name"),
	KNOWN("checker_process_name"),
	KNOWN("lvs_process_name"),
	KNOWN("bfd_process_name"),
	KNOWN("router_id"),
	KNOWN("notification_email_from"),
	KNOWN("smtp_server"),
	KNOWN("smtp_helo_name"),
	KNOWN("smtp_connect_timeout"),
	KNOWN("smtp_alert"),
	KNOWN("startup_script"),
	KNOWN("startup_script_timeout"),
	KNOWN("shutdown_script"),
	KNOWN("shutdown_script_timeout"),
	KNOWN("max_auto_priority"),
	KNOWN("min_auto_priority_delay"),
	KNOWN("smtp_alert_vrrp"),
	KNOWN("smtp_alert_checker"),
	KNOWN("checker_log_all_failures"),
	KNOWN("dynamic_interfaces"),
	KNOWN("no_email_faults"),
	KNOWN("disable_local_igmp"),
	KNOWN("lvs_flush"),
	KNOWN("vrrp_mcast_group4"),
	KNOWN("vrrp_mcast_group6"),
	KNOWN("vrrp_garp_master_delay"),
	KNOWN("vrrp_garp_master_repeat"),
	KNOWN("vrrp_garp_master_refresh"),
	KNOWN("vrrp_garp_master_refresh_repeat"),
	KNOWN("vrrp_garp_lower_prio_delay"),
	KNOWN("vrrp_garp_lower_prio_repeat"),
	KNOWN("vrrp_down_timer_adverts"),
	KNOWN("vrrp_garp_interval"),
	KNOWN("vrrp_gna_interval"),
	KNOWN("vrrp_min_garp"),
	KNOWN("vrrp_garp_extra_if"),
	KNOWN("vrrp_vmac_garp_intvl"),
	KNOWN("vrrp_lower_prio_no_advert"),
	KNOWN("vrrp_higher_prio_send_advert"),
	KNOWN("vrrp_version"),
	KNOWN("vrrp_iptables"),
	KNOWN("vrrp_ipsets"),
	KNOWN("nftables"),
	KNOWN("nftables_priority"),
	KNOWN("nftables_ifindex"),
	KNOWN("nftables_ipvs_priority"),
	KNOWN("nftables_ipvs_start_fwmark"),
	KNOWN("nftables_counters"),
	KNOWN("vrrp_check_unicast_src"),
	KNOWN("vrrp_skip_check_adv_addr"),
	KNOWN("vrrp_strict"),
	KNOWN("vrrp_priority"),
	KNOWN("vrrp_no_swap"),
	KNOWN("vrrp_rt_priority"),
	KNOWN("vrrp_cpu_affinity"),
	KNOWN("vrrp_rlimit_rttime"),
	KNOWN("vrrp_rlimit_rtime"),
	KNOWN("notify_fifo_script"),
	KNOWN("vrrp_notify_fifo_script"),
	KNOWN("vrrp_notify_priority_changes"),
	KNOWN("fifo_write_vrrp_states_on_reload"),
	KNOWN("lvs_notify_fifo_script"),
	KNOWN("checker_priority"),
	KNOWN("checker_no_swap"),
	KNOWN("checker_rt_priority"),
	KNOWN("checker_cpu_affinity"),
	KNOWN("checker_rlimit_rttime"),
	KNOWN("checker_rlimit_rtime"),
	KNOWN("bfd_priority"),
	KNOWN("bfd_no_swap"),
	KNOWN("bfd_rt_priority"),
	KNOWN("bfd_cpu_affinity"),
	KNOWN("bfd_rlimit_rttime"),
	KNOWN("bfd_rlimit_rtime"),
	KNOWN("snmp_socket"),
	KNOWN("enable_traps"),
	KNOWN("enable_snmp_vrrp"),
	KNOWN("enable_snmp_keepalived"),
	KNOWN("enable_snmp_rfc"),
	KNOWN("enable_snmp_rfcv2"),
	KNOWN("enable_snmp_rfcv3"),
	KNOWN("enable_snmp_checker"),
	KNOWN("enable_dbus"),
	KNOWN("dbus_service_name"),
	KNOWN("vrrp_netlink_cmd_rcv_bufs"),
	KNOWN("vrrp_netlink_cmd_rcv_bufs_force"),
	KNOWN("vrrp_netlink_monitor_rcv_bufs"),
	KNOWN("vrrp_netlink_monitor_rcv_bufs_force"),
	KNOWN("process_monitor_rcv_bufs"),
	KNOWN("process_monitor_rcv_bufs_force"),
	KNOWN("lvs_netlink_cmd_rcv_bufs"),
	KNOWN("lvs_netlink_cmd_rcv_bufs_force"),
	KNOWN("lvs_netlink_monitor_rcv_bufs"),
	KNOWN("lvs_netlink_monitor_rcv_bufs_force"),
	KNOWN("no_checker_emails"),
	KNOWN("vrrp_rx_bufs_policy"),
	KNOWN("vrrp_rx_bufs_multiplier"),
	KNOWN("vrrp_startup_delay"),
	KNOWN("log_unknown_vrids"),
	KNOWN("umask"),
	KNOWN("random_seed"),
	KNOWN("reload_check_config"),
	KNOWN("reload_time_file"),
	KNOWN("reload_repeat"),
	KNOWN("reload_file"),
	KNOWN("config_save_dir"),
	KNOWN("tmp_config_directory"),
	KNOWN("data_use_instance"),
	KNOWN("dbus_no_interface_name"),
	KNOWN("iproute_etc_dir"),
	KNOWN("iproute_usr_dir"),
	KNOWN("json_dump_file"),
	KNOWN("json_version"),
	KNOWN("set_supplementary_groups"),
	KNOWN("snmp_rs_stats_update_interval"),
	KNOWN("snmp_vs_stats_update_interval"),
	KNOWN("state_dump_file"),
	KNOWN("stats_dump_file"),
	KNOWN("use_symlink_paths"),
	KNOWN("vrrp_delay_after_boot"),
	KNOWN("vrrp_owner_ignore_adverts"),
	END,
};

static const struct keyword root_keywords[] = {
	BLOCK("global_defs", global_keywords),
	TAKEN("net_namespace", take_namespace),
	TAKEN("net_namespace_ipvs", take_namespace),
	TAKEN("instance", take_namespace),
	KNOWN("linkbeat_use_polling"),
	KNOWN("namespace_with_ipsets"),
	KNOWN("use_pid_dir"),
	KNOWN("child_wait_time"),
	BLOCK("SSL", ssl_keywords),
	{.name = "virtual_server_group",
         .shape = KEYWORD_LIST,
         .words = 1,
         .open = group_open,
         .close = group_close,
         .entry = group_entry},
	{.name = "virtual_server",
         .shape = KEYWORD_BLOCK,
         .words = 1,
         .open = service_open,
         .close = service_close,
         .block = service_keywords},
	{.name = "vrrp_sync_group",
         .shape = KEYWORD_BLOCK,
         .open = sync_group_open,
         .block = sync_group_keywords},
	{.name = "vrrp_instance",
         .shape = KEYWORD_BLOCK,
         .open = instance_open,
         .close = instance_close,
         .block = instance_keywords},
	NAMED("vrrp_script", script_keywords),
	NAMED("vrrp_track_process", process_keywords),
	NAMED("track_file", track_file_keywords),
	NAMED("vrrp_track_file", track_file_keywords),
	NAMED("track_group", track_group_keywords),
	NAMED("garp_group", garp_group_keywords),
	NAMED("bfd_instance", bfd_keywords),
	LIST("static_ipaddress"),
	LIST("static_routes"),
	LIST("static_rules"),
	LIST("linkbeat_interfaces"),
	LIST("interface_up_down_delays"),
	END,
};

const struct keyword *keywords_root(void)
{
	return root_keywords;
}
