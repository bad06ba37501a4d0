# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose IPVS table is in force, where it is, and what is said while there is none."""

import os

import client
from lab import VIP, Host, run, wait_for


def test_a_module_that_is_installed_and_not_loaded_is_waited_for_and_said_so(site):
    here = site()
    director = here.a
    director.keepalived_conf.write_text(here.text())
    modules = here.lab.folder / f"lib/modules/{os.uname().release}"
    modules.mkdir(parents=True)
    (modules / "modules.dep").write_text("kernel/net/netfilter/ipvs/ip_vs.ko: kernel/lib/libcrc32c.ko\n")
    # xlbd sees a host with the module, in a mount namespace of its own
    words = director.xlbd_words()
    director.xlbd_words = lambda: ["unshare", "-m", "sh", "-c", "mount -t overlay overlay "
                                   f"-o lowerdir={here.lab.folder}/lib:/usr/lib /usr/lib && exec \"$@\"", "sh", *words]
    director.start_xlbd()
    problems = wait_for("it says so", director.problems)
    assert any("the module ip_vs is there" in problem for problem in problems), problems
    assert "the kernel has no IPVS" not in director.xlbd.text() + str(problems)
    assert director.xlbd.text().count("the module ip_vs is there") == 1
    assert director.side() != "xdp"
    # the same, and the module is not installed: xlbd answers
    director.stop_xlbd()
    director.xlbd_words = lambda: words
    director.start_xlbd()
    assert "the kernel has no IPVS: xlbd answers for it" in director.xlbd.text()


def test_the_table_is_in_the_namespace_that_keepalived_names(site):
    here = site()
    director = here.a
    other = here.lab.add(Host, "t", 30)
    text = f"net_namespace_ipvs {other.ns}\n" + here.text()
    director.keepalived_conf.write_text(text)
    director.start_xlbd()
    director.start_keepalived()
    director.wait_served(here.reals)
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    # a table of that namespace, and of no other
    assert director.ipvsadm("-Ln", check=False).count(VIP) == 0
    inside = f"echo $$ >{director.cgroup}/cgroup.procs; exec ipvsadm -Ln"
    assert VIP in run("nsenter", f"--net={other.netns}", "sh", "-c", inside)
    # keepalived starts anew, with its table where it is itself: xlbd goes with it
    director.keepalived.stop()
    director.keepalived_conf.write_text(here.text())
    assert director.ctl_status("reload") in (0, 2)
    director.start_keepalived()
    director.wait_served(here.reals)
    assert VIP in director.ipvsadm("-Ln")
    assert here.client.call(client.many_gets, 10, VIP) == {"r1": 5, "r2": 5}
    assert not [problem for problem in director.problems() if "IPVS" in problem]


def test_a_namespace_that_does_not_exist_is_said_and_waited_for(site):
    here = site()
    director = here.a
    director.keepalived_conf.write_text(f"net_namespace_ipvs {here.lab.switch}x\n" + here.text())
    director.start_xlbd()
    problems = wait_for("it says so", director.problems)
    assert any("net_namespace_ipvs" in problem for problem in problems), problems
