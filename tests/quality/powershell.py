"""The linter of the project's PowerShell: make lint, or PYTHONPATH=.venv/collections python -m tests.quality.powershell

Every type and member of .NET that a script names is in tests/members/members.tsv (`make members` writes it, from .NET
Framework 4.7.2), and in an assembly that Windows PowerShell has loaded by then. Where a PowerShell is found, its own
parser reads every text. Exit status 1 if there is a finding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.members.check import findings, judged
from tests.members.members import TABLE, Members
from tests.members.programs import programs
from tests.members.texts import fenced, texts
from tests.pwsh import program
from tests.quality.sanity import ROOT, project_files
from tests.unit.powershell.source import Source, read

PARSE = Path(__file__).with_name("parse.ps1")
LACKS = "not in tests/members/members.tsv; `make members` says whether .NET Framework 4.7.2 has it"


def sources() -> list[Source]:
    """Every PowerShell text: files, what Python puts together, what a page shows."""
    files = [read(ROOT / name) for name in project_files() if name.endswith(".ps1")]
    return [*files, *texts(), *fenced()]


def unparsed(pwsh: str, among: Sequence[Source]) -> Iterator[str]:
    """What PowerShell's own parser does not understand, as `file:line: sentence`."""
    asked = json.dumps([{"name": source.name, "text": source.data.decode()} for source in among])
    command = [pwsh, "-NoProfile", "-NonInteractive", "-File", str(PARSE)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"{pwsh} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}"
    yield from done.stdout.splitlines()


def main() -> int:
    found = programs(Members.read(TABLE))
    wrong = [each for one in found for each in findings(one, LACKS)]
    uses = sum(1 for one in found for _ in judged(one))
    print(f"powershell: {uses} uses of .NET's types and members, all judged by {TABLE.relative_to(ROOT)}")
    among = sources()
    try:
        powershell = program.find("linux")
    except program.LaneError as error:
        powershell = None
        wrong.append(f"powershell: {error}")
    if powershell is None:
        print(f"powershell: {len(among)} texts are not parsed by PowerShell itself: {program.lacking('linux')}")
    else:
        os.environ.update(powershell.environment)
        wrong += unparsed(str(powershell.path), among)
        print(f"powershell: {len(among)} texts parsed by {powershell.path}")
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
