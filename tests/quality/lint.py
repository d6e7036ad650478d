"""Every linter, one after the other: python -m tests.quality.lint [NAME ...]

All of them run even if one finds something; the exit status is 1 if any did.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.quality import sanity

ROOT = sanity.ROOT
# Packages that mypy checks by name; the last ones where they are there.
MYPY_PACKAGES = ("ansible_collections.winkube.node.plugins", "tests")


@dataclass(frozen=True)
class Linter:
    """One program; `command` is made when it runs, since some name every file of the project."""

    name: str
    what: str
    command: Callable[[], Sequence[str]]


def _program(name: str) -> str:
    return str(Path(sys.prefix) / "bin" / name)


def _files(*suffixes: str) -> list[str]:
    return [name for name in sanity.project_files() if name.endswith(suffixes)]


def _mypy() -> list[str]:
    return [_program("mypy"), *(argument for package in MYPY_PACKAGES for argument in ("-p", package))]


def _yamllint() -> list[str]:
    return [_program("yamllint"), "--strict", ".yamllint", ".ansible-lint", *_files(".yml", ".yaml")]


LINTERS = (
    Linter("shell", "bash parses .ci", lambda: ["bash", "-n", ".ci/run", ".ci/setup"]),
    Linter("ruff", "Python: rules", lambda: [_program("ruff"), "check", "."]),
    Linter("format", "Python: layout", lambda: [_program("ruff"), "format", "--check", "."]),
    Linter("mypy", "Python: types, strict", _mypy),
    Linter(
        "secrets", "where a secret is taken out of its type", lambda: [sys.executable, "-m", "tests.quality.revealed"]
    ),
    Linter("yamllint", "YAML", _yamllint),
    Linter("actionlint", "workflows", lambda: [sys.executable, "-m", "tests.quality.actions"]),
    Linter("ansible-lint", "roles and playbooks, profile production", lambda: [_program("ansible-lint"), "--strict"]),
    Linter(
        "docs",
        "documentation of plugins and roles",
        lambda: [
            _program("antsibull-docs"),
            "lint-collection-docs",
            "--plugin-docs",
            "--validate-collection-refs=self",
            ".",
        ],
    ),
    # Not with --quiet, which takes the warnings away from --strict.
    Linter("site", "documentation as a site", lambda: [sys.executable, "-m", "mkdocs", "build", "--strict"]),
    Linter(
        "powershell",
        "PowerShell: .NET's members that Windows PowerShell 5.1 has; PowerShell's own parser where one is found",
        lambda: [
            "env",
            f"PYTHONPATH={Path(sys.prefix) / 'collections'}",
            sys.executable,
            "-m",
            "tests.quality.powershell",
        ],
    ),
    Linter("changelog", "changelog fragments", lambda: [_program("antsibull-changelog"), "lint"]),
    Linter("sanity", "ansible-test sanity on a copy", lambda: [sys.executable, "-m", "tests.quality.sanity"]),
)


def main(names: Sequence[str]) -> int:
    known = {linter.name: linter for linter in LINTERS}
    for name in names:
        if name not in known:
            print(f"lint: there is no {name}; there are {', '.join(known)}", file=sys.stderr)
            return 2
    # The linters start ansible by name, and a user's own settings must not change what they find.
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")} | {
        "PATH": path,
        # mkdocs-material's words about what comes after it, in colours.
        "NO_MKDOCS_2_WARNING": "1",
    }
    failed = []
    for linter in [known[name] for name in names] or LINTERS:
        start = time.monotonic()
        done = subprocess.run(linter.command(), cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False)
        good = done.returncode == 0
        took = time.monotonic() - start
        print(f"lint: {linter.name} ({linter.what}): {'ok' if good else 'FAILED'}, {took:.0f} s", flush=True)
        if not good:
            failed.append(linter.name)
    print(f"lint: {', '.join(failed)} failed" if failed else "lint: nothing found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
