# SPDX-License-Identifier: GPL-2.0-or-later
"""Two directors that tell each other their connections: whoever is elected goes on with them."""

import time

import pytest
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


@pytest.fixture
def pair(site):
    """Two directors with sync that serve by rr, where no connection could be guessed."""
    def make(reals=3, sync=None, **more):
        here = site(reals=reals, directors=2)
        for director in here.directors:
            give_sync(director, **(sync or {}))
        here.start(**more)
        wait_standby(here.b)
        return here
    return make


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
