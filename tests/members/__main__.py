"""Writes members.tsv: what the PowerShell of the project uses of .NET, and which PowerShell's .NET has it.

    python -m tests.members [FRAMEWORK]

FRAMEWORK, else netfx-4.7.2.tsv.xz beside the archives of PowerShell (tests/pwsh/program.py), is the table of all public
types and members of .NET Framework 4.7.2 and of Windows PowerShell 5.1 (.tsv or .tsv.xz): those of
Microsoft.NETFramework.ReferenceAssemblies.net472 1.0.3 and PowerShellStandard.Library 5.1.1, in the columns that
members.py says. A PowerShell 7 is asked what its .NET has of the same. The last line is one JSON object. Exit status 1,
and no table, if a script uses what .NET Framework does not have.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.members.check import Judged, choices, findings, judged
from tests.members.members import TABLE, Member, Members, generic
from tests.members.programs import programs
from tests.members.types import Program
from tests.pwsh.program import BESIDE, find, lacking

ASK = Path(__file__).with_name("net.ps1")
HEAD = """\
# What the PowerShell here uses of .NET: each type, and each member with all its overloads. Written by `make members`.
# Assembly, type, kind, how, signature, the PowerShells whose .NET has it. 5.1: .NET Framework 4.7.2; 7: {version}.
"""


def used(found: Sequence[Program]) -> tuple[set[tuple[str, str]], set[str]]:
    """((type that declares it, name) of each member, types) that the programs use."""
    known = Members(member for program in found for member in _meant(list(judged(program)), named=False))
    members: set[tuple[str, str]] = set()
    types: set[str] = set()
    for program in found:
        reached = Members([*_all(known), *_types(program, known)])
        for each in judged(program, reached):
            if not each.means and each.use.receiver - {None}:
                # Of a base class, and nothing else names one that is derived from it.
                members |= {(one.type, one.name) for one in _derived(program.members, each)}
                types |= {one.type for one in _derived(program.members, each)}
            types |= {generic(of.removesuffix("[]")) for of in each.use.receiver if of is not None}
            for member in each.means:
                types.add(member.type)
                if member.kind != "type":
                    members.add((member.type, member.name or "new"))
            if each.use.seven and not each.means:
                members |= {(of, each.use.name) for of in each.use.receiver if of is not None and each.use.name}
    return members, types


def table(framework: Members, found: Sequence[Program], powershell: str) -> tuple[list[Member], str]:
    """The lines of members.tsv, and the version of .NET that PowerShell 7 has."""
    members, types = used(found)
    lines = {of for name in types for of in framework.line(name)} | types
    wanted = [*sorted((of, "") for of in lines), *sorted(members)]
    seven, version = ask(powershell, wanted)
    kept: list[Member] = []
    for of, name in wanted:
        if name == "":
            five = [known] if (known := framework.type(of)) is not None else []
        else:
            five = [member for member in framework.find(of, name) if member.type == of]
        new = [member for member in seven if member.type == of and _asked(member) == name.lower()]
        keys = {_key(member) for member in new}
        kept += [replace(member, versions="5.1 7" if _key(member) in keys else "5.1") for member in five]
        had = {_key(member) for each in framework.line(of) for member in framework.find(each, name or "new")} | {
            _key(member) for member in five
        }
        kept += [replace(member, versions="7") for member in new if _key(member) not in had]
    return sorted(set(kept)), version


def ask(powershell: str, wanted: Sequence[tuple[str, str]]) -> tuple[list[Member], str]:
    """What a PowerShell 7 has of these types and members."""
    asked = "".join(f"{of}\t{name}\n" for of, name in wanted)
    start = [powershell, "-NoProfile", "-NonInteractive"]
    done = subprocess.run([*start, "-File", str(ASK)], input=asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"members: {powershell} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    version = subprocess.run(
        [*start, "-Command", '"PowerShell $($PSVersionTable.PSVersion) with .NET $([Environment]::Version)"'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    return [Member(*line.split("\t")) for line in done.stdout.splitlines()], version


def _asked(member: Member) -> str:
    return {"type": "", "new": "new"}.get(member.kind, member.name.lower())


def _key(member: Member) -> tuple[str, tuple[str, ...]]:
    if member.kind not in {"method", "new"}:
        return _asked(member) or "type", ()
    return _asked(member), tuple(each.removeprefix("optional ") for each in member.parameters)


def _meant(found: Sequence[Judged], *, named: bool) -> list[Member]:
    return [member for each in found if each.named == named for member in each.means]


def _derived(framework: Members, each: Judged) -> list[Member]:
    known = {one for one in each.use.receiver if one is not None}
    return [one for one in framework.by_name.get(each.use.name.lower(), []) if known & set(framework.line(one.type))]


def _all(members: Members) -> list[Member]:
    return [*members.types.values(), *(one for found in members.by_name.values() for one in found)]


def _types(program: Program, known: Members) -> list[Member]:
    """Every member of the types that are used: what is asked of nobody knows what is one of these."""
    names = {member.type for member in _all(known)}
    return [member for member in _all(program.members) if member.type in names]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.members", description=__doc__.splitlines()[0])
    parser.add_argument("framework", type=Path, nargs="?", default=BESIDE / "netfx-4.7.2.tsv.xz")
    given = parser.parse_args(arguments)
    if not given.framework.is_file():
        print(f"members: there is no {given.framework}: name the table of .NET Framework's members", file=sys.stderr)
        return 2
    real = find("linux")
    if real is None:
        print(f"members: {lacking('linux')}", file=sys.stderr)
        return 2
    os.environ.update(real.environment)
    framework = Members.read(given.framework)
    found = programs(framework)
    wrong = [each for one in found for each in findings(one, "is not in .NET Framework 4.7.2")]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    lines, version = table(framework, found, str(real.path))
    TABLE.write_text(HEAD.format(version=version) + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    fresh = programs(Members.read(TABLE))
    uses = [each for one in fresh for each in judged(one)]
    report = {
        "uses": len(uses),
        "by_name_alone": sum(each.named for each in uses),
        "for_7_alone": sum(each.use.seven for each in uses),
        "types": sum(line.kind == "type" for line in lines),
        "members": sum(line.kind != "type" and "5.1" in line.versions for line in lines),
        "only_on_7": sum(line.kind != "type" and line.versions == "7" for line in lines),
        "choices": sum(1 for one in fresh for _ in choices(one)),
    }
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
