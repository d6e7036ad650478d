"""Every PowerShell text of the project, put together as it runs."""

from __future__ import annotations

from tests.members.members import Members
from tests.members.texts import texts
from tests.members.types import Program
from tests.unit.powershell.source import FILES, ROOT, read

FOR_PEOPLE = sorted((ROOT / "playbooks" / "files").glob("*.ps1"))
CARRIED = sorted((ROOT / "tests" / "contract" / "carried").glob("*.ps1"))
PEOPLE = ROOT / "tests" / "contract" / "people.ps1"


def programs(members: Members) -> list[Program]:
    """What goes to a node, each script for people, what is carried to a machine, what plays Windows for people, and
    each text that is no file."""
    groups = [FILES, *([path] for path in FOR_PEOPLE), CARRIED, [PEOPLE]]
    found = [Program(members, [read(path) for path in group]) for group in groups]
    return [*found, *(Program(members, [source]) for source in texts())]
