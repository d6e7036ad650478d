"""Kubernetes' programs as the tests ask them, whatever system they are built for."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real import build

if TYPE_CHECKING:  # a conftest.py imports this before the collection can be imported
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import FlagTable


class Upstream:
    """Builds for Linux."""

    system = "linux"
    runtime = "unix:///run/containerd/containerd.sock"
    """The address of a container runtime that kubeadm takes; empty: ours."""

    def run(self, name: str, version: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """The program's answer; skips where it was not built."""
        program = build.program(name, version)
        if not program.exists():
            pytest.skip(
                f"lane real: {name} {version} is not there; `python -m tests.real.build {name}@{version}` builds it"
            )
        command = [str(program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={"HOME": "/"})

    def path(self, path: Path) -> str:
        """How the program names a file of this machine."""
        return str(path)

    def own(self, arguments: Sequence[str], table: FlagTable) -> list[str]:
        """Without the flags that only a build for another system has."""
        others = {flag.name for flag in table.flags.values() if flag.system not in {"", self.system}}
        return [argument for argument in arguments if argument[2:].partition("=")[0] not in others]
