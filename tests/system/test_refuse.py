# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that the director may not forward: real clients hear of it, and find their way.

traceroute sees the director, connections find a path MTU that only the director knows.
"""

import socket

import client
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import HERE, PYTHON, VIP, Director, Host, RealServer, wait_for

FAR = "10.88.0.11"
SMALL_MTU = 1400
UPLOAD = 1_000_000
# reads what is posted, to the last byte, and answers how much it was
SINK = """
import http.server
class Sink(http.server.BaseHTTPRequestHandler):
	def do_POST(self):
		answer = str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode()
		self.send_response(200)
		self.send_header("Content-Length", str(len(answer)))
		self.end_headers()
		self.wfile.write(answer)
http.server.ThreadingHTTPServer(("", 8080), Sink).serve_forever()
"""


def hops(host, *words):
    """[[number, address, ...], ...] of a traceroute to the VIP."""
    lines = host.run("traceroute", "-n", "-q", "1", "-w", "2", "-m", "5", *words, VIP).splitlines()[1:]
    return [line.split() for line in lines]


def test_traceroute_sees_the_director_once(site):
    here = site(reals=1)
    real = here.reals[0]
    real.start("echo", PYTHON, HERE / "client.py", "echo", VIP, "5300", real.name)
    wait_for("it listens", lambda: ":5300 " in real.sh("ss -Hlun"))
    director = here.start(servers=virtual_server(here.reals, scheduler="rr") +
                          virtual_server(here.reals, port=5300, protocol="UDP", scheduler="rr", check=None))
    director.wait_served(here.reals, f"{VIP}:5300/udp")
    here.client.count("input", f"ip saddr {VIP} icmp type time-exceeded")
    for count, words in enumerate((("-T", "-p", "80"), ("-U", "-p", "5300")), 1):
        seen = hops(here.client, *words)
        assert [hop[:2] for hop in seen] == [["1", VIP], ["2", VIP]], seen
        assert here.client.counted() == count
        assert director.verdict("answered-ttl") == count and director.verdict("ttl") == 0


def far_service(lab):
    """Client and VIP on e0; the real server is behind e1, where packets must be smaller. Its answers leave by its e0."""
    outside, director, real = lab.add(Host, "c", 7), lab.add(Director, "a", 1), lab.add(RealServer, "r1", 11)
    for host, address in ((director, "10.88.0.1/24"), (real, f"{FAR}/24")):
        host.add_cable("e1", address, "br1")
        host.sh(f"ip link set e1 mtu {SMALL_MTU}")
    real.start("sink", PYTHON, "-c", SINK)
    real.start("echo", PYTHON, HERE / "client.py", "echo", VIP, "5300", real.name)
    wait_for("both listen", lambda: ":8080 " in real.sh("ss -Hltn") and ":5300 " in real.sh("ss -Hlun"))
    director.keepalived_conf.write_text(
        globals_block(director.fifos) + vrrp_instance(director) + virtual_server([FAR], port=8080, scheduler="rr") +
        virtual_server([FAR], port=5300, protocol="UDP", scheduler="rr", check=None))
    director.start_xlbd()
    director.start_keepalived()
    for name in (f"{VIP}:8080/tcp", f"{VIP}:5300/udp"):
        wait_for(f"{name} is served", lambda which=name: director.side(which) == "xdp" and director.usable(which) == {FAR})
        wait_for("the next hop is known",
                 lambda which=name: director.reals(which)[FAR]["next_hop"]["state"] == "resolved")
        assert director.reals(name)[FAR]["next_hop"]["mtu"] == SMALL_MTU
    return outside, director


def test_an_upload_finds_the_smaller_mtu_behind_the_director(lab):
    outside, director = far_service(lab)
    body = lab.folder / "body"
    body.write_bytes(b"x" * UPLOAD)
    said = outside.run("curl", "-sS", "-m", "20", "-H", "Expect:", "--data-binary", f"@{body}", f"http://{VIP}:8080/")
    assert said == str(UPLOAD)
    assert director.verdict("answered-too-big") > 0
    assert f"mtu {SMALL_MTU}" in outside.sh(f"ip route get {VIP}")
    # who knows the way needs no help
    answered = director.verdict("answered-too-big")
    assert outside.run("curl", "-sS", "-m", "20", "-H", "Expect:", "--data-binary", f"@{body}", f"http://{VIP}:8080/") == said
    assert director.verdict("answered-too-big") == answered and director.verdict("too-big") == 0


def test_a_datagram_with_df_learns_the_mtu_and_one_without_is_dropped(lab):
    outside, director = far_service(lab)
    assert outside.call(probe, VIP, 5300, SMALL_MTU) == SMALL_MTU
    assert director.verdict("answered-too-big") == 1
    # the same without DF: nobody is told, and nothing comes
    outside.sh("ip route flush cache")
    assert outside.call(send_whole, VIP, 5300) == "!TimeoutError"
    assert director.verdict("too-big") == 1 and director.verdict("answered-too-big") == 1
    assert outside.call(client.datagrams, VIP, 5300, 3) == {"r1": 3}


IP_MTU_DISCOVER, IP_MTU, IP_PMTUDISC_DO, IP_PMTUDISC_DONT = 10, 14, 2, 0
LARGE = b"x" * 1472  # fills an Ethernet frame


def probe(address, port, wanted):
    """As ping -M do: one large datagram that must not be fragmented; the path MTU that the kernel knows then."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        sock.connect((address, port))
        sock.send(LARGE)
        wait_for("the MTU is known", lambda: sock.getsockopt(socket.IPPROTO_IP, IP_MTU) == wanted, 5)
        return sock.getsockopt(socket.IPPROTO_IP, IP_MTU)


def send_whole(address, port):
    """One large datagram that may be fragmented: the answer, or !what-failed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
        sock.settimeout(1)
        sock.connect((address, port))
        sock.send(LARGE)
        try:
            return sock.recv(2048).decode()
        except OSError as error:
            return f"!{type(error).__name__}"
