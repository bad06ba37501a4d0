# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts for keepalived.conf."""

from lab import VIP


def globals_block(extra=""):
    return f"""
global_defs {{
	router_id lab
	script_user root
	{extra}
}}
"""


def vrrp_instance(director, vips=(VIP,), name="VI_1", state="BACKUP", router_id=51, extra=""):
    addresses = "\n".join(f"\t\t{vip}/{64 if ':' in vip else 24} dev e0" for vip in vips)
    return f"""
vrrp_instance {name} {{
	state {state}
	interface e0
	virtual_router_id {router_id}
	priority {director.priority}
	advert_int 0.1
	version 3
	{extra}
	virtual_ipaddress {{
{addresses}
	}}
}}
"""


def real_server(address, port=80, weight=1, check="TCP_CHECK", options=""):
    checker = f"{check} {{ connect_timeout 1 }}" if check else ""
    return f"""
	real_server {address} {port} {{
		weight {weight}
		{options}
		{checker}
	}}"""


def virtual_server(reals, vip=VIP, port=80, scheduler="mh", check="TCP_CHECK", options="", weights=None,
                   protocol="TCP", delay=0.2, real_options=""):
    """`reals`: hosts, or addresses; one weight for each, or 1."""
    blocks = ""
    for index, real in enumerate(reals):
        address = real if isinstance(real, str) else real.address6 if ":" in vip else real.address
        blocks += real_server(address, port, weights[index] if weights else 1, check, real_options)
    return f"""
virtual_server {vip} {port} {{
	delay_loop {delay}
	retry 1
	delay_before_retry 0.1
	lb_algo {scheduler}
	lb_kind DR
	protocol {protocol}
	{options}{blocks}
}}
"""
