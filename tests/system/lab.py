# SPDX-License-Identifier: GPL-2.0-or-later
"""A laboratory of network namespaces: a switch, clients, directors with keepalived and xlbd, real servers.

Everything is real but the wires. A Lab makes what it needs (namespaces, a bpffs for each director, control groups, a folder
for files), knows every process that it started, and takes all of it away again; names come from the process id, so
labs run side by side. Nothing here waits for a time, only for a condition with a deadline (wait_for).

keepalived.conf is written by the functions of keepalived.py, traffic is made by client.py.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("XLB_BUILD", TOP / "build")).resolve()
XLBD = BUILD / "xlbd/xlbd"
XLBCTL = BUILD / "xlbd/ctl/xlbctl"
PASS_OBJECT = BUILD / "tests/system/pass.bpf.o"
PYTHON = "/usr/bin/python3"
KEEPALIVED = os.environ.get("XLB_KEEPALIVED", "keepalived")  # another version than the installed one
ENVIRONMENT = {**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
CLONE_NEWNET = 0x40000000
VIP = "10.99.0.100"
VIP6 = "fd99::100"


class Failed(AssertionError):
    """A condition that did not come true, or a command that failed; with the evidence."""


def run(*words, check=True, **more):
    """One command; its output as text."""
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False,
                          env=ENVIRONMENT, **more)
    if check and done.returncode:
        raise Failed(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(what, condition, seconds=10.0, interval=0.02):
    """Waits until condition() is true and returns its value; Failed with `what` and the last value after the deadline."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"after {seconds} s still not: {what} (but {value!r})")
        time.sleep(interval)


def stays(what, condition, seconds):
    """The reverse: condition() must be true all the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            raise Failed(f"no longer: {what}")
        time.sleep(0.02)


def kill_quietly(pid, number=signal.SIGKILL, group=False):
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(pid, number)


def cgroup2_mount():
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="ascii").splitlines():
        left, right = line.split(" - ")
        if right.split()[0] == "cgroup2":
            return pathlib.Path(left.split()[4])
    return None


def in_namespace(netns, function, *arguments):
    """Runs a function in a child process inside the namespace and returns what it returns (as JSON carries it)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            with open(netns, encoding="ascii") as handle:
                if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            answer = {"value": function(*arguments)}
        except BaseException as error:  # whatever it is, the parent must hear of it
            answer = {"error": repr(error)}
        with contextlib.suppress(OSError):
            with open(write, "w", encoding="utf-8") as pipe:
                json.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    answer = json.loads(text)
    if "error" in answer:
        raise Failed(answer["error"])
    return answer["value"]


