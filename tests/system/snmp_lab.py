# SPDX-License-Identifier: GPL-2.0-or-later
"""A real snmpd and xlb-snmp beside a director, and what a collector would ask them."""

import ipaddress
import os

from lab import BUILD, VIP, Failed, wait_for

XLB_SNMP = BUILD / "snmp/xlb-snmp"
ROOT = ".1.3.6.1.4.1.8072.9999.9999.7947"
COMMUNITY = "lab"
SOCKET_USER, SOCKET_GROUP = 65534, 65534  # nobody, nogroup: xlb-snmp has no privileges at all


def number_of(text):
    """A value of snmpwalk -Oq...: a number where it is one."""
    text = text.strip().strip('"')
    return int(text) if text.lstrip("-").isdigit() else text


class Monitoring:
    """snmpd and xlb-snmp in the director's namespace."""

    def __init__(self, director, root=ROOT):
        self.director, self.root = director, root
        self.folder = director.folder / "snmp"
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        self.agentx = self.folder / "agentx"
        self.conf = self.folder / "snmpd.conf"
        self.conf.write_text(f"""
rocommunity {COMMUNITY} 127.0.0.1
master agentx
agentXSocket {self.agentx}
agentXPerms 0660 0755 {SOCKET_USER} {SOCKET_GROUP}
""")
        self.snmpd = self.subagent = self.trapd = None
        # of the director's, read before xlbd starts
        if "control.group=nogroup" not in director.options:
            director.options.append("control.group=nogroup")

    def start_snmpd(self):
        self.snmpd = self.director.start(
            "snmpd", "env", "MIBS=", "snmpd", "-f", "-Le", "-C", "-c", self.conf, "-I", "-smux", "-p", self.folder / "snmpd.pid",
            "udp:127.0.0.1:161")
        wait_for("snmpd answers", lambda: self.get(".1.3.6.1.2.1.1.3.0") is not None, 10)

    def start_subagent(self, *more):
        words = [XLB_SNMP, "-s", self.director.control, "-x", self.agentx, "-r", self.root, *more]
        prefix = ["setpriv", f"--reuid={SOCKET_USER}", f"--regid={SOCKET_GROUP}", "--clear-groups",
                  "--inh-caps=-all", "--no-new-privs", "--"]
        self.subagent = self.director.start("xlb-snmp", *prefix, *words)
        return self.subagent

    def start(self):
        self.start_snmpd()
        self.start_subagent()
        self.wait_ready()
        return self

    def wait_ready(self, seconds=10):
        wait_for("XLB-MIB is there", lambda: self.scalar("1.4") in (2, 3), seconds)

    def restart_snmpd(self):
        """As an upgrade would: it ends and a new one starts; sysUpTime begins at 0."""
        self.snmpd.stop()
        self.start_snmpd()

    def catch_traps(self):
        """snmptrapd on loopback; traps() reads what came. Call it before start()."""
        conf = self.folder / "snmptrapd.conf"
        conf.write_text("disableAuthorization yes\n")
        self.trapd = self.director.start("snmptrapd", "env", "MIBS=", "snmptrapd", "-f", "-Lo", "-C", "-c", conf, "-OQn",
                                         "-t", "-n", "udp:127.0.0.1:1162")
        self.conf.write_text(self.conf.read_text() + f"trap2sink 127.0.0.1:1162 {COMMUNITY}\n")
        wait_for("snmptrapd listens", lambda: ":1162 " in self.director.sh("ss -Hlun"))

    def traps(self, number=None):
        """Notifications of XLB-MIB, oldest first, each as {OID below the root: value}; "kind" is its number."""
        found = []
        for line in self.trapd.text().splitlines():
            fields = dict(part.split(" = ", 1) for part in line.split("\t") if " = " in part)
            kind = fields.get(".1.3.6.1.6.3.1.1.4.1.0", "")
            if not kind.startswith(f"{self.root}.0."):
                continue
            trap = {oid.removeprefix(self.root + "."): number_of(value) for oid, value in fields.items()}
            trap["kind"] = int(kind.rsplit(".", 1)[1])
            found.append(trap)
        return [trap for trap in found if number in (None, trap["kind"])]

    # ---- questions

    def tool(self, name, *words, check=True):
        return self.director.run("env", "MIBS=", "MIBDIRS=/nonexistent", name, "-v2c", "-c", COMMUNITY, "-t", "3", "-r", "0",
                                 *words, check=check)

    def get(self, oid):
        """One value, None if there is none."""
        text = self.tool("snmpget", "-OQnt", "127.0.0.1", oid, check=False)
        if " = " not in text or "No Such" in text or "No more" in text:
            return None
        return number_of(text.split(" = ", 1)[1])

    def get_together(self, names):
        """{OID below the root: value} of one moment: a single request is answered from a single snapshot."""
        lines = self.tool("snmpget", "-OQnt", "127.0.0.1", *(f"{self.root}.{name}" for name in names)).splitlines()
        pairs = (line.split(" = ", 1) for line in lines)
        return {oid.removeprefix(self.root + "."): number_of(value) for oid, value in pairs}

    def scalar(self, numbers):
        """xlbObjects.NUMBERS.0"""
        return self.get(f"{self.root}.1.{numbers}.0")

    def walk(self, numbers="", bulk=True, options=()):
        """{OID below the root, as text: value} of everything, or of a part."""
        tool = "snmpbulkwalk" if bulk else "snmpwalk"
        where = f"{self.root}.{numbers}".rstrip(".")
        found = {}
        for line in self.tool(tool, "-OQnt", *options, "127.0.0.1", where).splitlines():
            oid, mark, value = line.partition(" = ")
            if mark and oid.startswith(self.root) and "No Such" not in value and "No more" not in value:
                found[oid.removeprefix(self.root + ".")] = number_of(value)
        return found

    def column(self, table, column):
        """{index as text: value}; table: "2.1" """
        prefix = f"1.{table}.1.{column}"
        return {oid.removeprefix(prefix + "."): value for oid, value in self.walk(prefix).items()}


def address_index(address):
    parsed = ipaddress.ip_address(address)
    kind = 1 if parsed.version == 4 else 2
    return ".".join(str(part) for part in (kind, len(parsed.packed), *parsed.packed))


def vip_index(address=VIP, port=80, protocol=6):
    return f"{address_index(address)}.{port}.{protocol}"


def real_index(real, vip=VIP, port=80, protocol=6):
    return f"{vip_index(vip, port, protocol)}.{address_index(real)}.{port}"


def has_snmp():
    return XLB_SNMP.exists() and os.path.exists("/usr/sbin/snmpd")


__all__ = ["COMMUNITY", "Failed", "Monitoring", "ROOT", "address_index", "has_snmp", "real_index", "vip_index"]
