# SPDX-License-Identifier: GPL-2.0-or-later
"""What xlbctl and ipvsadm show of a working director, and the names of fields that programs rely on."""

import json

import client
from keepalived import virtual_server
from lab import HERE, PYTHON, VIP, wait_for

# Fields may be added without raising `schema`; none of these may go.
FIELDS = {
    ("status",): {"ok", "schema", "version", "host", "pid", "uptime_ms", "generation", "changed_ms", "healthy", "problems",
                  "truth", "table_readable", "keepalived", "roles", "devices", "connections", "services", "packets",
                  "per_second", "firewall", "bypass", "reload_error", "control"},
    ("vip", "vips"): {"name", "virtual", "address", "port", "protocol", "instance", "declared", "in_force", "side", "reason",
                      "method", "scheduler", "persistence", "reals", "held", "active", "inactive", "connections",
                      "packets", "bytes", "dropped", "passed", "no_real", "refused", "file", "line"},
    ("real", "reals"): {"vip", "name", "real", "address", "port", "method", "weight", "state", "sorry", "active", "inactive",
                        "connections", "packets", "bytes", "dropped", "next_hop"},
    ("drops", "verdicts"): {"number", "word", "action", "sentence", "packets", "bytes"},
    ("status", "devices"): {"name", "ifindex", "mode", "why", "problem"},
    ("status", "roles"): {"instance", "state", "active", "addresses", "present", "since_ms"},
    ("version",): {"ok", "schema", "version", "layout"},
}


def test_the_fields_of_json_answers_are_there(site):
    director = site().start()
    for (command, *inside), fields in FIELDS.items():
        answer = director.show(command)
        value = answer[inside[0]][0] if inside else answer
        assert fields <= set(value), (command, fields - set(value))
        assert answer["schema"] == 1


def test_explain_says_where_a_client_goes_and_it_goes_there(site):
    here = site(reals=3)
    director = here.start(scheduler="mh", options="mh-port")
    names = {real.address: real.name for real in here.reals}
    for port in range(31001, 31011):
        told = director.show("explain", f"{here.client.address}:{port}", f"{VIP}:80")
        assert told["verdict"]["word"] == "sent" and told["verdict"]["action"] == "forward"
        real = told["verdict"]["real"].rsplit(":", 1)[0]
        assert here.client.call(client.get, VIP, 80, 2.0, port) == names[real]
    steps = [step["step"] for step in told["steps"]]
    assert steps == ["parse", "vip", "side", "bypass", "heartbeat", "connection", "choice", "real", "next hop"]
    known = director.show("explain", f"{here.client.address}:{port}", f"{VIP}:80")
    assert next(step for step in known["steps"] if step["step"] == "connection")["result"] == "hit"
    assert director.show("explain", "10.99.0.7:1", f"{VIP}:81")["verdict"]["word"] == "not-ours"
    assert director.xlbctl("explain", "nonsense", f"{VIP}:80").returncode == 1
    assert director.verdict("not-ours") >= 0 and director.forwarded() == director.vip()["packets"]


def conn(director, *filters):
    """The connections, a line each, and the answer that ends them."""
    *items, end = [json.loads(line) for line in director.ctl("-j", "conn", *filters).splitlines() if line]
    return items, end


def test_conn_shows_each_connection_and_filters_them(site):
    here = site()
    director = here.start()
    held = here.client.client("hold", VIP, 80, "--count", 10, "--every", 0.1)
    held.wait(30)
    wait_for("ten are established", lambda: len(conn(director, "state=established")[0]) == 10)
    items, end = conn(director)
    assert end["matched"] == len(items) and end["end"] is True
    assert {"client", "vip", "real", "state", "idle_ms"} <= set(items[0])
    first = here.reals[0].address
    assert len(conn(director, f"real={first}", "state=established")[0]) == 5
    one = conn(director, f"client={items[0]['client']}")[0]
    assert [item["client"] for item in one] == [items[0]["client"]]
    assert not conn(director, "client=192.0.2.1")[0]
    assert len(conn(director, f"vip={VIP}:80")[0]) == len(items)
    assert len(conn(director, "--limit", "3")[0]) == 3 and conn(director, "--limit", "3")[1]["more"] is True
    assert director.xlbctl("conn", "state=nonsense").returncode == 1
    table = director.ctl("conn", "state=established")
    assert table.count(VIP) == 10 and here.client.address in table


