# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration behind tests/demo: the whole line at work, in plain words, and checked while it is shown.

Each step waits until what it announces has happened, or ends everything with the evidence. All figures come from one
client that makes 200 requests a second from start to end, each by a fresh connection that may take half a second and
is never repeated; what failed is counted as failed.
"""

import argparse
import shlex
import subprocess
import sys
import time

import client
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import PYTHON, VIP, XLBCTL, Director, Failed, HERE, Host, Lab, RealServer, end_in_good_order, run, wait_for

RATE = 200
CHECK_INTERVAL = 0.5
RETRIES = 1
DOWN_MOST = CHECK_INTERVAL * RETRIES + 1
FAILOVER_MOST = 2.0
RUN_WORDS = 'exec "$@"'
HASHED = f"{VIP}:8080/tcp"


def title(text):
    print(f"\n== {text}", flush=True)


def say(text):
    print(f"   {text}", flush=True)


def show(director, *words):
    print(f"\n   {director.name}# xlbctl {' '.join(words)}")
    print("".join(f"   | {line}\n" for line in director.ctl(*words).splitlines()), flush=True)


def require(condition, text):
    if not condition:
        raise Failed(f"this does not hold: {text}")
    say(f"ok: {text}")


def milliseconds(seconds):
    return round(seconds * 1000)


class Demo:
    """The laboratory, and what the steps hand to each other."""

    def __init__(self, lab):
        self.lab = lab
        self.client = lab.add(Host, "client", 7)
        self.a = lab.add(Director, "A", 1, priority=150)
        self.b = lab.add(Director, "B", 2, priority=100)
        self.reals = [lab.add(RealServer, f"r{number}", 10 + number) for number in (1, 2, 3)]
        self.traffic = None
        self.down = self.failover = 0.0

    # ---- parts

    def config(self, director):
        """What an operator has: nothing in it is about xlbd but the two FIFO lines, which only make things quicker."""
        timing = {"delay": CHECK_INTERVAL}
        return (globals_block(director.fifos) + vrrp_instance(director) +
                virtual_server(self.reals, scheduler="rr", **timing) +
                virtual_server(self.reals, port=8080, scheduler="mh", options="mh-port", **timing))

    def start_director(self, director):
        director.keepalived_conf.write_text(self.config(director))
        director.start_xlbd()
        director.start_keepalived()

    def steady(self, what, count=600, names=("r1", "r2", "r3")):
        """From now on `count` requests: none may fail, and exactly these real servers answer."""
        begin = self.traffic.wait(count)
        answers = self.traffic.answers(begin)
        say(f"{what}: " + ", ".join(f"{name} answered {answers[name]}" for name in sorted(answers)))
        failed = self.traffic.failures(begin)
        require(not failed, f"of {sum(answers.values())} requests none failed" + (f" ({failed[:3]})" if failed else ""))
        require(set(answers) == set(names), f"all answers are from {', '.join(names)}")
        if len(names) > 1:
            require(min(answers.values()) > 0.8 * max(answers.values()), "each got its share")

    # ---- steps

    def step_start(self):
        title("A client, two directors, three real servers")
        version = subprocess.run(["keepalived", "--version"], capture_output=True, text=True, check=False).stderr
        say(f"{version.splitlines()[0]}; {run(XLBCTL, 'version', check=False).splitlines()[0]}; kernel {run('uname', '-r').strip()}")
        say(f"client {self.client.address}, directors A {self.a.address} and B {self.b.address}, real servers " +
            ", ".join(f"{real.name} {real.address}" for real in self.reals))
        say(f"virtual address {VIP}, by VRRP with A as master; port 80 by round robin, port 8080 by Maglev hashing (mh)")
        for real in self.reals:
            real.serve(ports=(80, 8080))
        for director in (self.a, self.b):
            self.start_director(director)
        self.a.wait_served(self.reals)
        self.a.wait_served(self.reals, HASHED)
        wait_for("B stands by", lambda: self.b.side() == "standby" and len(self.b.usable()) == 3, 20)
        require(self.a.owns() and not self.b.owns(), "A has the virtual address, B has not")
        show(self.a, "vip")
        show(self.a, "real", f"{VIP}:80")

    def step_spread(self):
        title("Requests are spread over the real servers")
        self.traffic = self.client.client("requests", VIP, 80, "--rate", RATE, "--timeout", 0.5)
        before = self.a.forwarded()
        self.steady("round robin")
        forwarded = wait_for("A forwards packets", lambda: self.a.forwarded() - before, 5)
        say(f"A's XDP program forwarded {forwarded} packets meanwhile; the answers went straight to the client")
        show(self.a, "status")
        show(self.b, "status")

    def step_server_dies(self):
        victim = self.reals[1]
        title(f"Real server {victim.name} is killed")
        say(f"keepalived looks every {CHECK_INTERVAL} s and once more before it believes")
        begin = time.monotonic()
        victim.die()
        wait_for(f"{victim.name} is out", lambda: victim.address not in self.a.usable(), 10, 0.005)
        self.down = time.monotonic() - begin
        say(f"out after {milliseconds(self.down)} ms; until then {len(self.traffic.failures(begin))} requests failed: those that were its")
        require(self.down <= DOWN_MOST, f"it was out within {DOWN_MOST} s")
        self.steady(f"without {victim.name}", 400, names=("r1", "r3"))
        show(self.a, "real", f"{VIP}:80")

    def step_server_returns(self):
        victim = self.reals[1]
        title(f"Real server {victim.name} returns")
        begin = time.monotonic()
        victim.serve(ports=(80, 8080))
        for director in (self.a, self.b):
            wait_for(f"{victim.name} is in", lambda which=director: len(which.usable()) == 3 == len(which.usable(HASHED)), 10)
        say(f"in again after {milliseconds(time.monotonic() - begin)} ms")
        self.steady("all three")

    def step_director_dies(self):
        title("Director A dies: its cable is pulled, its processes are killed")
        ports = list(range(20001, 20041))
        chosen_by_a = self.client.call(client.gets_from_ports, VIP, ports, 8080)
        begin = time.monotonic()
        self.a.die()
        gone = time.monotonic()
        first = wait_for("B answers", lambda: next((event for event in self.traffic.since(gone) if event.ok), None), 10, 0.005)
        self.failover = first.end - begin
        say(f"the first answer through B came {milliseconds(self.failover)} ms after the cable was pulled")
        require(self.failover < FAILOVER_MOST, f"B served within {FAILOVER_MOST} s")
        require(self.b.owns(), "B has the virtual address")
        self.steady("through B")
        say(f"failed because of it: {len(self.traffic.failures(begin - 1, first.end))} requests")
        chosen_by_b = self.client.call(client.gets_from_ports, VIP, ports, 8080)
        require(chosen_by_a == chosen_by_b, f"port 8080: B's Maglev ring gave {len(ports)} of {len(ports)} clients the real server that A's gave")
        show(self.b, "status")

    def finish(self):
        events = self.traffic.stop()
        failed = [event for event in events if not event.ok]
        print(f"\ndemo: {len(events)} requests, {len(failed)} failed, real server down {milliseconds(self.down)} ms, "
              f"failover {milliseconds(self.failover)} ms", flush=True)


# ---- --stay ------------------------------------------------------------------------------------------------------

TRY = f"""
A, B, client, r1, r2, r3 are hosts: `A ip addr` runs a command there, `A` alone opens a shell.

  get 30               30 requests from the client: who answered
  A xlbctl status      likewise vip, real, conn, drops; each with -j
  A xlbctl explain 10.99.0.7:4321 {VIP}:8080
  A ipvsadm -Ln --stats            the IPVS table that this kernel does not have
  down r2; get 30; A xlbctl real; up r2
  A xlbctl bypass on; get 3; A xlbctl bypass off
  A nft 'add table t; add chain t i {{ type filter hook input priority 0; }}; add rule t i tcp dport 80 drop'
  A xlbctl vip         ... and why; then: A nft delete table t
  down A; get 30; B xlbctl status; up A
  log A xlbd           or: log A keepalived
  edit A               keepalived.conf of A in $EDITOR; then: reload A
  try                  this list
  exit                 takes everything away
