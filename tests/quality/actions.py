"""actionlint over .github/workflows: python -m tests.quality.actions

The program is built through the Go module proxy, once, into .cache. Without Go this says so and passes, but not in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.quality.sanity import ROOT

VERSION = "v1.7.12"
FOLDER = ROOT / ".cache" / f"actionlint-{VERSION}"


def main() -> int:
    """The exit status: that of actionlint; 1 if it cannot be had where it has to be."""
    program = FOLDER / "actionlint"
    if not program.is_file():
        go = shutil.which("go")
        if go is None:
            print("actionlint: skipped, there is no Go on PATH to build it with (Debian: apt install golang)")
            return 1 if os.environ.get("CI") == "true" else 0
        package = f"github.com/rhysd/actionlint/cmd/actionlint@{VERSION}"
        environment = {**os.environ, "GOBIN": str(FOLDER), "GOFLAGS": "-p=1"}
        built = subprocess.run([go, "install", package], env=environment, cwd=ROOT, check=False)
        if built.returncode != 0:
            print(f"actionlint: {package} could not be built; it needs the Go module proxy", file=sys.stderr)
            return 1
    # shellcheck and pyflakes would make what is found depend on the machine.
    return subprocess.run([str(program), "-shellcheck=", "-pyflakes="], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
