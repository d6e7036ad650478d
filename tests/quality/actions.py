"""actionlint over .github/workflows: python -m tests.quality.actions

The program is built once, through the Go module proxy. Without Go this says so and passes, but not in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.quality.sanity import ROOT
from tests.real.build import build, program

VERSION = "1.7.12"


def main() -> int:
    """The exit status: that of actionlint; 1 if it cannot be had where it has to be."""
    if not program("actionlint", VERSION).is_file() and shutil.which("go") is None:
        print("actionlint: skipped, there is no Go on PATH to build it with (Debian: apt install golang)")
        return 1 if os.environ.get("CI") == "true" else 0
    try:
        (path,) = build("actionlint", VERSION, ("actionlint",))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"actionlint {VERSION} could not be built; it needs the Go module proxy: {error}", file=sys.stderr)
        return 1
    # shellcheck and pyflakes would make what is found depend on the machine.
    return subprocess.run([str(path), "-shellcheck=", "-pyflakes="], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