"""


def in_host(host, *words):
    """The shell command that runs `words` there; a director's IPVS interface answers in its control group."""
    enter = f"echo $$ >{host.cgroup}/cgroup.procs; " if isinstance(host, Director) else ""
    return f"nsenter --net={host.netns} sh -c {shlex.quote(enter + RUN_WORDS)} sh {' '.join(words)}"


def cable(host, state):
    return f"nsenter --net=/run/netns/{host.lab.switch} ip link set {host.port} {state}"


def host_functions(host):
    """HOST command..., and its lines of down() and up()."""
    enter = in_host(host, '"$@"')
    control = f"[ \"$1\" != xlbctl ] || {{ shift; set -- xlbctl --socket {host.folder}/control \"$@\"; }}; " \
        if isinstance(host, Director) else ""
    programs = {process.name: process for process in host.lab.processes if process.host is host}
    starts = [f"setsid {in_host(host, shlex.join(process.words))} >>{process.log} 2>&1 </dev/null &"
              for process in programs.values() if not process.name.startswith("client")]
    return f"""
{host.name}() {{ [ $# -gt 0 ] || set -- bash; {control}{enter}; }}
down_{host.name}() {{ {cable(host, 'down') if isinstance(host, Director) else ':'}; ip netns pids {host.ns} | xargs -r kill -9; }}
up_{host.name}() {{ {cable(host, 'up')}; rm -f {host.lab.folder}/{host.name}/*.pid; {' '.join(starts)} :; }}
"""


