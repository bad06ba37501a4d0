# SPDX-License-Identifier: GPL-2.0-or-later
"""A line in keepalived's FIFO is enough: no timer looks in between. How long it takes is tests/bench's business."""

import latency


def test_a_line_in_the_fifo_brings_the_change_to_the_map(site):
    here = site(reals=2)
    director = latency.start(here)
    assert director.show("status")["connections"]["slots"] > 0  # swept at the start, not by the timer
    assert len(latency.measure(here, director, 20)) == 20
