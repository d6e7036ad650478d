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


def record(windows: Programs, name: str, version: str, today: datetime.date) -> Path:
    """Writes what a program says, under a header that says what it is. ValueError for a program that says nothing."""
    done = windows.run(name, version, build.HELP[name])
    text = re.sub(r"[ \t]+$", "", done.out, flags=re.MULTILINE).strip("\n")
    if done.exit or "--" not in text:
        raise ValueError(f"{name} {version}: {done.said[-500:]}")
    header = (
        f"# {name} {version}, command: {name} {' '.join(build.HELP[name])}, recorded {today.isoformat()}, "
        f"Windows build (amd64, {build.toolchain()}, from {build.KUBERNETES}@v{version}), "
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
        for name in build.HELP:
            for version in programs.built(name):
                print(record(windows, name, version, today))
    return 0


if __name__ == "__main__":
    sys.exit(main())
