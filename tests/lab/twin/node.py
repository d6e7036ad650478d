"""A simulated machine with all programs of the lab."""

from __future__ import annotations

from collections import ChainMap
from typing import ClassVar

from tests.lab.machine.node import SimulatedNode
from tests.lab.programs.catalogue import PROGRAMS
from tests.lab.twin import powershell


class LabNode(SimulatedNode):
    """What the tests call a node: its programs are the catalogue's, and the PowerShell that runs the twin's runner."""

    programs: ClassVar = ChainMap({"powershell": (powershell.main, None)}, PROGRAMS)
