"""playbooks/files/*.ps1 under a real PowerShell on any system, each twice, on a machine of stand-ins.

What stands in is people.ps1, the cases are people.yml. Without a PowerShell only what a parser sees is tested: every
cmdlet of Windows' that a script calls has a stand-in.
"""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.contract.people import CASES, HARNESS, SCRIPTS, TABLE, differences, files, ident, step, world
from tests.unit.powershell import names, rules
from tests.unit.powershell.source import Source

STAND_INS = Source("people.ps1", HARNESS.read_bytes())
ANYWHERE = frozenset(
    {
        "Copy-Item",
        "ForEach-Object",
        "Get-Content",
        "Get-Date",
        "Join-Path",
        "New-Object",
        "Set-StrictMode",
        "Sort-Object",
    }
    | {"Split-Path", "Start-Sleep", "Where-Object", "Write-Output", "Write-Verbose", "Write-Warning"}
)
"""Cmdlets that PowerShell has on every system."""


def run(program: str, wanted: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """One run of a step's script; what it said, and what is there then."""
    root, tsv = folder / "root", folder / "world.tsv"
    script = next(path for path in SCRIPTS if path.name == wanted["script"])
    line = [program, "-NoProfile", "-NonInteractive", "-File", str(HARNESS)]
    line += ["-Script", str(script), "-World", str(tsv), "-Root", str(root), "-Arguments", wanted["arguments"]]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
    there = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    said, machine = (done.stdout + done.stderr).decode("utf-8", "replace"), tsv.read_text(encoding="utf-8")
    return {"exit_code": done.returncode, "said": said, "look": (there, machine), "world": machine}


@pytest.mark.lane("pwsh")
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_script_for_people_run_twice(case: Mapping[str, Any], pwsh: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for name in files(case):
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).touch()
    (tmp_path / "world.tsv").write_text(world(case, str(tmp_path / "root")), encoding="utf-8")
    wanted = step(case, str(tmp_path / "root"))
    assert list(differences(wanted, [run(pwsh, wanted, tmp_path) for _ in range(2)])) == []


def test_what_a_run_did_otherwise_is_told() -> None:
    case = {"script": "x", "name": "X: y", "arguments": {"A": "{root}/a"}, "exit": 0, "says": "all is .* well"}
    wanted = step(
        {**case, "again": {"exit": 0, "says": "", "keeps_quiet": "never"}, "after": {"k": "v", "gone": None}}, "C:\\r"
    )
    assert ident(case) == "people-x-x-y" and base64.b64decode(wanted["arguments"]) == b'{"A": "C:/r/a"}'
    right = {"exit_code": 0, "said": "\x1b[31mall is\n now we\nll\x1b[0m", "look": "", "world": "k\tv\r\n"}
    assert list(differences(wanted, [right, right])) == []
    for change, told in (
        ({"exit_code": 1}, "ended with 1, wanted 0"),
        ({"said": "nev er"}, "says never"),
        ({"look": "x"}, "changed the machine"),
        ({"world": "k\tw\ngone\tx"}, "k is w, wanted v"),
    ):
        assert told in " ".join(differences(wanted, [right, {**right, **change}])), change
    assert "does not say" in next(differences(wanted, [{**right, "said": ""}, right]))


@pytest.mark.parametrize("name", sorted(TABLE["base"]))
def test_every_cmdlet_of_windows_has_a_stand_in_with_its_parameters(name: str) -> None:
    """It failed while generalise read the registry through a class of .NET that exists on Windows alone."""
    stood = {function.name: function.parameters for function in STAND_INS.functions}
    path = next(path for path in SCRIPTS if path.stem == name)
    source = Source(path.name, path.read_bytes())
    own = {function.name for function in source.functions}
    for command in source.commands:
        if command.name in own | ANYWHERE:
            continue
        assert command.name in stood, f"{source.at(command.node)}: {command.name} has no stand-in"
        known = {each.lower() for each in stood[command.name]} | {"erroraction", "whatif"}
        assert {each.lower() for each in command.parameters} <= known, source.at(command.node)
    assert b"Microsoft.Win32.Registry" not in source.data


def test_the_stand_ins_are_understood() -> None:
    assert [*rules.understood(STAND_INS), *rules.plain_text(STAND_INS), *rules.strict_mode(STAND_INS)] == []
    assert list(names.unknown_functions(STAND_INS, {})) == []


def test_each_script_has_cases_that_work_that_fail_and_that_refuse() -> None:
    codes = {name: {case["exit"] for case in CASES if case["script"] == name} for name in TABLE["base"]}
    assert set(codes) == {path.stem for path in SCRIPTS}
    assert all({0, 1} <= found for found in codes.values()), codes
