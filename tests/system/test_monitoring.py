# SPDX-License-Identifier: GPL-2.0-or-later
"""The files for those who watch (conf/monitoring, units): each loaded or linted by the program that it is for, where Debian has it."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from lab import BUILD, ENVIRONMENT, TOP, VIP, run, wait_for
from snmp_lab import COMMUNITY, ROOT, Monitoring
from test_snmp_mib import objects

FOLDER = TOP / "conf/monitoring"
MIB_OBJECTS = "1.3.6.1.4.1.8072.9999.9999.7947."


def tool(*words, **more):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False, env=ENVIRONMENT, **more)
    return done.returncode, done.stdout + done.stderr


promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")


@promtool
def test_alert_rules_are_right_and_fire_when_they_should(tmp_path):
    status, said = tool("promtool", "check", "rules", FOLDER / "xlb-rules.yml")
    assert status == 0, said
    status, said = tool("promtool", "test", "rules", "xlb-rules.test.yml", cwd=FOLDER)
    assert status == 0, said
    shutil.copy(FOLDER / "xlb-rules.yml", tmp_path)
    shutil.copy(FOLDER / "prometheus.yml", tmp_path)
    status, said = tool("promtool", "check", "config", tmp_path / "prometheus.yml")
    assert status == 0, said


def expressions():
    """Every PromQL expression that is shipped."""
    for group in yaml.safe_load((FOLDER / "xlb-rules.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    board = json.loads((FOLDER / "grafana-xlb.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for annotation in board["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


def test_rules_and_dashboard_use_metrics_that_exist(site):
    here = site(reals=1)
    here.start()
    known = set(re.findall(r"^# TYPE (\w+)", here.a.ctl("metrics"), re.M))
    for where, expression in expressions():
        used = set(re.findall(r"\bxlb_\w+", expression))
        assert used and used <= known, (where, used - known)


@promtool
def test_the_dashboards_expressions_are_promql(tmp_path):
    rules = [{"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "1m")}
             for number, (_, expression) in enumerate(expressions())]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    status, said = tool("promtool", "check", "rules", path)
    assert status == 0 and len(rules) > 25, said


def test_panels_do_not_overlap_and_have_ids_of_their_own():
    board = json.loads((FOLDER / "grafana-xlb.json").read_text())
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))


def test_templates_ask_for_objects_that_exist():
    known = {".".join(map(str, numbers)): name for numbers, (name, _, access) in objects().items() if access == "read-only"}
    zabbix = (FOLDER / "zabbix-xlb.yaml").read_text()
    template = yaml.safe_load(zabbix)["zabbix_export"]["templates"][0]
    asked = re.findall(re.escape(MIB_OBJECTS) + r"([\d.]+?)(?=\.0$|\.\{#|\]|')", zabbix, re.M)
    assert len(asked) > 25 and set(asked) <= set(known), set(asked) - set(known)
    uuids = re.findall(r"uuid: (\w+)", zabbix)
    assert len(uuids) == len(set(uuids)) and all(re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}8[0-9a-f]{15}", uuid) for uuid in uuids)
    # a trigger's item must be there
    keys = set(re.findall(r"^ +key: '?([^'\n]+)'?$", zabbix, re.M))
    assert {key for key in re.findall(r"/xlbd by SNMP/([\w.]+(?:\[[^\]]*\])?)", zabbix)} <= keys
    maps = {valuemap["name"] for valuemap in template["valuemaps"]}
    assert set(re.findall(r"valuemap:\n +name: (.+)", zabbix)) <= maps
    libre = yaml.safe_load((FOLDER / "librenms/xlbd.yaml").read_text())
    assert libre["mib"] == "XLB-MIB"
    for kind in libre["modules"]["sensors"].values():
        for sensor in kind["data"]:
            number = sensor["num_oid"].removeprefix("." + MIB_OBJECTS).removesuffix(".{{ $index }}")
            assert known[number] == sensor["value"], sensor


def test_the_example_for_snmpd_serves_the_mib(site):
    here = site(reals=1)
    monitoring = Monitoring(here.a)
    here.start()
    text = (FOLDER / "snmpd.conf").read_text()
    text = text.replace("/var/agentx/master", str(monitoring.agentx)).replace("root xlbd", "65534 65534")
    text = text.replace("rouser monitor priv", "rocommunity lab 127.0.0.1")
    monitoring.conf.write_text(text)
    monitoring.start()
    assert not re.search(r"(?i)error|warning", monitoring.snmpd.text()), monitoring.snmpd.text()
    assert f'"{VIP}:80/tcp"' in monitoring.tool("snmpbulkwalk", "-OQn", "127.0.0.1", f"{ROOT}.1.2")
    # the view shows nothing else
    assert "No Such" in monitoring.tool("snmpget", "127.0.0.1", ".1.3.6.1.2.1.2.1.0", check=False)
    wrong = here.a.sh("MIBS= snmpget -v2c -c wrong -t1 -r0 127.0.0.1 .1.3.6.1.2.1.1.3.0 2>&1; :")
    assert "Timeout" in wrong and COMMUNITY not in wrong
    assert monitoring.scalar("1.4") in (2, 3)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not there (Debian: systemd)")
def test_units_are_right(tmp_path):
    for source, name in (("snmp/xlb-snmp.service.in", "xlb-snmp.service"), ("xlbd/ctl/xlb-metrics.socket", "xlb-metrics.socket"),
                         ("xlbd/ctl/xlb-metrics@.service.in", "xlb-metrics@.service")):
        text = (TOP / source).read_text().replace("@sbindir@/xlb-snmp", str(BUILD / "snmp/xlb-snmp"))
        (tmp_path / name).write_text(text.replace("@bindir@/xlbctl", str(BUILD / "xlbd/ctl/xlbctl")))
    for name in ("xlb-snmp.service", "xlb-metrics.socket", "xlb-metrics@.service"):
        status, said = tool("systemd-analyze", "verify", "--man=no", tmp_path / name.replace("@", "@1"))
        complaints = [line for line in said.splitlines() if "xlb-" in line and "Failed to" not in line]
        assert not complaints, said


@pytest.mark.skipif(not shutil.which("logrotate"), reason="logrotate is not installed")
def test_logrotate_takes_its_file(tmp_path):
    log = tmp_path / "xlbd.log"
    log.write_text("a line\n")
    conf = tmp_path / "logrotate"
    conf.write_text((FOLDER / "logrotate").read_text().replace("/var/log/xlbd.log", str(log)).replace(
        "/usr/lib/rsyslog/rsyslog-rotate", "true"))
    conf.chmod(0o644)
    tmp_path.chmod(0o755)
    run("logrotate", "-f", "-s", tmp_path / "state", conf)
    wait_for("it is rotated", lambda: (tmp_path / "xlbd.log.1").exists(), 2)
