# SPDX-License-Identifier: GPL-2.0-or-later
"""XLB-MIB.txt: that it is right by itself, and that the subagent serves exactly what it says."""

import re
import shutil
import subprocess

import client
import pytest
from lab import ENVIRONMENT, TOP, wait_for
from snmp_lab import ROOT, Monitoring

MIB = TOP / "snmp/XLB-MIB.txt"
# stand-ins for the IETF's modules, which Debian's main does not have, then net-snmp's own
FOLDERS = [TOP / "snmp/mib-base", "/usr/share/snmp/mibs"]


def tool(*words, **environment):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False,
                          env={**ENVIRONMENT, **environment})
    return done.stdout, done.stderr


def lint(path):
    return "".join(tool("smilint", "-l", "6", path, SMIPATH=":".join(map(str, FOLDERS))))


@pytest.mark.skipif(not shutil.which("smilint"), reason="smilint is not installed (Debian: smitools)")
def test_smilint_has_nothing_to_say(tmp_path):
    assert lint(MIB) == ""
    broken = tmp_path / "XLB-MIB"
    broken.write_text(MIB.read_text().replace("SYNTAX      Counter64", "SYNTAX      Counter65", 1))
    assert "Counter65" in lint(broken)


def objects():
    """{OID below the root as numbers: (name, type, access)} as net-snmp's tools understand the module."""
    out, err = tool("snmptranslate", "-M", ":".join(map(str, FOLDERS)), "-m", MIB, "-Tz", "-On")
    assert not err.strip(), err
    found = {}
    text = MIB.read_text()
    kinds = dict(re.findall(r"^(xlb\w+) OBJECT-TYPE\n    SYNTAX      ([\w ]+?) ?[({\n]", text, re.M))
    access = dict(re.findall(r"^(xlb\w+) OBJECT-TYPE\n.*?MAX-ACCESS  ([\w-]+)\n", text, re.M | re.S))
    for name, oid in re.findall(r'^"(\S+)"\s+"([\d.]+)"$', out, re.M):
        numbers = "." + oid.lstrip(".")
        if numbers.startswith(ROOT + ".1.") and name in kinds:
            found[tuple(int(part) for part in numbers.removeprefix(ROOT + ".").split("."))] = (name, kinds[name], access[name])
    return found


TYPES = {"Counter64": "Counter64", "CounterBasedGauge64": "Counter64", "Unsigned32": "Gauge32", "Gauge32": "Gauge32",
         "TimeStamp": "Timeticks", "SnmpAdminString": "STRING", "INTEGER": "INTEGER", "XlbOperState": "INTEGER",
         "XlbRole": "INTEGER", "TruthValue": "INTEGER"}


def test_what_is_served_is_what_the_module_says(site):
    known = objects()
    assert len(known) > 120
    here = site(reals=2)
    monitoring = Monitoring(here.a)
    here.start()
    monitoring.start()
    here.client.call(client.many_gets, 4, "10.99.0.100")
    wait_for("connections are counted", lambda: monitoring.walk("1.4.2"), 5)
    served = {}
    for line in monitoring.tool("snmpbulkwalk", "-Ont", "127.0.0.1", ROOT + ".1").splitlines():
        oid, _, value = line.partition(" = ")
        numbers = tuple(int(part) for part in oid.removeprefix(ROOT + ".").split("."))
        kind = "STRING" if value == '""' else value.split(":")[0]
        # the longest beginning that the module names is the object
        head = next(numbers[:length] for length in range(len(numbers), 0, -1) if numbers[:length] in known)
        served.setdefault(head, set()).add(kind if not value.isdigit() else "Timeticks")
    for head, kinds in served.items():
        name, kind, access = known[head]
        assert access == "read-only", name
        assert kinds == {TYPES[kind]}, (name, kinds, kind)
    silent = {known[head][0] for head in known if known[head][2] == "read-only"} - {known[head][0] for head in served}
    assert silent == set(), silent
