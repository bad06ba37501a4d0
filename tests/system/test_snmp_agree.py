# SPDX-License-Identifier: GPL-2.0-or-later
"""All who tell figures tell the same: the real servers' own kernels, XLB-MIB, KEEPALIVED-MIB, xlbctl, ipvsadm, Prometheus."""

import re
import shutil
import subprocess

import client
import pytest
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import ENVIRONMENT, KEEPALIVED, VIP, XLBCTL, wait_for
from snmp_lab import Monitoring, real_index, vip_index

# KEEPALIVED-MIB: virtualServerStatsConns, InPkts, InBytes; realServerStatsConns, InPkts, InBytes
CHECK = ".1.3.6.1.4.1.9586.100.5.3"
VIRTUAL, REAL = {"connections": 27, "packets": 28, "bytes": 30}, {"connections": 14, "packets": 18, "bytes": 20}


def keepalived_tells():
    """Versions before 2.3.0, built with 64-bit statistics, ask the socket options for them and forget the answer."""
    said = subprocess.run([KEEPALIVED, "--version"], capture_output=True, text=True, check=False, env=ENVIRONMENT).stderr
    version = tuple(int(part) for part in re.search(r"Keepalived v(\d+)\.(\d+)", said).groups())
    return version >= (2, 3) or "IPVS_64BIT_STATS" not in said


def metrics(director):
    """{(name, labels as text): value}"""
    text = director.ctl("metrics")
    return {(name, labels or ""): float(value)
            for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M)}


def keepalived_column(monitoring, table, column):
    found = monitoring.tool("snmpwalk", "-OQnt", "127.0.0.1", f"{CHECK}.{table}.1.{column}", check=False)
    return [int(line.split(" = ")[1]) for line in found.splitlines() if line.split(" = ")[1].isdigit()]


def test_packets_and_bytes_agree_everywhere(site):
    here = site(reals=3)
    director = here.a
    monitoring = Monitoring(director)
    director.keepalived_conf.write_text(
        globals_block(director.fifos) + vrrp_instance(director) +
        virtual_server(here.reals, scheduler="rr") + virtual_server(here.reals[:1], port=8080, scheduler="rr", check=None))
    director.start_xlbd()
    monitoring.start_snmpd()
    director.start_keepalived("-x", f"--snmp-agent-socket={monitoring.agentx}")
    director.wait_served(here.reals)
    monitoring.start_subagent()
    monitoring.wait_ready()
    for real in here.reals:
        real.count("input", f"ip daddr {VIP} tcp dport 80")
    here.client.call(client.many_gets, 60, VIP)
    counted = {real.address: real.counted() for real in here.reals}
    packets = sum(counted.values())
    vip = director.vip()
    assert vip["packets"] == packets and vip["connections"] == 60

    # XLB-MIB
    wait_for("XLB-MIB has them", lambda: monitoring.column("2.1", 16).get(vip_index()) == packets, 5)
    assert monitoring.column("2.1", 17)[vip_index()] == vip["bytes"]
    assert {index: value for index, value in monitoring.column("3.1", 12).items() if value} == \
        {real_index(address): count for address, count in counted.items()}

    # KEEPALIVED-MIB: keepalived reads its statistics through the interface that xlbd answers
    total, usable = keepalived_column(monitoring, 3, 20), keepalived_column(monitoring, 3, 21)
    assert total == [3, 1] == usable == [monitoring.column("2.1", 12)[vip_index(port=port)] for port in (80, 8080)]
    tells = keepalived_tells()
    wait_for("KEEPALIVED-MIB has them",
             lambda: keepalived_column(monitoring, 3, VIRTUAL["packets"]) == [packets if tells else 0, 0], 15)
    assert keepalived_column(monitoring, 3, VIRTUAL["bytes"]) == [vip["bytes"] if tells else 0, 0]
    assert keepalived_column(monitoring, 3, VIRTUAL["connections"]) == [60 if tells else 0, 0]
    # its real servers: 2.2 forgets that answer too, 2.3 and 2.4 ask for 0 destinations, which IPVS refuses; never something else
    reals = director.reals()
    for name, column in REAL.items():
        right = [reals[real.address][name] for real in here.reals] + [0]
        assert keepalived_column(monitoring, 4, column) in (right, [0, 0, 0, 0]), name

    # Prometheus
    values = metrics(director)
    service = f'vip="{VIP}",port="80",proto="tcp",service="{VIP}:80/tcp"'
    assert values["xlb_service_packets_total", service] == packets
    assert values["xlb_service_bytes_total", service] == vip["bytes"]
    assert {address: values["xlb_real_packets_total", f'{service},real="{address}",real_port="80"'] for address in counted} == \
        counted
    assert values["xlb_forwarded_packets_total", ""] == packets
    assert sum(value for (name, _), value in values.items() if name == "xlb_cpu_forwarded_packets_total") == packets

    # ipvsadm
    line = next(line for line in director.ipvsadm("-Ln", "--exact", "--stats").splitlines() if f"{VIP}:80 " in line)
    assert line.split()[2:4] == ["60", str(packets)]