def test_connections_end_as_ipvs_ends_them(site):
    here = site()
    director = here.start()
    here.client.call(client.many_gets, 4, VIP)
    states = {item["state"].lower() for item in conn(director)[0]}
    assert len(conn(director)[0]) == 4 and "established" not in states, states


def test_drops_names_every_way_out(site):
    here = site()
    director = here.start()
    verdicts = director.show("drops", "--all")["verdicts"]
    assert len({one["word"] for one in verdicts}) == len(verdicts) > 15
    assert all(one["action"] in ("forward", "pass", "drop") and one["sentence"] for one in verdicts)
    before = director.verdict("no-entry")
    here.client.call(send_stray, VIP, director.mac())
    wait_for("it is counted", lambda: director.verdict("no-entry") == before + 1)
    assert "no-entry" in director.ctl("drops")


def send_stray(vip, mac):
    """A TCP packet of no connection."""
    from scapy.all import IP, TCP, Ether, get_if_hwaddr, sendp  # slow to import, and only here
    sendp(Ether(src=get_if_hwaddr("e0"), dst=mac) / IP(src="10.99.0.7", dst=vip) / TCP(sport=4999, dport=80, flags="A"),
          iface="e0", verbose=False)


def test_ipvsadm_sees_the_table_and_its_counters(site):
    here = site()
    director = here.start(scheduler="wrr", weights=[3, 1])
    assert here.client.call(client.many_gets, 8, VIP) == {"r1": 6, "r2": 2}
    listing = director.ipvsadm("-Ln")
    assert f"TCP  {VIP}:80 wrr" in listing and "10.99.0.11:80" in listing
    wait_for("counters are there", lambda: " 8 " in director.ipvsadm("-Ln", "--stats").split(f"{VIP}:80")[1].split("->")[0])
    assert director.ipvsadm("-Ln", "--exact", "--stats")
    # what an operator does by hand counts too
    director.ipvsadm("-e", "-t", f"{VIP}:80", "-r", "10.99.0.11:80", "-g", "-w", "0")
    wait_for("it is drained", lambda: director.usable() == {"10.99.0.12"}, 5)
    assert here.client.call(client.many_gets, 4, VIP) == {"r2": 4}


def test_datagrams_are_forwarded(site):
    here = site(reals=2)
    for real in here.reals:
        real.start("echo", PYTHON, HERE / "client.py", "echo", VIP, "5300", real.name)
        wait_for("it listens", lambda which=real: ":5300 " in which.sh("ss -Hlun"))
    director = here.start(servers=virtual_server(here.reals, scheduler="rr") +
                          virtual_server(here.reals, port=5300, protocol="UDP", scheduler="rr", check=None))
    name = f"{VIP}:5300/udp"
    director.wait_served(here.reals, name)
    assert here.client.call(client.datagrams, VIP, 5300, 20) == {"r1": 10, "r2": 10}
    assert director.vip(name)["packets"] == 20 and director.vip(name)["connections"] == 20
    assert len(conn(director, f"vip={name}")[0]) == 20
    told = director.show("explain", "10.99.0.7:999", name)
    assert told["verdict"]["word"] == "sent"


def test_help_and_completion_know_the_commands(site):
    here = site(reals=0)
    text = here.a.xlbctl("help").stdout
    words = here.a.xlbctl("complete", "--", "").stdout.split()
    for command in ("status", "vip", "real", "conn", "explain", "drops", "bypass", "check", "reload", "version"):
        assert command in text and command in words
