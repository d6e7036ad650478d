"""The kubelet is told the pipe that containerd listens on, and no other."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import containerd_config
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_check
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.kubelet_args import (
    arguments,
)

from tests.unit.components.nodes import wanted_containerd, wanted_kubelet

PIPE = "containerd-dev"
SETTINGS = wanted_kubelet("1.37.1", containerd_pipe=PIPE)
CONTAINERD = wanted_containerd(containerd_pipe=PIPE)


@pytest.mark.row("CT-16", "CT-19")
def test_both_services_on_containerds_pipe() -> None:
    assert f"--container-runtime-endpoint=npipe:////./pipe/{PIPE}" in arguments(SETTINGS)
    assert not any("image-service-endpoint" in word for word in arguments(SETTINGS)), "it is the same by default"


@pytest.mark.row("CT-19")
def test_a_kubelet_that_is_told_another_is_refused() -> None:
    told = ("--container-runtime-endpoint=npipe:////./pipe/containerd-containerd",)
    other = wanted_kubelet(containerd_pipe=PIPE, extra_arguments=told)
    (sentence,) = [one for one in kubelet_check.problems(other) if "containerd listens" in one]
    assert sentence.endswith(
        f"containerd listens on npipe:////./pipe/{PIPE} (winkube_containerd_pipe); leave it out, the role sets that "
        "pipe."
    )
    told = (rf"--container-runtime-endpoint=npipe:\\\\.\pipe\{PIPE}",)
    same = wanted_kubelet(containerd_pipe=PIPE, extra_arguments=told)
    assert not [one for one in kubelet_check.problems(same) if "containerd listens" in one]


@pytest.mark.row("CT-19")
def test_a_containerd_that_listens_on_another_is_refused() -> None:
    text = "version = 3\n[grpc]\naddress = '\\\\.\\pipe\\containerd-containerd'\n"
    found = [one for one in containerd_config.check(text, CONTAINERD) if "the pipe is" in one]
    assert len(found) == 1 and rf"but this node uses '\\.\pipe\{PIPE}'" in found[0]
