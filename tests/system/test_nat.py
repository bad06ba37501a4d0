# SPDX-License-Identifier: GPL-2.0-or-later
"""lb_kind NAT: the director is its real servers' gateway; answers come back through it, on one wire or two."""

import hashlib

import client
from keepalived import globals_block, real_server, virtual_server, vrrp_instance
from lab import VIP, Director, Host, RealServer, wait_for

NET = "10.88.0"


def inside(lab, name, number):
    """A real server on a wire of its own, behind the director."""
    real = lab.add(RealServer, name, number, vips=())
    real.add_cable("e1", f"{NET}.{number}/24", "br1")
    real.sh(f"ip link set e0 down; ip route add default via {NET}.1")
    real.serve(ports=(8080,))
    return real


def begin(lab, reals=2, protocol_options=""):
    """Client and VIP outside, real servers inside, port 80 becomes 8080."""
    outside, director = lab.add(Host, "c", 7), lab.add(Director, "a", 1)
    director.add_cable("e1", f"{NET}.1/24", "br1")
    director.sh("echo 1 >/proc/sys/net/ipv4/ip_forward")
    servers = [inside(lab, f"r{number}", 10 + number) for number in range(1, reals + 1)]
    configure(director, servers)
    director.start_xlbd()
    director.start_keepalived()
    served(director, servers)
    return outside, director, servers


def text(servers):
    blocks = "".join(real_server(f"{NET}.{real.number}", 8080) for real in servers)
    return virtual_server([], scheduler="rr", options=blocks).replace("lb_kind DR", "lb_kind NAT")


def configure(director, servers):
    director.keepalived_conf.write_text(globals_block(director.fifos) + vrrp_instance(director) + text(servers))


def served(director, servers):
    wanted = {f"{NET}.{real.number}" for real in servers}
    wait_for("it is served", lambda: director.side() == "xdp" and director.usable() == wanted)
    wait_for("the next hops are known", lambda: all(
        real["next_hop"]["state"] == "resolved" for real in director.reals().values()))


def test_requests_and_answers_are_rewritten_between_two_wires(lab):
    outside, director, servers = begin(lab)
    outside.run("ping", "-c1", "-W2", director.address)  # the director knows the client's MAC
    assert outside.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    assert director.vip()["method"] == "nat"
    assert director.verdict("redirected") > 60
    # nothing of the connections went through the kernel's forwarding
    assert director.verdict("no-entry") == 0


def test_a_long_answer_comes_back_whole(lab):
    outside, director, servers = begin(lab, reals=1)
    size = 3_000_000
    # checks connect and say nothing
    script = (f"import socket\nserver = socket.create_server(('0.0.0.0', 8080), reuse_port=True)\n"
              f"while True:\n  peer = server.accept()[0]\n  if peer.recv(10):\n"
              f"    peer.sendall(bytes(range(250)) * {size // 250})\n  peer.close()\n")
    servers[0].nginx.kill()
    server = servers[0].start("long", "/usr/bin/python3", "-c", script)
    served(director, servers)
    assert outside.call(fetch, VIP) == hashlib.sha256(bytes(range(250)) * (size // 250)).hexdigest()
    assert server.alive()


def test_a_real_server_that_comes_later_answers_from_its_first_packet(lab):
    outside, director, servers = begin(lab, reals=1)
    traffic = outside.client("requests", VIP, 80)
    traffic.wait(20)
    late = inside(lab, "r9", 19)
    configure(director, servers + [late])
    director.reload_keepalived(director.keepalived_conf.read_text())
    served(director, servers + [late])
    traffic.wait(50)
    traffic.stop()
    assert traffic.failures() == []


def test_the_gateways_mac_is_known_though_the_kernel_sends_nothing_there(lab):
    """Answers leave by the default route; a forgotten MAC comes back without a packet of the kernel's."""
    outside, director, _servers = begin(lab, reals=1)
    gateway = lab.add(Host, "g", 99)
    gateway.add_cable("e1", "10.77.0.1/24", "br2")
    gateway.sh("echo 1 >/proc/sys/net/ipv4/ip_forward")
    outside.add_cable("e1", "10.77.0.7/24", "br2")
    outside.sh(f"ip link set e0 down; ip route replace {VIP}/32 via 10.77.0.1")
    director.sh(f"ip route add default via {gateway.address}")
    wait_for("the gateway is known", lambda: knows(director, gateway))
    assert outside.call(client.many_gets, 5, VIP) == {"r1": 5}
    director.sh(f"ip neigh flush to {gateway.address} nud all")
    wait_for("it is known again", lambda: knows(director, gateway))
    assert outside.call(client.many_gets, 5, VIP) == {"r1": 5}


def knows(director, host):
    return host.mac() in director.sh(f"ip neigh show {host.address}")


def test_without_forwarding_the_service_is_not_xdps(lab):
    director = lab.add(Director, "a", 1)
    director.keepalived_conf.write_text(
        globals_block(director.fifos) + vrrp_instance(director) +
        virtual_server(["10.99.0.11"], scheduler="rr").replace("lb_kind DR", "lb_kind NAT"))
    director.start_xlbd()
    director.start_keepalived()
    wait_for("it is judged", lambda: director.side() == "unserved" and "forward" in director.vip()["reason"])


def fetch(address):
    import socket
    got = hashlib.sha256()
    with socket.create_connection((address, 80), timeout=20) as peer:
        peer.sendall(b"go")
        for piece in iter(lambda: peer.recv(65536), b""):
            got.update(piece)
    return got.hexdigest()
