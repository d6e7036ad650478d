"""docs/support-matrix.md is what the planning answers now, and has the answers that people look for."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import node_fit
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from tests.unit.facts import support_matrix_page
from tests.unit.facts.support_matrix_page import host_cell, manager_cell, network_cell, pair_cell


@pytest.mark.row("ST-11")
@pytest.mark.parametrize("build", [14393, 16299, 17134])
def test_windows_before_2019_is_refused_by_every_kubernetes(build: int) -> None:
    """Symbolic links and mounts of some containers do not work there, so a node is not made of it."""
    assert {host_cell(line, build) for line in support_matrix_page.lines()} == {"no node"}
    wanted = HostOptions(kubernetes_version="1.22.0", allow_unsupported_os=True)
    fit = node_fit.problems(node_fit.Machine(build, 9999), wanted)
    assert any("cannot be a Kubernetes node: nodes need Windows Server 2019" in text for text in fit.refusals)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (host_cell(Line(1, 27), 20348), "`3.6`"),
        (host_cell(Line(1, 36), 17763), "unsupported"),
        (host_cell(Line(1, 35), 26100), "`3.10.2` ?"),
        (host_cell(Line(1, 22), 19042), "warns, `3.5`"),
        (pair_cell(Line(1, 36), Line(1, 7)), "refused"),
        (pair_cell(Line(1, 36), Line(2, 3)), "yes"),
        (pair_cell(Line(1, 36), Line(2, 0)), "warns"),
        (network_cell("overlay", 17763), "from 10.0.17763.348 (KB4482887), before that refused"),
        (network_cell("overlay", 17134), "no node"),
        (network_cell("l2bridge", 17763), "yes"),
        (manager_cell("flanneld", "sc"), "no"),
        (manager_cell("kubelet", "nssm"), "yes, the default"),
    ],
)
def test_cells(cell: str, said: str) -> None:
    assert cell == said
