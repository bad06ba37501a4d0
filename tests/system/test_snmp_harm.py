# SPDX-License-Identifier: GPL-2.0-or-later
"""xlb-snmp among the wrong things: refused, doubled, misaddressed, asked nonsense. It says so, and nothing else is disturbed."""

import random
import signal
import socket
import threading
import time

from keepalived import globals_block, virtual_server, vrrp_instance
from lab import VIP, wait_for
from snmp_lab import COMMUNITY, ROOT, XLB_SNMP, Monitoring, address_index, vip_index


def started(site, **more):
    here = site(reals=2)
    monitoring = Monitoring(here.a)
    here.start(**more)
    return here, monitoring.start()


def ends_well(process):
    """SIGTERM, and no complaint of a sanitizer."""
    process.send(signal.SIGTERM)
    assert process.wait() == 0, process.text()
    assert "Sanitizer" not in process.text() and "runtime error" not in process.text(), process.text()


def test_it_ends_in_good_order_whatever_it_was_doing(site):
    here, monitoring = started(site)
    monitoring.walk()
    ends_well(monitoring.subagent)
    early = monitoring.start_subagent()
    wait_for("it is there", lambda: "connected" in early.text())
    ends_well(early)
    monitoring.start_subagent()
    monitoring.wait_ready()
    monitoring.snmpd.stop()
    wait_for("it says so", lambda: "snmpd is gone" in monitoring.subagent.text())
    ends_well(monitoring.subagent)


def test_every_illegal_index_is_answered_and_none_is_found(site):
    here, monitoring = started(site)
    legal = set(monitoring.walk())
    good = [int(part) for part in vip_index().split(".")]
    dice = random.Random(7)
    columns = ["1.2.1.1.15", "1.3.1.1.12", "1.4.2.1.3", "1.5.1.1.9", "1.5.2.1.2", "1.6.1.1.4", "1.8.2.1.2", "1.2.1.1.13",
               "1.2.1.1.1", "1.2.1.1.99", "1.7.1", "1.1.7", "1.1.12", "1.2.1.1", "1.2", ""]
    oids = []
    for column in columns:
        for _ in range(25):
            index = list(good)
            for _ in range(dice.randint(1, 3)):
                index[dice.randrange(len(index))] = dice.choice([0, 1, 255, 256, 2147483647, 4294967295])
            index = index[:dice.randint(0, len(index))] + dice.choices([0, 3, 4294967295], k=dice.randint(0, 30))
            oids.append(".".join([part for part in (ROOT, column) if part] + [str(part) for part in index]).rstrip("."))
    oids = [oid for oid in oids if oid.removeprefix(ROOT + ".") not in legal]
    for start in range(0, len(oids), 20):
        lines = monitoring.tool("snmpget", "-OQn", "127.0.0.1", *oids[start:start + 20]).splitlines()
        assert len(lines) == len(oids[start:start + 20])
        assert all("No Such" in line for line in lines), lines
        monitoring.tool("snmpgetnext", "-OQn", "127.0.0.1", *oids[start:start + 20])
    assert set(monitoring.walk()) >= legal
    ends_well(monitoring.subagent)


def test_nothing_can_be_set(site):
    here, monitoring = started(site)
    monitoring.conf.write_text(monitoring.conf.read_text().replace("rocommunity", "rwcommunity"))
    monitoring.restart_snmpd()
    monitoring.wait_ready()
    for oid, kind, value in ((f"{ROOT}.1.1.6.0", "u", 1), (f"{ROOT}.1.2.1.1.5.{vip_index()}", "s", "x"),
                             (f"{ROOT}.1.10.1.0", "u", 5)):
        assert "notWritable" in monitoring.director.sh(
            f"MIBS= snmpset -v2c -c {COMMUNITY} -r0 127.0.0.1 {oid} {kind} {value} 2>&1; :")
    ends_well(monitoring.subagent)


def test_version_1_skips_what_it_cannot_carry(site):
    here, monitoring = started(site)
    text = monitoring.director.sh(f"MIBS= snmpwalk -v1 -c {COMMUNITY} -OQn 127.0.0.1 {ROOT}.1.2 2>&1; :")
    assert f"{ROOT}.1.2.1.1.5.{vip_index()} = " in text and f"{ROOT}.1.2.1.1.15." not in text
    assert f"{ROOT}.1.2.1.1.38.{vip_index()} = " in text


def test_a_second_subagent_is_refused_in_words(site):
    here, monitoring = started(site)
    first = monitoring.subagent
    second = monitoring.start_subagent()
    wait_for("it says why", lambda: "is taken" in second.text(), 10)
    assert monitoring.scalar("1.4") in (2, 3) and first.alive()
    ends_well(second)
    assert monitoring.scalar("1.4") in (2, 3)
    ends_well(first)


