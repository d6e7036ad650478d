"""A whole node on Wine, without the lab's twin: what Ansible sends is executed by PowerShell for Windows.

    python -m tests.wine_node               the whole story (story.py)
    python -m tests.wine_node push cut      these chapters, and what they need

The node is a process of its own that cannot import tests.lab.twin (guard.py): an SSH server in front of a prefix of
Wine, whose service manager, drive and registry, nssm.exe and containerd.exe are real (machine.py). What Wine lacks
stands in as a program, a DLL or a cmdlet (standins.py). The last line is one JSON object.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.pwsh import program
from tests.wine import chroot
from tests.wine_node import compare, story
from tests.wine_node.calls import ROOT

NOT_RUN = (
    "the role host, what restarts the machine, and the join with kubeadm",
    "HNS and what needs it: flannel, a kube-proxy that stays, the external switch (addresses, ip_note and their like)",
    "netsh, dism and icacls themselves: the lab's programs answer, and access lists that icacls sets are not Wine's",
    "Windows PowerShell 5.1, and the outer PowerShell that sshd's DefaultShell is",
    "services that Windows has itself (hns, vmcompute, sshd) and boot: BootId is not there",
)
"""What this node does not show."""


def main() -> int:
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
    print(f"lane wine-node: PowerShell {found.version} for Windows, from {found.taken_from}", flush=True)
    with tempfile.TemporaryDirectory(prefix="wine-node-") as folder, story.node(Path(folder), found.path) as node:
        told = story.Told(node)
        story.tell(told, sys.argv[1:])
        summary, calls = told.summary(), node.ask("calls")
    report = ROOT / "build" / "wine-node.jsonl"
    report.parent.mkdir(exist_ok=True)
    report.write_text("".join(json.dumps(call) + "\n" for call in calls), encoding="utf-8")
    differs = compare.differences(list(compare.of_calls(calls)), compare.of_the_lab())
    left = compare.unexplained(differs)
    for line in differs:
        print(f"differs from the lab: {line}{' (of this known.yml says nothing)' if line in left else ''}")
    for line in NOT_RUN:
        print(f"not run: {line}")
    summary |= {"differences_to_the_lab": len(differs), "differences_without_a_case": len(left)}
    print(json.dumps(summary))
    return 1 if told.failed or left or summary["twin_importable"] else 0


if __name__ == "__main__":
    sys.exit(main())
