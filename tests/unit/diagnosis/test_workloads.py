"""Pods that do not start, images, port-forward, CPU figures."""

from __future__ import annotations

import base64

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import Stats
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import about

from tests.unit.components.nodes import LAYOUT

from .nodes import (
    broken,
    fine,
    healthy,
    noted,
    stuck,
    verdict,
)


@pytest.mark.parametrize(
    "reason",
    [
        "ContainerCreating",
        "PodInitializing",
        "CrashLoopBackOff",
        "CreateContainerError",
        "CreateContainerConfigError",
        "RunContainerError",
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
    ],
)
@pytest.mark.row("TS-06")
def test_a_pod_that_is_stuck(reason: str) -> None:
    node = healthy()
    stuck(node, reason, "back-off 5m0s")
    broken(node, "pod.stuck", f"pod default/stuck: container main is in {reason} (back-off 5m0s).")


@pytest.mark.row("TS-06")
def test_a_pod_that_waits_for_its_first_or_for_any_container() -> None:
    node = healthy()
    stuck(node, "CrashLoopBackOff")
    status = node.pods[-1]["status"]
    status["initContainerStatuses"] = [status["containerStatuses"].pop() | {"name": "setup"}]
    broken(node, "pod.stuck", "pod default/stuck: container setup is in CrashLoopBackOff.")
    del status["initContainerStatuses"]
    node.events = [{"involvedObject": {"uid": "u-stuck"}, "message": "no space left."}]
    broken(
        node,
        "pod.stuck",
        "pod default/stuck: Pending since 2026-11-21T08:00:00Z (no space left).",
        remedy="kubectl describe pod -n default stuck says more.",
    )
    node.look(pod_wait=3601)
    fine(node, "pod.stuck")


@pytest.mark.row("TS-06")
def test_a_young_pod_is_not_stuck_but_one_that_fails_is() -> None:
    node = healthy()
    stuck(node, "ContainerCreating")
    node.pods[-1]["status"]["startTime"] = "2026-11-21T08:58:00Z"
    fine(node, "pod.stuck")
    node.look(pod_wait=60)
    broken(node, "pod.stuck", "ContainerCreating")


@pytest.mark.row("TS-06")
def test_a_container_that_restarts_over_and_over() -> None:
    node = healthy()
    node.pods[0]["status"]["containerStatuses"][0] |= {"restartCount": 5, "ready": False}
    broken(node, "pod.stuck", "was restarted 5 times and is not ready")
    node.pods[0]["status"]["containerStatuses"][0] |= {"restartCount": 4}
    fine(node, "pod.stuck")


@pytest.mark.row("TS-06")
def test_a_pause_image_that_does_not_run_on_this_windows() -> None:
    node = healthy(overlay=True)
    node.parts["system"]["os"]["build"] = 26100
    config = base64.b64decode(node.parts[file_key(LAYOUT.containerd_config)]["content"]).decode()
    fine(node, "pod.stuck")
    node.file(LAYOUT.containerd_config, config.replace("pause:3.10.2", "pause:3.5"))
    broken(
        node,
        "image.pause-build",
        "registry.k8s.io/pause:3.5 has no manifest for Windows Server 2025",
        remedy="to registry.k8s.io/pause:3.10.2",
    )


@pytest.mark.row("VC-17", "TS-06")
def test_an_image_for_another_windows_is_to_be_adjusted() -> None:
    node = healthy()
    stuck(node, "ContainerCreating", image="mcr.microsoft.com/windows/servercore:1803")
    node.events = [
        {
            "involvedObject": {"uid": "u-stuck"},
            "message": "The container operating system does not match the host operating system.",
        }
    ]
    broken(node, "pod.stuck", "does not match the host operating system", remedy="servercore:1803 is made for")
    assert about(node.events[0]["message"]) == ("image.mismatch",)
    (found,) = node.find("pod.stuck")
    assert "(build 17134), the node is Windows Server 2022 and runs images of build 20348" in found.remedy.plain
    assert "have to be adjusted" in found.remedy.plain
    assert "kubectl describe" not in found.remedy.plain
    node.pods[-1]["spec"]["containers"][0]["image"] = "mcr.microsoft.com/windows/servercore:ltsc2025"
    broken(node, "pod.stuck", remedy="servercore:ltsc2025 is made for Windows Server 2025 (build 26100)")
    node.pods[-1]["spec"]["containers"][0]["image"] = "mcr.microsoft.com/windows/servercore:ltsc2022"
    assert "made for" not in node.find("pod.stuck")[0].remedy.plain


@pytest.mark.row("TS-17", "VC-15", "VC-24")
def test_port_forward_needs_wincat() -> None:
    node = healthy()
    config = base64.b64decode(node.parts[file_key(LAYOUT.containerd_config)]["content"]).decode()
    node.file(LAYOUT.containerd_config, config.replace("pause:3.9", "pause:1.4.0"))
    broken(node, "pod.port-forward", "unable to do port forwarding: wincat not found", remedy="wincat.exe")
    node.file(LAYOUT.containerd_config, config.replace("registry.k8s.io/pause:3.9", "mcr.microsoft.com/k/pause:1.4.1"))
    fine(node, "pod.port-forward")
    node.want_release("1.14.10")
    broken(node, "pod.port-forward", "Kubernetes 1.14 cannot forward ports")
    node.want_release("1.15.0")
    fine(node, "pod.port-forward")


@pytest.mark.row("TS-17")
def test_a_pause_image_of_ones_own_cannot_be_judged() -> None:
    node = healthy()
    config = base64.b64decode(node.parts[file_key(LAYOUT.containerd_config)]["content"]).decode()
    node.file(LAYOUT.containerd_config, config.replace("registry.k8s.io/pause:3.9", "example.com/own:latest"))
    noted(node, "pod.port-forward-unknown", "whether it has wincat.exe is unknown")


@pytest.mark.row("TS-17")
def test_the_message_leads_to_the_check() -> None:
    assert about("error: unable to do port forwarding: wincat not found") == ("pod.port-forward",)


@pytest.mark.row("TS-21")
def test_cpu_usage_of_zero() -> None:
    node = healthy()
    text = "container burn of pod default/burn: 3 zero"
    link = "https://github.com/containerd/containerd/issues/9531"
    node.more["stats"] = Stats("1.7.11", (verdict("containerd", text, True, defect={"issue": link}),))
    broken(node, "pod.cpu-zero", text, remedy=link)


@pytest.mark.row("TS-21")
def test_containerd_17_is_a_known_limitation_and_others_are_none() -> None:
    node = healthy()
    node.more["stats"] = Stats("1.7.11", (verdict("neither", "Nothing is wrong."),))
    fine(node)
    noted(node, "pod.cpu-unknown", "containerd/issues/9531")
    node.more["stats"] = Stats("2.3.7", (verdict("neither", "Nothing is wrong."),))
    assert not node.find("pod.cpu-unknown")
    node.more["stats"] = Stats("2.3.7", (), "the kubelet serves no /stats/summary.")
    noted(node, "pod.cpu-unknown", "no /stats/summary")
