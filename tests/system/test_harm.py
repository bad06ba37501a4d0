# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong around xlbd: a clear sentence, traffic unharmed, the old state kept, and back when it is over."""

import json
import os
import socket

import pytest

import client
from keepalived import virtual_server
from lab import VIP, stays, wait_for


def both(site):
    return {"r1": site, "r2": site}


def test_bypass_hands_new_connections_over_and_takes_them_again(site):
    here = site()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 10, "--every", 0.05)
    held.wait(50)
    director.ctl("bypass", "on")
    assert director.side() in ("draining", "unserved") and any("bypass" in problem for problem in director.problems())
    assert here.client.call(client.get, VIP) == "!ConnectionRefusedError"  # no IPVS in this kernel
    begin = held.wait(50)
    assert len({event.who for event in held.since(begin)}) == 10
    director.ctl("bypass", "off")
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    # one service alone
    director.ctl("bypass", "on", f"{VIP}:80")
    assert "switched off by hand" in director.vip()["reason"]
    assert here.client.call(client.get, VIP) == "!ConnectionRefusedError"
    director.ctl("bypass", "off", f"{VIP}:80")
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    assert not held.failures()
    assert director.xlbctl("bypass", "on", "192.0.2.99:80").returncode == 1


def test_a_broken_xlbd_yaml_is_refused_whole_with_its_place(site):
    here = site()
    director = here.start()
    director.yaml.write_text("poll: 500ms\nsilense: 5s\n")
    done = director.xlbctl("reload")
    assert done.returncode == 1
    assert "xlbd.yaml" in done.stdout + done.stderr and "silense" in done.stdout + done.stderr
    assert any("the old configuration is in force" in problem for problem in director.problems())
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    director.yaml.write_text("virtual_servers:\n  - address: 10.99.0.100:80/tcp\n    bypass: yes\n")
    assert director.ctl_status("reload") == 0
    assert "switched off by hand" in director.vip()["reason"]
    director.yaml.write_text("")
    assert director.ctl_status("reload") == 0
    assert director.ctl_status("status") == 0
    assert here.client.call(client.many_gets, 10, VIP) == both(5)


def test_a_reload_by_hand_refuses_a_keepalived_conf_with_mistakes(site):
    here = site()
    director = here.start()
    good = director.keepalived_conf.read_text()
    director.keepalived_conf.write_text(good.replace("lb_algo rr", "lb_algo").replace("{", "", 1))
    done = director.xlbctl("reload")
    assert done.returncode == 1 and "keepalived.conf" in done.stdout + done.stderr
    stays("it is forwarded", lambda: director.side() == "xdp", 1.5)
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    director.keepalived_conf.write_text(good)
    assert director.ctl_status("reload") == 0 and director.ctl_status("status") == 0


def test_garbage_in_the_fifos_harms_nobody(site):
    here = site()
    director = here.start()
    for fifo in (director.lvs_fifo, director.vrrp_fifo):
        handle = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        for part in (os.urandom(4000), b"x" * 60000, b"\n" * 3000, b"INSTANCE \"VI_1\" FAULTY 1\nINSTANCE\nVS\0\0\nRS \"\n"):
            try:
                os.write(handle, part)
            except BlockingIOError:
                pass
        os.close(handle)
    stays("it is forwarded", lambda: director.side() == "xdp", 2)
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    here.reals[0].die()
    wait_for("true lines are still heard", lambda: len(director.usable()) == 1)
    assert len(director.xlbd.text()) < 20000


def test_a_line_that_says_backup_is_believed_until_the_address_comes_anew(site):
    here = site()
    director = here.start()
    with open(director.vrrp_fifo, "w", encoding="ascii") as fifo:
        fifo.write('INSTANCE "VI_1" BACKUP 100\n')
    wait_for("it stands by", lambda: director.side() == "standby")
    assert director.ctl_status("role", "VI_1", "MASTER") == 0
    assert director.side() == "xdp"
    assert here.client.call(client.many_gets, 10, VIP) == both(5)


def test_an_interface_that_vanishes_and_comes_back(site):
    here = site()
    director = here.start()
    director.sh("ip link del e0")
    wait_for("it says so", lambda: any("e0" in problem and "gone" in problem for problem in director.problems()))
    assert director.xlbd.alive() and director.ctl_status("status") == 2
    director.make_cable()
    director.wait_served(here.reals, seconds=30)
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    wait_for("all is well", lambda: director.ctl_status("status") == 0)


