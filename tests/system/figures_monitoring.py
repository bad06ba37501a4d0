#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of monitoring, for tests/bench: figures_monitoring.py [PATTERN...]

A laboratory with a real snmpd, keepalived and traffic (lab.py). One line of JSON a figure, as the other programs of
tests/figures print them; spread is (highest - lowest) / median of the repetitions.
"""

import fnmatch
import json
import pathlib
import signal
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import client  # noqa: E402
from keepalived import globals_block, real_server, vrrp_instance  # noqa: E402
from lab import VIP, Director, Host, Lab, RealServer, end_in_good_order, wait_for  # noqa: E402
from snmp_lab import ROOT, Monitoring, vip_index  # noqa: E402


def figure(name, unit, values):
    middle = statistics.median(values)
    spread = (max(values) - min(values)) / middle if middle else 0
    print(json.dumps({"name": name, "value": round(middle, 4), "unit": unit, "spread": round(spread, 3)}), flush=True)


def seconds(function, *arguments):
    begin = time.monotonic()
    function(*arguments)
    return time.monotonic() - begin


def cpu_seconds(pid):
    """Of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Scene:
    """A client, a director, two real servers that serve port 80; and more services by count."""

    def __init__(self, lab, services=1, reals=2):
        self.lab, self.services, self.per_service = lab, services, reals
        self.client = lab.add(Host, "c", 7)
        self.a = lab.add(Director, "a", 1, priority=150)
        self.reals = [lab.add(RealServer, f"r{number}", 10 + number) for number in (1, 2)]
        for real in self.reals:
            real.serve()
        self.monitoring = Monitoring(self.a)
        self.a.keepalived_conf.write_text(globals_block(self.a.fifos) + vrrp_instance(self.a) + "".join(
            self.service(80 if number == 0 else 10000 + number, number) for number in range(services)))
        self.a.start_xlbd()
        self.a.start_keepalived()
        want = len(self.reals) if services == 1 else reals
        wait_for("all services are in force", lambda: [
            vip["reals"]["usable"] for vip in self.a.show("vip")["vips"]] == [want] * services, 120)
        wait_for("traffic passes", lambda: self.a.side() == "xdp" and any(
            real["next_hop"] and real["next_hop"]["state"] == "resolved" for real in self.a.reals().values()), 20)
        self.monitoring.start()
        wait_for("the MIB has them", lambda: self.monitoring.scalar("1.10") == services * want, 20)

    def service(self, port, number):
        """Without checkers: real servers that are not there are as good for counting."""
        addresses = [real.address for real in self.reals]
        if self.services > 1:
            addresses += [f"10.99.0.{100 + extra}" for extra in range(2, self.per_service - 2 + 2)]
        blocks = "".join(real_server(address, port, 1, None) for address in addresses[:self.per_service])
        return f"\nvirtual_server {VIP} {port} {{\n\tlb_algo rr\n\tlb_kind DR\n\tprotocol TCP\n{blocks}\n}}\n"


def measure_agreement(scene):
    """monitoring.*.packets_difference: what each tells, less what the real servers' own kernels counted."""
    for real in scene.reals:
        real.count("input", f"ip daddr {VIP} tcp dport 80")
    before = scene.a.forwarded()
    scene.client.call(client.many_gets, 200, VIP)
    counted = sum(real.counted() for real in scene.reals)
    wait_for("two snapshots later", lambda: scene.monitoring.scalar("1.14") == scene.a.forwarded() >= before + counted, 5)
    told = scene.monitoring.column("2.1", 16)[vip_index()]
    figure("monitoring.snmp.packets_difference", "pkts", [abs(told - counted)])
    figure("monitoring.xlbctl.packets_difference", "pkts", [abs(scene.a.vip()["packets"] - counted)])
    line = next(line for line in scene.a.ctl("metrics").splitlines() if line.startswith("xlb_service_packets_total{"))
    figure("monitoring.prometheus.packets_difference", "pkts", [abs(int(line.split()[-1]) - counted)])


