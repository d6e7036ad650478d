"""The list of .NET's members: what is planted is found, and PowerShell takes the overloads that it says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.members.check import choices, findings, judged
from tests.members.choices import CHOICES
from tests.members.members import TABLE, Members
from tests.members.types import Program
from tests.members.uses import uses
from tests.quality.powershell import LACKS, unparsed
from tests.unit.powershell.source import Source, snippet

TAKEN = Path(TABLE).with_name("taken.ps1")


@pytest.fixture(scope="module")
def members() -> Members:
    return Members.read(TABLE)


def found(members: Members, *scripts: str) -> list[str]:
    sources = [Source(f"s{number}.ps1", f"{script}\n".encode()) for number, script in enumerate(scripts, 1)]
    return list(findings(Program(members, sources), LACKS))


@pytest.mark.parametrize(
    ("script", "refused"),
    [
        # .NET alone has these; what of 7 runs through on 5.1 ends the batch.
        ("[System.IO.File]::Move($a, $b, $true)", "s1.ps1:1: [System.IO.File]::Move with 3 arguments: not in"),
        ("$x = [System.Environment]::ProcessPath", "[System.Environment]::ProcessPath: not in"),
        ("$x = [string]$a; $x.Contains('b', $c)", "[System.String].Contains with 2 arguments: not in"),
        ("$i = New-Object System.Diagnostics.ProcessStartInfo; $i.ArgumentList.Add('a')", "ProcessStartInfo].Argument"),
        ("$p = [System.Diagnostics.Process]::Start($i); $p.Kill($true)", "[System.Diagnostics.Process].Kill with 1"),
        ("$x = [System.Text.Json.JsonDocument]::Parse($t)", "[System.Text.Json.JsonDocument]::Parse with 1"),
        ("[System.IO.FileSystemAclExtensions]::SetAccessControl($a, $b)", "FileSystemAclExtensions]: not in"),
        ("$x = New-Object System.Text.UTF8Encoding($true, $true, $true)", "[System.Text.UTF8Encoding].new with 3"),
        ("$x = [System.HashCode]", "[System.HashCode]: not in"),
        (
            "function Get-NodeA { return [System.IO.File]::ReadAllBytes('a') }\n$x = (Get-NodeA).AsSpan()",
            ".AsSpan with 0",
        ),
        (
            "if ($PSVersionTable.PSVersion.Major -ge 6) { $a = 1 } else { [System.IO.File]::Move($a, $b, $true) }",
            "Move",
        ),
        ("$x = $anything.NobodyHasThis()", "[?].NobodyHasThis with 0 arguments: not in"),
    ],
)
def test_a_member_that_the_list_does_not_have_is_refused(members: Members, script: str, refused: str) -> None:
    assert any(refused in finding for finding in found(members, script)), found(members, script)


@pytest.mark.parametrize(
    "script",
    [
        "if ($PSVersionTable.PSVersion.Major -ge 6) { [System.IO.File]::Move($a, $b, $true) }",
        "if ($PSVersionTable.PSVersion.Major -lt 6) { $a = 1 } else { [System.IO.File]::Move($a, $b, $true) }",
        "function Get-NodeA { return [System.IO.File]::Move($a, $b, $true) }\n"
        "if ($PSVersionTable.PSVersion.Major -ge 6) { Get-NodeA }",
        "$x = [string]$a; $null = $x.Trim().ToLowerInvariant().Length",
        "foreach ($one in [System.IO.Directory]::GetFiles('a')) { $null = $one.Substring(1) }",
        "try { $x = 1 } catch { $null = $_.Exception.InnerException.Message }",
        "$x = $null; $x = New-Object System.Collections.ArrayList; $null = $x.Add(1)",
    ],
)
def test_what_5_1_has_or_never_reaches_passes(members: Members, script: str) -> None:
    assert found(members, script) == []


@pytest.mark.parametrize(
    ("scripts", "finds"),
    [
        (["$x = New-Object System.Net.Http.HttpClient"], True),
        (["Add-Type -AssemblyName System.Net.Http\n$x = New-Object System.Net.Http.HttpClient"], False),
        (["$x = New-Object System.Net.Http.HttpClient\nAdd-Type -AssemblyName System.Net.Http"], True),
        (
            [
                "if ($PSVersionTable.PSVersion.Major -lt 6) {\n    Add-Type -AssemblyName System.Net.Http\n}\n"
                "$x = New-Object System.Net.Http.HttpClient"
            ],
            False,
        ),
        (
            ["if ($a) {\n    Add-Type -AssemblyName System.Net.Http\n}\n$x = New-Object System.Net.Http.HttpClient"],
            True,
        ),
        # By who calls it, and by what it calls.
        (
            [
                "function New-NodeA {\n    return New-Object System.Net.Http.HttpClient\n}",
                "function Get-NodeB {\n    Add-Type -AssemblyName System.Net.Http\n    return New-NodeA\n}",
            ],
            False,
        ),
        (
            [
                "function New-NodeA {\n    return New-Object System.Net.Http.HttpClient\n}",
                "function Get-NodeB {\n    Add-Type -AssemblyName System.Net.Http\n    return New-NodeA\n}",
                "$x = New-NodeA",
            ],
            True,
        ),
        (
            [
                "function Import-NodeA {\n    Add-Type -AssemblyName System.Net.Http\n}",
                "function Get-NodeB {\n    Import-NodeA\n    return New-Object System.Net.Http.HttpClient\n}",
            ],
            False,
        ),
    ],
)
def test_an_assembly_that_5_1_has_not_loaded_is_added_on_every_way(
    members: Members, scripts: Sequence[str], finds: bool
) -> None:
    said = [finding for finding in found(members, *scripts) if "Add-Type -AssemblyName System.Net.Http" in finding]
    assert bool(said) == finds, said


def test_a_call_for_which_7_may_take_another_overload_is_a_finding(members: Members) -> None:
    (said,) = found(members, "$x = [System.IO.Path]::GetDirectoryName($anything)")
    assert "PowerShell 7 may take GetDirectoryName(System.ReadOnlySpan`1[System.Char])" in said
    assert "give each argument the type of GetDirectoryName(System.String)" in said
    assert found(members, "$x = [System.IO.Path]::GetDirectoryName([string]$anything)") == []


def test_what_is_known_of_a_receiver_is_what_the_text_says(members: Members) -> None:
    script = (
        "function Get-NodeA {\n    param([string]$Path, [object]$List)\n    $x = $List.Count\n"
        "    return $Path.Length\n}\n"
        "$y = Get-NodeA -Path 'a' -List ([System.IO.Directory]::GetFiles('b'))\n$z = $y.ToString()\n"
    )
    program = Program(members, [snippet(script)])
    receivers = {use.name: use.receiver for use in uses(program, program.sources[0]) if use.kind == "instance"}
    assert receivers == {
        "Count": {"System.String[]"},
        "Length": {"System.String"},
        "ToString": {"System.Int32"},
    }
    assert [each.named for each in judged(program) if each.use.name == "ToString"] == [False]


def test_every_choice_is_one_that_a_script_has(members: Members) -> None:
    """What no script calls any more is to be taken out."""
    calls = "; ".join(f"$x = {first}" for choice in CHOICES for first, _ in choice.calls)
    program = Program(members, [snippet(f"{calls}\n")])
    of = list(choices(program))
    assert of and all(any(choice.is_of(*each) for choice in CHOICES) for each in of)
    assert all(any(choice.is_of(*each) for each in of) for choice in CHOICES)


@pytest.mark.lane("pwsh")
def test_powershell_7_takes_the_overload_that_is_said_and_it_makes_no_difference(pwsh: str) -> None:
    asked = [
        {
            "type": choice.of,
            "name": choice.name,
            "how": "Static" if first.startswith("[") else "Instance",
            "arguments": [f"[{kind}]'{'1' if kind.endswith('Int32') else ';'}'" for kind in choice.arguments],
        }
        for choice in CHOICES
        for first, _ in choice.calls[:1]
    ]
    command = [pwsh, "-NoProfile", "-NonInteractive"]
    said = subprocess.run(
        [*command, "-File", TAKEN], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines() == [choice.seven for choice in CHOICES]
    pairs = [pair for choice in CHOICES for pair in choice.calls]
    script = "\n".join(f"[Console]::WriteLine([string](({one}) -ceq ({other})))" for one, other in pairs)
    same = subprocess.run([*command, "-Command", script], capture_output=True, text=True, check=True)
    assert same.stdout.split() == ["True"] * len(pairs)


@pytest.mark.lane("pwsh")
def test_a_text_that_powershell_does_not_understand_is_a_finding(pwsh: str) -> None:
    texts = [Source("good", b"$x = 1\n"), Source("a page", b"$x = 1\nif ($x {\n")]
    (said, *_) = unparsed(pwsh, texts)
    assert said.startswith("a page:2: ")
