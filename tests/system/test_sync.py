# SPDX-License-Identifier: GPL-2.0-or-later
"""Two directors that tell each other their connections: whoever is elected goes on with them."""

import time

import pytest
from keepalived import globals_block, virtual_server, vrrp_instance
from lab import VIP, stays, wait_for
from test_failover import wait_standby

KEY = "1 " + "5a" * 32 + "\n"


def give_sync(director, key=KEY, **more):
    """A cable of its own to the other director, a key, and the section of xlbd.yaml."""
    director.add_cable("e1", f"10.98.0.{director.number}/24", "br1")
    director.key = director.folder / "sync.key"
    director.key.touch(mode=0o600)
    director.key.write_text(key)
    director.gate = director.folder / "gate"
    values = {"interface": "e1", "node": director.number, "key_file": director.key, "gate": director.gate, **more}
    director.yaml.write_text("sync:\n" + "".join(f"  {name}: {value}\n" for name, value in values.items()))


def live(director):
    return director.show("status")["connections"]["live"]


def gated(here, director):
    """keepalived.conf with the lines of keepalived.conf.example."""
    return (f"track_file xlbd_gate {{\n\tfile {director.gate}\n\tweight -100\n}}\n" +
            globals_block(director.fifos) + vrrp_instance(director, extra="track_file { xlbd_gate }") +
            virtual_server(here.reals, scheduler="rr"))


@pytest.fixture
def pair(site):
    """Two directors with sync that serve by rr, where no connection could be guessed."""
    def make(reals=3, sync=None, keys=(KEY, KEY), options=()):
        here = site(reals=reals, directors=2)
        for director, key in zip(here.directors, keys):
            give_sync(director, key=key, **(sync or {}))
            director.options += options
            director.keepalived_conf.write_text(gated(here, director))
            director.start_xlbd()
            director.start_keepalived()
        here.a.wait_served(here.reals)
        wait_standby(here.b)
        return here
    return make


def peer(director):
    """What `xlbctl sync` says of the other one; None: it has not been heard."""
    return next(iter(director.show("sync")["peers"]), None)


def wait_equal(here):
    wait_for("both say that they are equal",
             lambda: all(peer(one) and peer(one)["state"] == "equal" for one in here.directors))


def hold(here, count, every=0.2):
    """Connections that stay open and talk; each has been answered at least once."""
    held = here.client.client("hold", VIP, 80, "--count", count, "--every", every)
    wait_for("every connection is open", lambda: len({event.who for event in held.read() if event.ok}) == count, 30)
    return held


def who_answers(events):
    """{connection: the real servers that answered it}"""
    seen = {}
    for event in events:
        if event.ok:
            seen.setdefault(event.who, set()).add(event.answer)
    return seen


def test_when_the_master_is_powered_off_every_connection_goes_on(pair):
    here = pair()
    held = hold(here, 200)
    assert {answer for answers in who_answers(held.read()).values() for answer in answers} == {"r1", "r2", "r3"}
    wait_for("B has them all", lambda: live(here.b) >= 200)
    assert here.b.forwarded() == 0
    begin = time.monotonic()
    here.a.die()
    gone = time.monotonic()
    wait_for("every connection was answered through B",
             lambda: len({event.who for event in held.since(gone) if event.ok}) == 200, 20)
    assert here.b.forwarded() > 200
    assert not held.failures(begin)
    # and each by the real server that it had
    assert all(len(answers) == 1 for answers in who_answers(held.read()).values())
    assert not [event for event in held.stop() if not event.ok]


def test_without_a_section_sync_nothing_is_told_and_a_takeover_loses_them(site):
    """The control to all others: what is proved there is the sync's doing."""
    here = site(directors=2)
    here.start()
    wait_standby(here.b)
    held = hold(here, 20)
    wait_for("A knows them", lambda: live(here.a) == 20)
    stays("B knows none", lambda: live(here.b) == 0, 1.5)
    assert here.b.show("sync")["configured"] is False and not here.b.folder.joinpath("gate").exists()
    here.a.die()
    wait_for("they end", lambda: len({event.who for event in held.read() if not event.ok}) == 20, 20)


def goes_on(held, count, since, seconds=20):
    """Each connection has been answered since then, none has failed, and each kept its real server."""
    wait_for("every connection was answered",
             lambda: len({event.who for event in held.since(since) if event.ok}) == count, seconds)
    assert not [event for event in held.read() if not event.ok]
    assert all(len(answers) == 1 for answers in who_answers(held.read()).values())