def measure_reconnect(scene):
    """From the start of the new snmpd, its own start included."""
    monitoring, values = scene.monitoring, []
    for _ in range(5):
        monitoring.snmpd.stop()
        begin = time.monotonic()
        monitoring.start_snmpd()
        wait_for("it is back", lambda: monitoring.scalar("1.4") in (2, 3), 30, 0.02)
        values.append(time.monotonic() - begin)
    figure("monitoring.snmp.reconnect.s", "s", values)


def measure_stalls(scene):
    """While snmpd or the subagent is stopped: requests that failed, the longest, and the slowest xlbctl."""
    for name, process in (("snmpd", scene.monitoring.snmpd), ("subagent", scene.monitoring.subagent)):
        traffic = scene.client.client("requests", VIP, 80, "--rate", 100)
        traffic.wait(50)
        process.send(signal.SIGSTOP)
        begin = time.monotonic()
        slowest = []
        while time.monotonic() < begin + 8:
            slowest.append(seconds(scene.a.xlbctl, "status"))
        process.send(signal.SIGCONT)
        events = traffic.since(begin)
        figure(f"monitoring.stall.{name}.failed", "reqs", [len([event for event in events if not event.ok])])
        figure(f"monitoring.stall.{name}.slowest_request.ms", "ms", [max(event.end - event.begin for event in events) * 1000])
        figure(f"monitoring.stall.{name}.xlbctl_status.ms", "ms", [statistics.median(slowest) * 1000])
        traffic.stop()
        wait_for("the MIB is back", lambda: scene.monitoring.scalar("1.4") in (2, 3), 30)


def measure_walk(scene):
    monitoring = scene.monitoring
    cells = len(monitoring.walk())
    values = [seconds(monitoring.tool, "snmpbulkwalk", "-OQn", "-Cr50", "127.0.0.1", ROOT) for _ in range(5)]
    name = f"{scene.services}x{scene.per_service}"
    figure(f"monitoring.snmp.walk.{name}.s", "s", values)
    figure(f"monitoring.snmp.walk.{name}.objects", "", [cells])
    processes = {"xlbd": scene.a.xlbd.pid, "subagent": monitoring.subagent.pid}
    before = {name: cpu_seconds(pid) for name, pid in processes.items()}
    time.sleep(20)  # what a second of asking costs is a matter of time
    for process, pid in processes.items():
        figure(f"monitoring.cpu.{name}.{process}.percent", "%", [(cpu_seconds(pid) - before[process]) / 20 * 100])
    figure(f"monitoring.status.{name}.ms", "ms", [seconds(scene.a.xlbctl, "status") * 1000 for _ in range(10)])
    figure(f"monitoring.metrics.{name}.ms", "ms", [seconds(scene.a.xlbctl, "metrics") * 1000 for _ in range(5)])


GROUPS = (
    (("monitoring.snmp.packets_difference", "monitoring.xlbctl.packets_difference", "monitoring.prometheus.packets_difference"),
     {}, measure_agreement),
    (("monitoring.snmp.reconnect.s",), {}, measure_reconnect),
    (("monitoring.stall.snmpd.failed", "monitoring.stall.subagent.failed"), {}, measure_stalls),
    (("monitoring.snmp.walk.100x10.s", "monitoring.cpu.100x10.xlbd.percent"), {"services": 100, "reals": 10}, measure_walk),
    (("monitoring.status.1000x20.ms", "monitoring.snmp.walk.1000x20.s"), {"services": 1000, "reals": 20}, measure_walk),
)


def wanted(names, patterns):
    return not patterns or any(fnmatch.fnmatch(name, pattern) for name in names for pattern in patterns)


def main():
    end_in_good_order()
    patterns = sys.argv[1:]
    for names, how, measure in GROUPS:
        if not wanted(names, patterns):
            continue
        with Lab() as lab:
            measure(Scene(lab, **how))
    return 0


if __name__ == "__main__":
    sys.exit(main())
