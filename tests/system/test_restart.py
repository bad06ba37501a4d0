# SPDX-License-Identifier: GPL-2.0-or-later
"""xlbd stops, is killed, starts again, while clients work: connections go on, counters go on."""

import ctypes
import ctypes.util
import time

import client
from lab import VIP, wait_for


def set_heartbeat(director, tick):
    """The first word of the pinned control block: when the daemon was last alive."""
    libbpf = ctypes.CDLL(ctypes.util.find_library("bpf") or "libbpf.so.1", use_errno=True)
    control = libbpf.bpf_obj_get(f"{director.bpffs}/xlbd/control".encode())
    key, value = ctypes.c_uint32(0), ctypes.create_string_buffer(128)
    assert control >= 0 and libbpf.bpf_map_lookup_elem(control, ctypes.byref(key), value) == 0
    value[0:8] = tick.to_bytes(8, "little")
    assert libbpf.bpf_map_update_elem(control, ctypes.byref(key), value, 0) == 0


def totals(director):
    """Counters that may only grow."""
    return {**{real["real"]: real["connections"] for real in director.show("real")["reals"]},
            "forwarded": director.forwarded(), "vip packets": director.vip()["packets"]}


def test_a_restart_under_traffic_loses_no_packet_and_no_connection(site):
    here = site()
    here.a.options.append("silence=30s")  # the machine may be busy; what happens after it is the next test's
    director = here.start()
    here.client.count("output", f"ip daddr {VIP} tcp dport 80")
    for real in here.reals:
        real.count("input", f"ip daddr {VIP} tcp dport 80")
    held = here.client.client("hold", VIP, 80, "--count", 40, "--every", 0.02)
    fresh = here.client.client("requests", VIP, 80, "--rate", 100, "--timeout", 4)
    held.wait(200)
    fresh.wait(100)
    before = totals(director)
    director.stop_xlbd()
    stopped = time.monotonic()
    director.start_xlbd()
    wait_for("all is well", lambda: director.ctl_status("status") == 0)
    back = time.monotonic()
    fresh.wait(200)
    held.wait(400)
    after = totals(director)
    # connections that were open, and new ones: until `silence` is over the old program goes on alone
    assert len({event.who for event in held.since(back)}) == 40
    assert not held.failures() and not fresh.failures()
    held.stop()
    fresh.stop()
    wait_for("what the client sent is what the real servers got",
             lambda: here.client.counted() == sum(real.counted() for real in here.reals))
    assert here.client.counted() == director.forwarded()
    assert all(after[name] > before[name] for name in before), (before, after)
    print(f"without a daemon for {back - stopped:.2f} s, {here.client.counted()} packets in all")


def test_killed_with_9_known_connections_go_on_and_new_ones_are_the_kernels_after_silence(site):
    here = site()
    here.a.options.append("silence=2s")
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 20, "--every", 0.05)
    held.wait(100)
    director.xlbd.kill()
    killed = time.monotonic()
    # at first nothing changes
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    # then new ones meet the kernel, which has no IPVS here and refuses
    wait_for("the kernel answers", lambda: here.client.call(client.get, VIP) == "!ConnectionRefusedError", 8)
    assert time.monotonic() - killed > 0.8  # the last heartbeat may be a second old
    begin = held.wait(200)
    assert not held.failures() and len({event.who for event in held.since(begin)}) == 20
    director.start_xlbd()
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    assert director.verdict("silent") > 0
    begin = held.wait(200)
    assert not held.failures() and len({event.who for event in held.since(begin)}) == 20


def test_what_happened_while_it_was_dead_is_seen_at_the_start(site):
    here = site()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 10, "--every", 0.05)
    held.wait(50)
    director.xlbd.kill()
    here.reals[0].die()
    wait_for("keepalived took it out", lambda: "Removing service [10.99.0.11]" in director.keepalived.text())
    director.start_xlbd()
    wait_for("it is out", lambda: director.usable() == {here.reals[1].address})
    assert here.client.call(client.many_gets, 10, VIP) == {"r2": 10}
    begin = held.wait(50)
    assert {event.answer for event in held.since(begin)} == {"r2"}


def test_it_starts_on_a_director_where_keepalived_has_run_for_long(site):
    """The interface is pinned and outlives xlbd; so keepalived notices nothing."""
    here = site()
    director = here.start()
    director.stop_xlbd()
    text = director.keepalived.text()
    here.reals[1].die()
    wait_for("keepalived goes on checking", lambda: len(director.keepalived.text()) > len(text))
    wait_for("keepalived takes the dead one out", lambda: "10.99.0.12" not in director.ipvsadm("-Ln"))
    director.start_xlbd()
    director.wait_served(here.reals[:1])


def test_after_days_without_a_daemon_no_connection_is_believed_whose_age_cannot_be_told(site):
    here = site()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 10, "--every", 0.05)
    held.wait(50)
    wait_for("all are counted", lambda: director.show("status")["connections"]["live"] >= 10)
    director.stop_xlbd()
    set_heartbeat(director, 1)  # the clock of the table has gone round since
    director.start_xlbd()
    assert "connections whose age cannot be told were removed" in director.xlbd.text()
    wait_for("they end", lambda: len({event.who for event in held.failures()}) == 10)  # no IPVS to know them
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}


def test_remove_takes_everything_out_of_the_kernel(site):
    here = site()
    director = here.start()
    director.stop_xlbd()
    director.run(*director.xlbd_words(), "--remove")
    assert "xdp" not in director.sh("ip link show e0")
    assert not list((director.bpffs / "xlbd").glob("*")) if (director.bpffs / "xlbd").exists() else True
    director.start_xlbd()


def test_two_daemons_on_one_folder_are_refused(site):
    here = site()
    director = here.start()
    second = director.start("second", *director.xlbd_words(), cgroup=director.cgroup)
    assert second.wait() == 1
    assert "another xlbd works on" in second.text()
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
