# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node on which nothing differs does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = "ansible_collections.winkube.node.plugins"
FIRST_TASK = ("action.win_k8s_node_info", "plugin_utils.task.node_plan", "plugin_utils.task.converge")


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of this collection that a new interpreter has after it imported the first task's code."""
    imports = ", ".join(f"{PLUGINS}.{name}" for name in FIRST_TASK)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {imports}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / ".venv" / "collections"), "PATH": "/usr/bin:/bin"},
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["lint", "calico", "diagnosis", "messages", "scheduling"])
def test_the_first_task_loads_no(loaded: set[str], package: str) -> None:
    """Each of these is needed only where something differs, or by another task."""
    name = f"{PLUGINS}.plugin_utils.{package}"
    assert f"{PLUGINS}.plugin_utils.task.preflight" in loaded
    assert not {each for each in loaded if each == name or each.startswith(f"{name}.")}
