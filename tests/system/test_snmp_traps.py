# SPDX-License-Identifier: GPL-2.0-or-later
"""Notifications of XLB-MIB, as a real snmptrapd gets them."""

from lab import wait_for
from snmp_lab import Monitoring, real_index, vip_index

ROLE, REAL, VIP, DATAPLANE, CONFIG = 1, 2, 3, 9, 12


def detail(trap):
    return trap["1.10.3.0"]


def with_traps(site, **more):
    here = site(**more)
    watched = here.directors[-1]
    monitoring = Monitoring(watched)
    monitoring.catch_traps()
    return here, watched, monitoring


def test_real_servers_and_their_quorum_are_told(site):
    here, director, monitoring = with_traps(site, reals=2)
    here.start(options="quorum 1")
    monitoring.start()
    first, second = here.reals
    first.die()
    trap = wait_for("the death is told", lambda: monitoring.traps(REAL), 10)[0]
    index, service = real_index(first.address), vip_index()
    assert trap[f"1.3.1.1.5.{index}"] == 4 and trap[f"1.3.1.1.4.{index}"] == f"{first.address}:80"
    assert trap[f"1.2.1.1.12.{service}"] == 1 and trap[f"1.2.1.1.11.{service}"] == 2
    assert first.address in detail(trap) and "1 of 2 are usable" in detail(trap)
    assert not monitoring.traps(VIP)
    second.die()
    lost = wait_for("the loss of the quorum is told", lambda: monitoring.traps(VIP), 10)[0]
    assert lost[f"1.2.1.1.6.{service}"] == 4 and lost[f"1.2.1.1.12.{service}"] == 0
    assert "no real server is usable" in detail(lost)
    second.serve()
    again = wait_for("its return is told", lambda: len(monitoring.traps(VIP)) == 2 and monitoring.traps(VIP)[1], 10)
    assert again[f"1.2.1.1.6.{service}"] == 3
    wait_for("three changes of real servers were told", lambda: len(monitoring.traps(REAL)) == 3, 3)
    assert monitoring.scalar("10.2") == 0


def test_a_takeover_is_told_and_counted(site):
    here, standby, monitoring = with_traps(site, reals=1, directors=2)
    here.start()
    monitoring.start()
    assert monitoring.scalar("8.1.1") == 3
    here.a.die()
    owned = wait_for("the new role is told", lambda: [trap for trap in monitoring.traps(ROLE) if "are owned here" in detail(trap)
                                                      and "MASTER" in detail(trap)], 10)[0]
    assert owned["1.8.1.1.0"] == 4 and owned["1.8.2.1.2.1"] == "VI_1" and owned["1.8.2.1.7.1"] == 1
    assert monitoring.scalar("8.1.2") == 1 and monitoring.scalar("8.1.3") > 0


def test_a_refused_configuration_is_told_once(site):
    here, director, monitoring = with_traps(site, reals=1)
    here.start()
    monitoring.start()
    director.yaml.write_text("no_such_key: 1\n")
    assert director.xlbctl("reload").returncode == 1
    trap = wait_for("it is told", lambda: monitoring.traps(CONFIG), 5)[0]
    assert "no_such_key" in detail(trap) and trap["1.1.6.0"] == director.show("status")["generation"]
    director.xlbctl("reload")
    director.yaml.write_text("")
    assert director.xlbctl("reload").returncode == 0
    wait_for("it is over", lambda: director.show("status")["reload_error"] is None)
    monitoring.wait_ready()
    assert len(monitoring.traps(CONFIG)) == 1


def test_a_silent_daemon_is_told(site):
    here, director, monitoring = with_traps(site, reals=1)
    here.start()
    monitoring.start()
    director.stop_xlbd()
    trap = wait_for("it is told", lambda: monitoring.traps(DATAPLANE), 10)[0]
    assert trap["1.1.4.0"] == 6 and "is xlbd running?" in detail(trap)
    assert monitoring.walk("1.2") == {} and monitoring.scalar("1.4") == 6 and monitoring.scalar("1.12") is None
    director.start_xlbd()
    told = wait_for("it is told", lambda: [one for one in monitoring.traps(DATAPLANE) if "answers again" in detail(one)], 10)[0]
    assert told["1.1.3.0"] == 3


def test_a_storm_is_bounded_and_counted(site):
    here, director, monitoring = with_traps(site, reals=2)
    here.start()
    monitoring.start_snmpd()
    monitoring.start_subagent("-n", "1")
    monitoring.wait_ready()
    for real in here.reals:
        real.die()
    wait_for("one is counted, not sent", lambda: monitoring.scalar("10.2") >= 1, 10)
    assert len(monitoring.traps(REAL)) <= 1 and monitoring.scalar("10.1") == 1
