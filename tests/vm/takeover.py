# SPDX-License-Identifier: GPL-2.0-or-later
"""xlbd beside the kernel's IPVS, with connections open all the time; runs in a machine of tests/vm.

    takeover.py [WORD]...    all cases, or those whose names have one of the words

One story: keepalived sets up IPVS, clients connect, xlbd starts, is killed, starts again, and a firewall rule comes and goes.
After each step every connection so far must still exchange data with the real server that it began with, and
new ones must be where they belong: in IPVS's table or in xlbd's, never in both.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
# pylint: disable=wrong-import-position
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import CLONE_NEWNET, VIP, Director, Failed, Lab, RealServer, Host, run, wait_for

SILENCE = 3
REQUEST = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n"
PATIENCE = 20  # an emulated machine on a busy host
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(host):
    """Sockets made here belong to the host's namespace for good."""
    with open("/proc/self/ns/net", encoding="ascii") as back, open(host.netns, encoding="ascii") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            if libc.setns(back.fileno(), CLONE_NEWNET):
                os._exit(1)


class Connections:
    """Open connections of the client, and who answered on each."""

    def __init__(self, host):
        self.host, self.open = host, []

    def add(self, count, port=80):
        """So many more, each answered once; their client ports."""
        fresh = []
        with inside(self.host):
            for _ in range(count):
                fresh.append(socket.create_connection((VIP, port), PATIENCE))
        pairs = [[sock, self.ask(sock)] for sock in fresh]
        self.open += pairs
        return {sock.getsockname()[1] for sock in fresh}

    @staticmethod
    def ask(sock):
        """The name of the real server."""
        sock.sendall(REQUEST)
        data = b""
        while not data.endswith(b"\n") or b"\r\n\r\n" not in data:
            part = sock.recv(4096)
            if not part:
                raise Failed("a connection was closed")
            data += part
        return data.split(b"\r\n\r\n", 1)[1].strip().decode()

    def all_live(self):
        """Each of them exchanges data with whom it began with."""
        for sock, name in self.open:
            try:
                now = self.ask(sock)
            except OSError as error:
                raise Failed(f"{sock} of {len(self.open)}: {error!r}") from None
            if now != name:
                raise Failed(f"{sock} began with {name}, now {now} answers")

    def servers(self):
        return {name for _, name in self.open}


def in_ipvs(director, port=80):
    """Client ports of the connections that IPVS has."""
    found = set()
    for line in director.run("cat", "/proc/net/ip_vs_conn").splitlines()[1:]:
        words = line.split()
        if int(words[4], 16) == port:
            found.add(int(words[2], 16))
    return found


def in_xdp(director):
    """Client ports of the connections that XDP has."""
    text = director.ctl("-j", "conn", "limit=100000")
    return {int(port) for port in re.findall(r'"client": ?"[^"]*:(\d+)"', text)}


def ok(text):
    print(f"ok {text} ({time.monotonic():.1f} s)", flush=True)


class Story:
    """The laboratory and what is open in it."""

    def __init__(self, lab):
        self.lab = lab
        self.client = lab.add(Host, "client", 1)
        self.director = lab.add(Director, "d", 10)
        self.director.options = ["connections=20000", f"silence={SILENCE}s", "ipvs.api=off"]
        self.reals = [lab.add(RealServer, f"r{number}", 10 + number) for number in (1, 2, 3)]
        for real in self.reals:
            real.serve()
        self.connections = Connections(self.client)
        self.by_ipvs, self.by_xdp = set(), set()

    def conf(self):
        return (globals_block(self.director.fifos) + vrrp_instance(self.director, state="MASTER") +
                virtual_server(self.reals, scheduler="rr", delay=5))

    def has_reals(self):
        return self.director.ipvsadm("-Ln").count("Route") == len(self.reals) and self.director.owns()

    def check(self, what):
        """Nothing was lost, and nothing is in the wrong table."""
        self.connections.all_live()
        ipvs, xdp = in_ipvs(self.director), in_xdp(self.director) if self.director.xlbd.alive() else None
        if not self.by_ipvs <= ipvs or self.by_xdp & ipvs:
            raise Failed(f"{what}: IPVS lacks {len(self.by_ipvs - ipvs)} of its connections and has "
                         f"{len(self.by_xdp & ipvs)} of XDP's")
        if xdp is not None and (not self.by_xdp <= xdp or self.by_ipvs & xdp):
            raise Failed(f"{what}: XDP lacks {len(self.by_xdp - xdp)} of its connections and has "
                         f"{len(self.by_ipvs & xdp)} of IPVS's")
        ok(f"{what}: all {len(self.connections.open)} connections live, {len(self.by_ipvs)} in IPVS, {len(self.by_xdp)} in XDP")

    # ---- the steps

    def begins_with_ipvs(self):
        self.director.keepalived_conf.write_text(self.conf())
        self.director.start_keepalived()
        wait_for("keepalived has set up IPVS and owns the address", self.has_reals, 60, 0.3)
        self.by_ipvs |= self.connections.add(200)
        if self.connections.servers() != {real.name for real in self.reals}:
            raise Failed(f"only {self.connections.servers()} answered")
        ok("keepalived, IPVS: 200 connections")

    def xlbd_starts(self):
        self.director.start_xlbd(120)
        self.director.wait_served(self.reals, seconds=30)
        self.by_xdp |= self.connections.add(200)
        self.check("xlbd started on a live director")

    def xlbd_is_killed(self):
        self.director.xlbd.kill()
        self.connections.all_live()  # at once
        wait_for("new connections are IPVS's", self.new_are_ipvs, 30, 0.2)
        self.by_ipvs |= self.connections.add(50)
        self.check(f"xlbd killed with -9, silence of {SILENCE} s over")

    def new_are_ipvs(self):
        port = self.connections.add(1)
        mine = port <= in_ipvs(self.director)
        if mine:
            self.by_ipvs |= port
        else:
            self.by_xdp |= port
        return mine

    def xlbd_comes_back(self):
        self.director.start_xlbd(120)
        self.director.wait_served(self.reals, seconds=30)
        self.by_xdp |= self.connections.add(50)
        self.check("xlbd started again")

    def firewall_rule_comes(self):
        """It drops nobody here, but somebody: the service must leave XDP, known connections must not."""
        self.director.sh("set -e; nft add table ip t; nft add chain ip t i '{ type filter hook input priority 0; }'\n"
                         "nft add rule ip t i ip saddr 192.0.2.0/24 tcp dport 80 drop")
        wait_for("the service left XDP", lambda: self.director.side() not in ("xdp", None), 30, 0.3)
        reason = self.director.vip()["reason"]
        self.by_ipvs |= self.connections.add(50)
        self.check(f"a firewall rule ({self.director.side()}: {reason})")
        self.director.sh("nft delete table ip t")
        wait_for("the service came back", lambda: self.director.side() == "xdp", 30, 0.3)
        self.by_xdp |= self.connections.add(50)
        self.check("the rule is gone")

    def bypass_by_hand(self):
        self.director.ctl("bypass", "on", f"{VIP}:80")
        self.by_ipvs |= self.connections.add(20)
        self.check("bypass on")
        self.director.ctl("bypass", "off", f"{VIP}:80")
        self.by_xdp |= self.connections.add(20)
        self.check("bypass off")


