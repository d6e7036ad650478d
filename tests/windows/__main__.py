"""Builds what is not there, lets the programs judge, and prints what each did.

    python -m tests.windows              all of them
    python -m tests.windows --newest     the newest of each program, built: containerd, kubelet and kubeadm
    python -m tests.windows --containerd the newest of each program, built: containerd; without what takes minutes (CI)
    python -m tests.windows --judge      what is built already; further arguments go to pytest

The last line is `N passed, N failed`, with `, N skipped` where there were any.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import cast

import pytest

from tests.real import build
from tests.windows import programs
from tests.windows.hns import library
from tests.wine import chroot

NEWEST = (
    next(entry for entry in build.WINDOWS if entry[0] == "containerd"),
    (
        "kubernetes",
        next(version for project, version, _ in build.WINDOWS if project == "kubernetes"),
        ("kubelet", "kubeadm"),
    ),
)
LONG = ("test_machine.py", "test_machine_kubernetes.py", "test_crash_loop.py", "test_nssm_and_sc.py")
"""What waits for services and restarts by a real clock."""


@dataclass
class Tally:
    """What the tests said, and the table's lines."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Why tests were skipped, and what each lacked."""
    judged: dict[tuple[str, str], dict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: {"reached": [], "compared": [], "differed": []})
    )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1
        if report.skipped:
            text = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
            _, _, why = text.removeprefix("Skipped: ").partition(": ")
            lacked, _, reason = why.partition(" is not built")
            self.reasons["not built" if reason else why].add(lacked if reason else "")
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name != "judged":
                continue
            program, version, *said = cast(tuple[str, ...], value)
            for column, text in zip(("reached", "compared", "differed"), said, strict=True):
                found = self.judged[program, version][column]
                if text and text not in found:
                    found.append(text)

    def table(self) -> str:
        """One line for each program and version, in columns."""
        rows: list[tuple[str, ...]] = [("program", "version", "how far", "compared", "differed")]
        for (program, version), said in sorted(self.judged.items()):
            rows.append((program, version, *("; ".join(said[column]) or "-" for column in said)))
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        return "\n".join(
            "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[4]]).rstrip()
            for row in rows
        )

    def line(self) -> str:
        skipped = f", {self.outcomes['skipped']} skipped" if self.outcomes["skipped"] else ""
        return f"{self.outcomes['passed']} passed, {self.outcomes['failed']} failed{skipped}"


def make(wanted: tuple[tuple[str, str, tuple[str, ...]], ...]) -> None:
    """Builds; what cannot be built is said and left out."""
    reason = programs.cannot_build()
    if wanted and reason is not None:
        print(f"lane windows: nothing is built: {reason}", flush=True)
        return
    for project, version, names in wanted:
        try:
            build.build(project, version, names, "windows")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            print(f"lane windows: {project} {version} is not built: {error}", flush=True)
    if wanted == build.WINDOWS:
        try:
            library.build()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"lane windows: hns.dll is not built: {error}", flush=True)


def main(arguments: list[str]) -> int:
    wanted = {"--newest": NEWEST, "--containerd": NEWEST[:1], "--judge": ()}
    chosen = next((entries for word, entries in wanted.items() if word in arguments), build.WINDOWS)
    rest = [word for word in arguments if word not in wanted]
    if {"--containerd", "--newest"} & set(arguments):
        os.environ[programs.ONLY] = programs.newest()
    if "--containerd" in arguments:
        rest += [f"--ignore=tests/windows/{name}" for name in LONG]
    if (why := chroot.cannot()) is not None:
        print(f"lane windows: skipped, {why}\n0 passed, 0 failed")
        return 0
    if chroot.main():
        print("lane windows: skipped, Wine 10 could not be set up (see above)\n0 passed, 0 failed")
        return 0
    make(chosen)
    os.environ["WINKUBE_WINDOWS"] = "1"
    tally = Tally()
    code = pytest.main(["tests/windows", "-q", "-p", "no:cacheprovider", *rest], plugins=[tally])
    print(tally.table())
    for reason, lacked in sorted(tally.reasons.items()):
        print(f"skipped: {reason}{': ' + ', '.join(sorted(lacked)) if any(lacked) else ''}")
    print(tally.line(), flush=True)
    return 0 if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED) and not tally.outcomes["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
