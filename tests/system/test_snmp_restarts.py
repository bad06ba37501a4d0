# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to figures when snmpd, xlb-snmp or xlbd stop, stall or restart."""

import shutil
import signal
import time

import client
from lab import VIP, stays, wait_for
from snmp_lab import Monitoring, vip_index


def started(site, **more):
    here = site(reals=2)
    monitoring = Monitoring(here.a)
    here.start(**more)
    return here, monitoring.start()


def packets(monitoring):
    return monitoring.column("2.1", 16).get(vip_index(), 0)


def discontinuity(monitoring):
    return monitoring.column("2.1", 29).get(vip_index())


def test_snmpd_restarts_and_the_mib_is_back_within_three_seconds(site):
    here, monitoring = started(site)
    here.client.call(client.many_gets, 4, VIP)
    wait_for("packets are counted", lambda: packets(monitoring) >= 16, 5)
    before = packets(monitoring)
    assert discontinuity(monitoring) > 0
    for _ in range(3):
        monitoring.snmpd.stop()
        monitoring.start_snmpd()
        begin = time.monotonic()
        wait_for("it is back", lambda: monitoring.scalar("1.4") in (2, 3), 3, interval=0.05)
        assert time.monotonic() - begin < 3
    assert packets(monitoring) >= before
    # what happened before snmpd started is told as 0: for this sysUpTime nothing was lost
    assert discontinuity(monitoring) == 0


def test_sysuptime_of_times_is_that_of_snmpd(site):
    here, monitoring = started(site)
    here.reals[0].die()
    wait_for("it is seen", lambda: max(monitoring.column("3.1", 18).values()) > 0, 10)
    changed = max(monitoring.column("3.1", 18).values())
    uptime = monitoring.get(".1.3.6.1.2.1.1.3.0")
    assert uptime - 1000 < changed <= uptime
    assert set(monitoring.column("3.1", 17).values()) == {0, 1}


def test_a_stopped_snmpd_or_subagent_harms_nobody_else(site):
    here, monitoring = started(site)
    traffic = here.client.client("requests", VIP, 80, "--rate", 50)
    begin = traffic.wait(20)
    for process in (monitoring.snmpd, monitoring.subagent):
        process.send(signal.SIGSTOP)
        stays("xlbctl answers at once", lambda: here.a.xlbctl("status", seconds=2).returncode in (0, 2), 8)
        process.send(signal.SIGCONT)
        wait_for("the MIB is back", lambda: monitoring.scalar("1.4") in (2, 3), 15)
    assert not traffic.failures(begin)
    now = here.a.forwarded()
    wait_for("its figures are those of now", lambda: monitoring.scalar("1.14") >= now, 5)
    assert monitoring.subagent.alive()


def test_counters_go_on_when_xlbd_restarts(site):
    here, monitoring = started(site)
    here.client.call(client.many_gets, 10, VIP)
    wait_for("packets are counted", lambda: packets(monitoring) >= 40, 5)
    before, since = packets(monitoring), discontinuity(monitoring)
    lost = monitoring.scalar("1.5")
    here.a.stop_xlbd()
    here.a.start_xlbd()
    here.a.wait_served(here.reals)
    here.client.call(client.many_gets, 10, VIP)
    wait_for("further packets are counted", lambda: packets(monitoring) >= before + 40, 10)
    assert packets(monitoring) == here.a.vip()["packets"]
    assert discontinuity(monitoring) == since and monitoring.scalar("1.5") == lost


def test_counters_that_begin_anew_say_so(site):
    here, monitoring = started(site)
    here.client.call(client.many_gets, 10, VIP)
    wait_for("packets are counted", lambda: packets(monitoring) >= 40, 5)
    since, lost = discontinuity(monitoring), monitoring.scalar("1.5")
    # as after a reboot: the pinned maps, and with them the table that keepalived wrote, are gone
    here.a.keepalived.stop()
    here.a.stop_xlbd()
    shutil.rmtree(here.a.bpffs / "xlbd")
    here.a.start_xlbd()
    here.a.start_keepalived()
    here.a.wait_served(here.reals)
    wait_for("they are less", lambda: packets(monitoring) < 40, 10)
    assert discontinuity(monitoring) > since and monitoring.scalar("1.5") > lost


def test_a_stopped_xlbd_does_not_hold_the_subagent(site):
    here, monitoring = started(site)
    here.a.xlbd.send(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        monitoring.walk()
        assert time.monotonic() - begin < 4  # it would be gone by then, had it waited for an answer
        wait_for("it says so", lambda: monitoring.scalar("1.4") == 6, 8)
        assert monitoring.walk("1.3") == {}
    finally:
        here.a.xlbd.send(signal.SIGCONT)
    wait_for("it is back", lambda: monitoring.scalar("1.4") in (2, 3), 15)


def test_the_daemon_is_asked_once_a_second_at_most(site):
    here, monitoring = started(site)

    def asked():
        return here.a.show("status")["control"]["requests"]
    first, begin = asked(), time.monotonic()
    for _ in range(6):
        monitoring.walk()
        monitoring.walk(bulk=False)
    seconds = time.monotonic() - begin
    # our own two questions are counted too
    assert asked() - first <= seconds + 2, (asked() - first, seconds)
