# SPDX-License-Identifier: GPL-2.0-or-later
"""What every test gets: a Lab of its own, and the evidence on the screen if the test fails."""

import os

import pytest

from keepalived import globals_block, virtual_server, vrrp_instance
from lab import PASS_OBJECT, XLBD, Director, Host, Lab, RealServer, end_in_good_order


def pytest_configure():
    end_in_good_order()


def pytest_collection_modifyitems(items):
    if os.geteuid() != 0:
        why = "needs root: network namespaces and BPF programs"
    elif not (XLBD.exists() and PASS_OBJECT.exists()):
        why = f"nothing is built in {XLBD.parent.parent}; XLB_BUILD names the build folder"
    else:
        return
    for item in items:
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.excinfo and call.when in ("setup", "call"):
        item.has_failed = True
    return outcome


@pytest.fixture
def lab(request):
    with Lab() as made:
        yield made
        if getattr(request.node, "has_failed", False):
            print(made.evidence())


class Site:
    """What most tests start from: a client, one director or two, and real servers that serve."""

    def __init__(self, lab, reals=2, directors=1):
        self.lab = lab
        self.client = lab.add(Host, "c", 7)
        self.directors = [lab.add(Director, name, number, priority=200 - 50 * number)
                          for number, name in enumerate("ab"[:directors], 1)]
        self.a, self.b = (self.directors + [None])[:2]
        self.reals = [lab.add(RealServer, f"r{number}", 10 + number) for number in range(1, reals + 1)]
        for real in self.reals:
            real.serve()

    def text(self, director=None, servers=None, fifos=True, **more):
        """keepalived.conf of a director; `more` is virtual_server()'s, `servers` stands in for it."""
        director = director or self.a
        return (globals_block(director.fifos if fifos else "") + vrrp_instance(director) +
                (virtual_server(self.reals, **{"scheduler": "rr", **more}) if servers is None else servers))

    def start(self, **more):
        """The first director, and then the others, which stand by."""
        for director in self.directors:
            director.keepalived_conf.write_text(self.text(director, **more))
            director.start_xlbd()
            director.start_keepalived()
        self.a.wait_served(self.reals)
        return self.a


@pytest.fixture
def site(lab):
    """Call it: site(reals=3) makes the hosts, .start() the director's programs."""
    return lambda **more: Site(lab, **more)
