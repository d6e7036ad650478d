"""Records what the builds for Windows say to --help, as tests/real/build.py does for Linux.

python -m tests.windows.record          every program of HELP that is built, to tests/recorded/windows
"""

from __future__ import annotations

import datetime
import re
import sys
import tempfile
from pathlib import Path

from tests.real import build
from tests.windows import programs
from tests.windows.programs import Programs
from tests.wine.prefix import Prefix

RECORDED = build.RECORDED / "windows"
HELP = {**build.HELP, "containerd": ("--help",), "flanneld": ("--help",), "kube-log-runner": ("-help",)}
"""What is recorded of builds for Windows."""


def record(windows: Programs, name: str, version: str, today: datetime.date) -> Path:
    """Writes what a program says, under a header that says what it is. ValueError for a program that says nothing."""
    done = windows.run(name, version, HELP[name])
    # Go's own flag package says it on the error stream, and flanneld ends with 2 after it.
    text = re.sub(r"[ \t]+$", "", done.out or done.error, flags=re.MULTILINE).strip("\n")
    if done.exit not in (0, 2) or " -" not in text:
        raise ValueError(f"{name} {version}: {done.said[-500:]}")
    module = build.PROJECTS[build.project_of(name)].module_of(version)
    header = (
        f"# {name} {version}, command: {name} {' '.join(HELP[name])}, recorded {today.isoformat()}, "
        f"Windows build (amd64, {build.toolchain()}, from {module}@v{version}), "
        f"on Wine {windows.prefix.version()}"
    )
    RECORDED.mkdir(parents=True, exist_ok=True)
    path = RECORDED / f"{name}-{version}.help.txt"
    path.write_text(f"{header}\n{text}\n", encoding="utf-8")
    return path


def main() -> int:
    if (why := programs.missing()) is not None:
        print(f"not recorded: {why}", file=sys.stderr)
        return 1
    today = datetime.datetime.now(tz=datetime.UTC).date()
    with tempfile.TemporaryDirectory() as folder, Prefix(Path(folder) / "prefix") as prefix:
        windows = Programs(prefix)
        for name in HELP:
            for version in programs.built(name):
                print(record(windows, name, version, today))
    return 0


if __name__ == "__main__":
    sys.exit(main())