def test_a_master_that_comes_back_empty_takes_over_only_when_it_has_the_connections(pair):
    here = pair()
    held = hold(here, 100)
    wait_for("B has them all", lambda: live(here.b) >= 100)
    here.a.die()
    here.b.wait_served(here.reals)
    goes_on(held, 100, time.monotonic())
    # the machine boots: its pinned maps are gone, its priority is the higher one
    here.a.run("rm", "-rf", f"{here.a.bpffs}/xlbd")
    here.a.sh(f"ip addr del {VIP}/24 dev e0", check=False)
    here.a.plug()
    here.a.start_xlbd()
    assert here.a.gate.read_text() in ("1\n", "0\n")
    here.a.start_keepalived()
    here.a.wait_served(here.reals)
    wait_standby(here.b)
    goes_on(held, 100, time.monotonic())
    assert live(here.a) >= 100
    assert here.a.show("ha")["gate"]["tracked"] is True
    assert "open: the connections of all peers are here" in here.a.show("ha")["gate"]["reason"]


def test_a_planned_switch_waits_for_the_other_and_loses_nothing(pair):
    here = pair()
    held = hold(here, 100, every=0.05)
    wait_equal(here)
    assert here.a.show("ha")["successor"] == 2
    here.a.ctl("ha", "switch")
    assert here.a.gate.read_text() == "1\n"
    here.b.wait_served(here.reals)
    goes_on(held, 100, time.monotonic())
    here.a.ctl("ha", "release")
    here.a.wait_served(here.reals)
    goes_on(held, 100, time.monotonic())


def test_a_daemon_that_is_restarted_on_the_master_keeps_the_role_and_the_connections(pair):
    here = pair()
    held = hold(here, 50)
    wait_equal(here)
    here.a.stop_xlbd()
    here.a.start_xlbd()
    assert here.a.gate.read_text() == "0\n" and here.a.show("ha")["gate"]["reason"] == "open: was active when the daemon started"
    wait_equal(here)
    assert here.a.owns() and not here.b.owns()
    goes_on(held, 50, time.monotonic())
    here.a.die()
    goes_on(held, 50, time.monotonic())


def test_two_masters_are_an_alarm_and_both_go_on(pair):
    here = pair()
    held = hold(here, 20)
    wait_equal(here)
    here.b.sh("nft 'add table inet deaf; add chain inet deaf input { type filter hook input priority 0; }; "
              "add rule inet deaf input ip protocol vrrp drop'")
    wait_for("B is active too", here.b.owns)
    wait_for("both say so", lambda: all(one.show("ha")["split_ms"] is not None for one in here.directors), 3)
    assert "another director is active for the same services" in here.a.ctl("ha")
    assert here.a.ctl_status("sync") == 2
    here.b.sh("nft delete table inet deaf")
    wait_standby(here.b)
    wait_for("they know that it is over", lambda: all(one.show("ha")["split_ms"] is None for one in here.directors), 3)
    wait_equal(here)
    goes_on(held, 20, time.monotonic())


def test_strangers_are_not_listened_to(pair):
    here = pair(keys=(KEY, "1 " + "a5" * 32 + "\n"))
    held = hold(here, 10)
    wait_for("A hears junk", lambda: here.a.show("sync")["strangers"] > 20)
    assert not here.a.show("sync")["peers"] and not here.b.show("sync")["peers"]
    assert "strangers" in here.b.ctl("sync") and live(here.b) == 0
    wait_for("there is nobody to wait for", lambda: here.b.gate.read_text() == "0\n")
    held.stop()


def test_a_key_that_others_may_read_is_refused_and_the_director_goes_on_without_sync(site):
    here = site()
    give_sync(here.a)
    here.a.key.chmod(0o644)
    here.start()
    shown = here.a.show("sync")
    assert "mode 0644" in shown["problem"] and here.a.ctl_status("sync") == 2
    assert here.a.gate.read_text() == "0\n"
    hold(here, 5).stop()


def test_a_new_key_comes_into_use_without_a_message_lost(pair):
    here = pair()
    held = hold(here, 50, every=0.05)
    wait_equal(here)
    for director in here.directors:
        director.key.write_text(KEY + "2 " + "c3" * 32 + "\n")
        director.ctl("sync", "rekey")
    wait_for("both send with the new one", lambda: all(one.show("sync")["key"] == 2 for one in here.directors))
    for director in here.directors:
        director.key.write_text("2 " + "c3" * 32 + "\n")
        director.ctl("sync", "rekey")
    wait_equal(here)
    for director in here.directors:
        counters = peer(director)["counters"]
        assert counters["forged"] == counters["lost"] == counters["given_up"] == 0
    here.a.die()
    goes_on(held, 50, time.monotonic())


def test_a_link_that_loses_a_tenth_is_repaired(pair):
    here = pair(options=["firewall=ignore"])  # the rule that loses would count
    for director in here.directors:
        director.sh("nft 'add table inet lossy; add chain inet lossy input { type filter hook input priority 0; }; "
                    "add rule inet lossy input iifname e1 numgen random mod 10 == 0 drop'")
    held = hold(here, 200)
    wait_for("B has them all", lambda: live(here.b) >= 200, 20)
    wait_for("something was repaired", lambda: peer(here.b)["counters"]["repaired"] > 0)
    here.a.die()
    goes_on(held, 200, time.monotonic())
