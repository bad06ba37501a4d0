# SPDX-License-Identifier: GPL-2.0-or-later
"""keepalived's health checks and what they do to the virtual server: its decisions are in the data plane at once."""

import time

import client
from keepalived import real_server
from lab import VIP, wait_for


def test_a_real_server_that_dies_leaves_within_its_check_interval_and_comes_back(site):
    here = site(reals=3)
    director = here.start(delay=0.3)
    victim = here.reals[1]
    held = here.client.client("hold", VIP, 80, "--count", 12, "--every", 0.05)
    wait_for("all three have connections", lambda: {"r1", "r2", "r3"} <= set(held.answers()))
    begin = time.monotonic()
    victim.die()
    wait_for("it is out", lambda: director.usable() == {"10.99.0.11", "10.99.0.13"}, 5, 0.005)
    assert time.monotonic() - begin < 0.3 + 0.1 + 1
    assert here.client.call(client.many_gets, 20, VIP) == {"r1": 10, "r3": 10}
    # those of the others go on as if nothing had happened
    begin = held.wait(40)
    assert set(held.answers(begin)) == {"r1", "r3"}
    assert len({event.who for event in held.since(begin)}) == 8
    victim.serve()
    wait_for("it is in again", lambda: len(director.usable()) == 3)
    assert here.client.call(client.many_gets, 30, VIP) == {"r1": 10, "r2": 10, "r3": 10}


def test_without_fifos_the_timer_sees_what_keepalived_did(site):
    here = site()
    director = here.start(fifos=False)
    begin = time.monotonic()
    here.reals[0].die()
    wait_for("it is out", lambda: director.usable() == {"10.99.0.12"}, 5)
    assert time.monotonic() - begin < 0.2 + 0.1 + 1 + 1  # check, retry, poll, a busy machine
    assert here.client.call(client.many_gets, 10, VIP) == {"r2": 10}


def test_inhibit_on_failure_sets_the_weight_to_zero_and_keeps_the_connections(site):
    here = site()
    director = here.start(servers=None, real_options="inhibit_on_failure")
    victim = here.reals[0]
    held = here.client.client("hold", VIP, 80, "--count", 6, "--every", 0.05)
    held.wait(30)
    # only the check's port is shut, so the server itself goes on
    victim.sh("nft 'add table t; add chain t i { type filter hook input priority 0; }; "
              f"add rule t i ip saddr {director.address} tcp dport 80 reject'")
    wait_for("its weight is 0", lambda: director.reals()[victim.address]["state"] == "drained")
    assert here.client.call(client.many_gets, 10, VIP) == {"r2": 10}
    begin = held.wait(30)
    assert set(held.answers(begin)) == {"r1", "r2"} and not held.failures()
    victim.sh("nft delete table t")
    wait_for("it is back", lambda: len(director.usable()) == 2)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_the_sorry_server_comes_in_and_leaves(site):
    here = site(reals=3)
    sorry = here.reals.pop()
    director = here.start(options=f"sorry_server {sorry.address} 80")
    for real in here.reals:
        real.die()
    wait_for("the sorry server is in", lambda: director.usable() == {sorry.address})
    assert here.client.call(client.many_gets, 5, VIP) == {"r3": 5}
    assert director.reals()[sorry.address]["sorry"] is True
    assert any("sorry server" in problem for problem in director.problems())
    here.reals[0].serve()
    wait_for("the sorry server is out", lambda: director.usable() == {here.reals[0].address})
    assert here.client.call(client.many_gets, 5, VIP) == {"r1": 5}


def test_below_its_quorum_the_service_goes_to_the_sorry_server(site):
    here = site(reals=4)
    sorry = here.reals.pop()
    director = here.start(options=f"quorum 2\n\tsorry_server {sorry.address} 80")
    here.reals[0].die()
    wait_for("one is out", lambda: len(director.usable()) == 2)
    assert here.client.call(client.many_gets, 10, VIP) == {"r2": 5, "r3": 5}
    here.reals[1].die()
    wait_for("the sorry server is in", lambda: sorry.address in director.usable())
    assert set(here.client.call(client.many_gets, 5, VIP)) == {"r4"}
    here.reals[1].serve()
    wait_for("the quorum is back", lambda: director.usable() == {real.address for real in here.reals[1:]})
    assert here.client.call(client.many_gets, 10, VIP) == {"r2": 5, "r3": 5}


def test_all_real_servers_down_is_said_and_refuses_no_later_client(site):
    here = site()
    director = here.start()
    for real in here.reals:
        real.die()
    wait_for("all are out", lambda: not director.usable())
    assert director.side() == "xdp"
    assert director.ctl_status("status") == 2 and director.ctl_status("vip") == 2
    assert any("no real server is usable" in problem for problem in director.problems())
    before = director.verdict("no-real")
    assert all(answer.startswith("!") for answer in here.client.call(client.many_gets, 3, VIP))
    assert director.verdict("no-real") > before
    for real in here.reals:
        real.serve()
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    wait_for("all is well", lambda: director.ctl_status("status") == 0, 5)


def test_a_weight_of_zero_takes_no_new_connections(site):
    here = site(reals=3)
    director = here.start(scheduler="wrr", weights=[3, 1, 1])
    assert here.client.call(client.many_gets, 50, VIP) == {"r1": 30, "r2": 10, "r3": 10}
    director.reload_keepalived(here.text(scheduler="wrr", weights=[0, 1, 1]))
    wait_for("r1 is drained", lambda: director.reals()[here.reals[0].address]["state"] == "drained")
    assert here.client.call(client.many_gets, 20, VIP) == {"r2": 10, "r3": 10}


def test_a_check_by_a_script_decides_too(site):
    here = site()
    flag = here.lab.folder / "up"
    flag.touch()
    here.lab.folder.joinpath("check").write_text(f"#!/bin/sh\ntest -e {flag}\n")
    here.lab.folder.joinpath("check").chmod(0o755)
    misc = f"MISC_CHECK {{\n\t\t\tmisc_path {here.lab.folder}/check\n\t\t\tmisc_timeout 5\n\t\t}}"
    here.a.lab.folder.chmod(0o755)
    first = real_server(here.reals[0].address, check=None, options=misc)
    second = real_server(here.reals[1].address)
    director = here.start(servers=f"virtual_server {VIP} 80 {{\ndelay_loop 0.2\nretry 1\ndelay_before_retry 0.1\n"
                                  f"lb_algo rr\nlb_kind DR\nprotocol TCP\n{first}{second}\n}}\n")
    flag.unlink()
    wait_for("the script said no", lambda: director.usable() == {here.reals[1].address})
    flag.touch()
    wait_for("the script said yes", lambda: len(director.usable()) == 2)
