# SPDX-License-Identifier: GPL-2.0-or-later
"""lb_kind TUN: real clients and servers through ipip, GRE and GUE, taken off at the real server by a program of its own."""

import client
import pytest
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import BUILD, VIP, wait_for

UNWRAP_OBJECT = BUILD / "tests/system/unwrap.bpf.o"


def begin(here, method, address="address", **more):
    """The director with one service whose real servers are behind tunnels; `address`: which of their addresses."""
    reals = [getattr(real, address) for real in here.reals]
    for real in here.reals:
        real.sh(f"ip link set e0 xdp obj {UNWRAP_OBJECT} sec xdp")
    here.a.keepalived_conf.write_text(
        globals_block(here.a.fifos) + vrrp_instance(here.a) +
        virtual_server(reals, scheduler="rr", real_options=f"lvs_method {method}", **more))
    here.a.start_xlbd()
    here.a.start_keepalived()
    wait_for("it is served", lambda: here.a.side() == "xdp" and here.a.usable() == set(reals))
    wait_for("the next hops are known", lambda: all(
        real["next_hop"]["state"] == "resolved" for real in here.a.reals().values()))
    return here.a


@pytest.mark.parametrize("method", ["TUN", "TUN type gre", "TUN type gue port 6080"])
def test_requests_go_through_the_tunnel(site, method):
    here = site()
    director = begin(here, method)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    assert director.forwarded() > 40
    assert director.vip()["method"] == "tunnel"


def test_a_real_server_that_dies_leaves_the_tunnel_too(site):
    here = site()
    begin(here, "TUN type gue port 6080")
    here.reals[0].die()
    here.a.wait_served(here.reals[1:])
    assert here.client.call(client.many_gets, 10, VIP) == {"r2": 10}


def test_checksums_in_the_tunnel_are_left_to_ipvs_with_the_reason(site):
    here = site()
    here.a.keepalived_conf.write_text(here.text(real_options="lvs_method TUN type gre csum"))
    here.a.start_xlbd()
    here.a.start_keepalived()
    wait_for("it is judged", lambda: here.a.side() == "unserved")
    assert "a tunnel with checksums (csum)" in here.a.vip()["reason"]