def test_another_root_is_served_beside_the_first(site):
    here, monitoring = started(site)
    elsewhere = ".1.3.6.1.4.1.99999.1"
    other = monitoring.director.start("xlb-snmp2", XLB_SNMP, "-s", here.a.control, "-x", monitoring.agentx, "-r", elsewhere)
    wait_for("both are there", lambda: monitoring.get(f"{elsewhere}.1.1.4.0") in (2, 3), 10)
    assert monitoring.scalar("1.4") in (2, 3)
    ends_well(other)


def test_no_snmpd_no_daemon_and_no_rights_are_said_and_waited_for(site):
    here = site(reals=2)
    monitoring = Monitoring(here.a)
    alone = monitoring.start_subagent()
    wait_for("it says that there is no daemon", lambda: "is xlbd running?" in alone.text(), 5)
    assert "snmpd" in alone.text()
    here.a.options.remove("control.group=nogroup")
    here.start()
    monitoring.start_snmpd()
    wait_for("it found snmpd", lambda: monitoring.scalar("1.4") == 6, 10)
    wait_for("it says that it may not ask", lambda: "control.group" in alone.text(), 5)
    assert alone.text().count("does not answer") == 2
    here.a.options.append("control.group=nogroup")
    here.a.stop_xlbd()
    here.a.start_xlbd()
    monitoring.wait_ready()
    ends_well(alone)


def test_a_socket_that_snmpd_keeps_to_itself_is_named(site):
    here = site(reals=1)
    monitoring = Monitoring(here.a)
    monitoring.conf.write_text(monitoring.conf.read_text().replace("agentXPerms 0660 0755 65534 65534", "agentXPerms 0600 0755"))
    here.start()
    monitoring.start_snmpd()
    refused = monitoring.start_subagent()
    wait_for("it says what it may not open", lambda: str(monitoring.agentx) in refused.text(), 10)
    assert refused.alive()
    ends_well(refused)


def test_wrong_options_are_refused(site):
    here = site(reals=0)
    for words, sentence in ((["-r", "nonsense"], "no OID"), (["-n", "-1"], "usage"), (["--what"], "usage"), (["x"], "usage"),
                            (["-r", ".1.3" + ".1" * 120], "no OID")):
        process = here.a.start("refused", XLB_SNMP, *words)
        assert process.wait() in (1, 2) and sentence in process.text(), process.text()


def test_a_daemon_that_says_nonsense_is_survived(site):
    here = site(reals=0)
    monitoring = Monitoring(here.a)
    monitoring.start_snmpd()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(here.a.control))
    here.a.control.chmod(0o666)
    listener.listen()
    answers = [b"nonsense\n", b"{}\n", b'{"ok":true,"vips":[{"virtual":5}]}\n', b'{"ok":true,"vips":[' + b"[" * 5000 + b"\n",
               b"\0" * 100 + b"\n", b'{"ok":true,"vips":[{"virtual":"1.2.3.4:5/tcp","name":"' + b"x" * 3000 + b'"}],"reals":[{}]}\n']
    said = []

    def speak():
        for answer in answers:
            peer, _ = listener.accept()
            peer.recv(1000)
            peer.sendall(answer)
            said.append(answer)
            peer.recv(1000)  # the next question, or the end
            peer.close()
    threading.Thread(target=speak, daemon=True).start()
    monitoring.start_subagent()
    wait_for("all was said", lambda: len(said) == len(answers), 30)
    wait_for("what can be shown is shown", lambda: monitoring.walk("1.2.1.1.5"), 5)
    assert all(value == "x" * 255 for value in monitoring.walk("1.2.1.1.5").values())
    listener.close()
    ends_well(monitoring.subagent)


def test_walks_during_reloads_are_whole(site):
    """Services come and go while the tables are walked: indexes always rise, and what stays is always there."""
    here, monitoring = started(site)
    director = here.a

    def text(services):
        return globals_block(director.fifos) + vrrp_instance(director) + "".join(
            virtual_server(here.reals, port=port, scheduler="rr", check=None) for port in [80, *services])
    director.reload_keepalived(text(range(1000, 1040)))
    wait_for("forty more", lambda: monitoring.scalar("1.9") == 41, 20)
    changed = monitoring.scalar("1.11")
    end = time.monotonic() + 8
    turn = 0
    while time.monotonic() < end:
        turn += 1
        director.reload_keepalived(text(range(1000, 1000 + turn % 2 * 40)))
        for numbers in ("1.2", "1.3"):
            oids = [[int(part) for part in oid.split(".")] for oid in monitoring.walk(numbers)]
            assert oids == sorted(oids)
        names = monitoring.column("2.1", 5)
        assert vip_index() in names and names[vip_index()] == f"{VIP}:80/tcp"
    director.reload_keepalived(text([]))
    wait_for("they are gone", lambda: monitoring.scalar("1.9") == 1, 20)
    assert monitoring.scalar("1.11") > changed
    assert [index for index in monitoring.column("3.1", 5) if address_index(VIP) in index]
    ends_well(monitoring.subagent)
