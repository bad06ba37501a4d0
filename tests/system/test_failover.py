# SPDX-License-Identifier: GPL-2.0-or-later
"""Two directors, VRRP between them: who owns the address forwards, and nobody else."""

import time

import client
from keepalived import virtual_server
from lab import VIP, Host, stays, wait_for


def wait_standby(director):
    wait_for(f"{director.name} stands by", lambda: director.side() == "standby", 20)


def test_when_the_master_dies_the_other_serves_new_connections(site):
    here = site(reals=3, directors=2)
    here.start()
    wait_standby(here.b)
    fresh = here.client.client("requests", VIP, 80, "--rate", 100, "--timeout", 0.5)
    fresh.wait(50)
    assert here.b.forwarded() == 0
    begin = time.monotonic()
    here.a.die()
    gone = time.monotonic()
    first = wait_for("B answers", lambda: next((event for event in fresh.since(gone) if event.ok), None), 10)
    assert first.end - begin < 2
    here.b.wait_served(here.reals)
    since = fresh.wait(100)
    assert not fresh.failures(since) and set(fresh.answers(since)) == {"r1", "r2", "r3"}
    assert here.b.show("status")["roles"][0]["active"] is True
    # and back: A preempts
    here.a.plug()
    here.a.start_xlbd()
    here.a.start_keepalived()
    here.a.wait_served(here.reals)
    wait_standby(here.b)
    since = fresh.wait(100)
    assert not fresh.failures(since)


def test_a_keepalived_that_stops_in_good_order_hands_over(site):
    here = site(directors=2)
    here.start()
    wait_standby(here.b)
    fresh = here.client.client("requests", VIP, 80, "--rate", 100, "--timeout", 1)
    fresh.wait(50)
    here.a.keepalived.stop()
    here.b.wait_served(here.reals)
    since = fresh.wait(100)
    assert not fresh.failures(since)
    assert here.a.side() in ("draining", "unserved")


def send_syns(target_mac, count, vip, port):
    """SYNs to a virtual server in frames to this MAC, whoever owns the address; how many were sent."""
    from scapy.all import IP, TCP, Ether, get_if_hwaddr, sendp  # slow to import, and only here
    frames = [Ether(src=get_if_hwaddr("e0"), dst=target_mac) / IP(src="10.99.0.7", dst=vip) /
              TCP(sport=30000 + number, dport=port, flags="S", seq=1) for number in range(count)]
    sendp(frames, iface="e0", verbose=False)
    return len(frames)


def test_a_director_forwards_nothing_for_an_address_that_it_does_not_own(site):
    here = site(directors=2)
    here.start()
    wait_standby(here.b)
    before = here.b.verdict("standby")
    held = {real.name: here.a.reals()[real.address]["connections"] for real in here.reals}
    sent = here.client.call(send_syns, here.b.mac(), 20, VIP, 80)
    wait_for("B has seen them", lambda: here.b.verdict("standby") - before >= sent)
    assert here.b.forwarded() == 0
    assert here.b.show("status")["connections"]["live"] == 0
    assert {real.name: here.a.reals()[real.address]["connections"] for real in here.reals} == held


def test_frames_to_another_mac_are_not_forwarded_by_the_owner_either(site):
    """A switch that floods: both directors see the frame, the one that is meant forwards it."""
    here = site()
    director = here.start()
    director.sh("ip link set e0 promisc on")
    here.lab.in_switch("ip link set br0 type bridge ageing_time 0")
    before, forwarded = director.verdict("other-mac"), director.forwarded()
    here.client.call(send_syns, "02:00:00:00:00:99", 10, VIP, 80)
    wait_for("it has seen them", lambda: director.verdict("other-mac") - before >= 10)
    assert director.forwarded() == forwarded


def test_a_standby_that_is_a_real_server_too_never_loops(site):
    here = site(reals=1, directors=2)
    both = here.b
    both.sh(f"ip addr add {VIP}/32 dev lo")
    # B's own nginx answers for the address on lo, and A has B as a real server
    both.serve()
    here.reals.append(both)
    here.start()
    # while A has the address it is a real server like the others, and leaves A's packets to its nginx
    wait_for("B stands by", lambda: both.side() == "standby" and both.ctl_status("vip") == 0)
    assert both.show("status")["roles"][0]["active"] is False
    assert here.client.call(client.many_gets, 40, VIP) == {"r1": 20, "b": 20}
    assert both.forwarded() == 0
    # a loop would show as packets that are forwarded again and again
    before = here.a.forwarded()
    here.client.call(client.many_gets, 10, VIP)
    assert here.a.forwarded() - before < 10 * 12


def test_two_directors_on_one_kernel_do_not_see_each_others_table(site):
    here = site(directors=2)
    a, b = here.directors
    b.priority = 50
    a.keepalived_conf.write_text(here.text(a))
    a.start_xlbd()
    a.start_keepalived()
    a.wait_served(here.reals)
    b.keepalived_conf.write_text(here.text(b, servers=virtual_server(here.reals[:1], port=8080, scheduler="mh")))
    b.start_xlbd()
    assert "10.99" not in b.ipvsadm("-Ln").split("RemoteAddress")[1]
    b.start_keepalived()
    wait_for("B has its own", lambda: b.side(f"{VIP}:8080/tcp") == "standby")
    assert [vip["virtual"] for vip in a.show("vip")["vips"]] == [f"{VIP}:80/tcp"]
    assert [vip["virtual"] for vip in b.show("vip")["vips"]] == [f"{VIP}:8080/tcp"]
    assert ":8080" not in a.ipvsadm("-Ln") and ":80 " not in b.ipvsadm("-Ln")
    b.keepalived.stop()
    stays("A's table is untouched", lambda: a.side() == "xdp", 1.5)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_mh_gives_the_same_client_the_same_real_server_on_both_directors(site):
    here = site(reals=3, directors=2)
    here.start(scheduler="mh", options="mh-port")
    wait_standby(here.b)
    ports = list(range(30001, 30061))
    first = here.client.call(client.gets_from_ports, VIP, ports)
    assert {answer for _, answer in first} == {"r1", "r2", "r3"}
    here.a.die()
    here.b.wait_served(here.reals)
    assert here.client.call(client.gets_from_ports, VIP, ports) == first


def test_mh_without_ports_keeps_a_client_at_one_real_server(site):
    here = site(reals=3)
    here.start(scheduler="mh")
    seen = {}
    for number in range(20, 36):
        other = here.lab.add(Host, f"h{number}", number) if number < 24 else None
        if other:
            seen[other.name] = other.call(client.many_gets, 10, VIP)
    assert all(len(answers) == 1 for answers in seen.values()), seen
    assert here.client.call(client.many_gets, 10, VIP).popitem()[1] == 10
