# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose switches of Windows a machine has: the set of the maker of its image, which explains what others do not see."""

from __future__ import annotations

from collections.abc import Iterator

from ..components.host.node_fit import Machine
from ..components.host.os_switches import find_value, query
from ..facts.os_switches import MAKERS, list_common, list_switches
from ..words.cause import NOTE, Area, Cause
from ..words.finding import Seen
from ..words.remedies import advice
from .check import Check
from .scene import Scene


def _whose(scene: Scene) -> Iterator[Seen]:
    build = Machine.of(scene.first).build
    common = {each.place for each in list_common()}
    for maker, name in MAKERS.items():
        own = [each for each in list_switches(maker, build) if each.place not in common]
        read = [each for each in own if query(each.key).key in scene.first.parts]
        there = [each for each in read if find_value(scene.first, each) == each.value]
        if there:
            yield Seen("Windows", f"of {name}'s switches for this build {len(there)} of {len(own)} are set", "")


CHECKS = (
    Check(
        Cause(
            "host.os-switches",
            NOTE,
            "The machine has switches of a maker of node images",
            "Its image, or winkube_os_switches, has set them.",
            advice("Get-ItemProperty shows the value of each; ask who made the image before you take one away."),
            area=Area.PROGRAMS,
        ),
        _whose,
    ),
)
