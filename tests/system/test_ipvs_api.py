# SPDX-License-Identifier: GPL-2.0-or-later
"""The IPVS interface for kernels without IPVS, used by the programs it is for: ipvsadm and keepalived, unmodified.

tests/bpf/ipvs_serve opens it in a network namespace and cgroup of its own; what is run here joins both. A kernel that
has IPVS needs none of this: skipped.
"""
import os
import pathlib
import signal
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("XLB_BUILD", TOP / "build"))
SERVE = BUILD / "tests" / "bpf" / "ipvs_serve"
DEADLINE = 15

KEEPALIVED = """
global_defs {
    router_id test
    lvs_sync_daemon v0 V1
}
vrrp_instance V1 {
    interface v0
    virtual_router_id 9
    priority 100
    advert_int 1
}
virtual_server 192.0.2.1 80 {
    delay_loop 1
    lb_algo rr
    lb_kind DR
    protocol TCP
    real_server 198.51.100.1 80 {
        weight 1
        TCP_CHECK { connect_timeout 1 }
    }
    real_server 198.51.100.2 80 {
        weight 2
        TCP_CHECK { connect_timeout 1 }
    }
}
virtual_server 192.0.2.1 81 {
    lb_kind DR
    protocol TCP
    real_server 198.51.100.1 81 {
        weight 1
    }
}
"""

LISTEN = """
import socket, sys
sockets = [socket.create_server((addr, 80)) for addr in sys.argv[1:]]
print("listening", flush=True)
while True:
    sockets[0].accept()[0].close()
"""


