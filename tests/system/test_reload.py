# SPDX-License-Identifier: GPL-2.0-or-later
"""keepalived reloads its configuration: what it adds, removes and changes is in the data plane without anybody telling xlbd."""

import client
from keepalived import virtual_server
from lab import VIP, stays, wait_for


def test_a_reload_adds_and_removes_real_servers(site):
    here = site(reals=3)
    more = here.reals.pop()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 6, "--every", 0.05)
    held.wait(30)
    here.reals.append(more)
    director.reload_keepalived(here.text())
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 30, VIP) == {"r1": 10, "r2": 10, "r3": 10}
    here.reals.pop(0)
    director.reload_keepalived(here.text())
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 20, VIP) == {"r2": 10, "r3": 10}
    # connections to the one that was removed are dropped, as by IPVS; the others go on
    begin = held.wait(30)
    assert set(held.answers(begin)) == {"r2"}
    assert director.verdict("real-gone") > 0


def test_a_removed_real_server_that_returns_gets_its_connections_back(site):
    here = site()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 4, "--every", 0.05)
    held.wait(20)
    director.reload_keepalived(here.text(servers=virtual_server(here.reals[1:], scheduler="rr")))
    director.wait_served(here.reals[1:])
    begin = held.wait(20)
    assert set(held.answers(begin)) == {"r2"}
    director.reload_keepalived(here.text())
    director.wait_served(here.reals)
    wait_for("r1's connections go on", lambda: "r1" in held.answers(begin))
    assert not held.failures()


def test_weights_follow_a_reload(site):
    here = site()
    director = here.start(scheduler="wrr", weights=[1, 1])
    assert here.client.call(client.many_gets, 20, VIP) == {"r1": 10, "r2": 10}
    director.reload_keepalived(here.text(scheduler="wrr", weights=[3, 1]))
    wait_for("the weight is there", lambda: director.reals()[here.reals[0].address]["weight"] == 3)
    assert here.client.call(client.many_gets, 40, VIP) == {"r1": 30, "r2": 10}


def test_a_change_of_the_scheduler_leaves_connections_alone(site):
    here = site(reals=3)
    director = here.start(scheduler="rr")
    held = here.client.client("hold", VIP, 80, "--count", 12, "--every", 0.05)
    held.wait(30)
    before = {event.who: event.answer for event in held.read()}
    director.reload_keepalived(here.text(scheduler="mh", options="mh-port"))
    wait_for("the scheduler is mh", lambda: director.vip()["scheduler"] == "mh" and director.side() == "xdp")
    director.wait_served(here.reals)
    begin = held.wait(40)
    assert not held.failures()
    assert {event.who: event.answer for event in held.since(begin)} == before
    assert set(here.client.call(client.many_gets, 60, VIP)) == {"r1", "r2", "r3"}


def test_a_reload_adds_a_service_and_takes_it_away_again(site):
    here = site()
    for real in here.reals:
        real.die()
        real.serve(ports=(80, 8080))
    director = here.start()
    second = f"{VIP}:8080/tcp"
    assert director.vip(second) is None
    director.reload_keepalived(here.text() + virtual_server(here.reals, port=8080, scheduler="rr"))
    director.wait_served(here.reals, second)
    assert here.client.call(client.many_gets, 10, VIP, 8080) == {"r1": 5, "r2": 5}
    assert here.client.call(client.many_gets, 10, VIP, 80) == {"r1": 5, "r2": 5}
    director.reload_keepalived(here.text())
    wait_for("it is gone", lambda: director.vip(second) is None)
    assert all(answer.startswith("!") for answer in here.client.call(client.many_gets, 2, VIP, 8080))
    assert director.ctl_status("status") == 0


def test_a_reload_renames_a_service_and_adds_a_virtual_address(site):
    here = site()
    director = here.start()
    for real in here.reals:
        real.sh("ip addr add 10.99.0.101/32 dev lo")
    group = ("virtual_server_group web {\n10.99.0.100 80\n10.99.0.101 80\n}\n" +
             virtual_server(here.reals, vip="group web", port="", scheduler="rr").replace("group web  {", "group web {")
             .replace(f"{here.reals[0].address}  {{", f"{here.reals[0].address} 80 {{")
             .replace(f"{here.reals[1].address}  {{", f"{here.reals[1].address} 80 {{"))
    text = here.text(servers=group).replace(f"\t\t{VIP}/24 dev e0", f"\t\t{VIP}/24 dev e0\n\t\t10.99.0.101/24 dev e0")
    director.reload_keepalived(text)
    director.wait_served(here.reals, "10.99.0.101:80/tcp")
    assert director.vip("10.99.0.101:80/tcp")["name"] == "web"
    assert here.client.call(client.many_gets, 10, "10.99.0.101") == {"r1": 5, "r2": 5}
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_a_keepalived_conf_that_is_broken_keeps_what_is_in_force(site):
    here = site()
    director = here.start()
    good = director.keepalived_conf.read_text()
    # as an editor leaves it half-way; keepalived has not been told
    director.keepalived_conf.write_text(good[:good.index("real_server")] + "\tlb_algoo rr\n")
    stays("it is forwarded", lambda: director.side() == "xdp", 2.5)
    done = director.xlbctl("check", director.keepalived_conf)
    assert done.returncode == 1 and "lb_algoo" in done.stdout + done.stderr
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    director.keepalived_conf.unlink()
    assert director.ctl_status("reload") == 1
    assert director.side() == "xdp"
    assert any("keepalived.conf" in problem or "reload" in problem for problem in director.problems())
    director.keepalived_conf.write_text(good)
    assert director.ctl_status("reload") == 0
    wait_for("all is well", lambda: director.ctl_status("status") == 0)


def test_keepalived_that_stops_takes_its_services_with_it_and_brings_them_back(site):
    here = site()
    director = here.start()
    director.keepalived.stop()
    wait_for("they are not in force", lambda: director.vip()["in_force"] is False)
    assert director.side() == "unserved" and "is keepalived running" in director.vip()["reason"]
    director.start_keepalived()
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