def test_a_neighbour_that_never_resolves_harms_only_its_own(site):
    here = site()
    director = here.a
    ghost = "10.99.0.77"
    text = here.text(servers=virtual_server([*here.reals, ghost], scheduler="rr", check=None))
    director.keepalived_conf.write_text(text)
    director.start_xlbd()
    director.start_keepalived()
    wait_for("it says so", lambda: any(ghost in problem and "next hop" in problem for problem in director.problems()), 20)
    seen = here.client.call(client.many_gets, 9, VIP, 80, 0.3)
    assert seen["r1"] == seen["r2"] == 3 and sum(seen.values()) == 9, seen
    assert director.verdict("unresolved") > 0
    # the machine is switched on
    late = here.lab.add(type(here.reals[0]), "late", 77)
    late.serve()
    wait_for("it is resolved", lambda: director.reals()[ghost]["next_hop"]["state"] == "resolved", 20)
    assert here.client.call(client.many_gets, 9, VIP) == {"r1": 3, "r2": 3, "late": 3}


def test_a_neighbour_that_gets_another_mac_is_followed(site):
    here = site()
    director = here.start()
    moved = here.reals[0]
    moved.sh("ip link set e0 address 02:00:00:00:aa:01; arping -q -c 1 -U -I e0 10.99.0.11 2>/dev/null; "
             f"ping -q -c 1 -W 1 {director.address} >/dev/null")
    wait_for("the new one is known", lambda: director.reals()[moved.address]["next_hop"]["mac"] == "02:00:00:00:aa:01")
    assert here.client.call(client.many_gets, 10, VIP) == both(5)


def test_a_firewall_rule_hands_the_service_off_with_the_rule_quoted_and_its_end_takes_it_back(site):
    here = site()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 10, "--every", 0.05)
    held.wait(50)
    director.sh("nft 'add table t; add chain t i { type filter hook input priority 0; }; "
                "add rule t i ip saddr 192.0.2.0/24 tcp dport 80 drop'")
    wait_for("it is handed off", lambda: director.side() in ("draining", "unserved"), 5)
    assert "tcp dport 80 drop" in director.vip()["reason"] and "192.0.2.0/24" in director.vip()["reason"]
    assert here.client.call(client.get, VIP) == "!ConnectionRefusedError"
    director.sh("nft delete table t")
    wait_for("it is back", lambda: director.side() == "xdp", 5)
    assert here.client.call(client.many_gets, 10, VIP) == both(5)
    begin = held.wait(50)
    assert len({event.who for event in held.since(begin)}) == 10 and not held.failures()
    # a rule for another port is none of its business
    director.sh("nft 'add table t; add chain t i { type filter hook input priority 0; }; add rule t i tcp dport 22 drop'")
    stays("it is forwarded", lambda: director.side() == "xdp", 2)


def test_firewall_ignore_overrules(site):
    here = site()
    here.a.options.append("firewall=ignore")
    here.a.sh("nft 'add table t; add chain t i { type filter hook input priority 0; }; add rule t i tcp dport 80 drop'")
    here.start()
    assert here.client.call(client.many_gets, 10, VIP) == both(5)


def test_a_control_client_that_sends_10_mb_or_nothing_is_dropped_alone(site):
    here = site()
    director = here.start()
    silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for sock in silent:
        sock.connect(str(director.control))
    with socket.socket(socket.AF_UNIX) as loud:
        loud.connect(str(director.control))
        loud.settimeout(5)
        with pytest.raises(ConnectionError):  # it hangs up on a line of more than 64 KiB
            loud.sendall(b"x" * 10_000_000)
    for sock in silent:
        sock.close()
    wait_for("others are served", lambda: director.ctl_status("status") == 0, 5)
    assert director.show("status")["control"]["dropped_clients"] + director.show("status")["control"]["errors"] > 0
    assert here.client.call(client.many_gets, 10, VIP) == both(5)


def test_nonsense_in_the_control_socket_is_answered_in_words(site):
    here = site()
    director = here.start()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(5)
        sock.connect(str(director.control))
        stream = sock.makefile("rwb")
        for line in (b"{", b"[]", b'{"command": 7}', b'{"command": "fly"}', b'{"command": "explain"}',
                     b'{"command": "status"}'):
            stream.write(line + b"\n")
            stream.flush()
            answer = json.loads(stream.readline())
            assert answer["schema"] == 1
            assert answer["ok"] == (line == b'{"command": "status"}') == ("error" not in answer)


def test_without_rights_it_ends_with_a_clear_sentence(site):
    here = site(reals=0)
    director = here.a
    director.keepalived_conf.write_text(here.text(servers=""))
    words = director.xlbd_words()
    # the folders are readable for everybody, the rights are what is missing
    process = director.start("nobody", *words, user="65534")
    assert process.wait() == 1
    text = process.text().strip()
    assert "CAP_BPF" in text and "CAP_NET_ADMIN" in text, text
    assert len(text.splitlines()) <= 2, text


def test_xlbctl_without_a_daemon_says_so_and_ends_with_3(site):
    here = site(reals=0)
    for words in (("status",), ("vip",), ("real",), ("conn",), ("drops",), ("bypass", "on"), ("reload",)):
        done = here.a.xlbctl(*words)
        assert done.returncode == 3 and "is xlbd running?" in done.stderr, (words, done)
