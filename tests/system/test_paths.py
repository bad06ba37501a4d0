# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to and from the director other than one flat wire: virtual MACs, another interface, large packets.

VLANs need the module 8021q, which not every kernel has: tests/bpf has them.
"""

import client
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import VIP, Director, Host, RealServer, wait_for


def test_a_virtual_mac_of_vrrp_is_served(site):
    here = site(directors=2)
    for director in here.directors:
        director.keepalived_conf.write_text(
            globals_block(director.fifos) + vrrp_instance(director, extra="use_vmac\n\tvmac_xmit_base").replace(" dev e0", "") +
            virtual_server(here.reals, scheduler="rr"))
        director.start_xlbd()
        director.start_keepalived()
    here.a.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    assert "00:00:5e:00:01:33" in here.client.sh(f"ip neigh show {VIP}")
    assert here.a.forwarded() > 0 and here.b.forwarded() == 0
    here.a.die()
    here.b.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    assert here.b.forwarded() > 0


def test_real_servers_behind_another_interface_get_their_packets_by_redirect(lab):
    """Client and VIP on e0, the real server's address on e1; its answers leave by its own e0, as DR likes it."""
    outside = lab.add(Host, "c", 7)
    director = lab.add(Director, "a", 1)
    real = lab.add(RealServer, "r1", 11)
    real.serve()
    for host, address in ((director, "10.88.0.1/24"), (real, "10.88.0.11/24")):
        host.add_cable("e1", address, "br1")
    director.keepalived_conf.write_text(globals_block(director.fifos) + vrrp_instance(director) +
                                        virtual_server(["10.88.0.11"], scheduler="rr"))
    director.start_xlbd()
    director.start_keepalived()
    wait_for("it is served", lambda: director.side() == "xdp" and director.usable() == {"10.88.0.11"})
    wait_for("the next hop is known", lambda: director.reals()["10.88.0.11"]["next_hop"]["state"] == "resolved")
    assert director.reals()["10.88.0.11"]["next_hop"]["device"] == "e1"
    assert outside.call(client.many_gets, 10, VIP) == {"r1": 10}
    assert director.verdict("redirected") > 0 and director.verdict("sent") == 0
    assert {device["name"] for device in director.show("status")["devices"] if device["mode"] == "native"} == {"e0", "e1"}


def test_large_requests_pass_through_in_many_packets(site):
    here = site()
    director = here.start()
    before = director.forwarded()
    assert here.client.call(post, VIP, 2_000_000) == 200
    assert director.forwarded() - before > 2_000_000 / 1500
    assert director.verdict("too-big") == 0


def post(address, size):
    """The status of one large request."""
    import http.client
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("GET", "/", body=b"x" * size)
    return connection.getresponse().status