def test_ways_processors_and_totals_add_up(site):
    here = site(reals=2)
    monitoring = Monitoring(here.a)
    here.start()
    monitoring.start()
    here.client.call(client.many_gets, 20, VIP)
    wait_for("they are counted", lambda: monitoring.scalar("1.14") == here.a.forwarded() > 80, 5)

    columns = ("6.1.1.3", "6.1.1.4", "5.3.1.2", "5.3.1.3", "5.1.1.9", "5.2.1.2")
    names = [f"1.1.{number}.0" for number in (12, 14, 16, 17)]
    found = monitoring.get_together(names + [oid for one in columns for oid in monitoring.walk(f"1.{one}")])

    def column(numbers):
        return {oid.removeprefix(f"1.{numbers}."): value for oid, value in found.items() if oid.startswith(f"1.{numbers}.")}
    ways, actions = column("6.1.1.4"), column("6.1.1.3")
    seen, forwarded, passed, dropped = (found[f"1.1.{number}.0"] for number in (12, 14, 16, 17))
    assert sum(ways.values()) == seen == forwarded + passed + dropped and len(ways) > 20
    for action, total in ((1, forwarded), (2, passed), (3, dropped)):
        assert sum(value for number, value in ways.items() if actions[number] == action) == total
    # read some moments later; the packets of the service have all come
    assert seen <= sum(column("5.3.1.2").values()) <= seen + 20 and sum(column("5.3.1.3").values()) == forwarded
    # what the device received is at least what the program saw; each queue's share is part of it
    device = next(iter(column("5.1.1.9").values()))
    assert device >= sum(column("5.2.1.2").values()) >= seen


def promtool(*words, text=""):
    done = subprocess.run(["promtool", *map(str, words)], input=text, text=True, capture_output=True, check=False, env=ENVIRONMENT)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")
def test_promtool_likes_the_metrics(site):
    here = site(reals=2)
    here.start()
    here.client.call(client.many_gets, 4, VIP)
    status, said = promtool("check", "metrics", text=here.a.ctl("metrics"))
    assert status == 0 and not said, said
    here.a.stop_xlbd()
    done = here.a.xlbctl("metrics")
    assert done.returncode == 3 and promtool("check", "metrics", text=done.stdout)[0] == 0
    assert done.stdout.endswith("xlb_up 0\n")


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="systemd-socket-activate is not there (Debian: systemd)")
def test_metrics_over_http(site):
    here = site(reals=2)
    here.start()
    here.a.start("http", "systemd-socket-activate", "-l", "127.0.0.1:9567", "--accept", "--inetd",
                 XLBCTL, "--socket", here.a.control, "metrics", "http")
    wait_for("it listens", lambda: ":9567 " in here.a.sh("ss -Hltn"))

    def get(path, *options):
        return here.a.run("curl", "-s", "-i", *options, f"http://127.0.0.1:9567{path}", check=False)
    answer = get("/metrics")
    assert answer.startswith("HTTP/1.0 200 OK") and "text/plain; version=0.0.4" in answer and "\nxlb_up 1" in answer
    assert "404" in get("/nothing") and "405" in get("/metrics", "-X", "POST")
    assert f'service="{VIP}:80/tcp"' in answer
