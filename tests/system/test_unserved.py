# SPDX-License-Identifier: GPL-2.0-or-later
"""What XDP cannot forward: without IPVS in the kernel it is unserved, and everybody who asks hears why."""

import pytest

import client
from keepalived import virtual_server
from lab import VIP, VIP6, Failed, wait_for


def test_the_default_scheduler_wlc_is_refused_with_enoent_and_shown_with_the_reason(site):
    here = site()
    director = here.a
    text = here.text(scheduler="wlc")
    director.keepalived_conf.write_text(text)
    director.start_xlbd()
    director.start_keepalived()
    vip = wait_for("it is shown", lambda: director.side() == "unserved" and director.vip())
    assert vip["declared"] is True and vip["in_force"] is False
    assert "'wlc'" in vip["reason"] and "'rr'" in vip["reason"]
    assert director.ctl_status("status") == 2 and director.ctl_status("vip") == 2
    assert "wlc" in director.ctl("vip") and any("nobody forwards it" in problem for problem in director.problems())
    # keepalived hears what IPVS says when it lacks the module
    refused = "IP_VS_SO_SET_ADD(1154) error: Scheduler or persistence engine not found(2)"
    wait_for("keepalived heard why", lambda: refused in director.keepalived.text())
    with pytest.raises(Failed, match="Scheduler or persistence engine not found"):
        director.ipvsadm("-A", "-t", f"{VIP}:81", "-s", "wlc")
    assert "TCP" not in director.ipvsadm("-Ln").replace("TCP  LocalAddress", "")
    # the operator follows the advice; a reload only edits the service, which IPVS (and we) never had
    director.reload_keepalived(here.text(scheduler="wrr"))
    wait_for("keepalived tried", lambda: "IP_VS_SO_SET_EDIT(1155) error: No such service" in director.keepalived.text())
    assert director.ctl_status("reload") == 0
    assert director.side() == "unserved" and "restarted" in director.vip()["reason"]
    director.keepalived.stop()
    director.start_keepalived()
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_one_service_that_cannot_be_forwarded_harms_no_other(site):
    here = site()
    director = here.start(servers=virtual_server(here.reals, scheduler="rr") +
                          virtual_server(here.reals, port=81, scheduler="lblc") +
                          virtual_server(here.reals, port=82, scheduler="rr", options="persistence_timeout 60"))
    sides = {vip["port"]: vip["side"] for vip in director.show("vip")["vips"]}
    assert sides == {80: "xdp", 81: "unserved", 82: "unserved"}
    assert "persistence" in director.vip(f"{VIP}:82/tcp")["reason"]
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_ipv6_is_unserved_without_ipvs_in_the_kernel_and_says_why(site):
    here = site()
    director = here.start(servers=virtual_server(here.reals, scheduler="rr") +
                          virtual_server(here.reals, vip=VIP6, scheduler="rr"))
    name = f"[{VIP6}]:80/tcp"
    vip = wait_for("it is shown", lambda: director.vip(name))
    assert vip["side"] == "unserved" and vip["reason"]
    assert "IPv6" in vip["reason"], vip["reason"]
    assert director.ctl_status("vip") == 2
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_nat_on_a_host_that_does_not_forward_is_unserved_and_says_what_to_do(site):
    here = site()
    director = here.start(servers=virtual_server(here.reals, scheduler="rr") +
                          virtual_server(here.reals, port=81, scheduler="rr", check=None).replace("lb_kind DR", "lb_kind NAT"))
    vip = wait_for("it is shown", lambda: director.vip(f"{VIP}:81/tcp"))
    assert vip["side"] == "unserved" and "set sysctl net.ipv4.ip_forward" in vip["reason"]
