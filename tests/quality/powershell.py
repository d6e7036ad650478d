"""The linter of the project's PowerShell: make lint, or PYTHONPATH=.venv/collections python -m tests.quality.powershell

Every type and member of .NET that a script names is in tests/members/members.tsv (`make members` writes it, from .NET
Framework 4.7.2), and in an assembly that Windows PowerShell has loaded by then. Where a PowerShell is found, its own
parser reads every text. Exit status 1 if there is a finding.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.members.check import findings, judged
from tests.members.members import TABLE, Members
from tests.members.programs import programs
from tests.members.texts import fenced, texts
from tests.quality.sanity import ROOT, project_files
from tests.unit.powershell.source import Source, read

PARSE = Path(__file__).with_name("parse.ps1")
LACKS = "not in tests/members/members.tsv; `make members` says whether .NET Framework 4.7.2 has it"


def powershell() -> str | None:
    """The PowerShell 7 of this machine: WINKUBE_LAB_PWSH's, else the one on PATH."""
    return os.environ.get("WINKUBE_LAB_PWSH") or shutil.which("pwsh")


def sources() -> list[Source]:
    """Every PowerShell text: files, what Python puts together, what a page shows."""
    files = [read(ROOT / name) for name in project_files() if name.endswith(".ps1")]
    return [*files, *texts(), *fenced()]


def unparsed(program: str, among: Sequence[Source]) -> Iterator[str]:
    """What PowerShell's own parser does not understand, as `file:line: sentence`."""
    asked = json.dumps([{"name": source.name, "text": source.data.decode()} for source in among])
    command = [program, "-NoProfile", "-NonInteractive", "-File", str(PARSE)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"{program} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}"
    yield from done.stdout.splitlines()


def main() -> int:
    found = programs(Members.read(TABLE))
    wrong = [each for program in found for each in findings(program, LACKS)]
    uses = sum(1 for program in found for _ in judged(program))
    print(f"powershell: {uses} uses of .NET's types and members, all judged by {TABLE.relative_to(ROOT)}")
    program, among = powershell(), sources()
    if program is None:
        print(
            f"powershell: {len(among)} texts are not parsed by PowerShell itself: no WINKUBE_LAB_PWSH, no pwsh on PATH"
        )
    else:
        wrong += unparsed(program, among)
        print(f"powershell: {len(among)} texts parsed by {program}")
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