def a_director_changes_sides_and_loses_nothing(lab):
    story = Story(lab)
    for step in (story.begins_with_ipvs, story.xlbd_starts, story.xlbd_is_killed, story.xlbd_comes_back,
                 story.firewall_rule_comes, story.bypass_by_hand):
        step()


def received(host):
    """Frames that came in by e0."""
    return int(host.run("cat", "/proc/net/dev").split("e0:")[1].split()[1])


def a_standby_that_is_a_real_server_never_loops(lab):
    """B has A's configuration, is BACKUP, and is one of the real servers: the VIP is on its lo, IPVS and XDP are set up.

    Each packet of the client may reach B once, and none may come back to A.
    """
    client = lab.add(Host, "client", 1)
    a = lab.add(Director, "a", 10, priority=150)
    b = lab.add(Director, "b", 20, priority=100)
    other = lab.add(RealServer, "r1", 11)
    other.serve()
    b.sh(f"ip addr add {VIP}/32 dev lo")
    RealServer.serve(b)
    for director in (a, b):
        director.options = ["connections=20000", f"silence={SILENCE}s", "ipvs.api=off"]
        director.keepalived_conf.write_text(
            globals_block(director.fifos) + vrrp_instance(director) +
            virtual_server([other, b], scheduler="mh", check=None))
        director.start_xlbd(120)
        director.start_keepalived()
    a.wait_served([other, b], seconds=60)
    if b.owns():
        raise Failed("B took the address")
    connections = Connections(client)
    before = {host: received(host) for host in (a, b, other)}
    connections.add(40)
    connections.all_live()
    sent = 40 * 8  # handshake, two requests, acknowledgements: never more than that from the client's side
    came = {host.name: received(host) - before[host] for host in before}
    if connections.servers() != {"r1", "b"}:
        raise Failed(f"{connections.servers()} answered")
    noise = 200  # VRRP, neighbours
    if came["a"] > sent + noise or came["b"] + came["r1"] > 2 * sent + noise:
        raise Failed(f"frames go round: {came} for at most {sent} packets of the client")
    if b.forwarded():
        raise Failed(f"B forwarded {b.forwarded()} packets")
    ok(f"40 connections through A, B answered {sum(name == 'b' for _, name in connections.open)}: frames received {came}; "
       f"B: {b.side()}, forwarded {b.forwarded()}")


CASES = (a_director_changes_sides_and_loses_nothing, a_standby_that_is_a_real_server_never_loops)


def main():
    failed = 0
    run("modprobe", "-a", "ip_vs", "ip_vs_rr", "ip_vs_mh")
    for case in CASES:
        if sys.argv[1:] and not any(word in case.__name__ for word in sys.argv[1:]):
            continue
        begin = time.monotonic()
        with Lab() as lab:
            try:
                case(lab)
                ok(f"{case.__name__}: {time.monotonic() - begin:.0f} s")
            except (Failed, OSError) as error:
                failed += 1
                print(f"{lab.evidence()}\nnot ok {case.__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