def shell_functions(lab):
    return f"""
export PATH={XLBCTL.parent}:/usr/sbin:$PATH PS1='demo$ '
unset PROMPT_COMMAND HISTFILE
set +m
try() {{ cat {lab.folder}/try; }}
get() {{ client {PYTHON} {HERE}/client.py get {VIP} 80 --count "${{1:-10}}"; }}
down() {{ "down_$1"; }}
up() {{ "up_$1"; }}
log() {{ tail -n "${{3:-20}}" {lab.folder}/"$1-$2".log; }}
edit() {{ "${{EDITOR:-vi}}" {lab.folder}/"$1"/keepalived.conf; }}
reload() {{ kill -HUP "$(cat {lab.folder}/"$1"/keepalived.pid)"; }}
{''.join(host_functions(host) for host in lab.hosts.values())}
try
"""


def stay(demo):
    demo.a.plug()
    demo.start_director(demo.a)
    demo.a.wait_served(demo.reals)
    (demo.lab.folder / "try").write_text(TRY)
    rc = demo.lab.folder / "bashrc"
    rc.write_text(shell_functions(demo.lab))
    subprocess.run(["bash", "--rcfile", rc, "-i"], check=False)


def main():
    parser = argparse.ArgumentParser(prog="tests/demo")
    parser.add_argument("--stay", action="store_true", help="leave the laboratory up, with a prompt")
    given = parser.parse_args()
    end_in_good_order()
    with Lab() as lab:
        try:
            demo = Demo(lab)
            for step in (demo.step_start, demo.step_spread, demo.step_server_dies, demo.step_server_returns,
                         demo.step_director_dies, demo.finish):
                step()
        except Failed as failed:
            print(f"\n{lab.evidence()}\n\ndemo failed: {failed}", file=sys.stderr)
            return 1
        if given.stay:
            stay(demo)
    return 0


if __name__ == "__main__":
    sys.exit(main())
