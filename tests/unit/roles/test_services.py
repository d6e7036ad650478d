"""Each service of a node is the business of one role, and of one task in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]


def modules(role: str) -> list[str]:
    """The modules of this collection that a role's tasks call."""
    tasks: list[dict[str, Any]] = yaml.safe_load((ROOT / "roles" / role / "tasks" / "main.yml").read_text("utf-8"))
    return [key.removeprefix("winkube.node.") for task in tasks for key in task if key.startswith("winkube.node.")]


@pytest.mark.row("SV-05")
def test_kubelet_and_kube_proxy_are_made_by_two_tasks() -> None:
    assert modules("kubelet") == ["win_kubelet"]
    assert modules("kube_proxy") == ["win_kube_proxy"]
    assert modules("flannel") == ["win_flannel"]
    assert modules("containerd") == ["win_containerd"]
