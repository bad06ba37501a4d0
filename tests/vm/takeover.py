# SPDX-License-Identifier: GPL-2.0-or-later
"""xlbd beside the kernel's IPVS, with connections open all the time; runs in a machine of tests/vm.

    takeover.py [WORD]...    all cases, or those whose names have one of the words

One story: keepalived sets up IPVS, clients connect, xlbd starts, is killed, starts again, and a firewall rule comes and goes.
After each step every connection so far must still exchange data with the real server that it began with, and
new ones must be where they belong: in IPVS's table or in xlbd's, never in both. Some ask all the time, also while sides change, and
in the end every packet that the client sent must have come to a real server.
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
BUSY = 10  # connections that ask all the time, a set
STALL = 5  # so long an answer may take there
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
    text = director.ctl("-j", "conn", "--limit", "100000")
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
        self.busy = []
        self.client.count("output", f"ip daddr {VIP} tcp dport 80")
        for real in self.reals:
            real.count("input", f"ip daddr {VIP} tcp dport 80")

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

    def ask_all_the_time(self):
        """Some connections that begin now and never rest."""
        busy = self.client.client("hold", VIP, 80, "--count", BUSY, "--every", 1)
        busy.wait(2 * BUSY, seconds=60)
        self.busy.append(busy)

    def scheduled_by_ipvs(self):
        """How many connections IPVS has ever begun, by its own counter."""
        return int(self.director.ipvsadm("-Ln", "--stats", "--exact").split("-> RemoteAddress:Port")[1].split()[2])

    # ---- the steps

    def begins_with_ipvs(self):
        self.director.keepalived_conf.write_text(self.conf())
        self.director.start_keepalived()
        wait_for("keepalived has set up IPVS and owns the address", self.has_reals, 60, 0.3)
        self.by_ipvs |= self.connections.add(200)
        if self.connections.servers() != {real.name for real in self.reals}:
            raise Failed(f"only {self.connections.servers()} answered")
        self.ask_all_the_time()
        ok("keepalived, IPVS: 200 connections")

    def xlbd_starts(self):
        self.director.start_xlbd(120)
        self.director.wait_served(self.reals, seconds=30)
        before = self.scheduled_by_ipvs(), self.director.forwarded()
        self.by_xdp |= self.connections.add(200)
        scheduled, forwarded = self.scheduled_by_ipvs() - before[0], self.director.forwarded() - before[1]
        # of a connection: SYN, ACK, a request, its ACK
        if scheduled or not 200 * 4 <= forwarded <= 200 * 6:
            raise Failed(f"of 200 new connections IPVS began {scheduled}, XDP forwarded {forwarded} packets")
        self.check(f"xlbd started on a live director, XDP forwarded {forwarded} packets of 200 new connections")
        self.ask_all_the_time()

    def xlbd_is_killed(self):
        self.director.xlbd.kill()
        killed = time.monotonic()
        self.connections.all_live()  # at once
        wait_for("new connections are IPVS's", self.new_are_ipvs, 30, 0.2)
        begin = time.monotonic()
        self.by_ipvs |= self.connections.add(50)
        for busy in self.busy:
            busy.wait(2 * BUSY, begin, 60)
        self.check(f"xlbd killed with -9, new ones are IPVS's {begin - killed:.1f} s later (silence: {SILENCE} s)")

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

    def nothing_was_lost(self):
        """Those that asked all the time, and the packets of all."""
        events = [event for busy in self.busy for event in busy.stop()]
        failures = [event for event in events if not event.ok]
        longest = max(event.end - event.begin for event in events)
        if failures or len({(busy, event.who) for busy in self.busy for event in busy.events}) != len(self.busy) * BUSY:
            raise Failed(f"connections that asked all the time: {failures}")
        # not all at once: a queue of a veth holds 256 frames
        while self.connections.open:
            for sock, _ in self.connections.open[:100]:
                sock.close()
            del self.connections.open[:100]
            wait_for("what the client sent is what the real servers got", self.all_came, 30, 0.5)
        if longest > STALL:
            raise Failed(f"an answer took {longest:.1f} s")
        ok(f"{self.client.counted()} packets sent, as many came to the real servers; {len(self.busy) * BUSY} connections that asked "
           f"all the time got {len(events)} answers, the slowest in {longest * 1000:.0f} ms")

    def all_came(self):
        return self.client.counted() == sum(real.counted() for real in self.reals)


def a_director_changes_sides_and_loses_nothing(lab):
    story = Story(lab)
    for step in (story.begins_with_ipvs, story.xlbd_starts, story.xlbd_is_killed, story.xlbd_comes_back,
                 story.firewall_rule_comes, story.bypass_by_hand, story.nothing_was_lost):
        step()


def received(host):
    """Frames that came in by e0."""
    return int(host.run("cat", "/proc/net/dev").split("e0:")[1].split()[1])


def a_standby_that_is_a_real_server_never_loops(lab):
    """B has A's configuration, is BACKUP, and is one of the real servers: the VIP is on its lo, IPVS and XDP are set up.

    What A sends to B meets B's own IPVS, which chooses again: with mh itself, with rr also the other one. No packet may come back.
    """
    client = lab.add(Host, "client", 1)
    a = lab.add(Director, "a", 10, priority=150)
    b = lab.add(Director, "b", 20, priority=100)
    other = lab.add(RealServer, "r1", 11)
    b.sh(f"ip addr add {VIP}/32 dev lo")
    for real in (other, b):
        RealServer.serve(real, (80, 8080))
    for director in (a, b):
        director.options = ["connections=20000", f"silence={SILENCE}s", "ipvs.api=off"]
        director.keepalived_conf.write_text(
            globals_block(director.fifos) + vrrp_instance(director) +
            virtual_server([other, b], scheduler="mh", options="mh-port", check=None) +
            virtual_server([other, b], scheduler="rr", port=8080, check=None))
        director.start_xlbd(120)
        director.start_keepalived()
    for port in (80, 8080):
        a.wait_served([other, b], f"{VIP}:{port}/tcp", 60)
    if b.owns():
        raise Failed("B took the address")
    for port in (80, 8080):
        go_through_standby(client, a, b, other, port)


def go_through_standby(client, a, b, other, port):
    connections = Connections(client)
    before = {host.name: received(host) for host in (a, b, other)}
    connections.add(40, port)
    connections.all_live()
    came = {host.name: received(host) - before[host.name] for host in (a, b, other)}
    to_b = a.reals(f"{VIP}:{port}/tcp")[b.address]["connections"]
    by_b = sum(name == "b" for _, name in connections.open)
    sent = 40 * 8  # handshake, two requests, acknowledgements: never more than that from the client's side
    noise = 200  # VRRP, neighbours
    if not by_b or (by_b != to_b if port == 80 else by_b > to_b):
        raise Failed(f"A gave {to_b} connections to B, B answered {by_b}")
    if came["a"] > sent + noise or came["b"] + came["r1"] > 2 * sent + noise:
        raise Failed(f"frames go round: {came} for at most {sent} packets of the client")
    if b.forwarded():
        raise Failed(f"B forwarded {b.forwarded()} packets")
    ok(f"40 connections through A ({'mh' if port == 80 else 'rr'}), {to_b} given to B, {by_b} answered by it; frames received {came}; "
       f"B: {b.side(f'{VIP}:{port}/tcp')}, forwarded {b.forwarded()}")


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
