# SPDX-License-Identifier: GPL-2.0-or-later
"""Another size of the connection table while clients use it: no connection ends, no request fails."""

import signal
import time

from lab import VIP, wait_for

SMALL, LARGE = 20000, 200000  # connections; a table has twice the slots, rounded up, and a sixteenth more
HELD = 40


def slots(connections):
    """Of both families together, as `xlbctl status` counts them when nothing is under way."""
    buckets = 256
    while buckets * 4 < 2 * connections:
        buckets *= 2
    return 2 * 4 * (buckets + buckets // 16)


def has_size(director, connections):
    status = director.show("status")["connections"]
    return status["resize"] is None and status["slots"] == slots(connections)


def ask_for(director, connections):
    """Of the next daemon. Restarts take long on a busy machine: new connections stay in XDP meanwhile."""
    director.options = ["ipvs.api=on", f"connections={connections}", "silence=60s"]


def start(here):
    ask_for(here.a, SMALL)
    return here.start()


def traffic(here):
    held = here.client.client("hold", VIP, 80, "--count", HELD, "--every", 0.05)
    fresh = here.client.client("requests", VIP, 80, "--rate", 40)
    held.wait(2 * HELD)
    fresh.wait(20)
    return held, fresh


def all_went_well(held, fresh, begin):
    held.wait(2 * HELD, begin)
    fresh.wait(20)
    first = {}
    for event in held.stop():
        assert event.ok, event
        assert first.setdefault(event.who, event.answer) == event.answer, "another real server answers"
    assert len(first) == HELD
    assert not [event for event in fresh.stop() if not event.ok]


def test_a_restart_with_more_connections_moves_them_all(site):
    here = site()
    director = start(here)
    held, fresh = traffic(here)
    assert has_size(director, SMALL)
    director.stop_xlbd()
    ask_for(director, LARGE)
    director.start_xlbd()
    wait_for("the table has its size", lambda: has_size(director, LARGE))
    assert "moving from a table" in director.xlbd.text() and "connections moved in" in director.xlbd.text()
    live = director.show("status")["connections"]["live"]
    assert live >= HELD
    all_went_well(held, fresh, held.wait(HELD))


def test_a_daemon_killed_while_it_moves_is_followed_by_one_that_goes_on(site):
    here = site()
    director = start(here)
    held, fresh = traffic(here)
    begin = held.wait(HELD)
    director.stop_xlbd()
    for connections, seconds in ((50000, 0), (100000, 0.1), (LARGE, 0.4), (LARGE, 0.8)):
        ask_for(director, connections)
        director.start_xlbd_at_all()
        wait_for("it moves", lambda: "moving from a table" in director.xlbd.text(), interval=0.001)
        time.sleep(seconds)
        director.xlbd.kill()
    director.start_xlbd()
    wait_for("the table has its size", lambda: has_size(director, LARGE))
    all_went_well(held, fresh, begin)


def test_a_reload_with_more_connections_moves_them_all(site):
    here = site()
    director = here.a
    director.options = ["ipvs.api=on"]
    director.yaml.write_text(f"connections: {SMALL}\n")
    here.start()
    held, fresh = traffic(here)
    begin = held.wait(HELD)
    director.yaml.write_text(f"connections: {LARGE}\n")
    assert director.ctl_status("reload") == 0
    wait_for("the table has its size", lambda: has_size(director, LARGE))
    director.yaml.write_text(f"connections: {2 * LARGE}\n")
    director.xlbd.send(signal.SIGHUP)
    wait_for("the table has its size", lambda: has_size(director, 2 * LARGE))
    all_went_well(held, fresh, begin)


def test_fewer_connections_are_refused_while_there_are_any(site):
    here = site()
    director = start(here)
    held, fresh = traffic(here)
    begin = held.wait(HELD)
    director.stop_xlbd()
    ask_for(director, 1000)
    director.start_xlbd()
    wait_for("it says so", lambda: "it becomes smaller only when it is empty" in director.xlbd.text())
    wait_for("it has been counted", lambda: director.show("status")["connections"]["live"] >= HELD)
    assert director.show("status")["connections"]["slots"] > slots(1000)
    all_went_well(held, fresh, begin)
