"""SE-13: whoever wants signed programs gets Microsoft's pause image, by one option of module and role."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubernetes_fit import pause_image
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import SUPPORTED, kubernetes_line
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

ROLE = Path(__file__).resolve().parents[3] / "roles" / "containerd"


def in_role(name: str) -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load((ROLE / name).read_text(encoding="utf-8"))
    return loaded


@pytest.mark.row("SE-13", "VC-16")
@pytest.mark.parametrize("line", SUPPORTED, ids=str)
def test_microsoft_as_source_means_the_image_that_microsoft_signs(line: Line) -> None:
    signed = pause_image("", line, "microsoft", 20348)
    row = kubernetes_line(line)
    assert row is not None
    assert signed == f"mcr.microsoft.com/oss/v2/kubernetes/pause:{row.pause}"
    # The same tag as the community's, which is the default and is not signed.
    assert pause_image("", line, "kubernetes", 20348) == f"registry.k8s.io/pause:{row.pause}"


@pytest.mark.row("SE-13", "VC-16")
def test_module_and_role_have_the_option() -> None:
    wanted = {"choices": ["kubernetes", "microsoft"], "default": "kubernetes"}
    option = load_spec("win_containerd")["pause_image_source"]
    assert {name: option[name] for name in wanted} == wanted
    spec = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    option = spec["argument_specs"]["main"]["options"]["winkube_pause_image_source"]
    assert {name: option[name] for name in wanted} == wanted
    assert in_role("defaults/main.yml")["winkube_pause_image_source"] == "kubernetes"
    tasks = (ROLE / "tasks" / "main.yml").read_text(encoding="utf-8")
    assert 'pause_image_source: "{{ winkube_pause_image_source }}"' in tasks