class Place:
    """A network namespace in which the interface answers."""

    def __init__(self):
        self.children = []
        self.server = subprocess.Popen([SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = []
        for line in self.server.stdout:
            said.append(line)
            if line.startswith("ready "):
                _, self.pid, self.cgroup = line.split()
                return
        if self.server.wait() == 77:
            pytest.skip(said[-1])
        pytest.fail("".join(said))

    def argv(self, words):
        inside = ["nsenter", "-t", self.pid, "-n", "sh", "-c"]
        return [*inside, f'echo $$ >{self.cgroup}/cgroup.procs; exec "$@"', "sh", *map(str, words)]

    def order(self, text):
        self.server.stdin.write(text + "\n")
        self.server.stdin.flush()
        return "".join(iter(self.server.stdout.readline, "done\n"))

    def run(self, *words, status=0):
        done = subprocess.run(self.argv(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == status, done.stdout
        return done.stdout

    def ipvsadm(self, *words, status=0):
        return self.run("ipvsadm", *words, status=status)

    def start(self, *words, **how):
        child = subprocess.Popen(self.argv(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)
        self.children.append(child)
        return child

    def stop(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.server.stdin.close()
        self.server.wait(timeout=30)


@pytest.fixture
def place():
    made = Place()
    yield made
    made.stop()


def wait_until(look, wanted, what):
    """Until look() == wanted; shows the last that was seen if it never is."""
    end = time.monotonic() + DEADLINE
    while (seen := look()) != wanted:
        assert time.monotonic() < end, f"{what}: still\n{seen}\nnot\n{wanted}"
        time.sleep(0.05)


def lines(text):
    """What ipvsadm lists, blanks squeezed, without its heading."""
    return [" ".join(line.split()) for line in text.splitlines() if line.startswith(("TCP", "UDP", "  -> "))][1:]


def test_the_conversation_is_that_of_the_kernel(place):
    said = place.run("python3", TOP / "tests/vm/ipvs_calls.py")
    assert said.splitlines() == (TOP / "tests/vm/ipvs_calls.ok").read_text().splitlines()


def test_ipvsadm_lists_what_it_made(place):
    place.ipvsadm("-A", "-t", "192.0.2.1:80", "-s", "mh", "-b", "mh-fallback,mh-port")
    place.ipvsadm("-a", "-t", "192.0.2.1:80", "-r", "198.51.100.1", "-g", "-w", 3)
    place.ipvsadm("-a", "-t", "192.0.2.1:80", "-r", "198.51.100.3", "-g")
    place.ipvsadm("-a", "-t", "192.0.2.1:80", "-r", "198.51.100.2:8080", "-m")
    place.ipvsadm("-A", "-u", "192.0.2.1:53", "-s", "wrr")
    assert lines(place.ipvsadm("-Ln", "--nosort")) == [
        "TCP 192.0.2.1:80 mh (mh-fallback,mh-port)",
        "-> 198.51.100.2:8080 Masq 1 0 0",
        "-> 198.51.100.3:80 Route 1 0 0",
        "-> 198.51.100.1:80 Route 3 0 0",
        "UDP 192.0.2.1:53 wrr",
    ]
    place.ipvsadm("-E", "-t", "192.0.2.1:80", "-s", "sh")
    place.ipvsadm("-e", "-t", "192.0.2.1:80", "-r", "198.51.100.1", "-g", "-w", 0)
    place.ipvsadm("-d", "-t", "192.0.2.1:80", "-r", "198.51.100.2:8080")
    place.ipvsadm("-D", "-u", "192.0.2.1:53")
    assert lines(place.ipvsadm("-Ln", "-t", "192.0.2.1:80")) == ["TCP 192.0.2.1:80 sh", "-> 198.51.100.1:80 Route 0 0 0", "-> 198.51.100.3:80 Route 1 0 0"]
    assert place.order("table") == "192.0.2.1:80/tcp sh flags 0\n  198.51.100.3:80 method 3 weight 1\n  198.51.100.1:80 method 3 weight 0\n"
    saved = place.ipvsadm("-Sn")
    place.ipvsadm("-C")
    assert lines(place.ipvsadm("-Ln")) == []
    subprocess.run(place.argv(["ipvsadm", "-R"]), input=saved, text=True, check=True)
    assert place.ipvsadm("-Sn") == saved


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["-A", "-t", "192.0.2.1:80", "-s", "wlc"], "Scheduler or persistence engine not found"),
        (["-A", "-t", "192.0.2.1:80", "-s", "rr", "-p", "300"], "Invalid operation."),
        (["-A", "-f", "5", "-s", "rr"], "Invalid operation."),
        (["-A", "-t", "[2001:db8::1]:80", "-s", "rr"], "Operation not supported with specified address family"),
        (["-A", "-t", "192.0.2.9:80", "-s", "rr"], "Service already exists"),
        (["-D", "-t", "192.0.2.1:80"], "No such service"),
        (["-a", "-t", "192.0.2.1:80", "-r", "198.51.100.1", "-g"], "Service not defined"),
        (["-d", "-t", "192.0.2.9:80", "-r", "198.51.100.1"], "No such destination"),
        (["-a", "-t", "192.0.2.9:80", "-r", "224.0.0.1", "-g"], "Invalid operation."),
    ],
)
def test_ipvsadm_says_why_not(place, words, complaint):
    place.ipvsadm("-A", "-t", "192.0.2.9:80", "-s", "rr")
    assert place.ipvsadm(*words, status=255).startswith(complaint)
    assert lines(place.ipvsadm("-Ln")) == ["TCP 192.0.2.9:80 rr"]


def test_ipvsadm_shows_and_zeroes_statistics(place):
    place.ipvsadm("-A", "-t", "192.0.2.1:80", "-s", "rr")
    for n in (1, 2):
        place.ipvsadm("-a", "-t", "192.0.2.1:80", "-r", f"198.51.100.{n}", "-g")
    place.order("stats 5")
    assert lines(place.ipvsadm("-Ln", "--stats")) == [
        "TCP 192.0.2.1:80 10 100 0 10000 0",
        "-> 198.51.100.1:80 5 50 0 5000 0",
        "-> 198.51.100.2:80 5 50 0 5000 0",
    ]
    assert lines(place.ipvsadm("-Ln"))[1] == "-> 198.51.100.1:80 Route 1 5 6"
    place.ipvsadm("-Z")
    assert lines(place.ipvsadm("-Ln", "--stats"))[1] == "-> 198.51.100.1:80 0 0 0 0 0"
    place.order("stats 7")
    assert lines(place.ipvsadm("-Ln", "--stats"))[:2] == ["TCP 192.0.2.1:80 4 40 0 4000 0", "-> 198.51.100.1:80 2 20 0 2000 0"]


def test_ipvsadm_sets_timeouts_and_finds_no_sync_daemon(place):
    place.ipvsadm("--set", 100, 0, 33)
    assert place.ipvsadm("-Ln", "--timeout") == "Timeout (tcp tcpfin udp): 100 120 33\n"
    assert place.ipvsadm("-Ln", "--daemon") == ""
    place.ipvsadm("--start-daemon", "master", "--mcast-interface", "lo", status=255)
    place.ipvsadm("--stop-daemon", "master", status=255)


def test_without_an_xlbd_there_is_no_ipvs(place):
    place.order("off")
    assert "Can't initialize ipvs: Protocol not available" in place.ipvsadm("-Ln", status=2)
    place.order("on")
    assert lines(place.ipvsadm("-Ln")) == []


def test_keepalived_fills_the_table_follows_its_checks_and_leaves(place, tmp_path):
    (tmp_path / "keepalived.conf").write_text(KEEPALIVED)
    place.run("ip", "link", "set", "lo", "up")
    place.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
    place.run("ip", "addr", "add", "203.0.113.1/24", "dev", "v0")
    for device in ("v0", "v1"):
        place.run("ip", "link", "set", device, "up")
    for n in (1, 2):
        place.run("ip", "addr", "add", f"198.51.100.{n}/32", "dev", "lo")
    servers = [place.start("python3", "-c", LISTEN, f"198.51.100.{n}") for n in (1, 2)]
    for server in servers:
        assert server.stdout.readline() == "listening\n"
    log = open(tmp_path / "log", "w")
    pids = [f"--{name}={tmp_path / name}" for name in ("pid", "checkers_pid", "vrrp_pid")]
    keepalived = place.start("keepalived", "-n", "-l", "-D", "-f", tmp_path / "keepalived.conf", *pids)
    try:
        table = lambda: place.order("table").splitlines()
        both = ["192.0.2.1:80/tcp rr flags 0", "  198.51.100.2:80 method 3 weight 2", "  198.51.100.1:80 method 3 weight 1"]
        wait_until(table, both, "keepalived adds both")
        servers[1].kill()
        wait_until(table, [both[0], both[2]], "the dead one is removed")
        servers.append(place.start("python3", "-c", LISTEN, "198.51.100.2"))
        wait_until(table, both, "and back, at the head")
        keepalived.send_signal(signal.SIGTERM)
        wait_until(table, [], "keepalived leaves nothing")
        said, _ = keepalived.communicate(timeout=DEADLINE)
    finally:
        log.close()
    assert "192.0.2.1:81" in said or "192.0.2.1]:tcp:81" in said, said
    assert keepalived.returncode == 0, said


def test_nothing_is_left_behind():
    made = Place()
    made.ipvsadm("-A", "-t", "192.0.2.1:80", "-s", "rr")
    cgroup = pathlib.Path(made.cgroup)
    made.stop()
    assert made.server.returncode == 0
    assert not cgroup.exists()