def end_in_good_order():
    """SIGTERM like Ctrl-C: labs are taken away."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


class Process:
    """A program in a host's namespace, in a process group of its own, its output in a file."""

    def __init__(self, host, name, words, cgroup=None, user=None):
        self.name, self.host = name, host
        self.log = host.lab.folder / f"{host.name}-{name}.log"
        self.words = [str(word) for word in words]
        prefix = ["nsenter", f"--net={host.netns}"]
        if user:
            prefix += ["setpriv", f"--reuid={user}", "--clear-groups", "--inh-caps=-all"]
        enter = (lambda: (cgroup / "cgroup.procs").write_text("0")) if cgroup else None
        with open(self.log, "ab") as out:
            self.start = out.tell()
            self.popen = subprocess.Popen(prefix + self.words, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          env=ENVIRONMENT, start_new_session=True, preexec_fn=enter)

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def text(self):
        """What it said since it was started."""
        with open(self.log, "rb") as log:
            log.seek(self.start)
            return log.read().decode(errors="replace")

    def send(self, number):
        self.popen.send_signal(number)

    def wait(self, seconds=10.0):
        """Its exit status."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.host.name}: {self.name} does not end:\n{self.text()[-2000:]}") from None

    def stop(self, seconds=5.0):
        """Asks it to end, and makes it."""
        if self.alive():
            self.popen.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(seconds)
        self.kill()

    def kill(self):
        """Ends it and its children at once."""
        kill_quietly(self.pid, group=True)
        self.popen.wait()


class Host:
    """One network namespace with an interface e0 at the switch."""

    # strict answers to ARP (a VIP on lo must not be told), no waiting for duplicate addresses
    SYSCTLS = (("ipv4/conf/all/arp_ignore", 1), ("ipv4/conf/all/arp_announce", 2), ("ipv4/conf/all/rp_filter", 0),
               ("ipv4/conf/default/rp_filter", 0), ("ipv6/conf/all/accept_dad", 0),
               ("ipv6/conf/default/accept_dad", 0), ("ipv4/ip_forward", 0))

    def __init__(self, lab, name, number):
        self.lab, self.name, self.number = lab, name, number
        self.ns, self.port = f"x{lab.tag}{name}", f"p{name}"
        self.netns = f"/run/netns/{self.ns}"
        self.address, self.address6 = f"10.99.0.{number}", f"fd99::{number:x}"
        self.nginx = None
        run("ip", "netns", "add", self.ns)
        lab.namespaces.append(self.ns)
        self.sh("set -e; ip link set lo up\n" +
                "\n".join(f"echo {value} >/proc/sys/net/{knob}" for knob, value in self.SYSCTLS))
        self.make_cable()

    def make_cable(self):
        """e0, its addresses, and the port of the switch."""
        self.add_cable("e0", f"{self.address}/24", "br0")
        self.sh(f"ip -6 addr add {self.address6}/64 dev e0 nodad")

    def add_cable(self, name, address, bridge):
        """An interface at another bridge of the switch. A veth takes frames from XDP if the other end has a program."""
        port = f"{self.port}{name.removeprefix('e0')}"
        run("ip", "link", "add", name, "netns", self.ns, "type", "veth", "peer", "name", port, "netns", self.lab.switch)
        self.sh(f"set -e; ip addr add {address} dev {name}; ethtool -K {name} tx off >/dev/null; ip link set {name} up")
        self.lab.in_switch(f"set -e; ip link show {bridge} >/dev/null 2>&1 ||\n"
                           f"{{ ip link add {bridge} type bridge mcast_snooping 0; ip link set {bridge} up; }}\n"
                           f"ethtool -K {port} tx off gro on >/dev/null; ip link set {port} master {bridge}\n"
                           f"ip link set {port} xdp obj {PASS_OBJECT} sec xdp; ip link set {port} up")

    def sh(self, script, check=True):
        return run("nsenter", f"--net={self.netns}", "sh", "-c", script, check=check)

    def run(self, *words, check=True):
        return run("nsenter", f"--net={self.netns}", *words, check=check)

    def call(self, function, *arguments):
        """A Python function inside this host's namespace."""
        return in_namespace(self.netns, function, *arguments)

    def start(self, name, *words, cgroup=None, user=None):
        process = Process(self, name, words, cgroup, user)
        self.lab.processes.append(process)
        return process

    def client(self, *words):
        """client.py in this host: requests, hold, echo."""
        self.lab.clients += 1
        return Traffic(self, self.start(f"client{self.lab.clients}", PYTHON, HERE / "client.py", *words))

    def mac(self):
        return json.loads(self.run("ip", "-j", "link", "show", "e0"))[0]["address"]

    def count(self, hook, match):
        """From now on counts packets that match, in nftables; counted() says how many."""
        self.sh(f"nft 'add table inet count; add chain inet count {hook} {{ type filter hook {hook} priority 0; }}; "
                f"add rule inet count {hook} {match} counter'")

    def counted(self):
        return sum(int(words.split()[0]) for words in self.sh("nft list table inet count").split("counter packets ")[1:])

    def cut(self):
        """Pulls the cable at the switch."""
        self.lab.in_switch(f"ip link set {self.port} down")

    def plug(self):
        self.lab.in_switch(f"ip link set {self.port} up")

    # ---- nginx

    def serve(self, ports=(80,)):
        """nginx that answers with this host's name."""
        conf = self.lab.folder / f"{self.name}-nginx.conf"
        listen = "\n".join(f"listen {port}; listen [::]:{port};" for port in ports)
        folders = "\n".join(f"{kind}_temp_path {self.lab.folder}/{self.name}-{kind};"
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf.write_text(f"""
worker_processes 1;
pid {self.lab.folder}/{self.name}-nginx.pid;
error_log {self.lab.folder}/{self.name}-error.log;
events {{ worker_connections 8192; }}
http {{
	access_log off;
	keepalive_requests 1000000000;
	keepalive_timeout 600s;
	client_max_body_size 0;
	{folders}
	server {{
		{listen}
		location / {{ return 200 "{self.name}\\n"; }}
	}}
}}
""")
        self.nginx = self.start("nginx", "nginx", "-c", conf, "-g", "daemon off;")
        wait_for(f"{self.name} serves", lambda: self.listens(ports[0]))

    def listens(self, port):
        return f":{port} " in self.sh("ss -Hltn")

    def evidence(self):
        return self.sh("ip -br addr; ip neigh", check=False)


class Event:
    """A line of client.py: from when to when (monotonic seconds), by which connection, and the answer or what failed."""

    def __init__(self, line):
        begin, end, self.who, self.answer = line.split(" ", 3)
        self.begin, self.end = float(begin), float(end)
        self.ok = not self.answer.startswith("!")

    def __repr__(self):
        return f"{self.begin:.3f}+{(self.end - self.begin) * 1000:.0f}ms {self.who} {self.answer}"


class Traffic:
    """What a running client.py has seen so far."""

    def __init__(self, host, process):
        self.host, self.process = host, process
        self.rest, self.offset, self.events = b"", 0, []

    def read(self):
        """All events so far."""
        with open(self.process.log, "rb") as log:
            log.seek(self.offset)
            data = log.read()
        self.offset += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            text = line.decode()
            if not text[:1].isdigit():
                raise Failed(f"{self.process.name}: {self.process.text()[-2000:]}")
            self.events.append(Event(text))
        return self.events

    def since(self, begin, end=float("inf")):
        """Events that began in this time."""
        return [event for event in self.read() if begin <= event.begin < end]

    def failures(self, begin=0.0, end=float("inf")):
        return [event for event in self.since(begin, end) if not event.ok]

    def answers(self, begin=0.0, end=float("inf")):
        """How often each answer came."""
        seen = {}
        for event in self.since(begin, end):
            seen[event.answer] = seen.get(event.answer, 0) + 1
        return seen

    def wait(self, count, begin=None, seconds=20.0):
        """Until `count` more requests that began from now on were answered; the time from when on."""
        begin = time.monotonic() if begin is None else begin
        wait_for(f"{count} answers to {self.process.name}",
                 lambda: sum(event.ok for event in self.since(begin)) >= count, seconds)
        return begin

    def stop(self):
        """Ends it in good order: what is under way ends, then it does."""
        self.process.send(signal.SIGTERM)
        self.process.wait(15)
        return self.read()


class RealServer(Host):
    """nginx that answers with its own name on port 80, for its own address and the virtual ones (on lo)."""

    def __init__(self, lab, name, number, vips=(VIP, VIP6)):
        super().__init__(lab, name, number)
        self.sh("\n".join(f"ip addr add {vip}/{128 if ':' in vip else 32} dev lo" for vip in vips))

    def die(self):
        """The server, not the host: connections are refused."""
        self.nginx.kill()


class Director(Host):
    """keepalived and xlbd; the IPVS interface is attached to a cgroup of its own, so that two directors share this kernel."""

    def __init__(self, lab, name, number, priority=100):
        super().__init__(lab, name, number)
        self.priority = priority
        self.folder = lab.folder / name
        self.folder.mkdir()
        self.bpffs = lab.mount("bpf", f"{name}-bpffs")
        self.cgroup = lab.make_cgroup(name)
        self.keepalived_conf = self.folder / "keepalived.conf"
        self.yaml = self.folder / "xlbd.yaml"
        self.yaml.touch()
        self.control = self.folder / "control"
        self.lvs_fifo, self.vrrp_fifo = self.folder / "lvs.fifo", self.folder / "vrrp.fifo"
        self.fifos = f"lvs_notify_fifo {self.lvs_fifo}\n\tvrrp_notify_fifo {self.vrrp_fifo}"
        self.options = ["ipvs.api=on", "connections=20000"]
        self.xlbd = self.keepalived = None

    # ---- xlbd

    def xlbd_words(self):
        options = {"keepalived.config": self.keepalived_conf, "pin_folder": f"{self.bpffs}/xlbd",
                   "control.socket": self.control, "ipvs.cgroup": self.cgroup,
                   "keepalived.lvs_notify_fifo": self.lvs_fifo, "keepalived.vrrp_notify_fifo": self.vrrp_fifo}
        words = [XLBD, "-c", self.yaml]
        for option in [f"{key}={value}" for key, value in options.items()] + self.options:
            words += ["-o", option]
        return words

    def start_xlbd_at_all(self):
        """Without waiting for anything."""
        self.xlbd = self.start("xlbd", *self.xlbd_words(), cgroup=self.cgroup)

    def start_xlbd(self, seconds=60):
        self.start_xlbd_at_all()
        wait_for(f"xlbd on {self.name} answers", self.xlbd_answers, seconds)

    def xlbd_answers(self):
        if not self.xlbd.alive():
            raise Failed(f"xlbd on {self.name} ended with {self.xlbd.popen.returncode}:\n{self.xlbd.text()}")
        return self.ctl_status("status") in (0, 2)

    def stop_xlbd(self):
        """As systemd would: SIGTERM, and it must end well."""
        self.xlbd.send(signal.SIGTERM)
        status = self.xlbd.wait()
        if status:
            raise Failed(f"xlbd on {self.name} ended with {status}:\n{self.xlbd.text()}")

    def xlbctl(self, *words, seconds=20):
        """xlbctl's process when it has ended: returncode, stdout, stderr."""
        return subprocess.run([XLBCTL, "--socket", self.control, *words], text=True, capture_output=True,
                              check=False, timeout=seconds, env={**ENVIRONMENT, "NO_COLOR": "1", "COLUMNS": "160"})

    def ctl(self, *words, check=True):
        done = self.xlbctl(*words)
        if check and done.returncode not in (0, 2):
            raise Failed(f"xlbctl {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def ctl_status(self, *words):
        return self.xlbctl(*words).returncode

    def show(self, *words):
        """The answer in JSON."""
        return json.loads(self.ctl("-j", *words))

    def vip(self, name=f"{VIP}:80/tcp"):
        """What `xlbctl vip` says of one virtual server; None: it does not know it."""
        return next((vip for vip in self.show("vip")["vips"] if vip["virtual"] == name), None)

    def side(self, name=f"{VIP}:80/tcp"):
        vip = self.vip(name)
        return vip and vip["side"]

    def reals(self, name=f"{VIP}:80/tcp"):
        """{address: what `xlbctl real` says} of one virtual server."""
        return {real["address"]: real for real in self.show("real")["reals"] if real["vip"] == name}

    def usable(self, name=f"{VIP}:80/tcp"):
        """Addresses of the real servers that may be chosen."""
        return {address for address, real in self.reals(name).items() if real["state"] == "up"}

    def verdict(self, word):
        """How many packets left the data plane by this way."""
        return next(one["packets"] for one in self.show("drops", "--all")["verdicts"] if one["word"] == word)

    def forwarded(self):
        return self.show("status")["packets"]["forwarded"]

    def problems(self):
        return [f"{one['about']}: {one['text']}" for one in self.show("status")["problems"]]

    # ---- keepalived

    def start_keepalived(self, *more):
        # as after a boot: what a killed one left may by now be somebody else's number, and keepalived would not start
        for name in ("keepalived", "vrrp", "checkers"):
            (self.folder / f"{name}.pid").unlink(missing_ok=True)
        self.keepalived = self.start(
            "keepalived", KEEPALIVED, "-n", "-l", "-D", "-f", self.keepalived_conf,
            "-p", self.folder / "keepalived.pid", "-r", self.folder / "vrrp.pid",
            "-c", self.folder / "checkers.pid", *more, cgroup=self.cgroup)

    def reload_keepalived(self, text):
        self.keepalived_conf.write_text(text)
        self.keepalived.send(signal.SIGHUP)

    def ipvsadm(self, *words, check=True):
        """In the director's cgroup, where the IPVS interface answers."""
        script = f"echo $$ >{self.cgroup}/cgroup.procs; exec ipvsadm \"$@\""
        return self.run("sh", "-c", script, "sh", *words, check=check)

    def wait_served(self, reals, name=f"{VIP}:80/tcp", seconds=20):
        """Until exactly these real servers (hosts) are in service, and their next hops known."""
        want = {real.address for real in reals}

        def served():
            known = self.reals(name)
            up = {address for address, real in known.items()
                  if real["state"] == "up" and real["next_hop"] and real["next_hop"]["state"] == "resolved"}
            return self.side(name) == "xdp" and up == want
        wait_for(f"{self.name} forwards {name} to {sorted(want)}", served, seconds)

    def owns(self, vip=VIP):
        return f" {vip}/" in self.sh("ip addr show e0")

    def die(self):
        """The whole machine: cable out, everything killed."""
        self.cut()
        for process in (self.xlbd, self.keepalived):
            if process:
                process.kill()
        self.lab.empty_cgroup(self.cgroup)

    def evidence(self):
        parts = [super().evidence()]
        if self.xlbd and self.xlbd.alive():
            for words in (("status",), ("vip",), ("real",), ("drops",), ("sync",)):
                parts.append(f"-- xlbctl {' '.join(words)}\n{self.ctl(*words, check=False)}")
        return "\n".join(parts)


class Lab:
    """The switch and all that hangs from it. Use as a context."""

    count = 0

    def __init__(self):
        Lab.count += 1
        self.tag = f"{os.getpid() % 100000:x}{Lab.count:x}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlbd-lab-"))
        self.folder.chmod(0o755)
        self.namespaces, self.processes, self.mounts, self.cgroups = [], [], [], []
        self.hosts, self.clients = {}, 0
        self.switch = f"x{self.tag}sw"

    def __enter__(self):
        try:
            run("ip", "netns", "add", self.switch)
            self.namespaces.append(self.switch)
            self.in_switch("ip link set lo up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def in_switch(self, script):
        return run("nsenter", f"--net=/run/netns/{self.switch}", "sh", "-c", script)

    def add(self, kind, name, number, **more):
        host = kind(self, name, number, **more)
        self.hosts[name] = host
        return host

    def mount(self, kind, name):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        run("mount", "-t", kind, kind, folder)
        self.mounts.append(folder)
        return folder

    def make_cgroup(self, name):
        cgroup = (cgroup2_mount() or self.mount("cgroup2", "cgroup2")) / f"xlbd-{self.tag}-{name}"
        cgroup.mkdir()
        self.cgroups.append(cgroup)
        return cgroup

    @staticmethod
    def empty_cgroup(cgroup):
        """Kills what is in it and waits until it is gone."""
        def empty():
            pids = (cgroup / "cgroup.procs").read_text(encoding="ascii").split()
            for pid in pids:
                kill_quietly(int(pid))
            return not pids
        wait_for(f"{cgroup} is empty", empty, 5)

    def evidence(self):
        """What a person would look at first when something failed."""
        parts = [f"== {host.name} ({type(host).__name__})\n{host.evidence()}" for host in self.hosts.values()]
        parts += [f"== {process.host.name}: {process.name}\n{process.text()[-4000:]}" for process in self.processes]
        return "\n".join(parts)

    def close(self):
        for process in reversed(self.processes):
            process.kill()
        for cgroup in self.cgroups:
            with contextlib.suppress(Failed, OSError):
                self.empty_cgroup(cgroup)
                cgroup.rmdir()
        for name in self.namespaces:  # who was started by others in there
            for pid in run("ip", "netns", "pids", name, check=False).split():
                kill_quietly(int(pid))
        for mount in reversed(self.mounts):
            run("umount", "-l", mount, check=False)
        for name in self.namespaces:
            run("ip", "netns", "del", name, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
