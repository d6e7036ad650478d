"""A whole node on Wine, without the lab's twin: what Ansible sends is executed by PowerShell for Windows.

    python -m tests.wine_node               the whole story (story.py)
    python -m tests.wine_node push cut      these chapters, and what they need
    python -m tests.wine_node --lab push    only the lab's side of them, held against the last answers of Wine's

The node is a process of its own that cannot import tests.lab.twin (guard.py): an SSH server in front of a prefix of
Wine, whose service manager, drive and registry, nssm.exe and containerd.exe are real (machine.py). What Wine lacks
stands in as a program, a DLL or a cmdlet (standins.py). Then the same chapters are told of a node of the lab, whose
answers are compared (compare.py). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests import lane_reports
from tests.pwsh import program
from tests.real import build
from tests.wine import chroot
from tests.wine_node import compare, story
from tests.wine_node.calls import ROOT
from tests.wine_node.lab_side import in_lab
from tests.wine_node.wine_side import WineSide, on_wine

REPORT = ROOT / "build" / "wine-node.jsonl"
OPS = frozenset(
    re.findall(
        r"^        '(\w+)' { return Invoke-Node", (ROOT / "powershell/runner/70_ops.ps1").read_text(), re.MULTILINE
    )
)
"""The ops that the runner knows."""
NOT_RUN = (
    "what restarts the machine, and the join with kubeadm, which needs a cluster that a node on Wine can be part of",
    "a flanneld and a kube-proxy that stay: they end where Wine lacks what they ask of Windows",
    "netsh, dism and icacls themselves: the lab's programs answer, and access lists that icacls sets are not Wine's",
    "Windows PowerShell 5.1, and the outer PowerShell that sshd's DefaultShell is",
    "services that Windows has itself but for two names (hns, vmcompute), and boot: BootId is not there",
)
"""What this node does not show."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="wine-node", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("chapters", nargs="*", choices=[[], *story.CHAPTERS], help="these and what they need; else all")
    parser.add_argument("--lab", action="store_true", help="the lab's side alone, against the last answers of Wine's")
    given = parser.parse_args()
    if given.lab:
        calls = [json.loads(line) for line in REPORT.read_text(encoding="utf-8").splitlines()]
        return 1 if compared(calls, given.chapters, [])["differences_without_a_case"] else 0
    if (why := chroot.missing()) is not None:
        print(f"lane wine-node: left out: {why}")
        return 0
    try:
        found = program.find("windows")
    except program.LaneError as error:
        print(f"lane wine-node: {error}")
        return 1
    if found is None:
        print(f"lane wine-node: left out: {program.lacking('windows')}")
        return 0
    lacking = ["@".join(each) for each in story.PROGRAMS if not build.program(*each, "windows").exists()]
    if lacking:
        print(f"lane wine-node: not built: python -m tests.real.build --windows {' '.join(lacking)}")
        return 1
    print(f"lane wine-node: PowerShell {found.version} for Windows, from {found.taken_from}", flush=True)
    with tempfile.TemporaryDirectory(prefix="wine-node-") as folder, on_wine(Path(folder), found.path) as node:
        told = story.Told(node)
        story.tell(told, given.chapters, lambda: keep(node))
        summary, calls = of_wine(told, node, whole=not given.chapters), node.ask("calls")
    failed = list(told.failed)
    summary |= compared(calls, given.chapters, failed)
    for line in NOT_RUN:
        print(f"not run: {line}")
    wrong = len(failed) + summary["differences_without_a_case"] + summary["twin_importable"]
    if lane_reports.wanted() and not given.chapters:
        print(lane_reports.record("wine-node", f"PowerShell {found.version} for Windows, on Wine", told.held, wrong))
    print(json.dumps(summary))
    return 1 if wrong else 0


def keep(node: WineSide) -> None:
    """The calls so far, in the report."""
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text("".join(json.dumps(call) + "\n" for call in node.ask("calls")), encoding="utf-8")


def of_wine(told: story.Told, node: WineSide, *, whole: bool) -> dict[str, Any]:
    """What the node's process knows of the story. The whole of it executes each op that the runner knows."""
    ours = [call for call in node.ask("calls") if call["is_ours"]]
    executed = set(node.ask("ops")) & OPS
    for op in sorted(OPS - executed):
        print(f"op not executed: {op}")
        if whole:
            told.failed.append(f"{op} is executed")
    return {
        "payloads": len(ours),
        "processes": len({call["pid"] for call in ours if call["pid"]}),
        "twin_importable": node.ask("hello")["twin_importable"],
        "stand_in_calls": node.ask("stand_ins"),
        "changed_second_run": told.second[0],
        "calls_second_run": told.second[1],
        "ops_executed": len(executed),
        "ops_known": len(OPS),
    }


def compared(calls: Iterable[dict[str, Any]], chapters: list[str], failed: list[str]) -> dict[str, int]:
    """Tells the lab the same chapters; each difference is printed. What does not hold there is added to `failed`."""
    with tempfile.TemporaryDirectory(prefix="wine-node-lab-") as folder, in_lab(Path(folder)) as lab:
        told = story.Told(lab)
        story.tell(told, chapters)
        failed += [f"in the lab: {what}" for what in told.failed]
    differs = compare.differences(list(compare.of_calls(calls)), lab.exchanges)
    left = compare.unexplained(differs)
    for line in differs:
        print(f"differs from the lab: {line}{' (of this known.yml says nothing)' if line in left else ''}")
    return {"differences_to_the_lab": len(differs), "differences_without_a_case": len(left)}


if __name__ == "__main__":
    sys.exit(main())
