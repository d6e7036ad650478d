"""The cases of playbooks/files/*.ps1 (people.yml) as steps that whoever has a PowerShell takes: test_people.py, and the
archive's run.ps1 on a Windows machine. Each runs a script twice on the stand-ins of people.ps1."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests import yaml_text

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "playbooks" / "files"
SCRIPTS = sorted(FOLDER.glob("*.ps1"))
HARNESS = HERE / "people.ps1"
TABLE: Mapping[str, Any] = yaml_text.load_file(HERE / "people.yml")
CASES: Sequence[Mapping[str, Any]] = TABLE["cases"]


def ident(case: Mapping[str, Any]) -> str:
    """The id of a case, as those of ops/*.yml have one."""
    return f"people-{case['script']}-{re.sub(r'[^a-z0-9]+', '-', case['name'].lower()).strip('-')}"


def world(case: Mapping[str, Any], root: str) -> str:
    """The machine of a case as people.ps1 reads it; `root` is its folder, as the machine names it."""
    laid = {**TABLE["base"][case["script"]], **(case.get("machine") or {})}
    there = {key: value for key, value in laid.items() if value is not None}
    return "".join(f"{key}\t{value}\n".replace("{root}", root) for key, value in there.items())


def files(case: Mapping[str, Any]) -> Sequence[str]:
    """The machine's empty files, below its root."""
    return [name for name in (*TABLE["files"], *case.get("files", ())) if name not in case.get("gone", ())]


def step(case: Mapping[str, Any], root: str) -> dict[str, Any]:
    """`script`, `arguments` (base64 of JSON), `runs` (`what`, `exit`, `says`, `quiet`), `after` (key -> value or
    None)."""
    arguments = json.dumps(case["arguments"]).replace("{root}", root.replace("\\", "/"))
    runs = [("the first run", case), ("the second run", case["again"])]
    return {
        "script": f"{case['script']}.ps1",
        "arguments": base64.b64encode(arguments.encode()).decode(),
        "runs": [
            {
                "what": what,
                "exit": run["exit"],
                "says": squeezed(run["says"]),
                "quiet": squeezed(run.get("keeps_quiet", "")),
            }
            for what, run in runs
        ],
        "after": {key: value and value.replace("{root}", root) for key, value in (case.get("after") or {}).items()},
    }


def squeezed(text: str) -> str:
    """Without colours and blanks: a PowerShell wraps the lines that it prints, within words too."""
    return re.sub(r"\x1b\[[0-9;]*m|\s", "", text)


def differences(wanted: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What of the runs (`exit_code`, `said`, `look`: all files, `world`: the machine) is not as a step wants it."""
    for want, run in zip(wanted["runs"], runs, strict=True):
        said = squeezed(str(run["said"]))
        if run["exit_code"] != want["exit"]:
            yield f"{want['what']} ended with {run['exit_code']}, wanted {want['exit']}: {run['said']}"
        if not re.search(want["says"], said, re.DOTALL):
            yield f"{want['what']} does not say {want['says']}: {run['said']}"
        if want["quiet"] and re.search(want["quiet"], said, re.DOTALL):
            yield f"{want['what']} says {want['quiet']}: {run['said']}"
    if runs[0]["look"] != runs[1]["look"]:
        yield "the second run changed the machine"
    found = dict(line.split("\t", 1) for line in str(runs[1]["world"]).splitlines() if "\t" in line)
    for key, value in wanted["after"].items():
        if found.get(key) != value:
            yield f"{key} is {found.get(key)}, wanted {value}"
