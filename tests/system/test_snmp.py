# SPDX-License-Identifier: GPL-2.0-or-later
"""XLB-MIB through a real snmpd: what it shows is what happened, whatever is restarted meanwhile."""

import client
from lab import VIP, wait_for
from snmp_lab import Monitoring, real_index, vip_index


def started(site, **more):
    here = site(reals=2)
    monitoring = Monitoring(here.a)
    here.start(**more)
    return here, monitoring.start()


def settled(monitoring, packets):
    """Until XLB-MIB shows so many packets of the service."""
    wait_for(f"the service has {packets} packets", lambda: monitoring.column("2.1", 16).get(vip_index()) == packets, 5)


def test_packets_of_the_mib_are_those_that_the_real_servers_received(site):
    here, monitoring = started(site)
    for real in here.reals:
        real.count("input", f"ip daddr {VIP} tcp dport 80")
    assert here.client.call(client.many_gets, 40, VIP) == {"r1": 20, "r2": 20}
    counted = {real.address: real.counted() for real in here.reals}
    assert all(count > 60 for count in counted.values())
    settled(monitoring, sum(counted.values()))
    packets = monitoring.column("3.1", 12)
    assert packets == {real_index(address): count for address, count in counted.items()}
    assert monitoring.column("3.1", 11) == {real_index(address): 20 for address in counted}
    assert monitoring.column("2.1", 15) == {vip_index(): 40}
    assert monitoring.scalar("1.14") == here.a.forwarded() == sum(counted.values())
    assert monitoring.scalar("1.18") == 40
    vip = here.a.vip()
    assert monitoring.column("2.1", 17)[vip_index()] == vip["bytes"]
    assert monitoring.column("2.1", 6)[vip_index()] == 2 and monitoring.column("2.1", 30)[vip_index()] == 1
    assert monitoring.column("2.1", 9)[vip_index()] == "rr"
    assert monitoring.column("2.1", 12)[vip_index()] == 2


def test_the_connection_table_is_counted(site):
    here, monitoring = started(site)
    held = here.client.client("hold", VIP, 80, "--count", 10, "--every", 0.1)
    held.wait(30)
    wait_for("ten are established", lambda: monitoring.column("4.2", 3).get("6.3") == 10, 5)
    assert monitoring.scalar("4.1.1") == 10 == monitoring.column("2.1", 14)[vip_index()]
    assert monitoring.scalar("4.1.2") == here.a.show("status")["connections"]["slots"]
    assert sum(monitoring.column("3.1", 10).values()) == 10
    wait_for("packets per second are seen", lambda: monitoring.column("2.1", 20)[vip_index()] > 0, 5)


def test_every_walk_gives_the_same_rising_list(site):
    here, monitoring = started(site)
    here.client.call(client.many_gets, 4, VIP)
    settled(monitoring, here.a.vip()["packets"])
    constant = [f"1.{group}" for group in ("1.1", "1.2", "1.9", "1.10", "2.1.1.5", "2.1.1.15", "3.1.1.4", "3.1.1.12", "4.1.2")]

    def fixed(found):
        return {oid: value for oid, value in found.items() if any(f"{oid}.".startswith(f"{c}.") for c in constant)}
    reference = monitoring.walk(bulk=False)
    oids = [[int(part) for part in oid.split(".")] for oid in reference]
    assert oids == sorted(oids) and len(oids) > 60
    for repetitions in (1, 10, 50, 1000):
        again = monitoring.walk(options=[f"-Cr{repetitions}"])
        assert list(again) == list(reference) and fixed(again) == fixed(reference)
