"""issue_report.md has every heading that Kubernetes' page asks for, filled in with what is known."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.issue import TODO, Facts, report

KNOWN = Facts(
    node="win1",
    kubernetes="1.30.4",
    server="v1.30.4",
    info={
        "kubeletVersion": "v1.30.3",
        "kernelVersion": "10.0.20348.2700",
        "containerRuntimeVersion": "containerd://1.7.28",
    },
    windows="Windows Server 2022",
    cloud="azure:///x",
    network=("l2bridge", "pods 10.244.0.0/16"),
    verbosity=("kubelet: --v=6",),
    logs=("files/c/k/kubelet.log",),
    left_out={"events/x.txt": "wevtutil.exe is not on the node"},
)


@pytest.mark.row("LG-03")
def test_what_is_known_is_filled_in() -> None:
    text = report(KNOWN)
    for line in (
        "Server Version: v1.30.4",
        "kubelet on win1: v1.30.3",
        "- Cloud provider: azure:///x",
        "- OS distro: Windows Server 2022 10.0.20348.2700",
        "  - l2bridge",
        "  - pods 10.244.0.0/16",
        "- Container runtime (containerd or Docker) and version: containerd 1.7.28",
        "- files/c/k/kubelet.log",
        "- not collected: events/x.txt: wevtutil.exe is not on the node",
    ):
        assert line in text.splitlines(), line
    assert text.index("## How can we reproduce it") < text.index("## Kubernetes version")


@pytest.mark.row("LG-03")
@pytest.mark.parametrize("facts", [KNOWN, Facts(node="win1")], ids=["known", "unknown"])
def test_every_heading_is_there_whatever_is_known(facts: Facts) -> None:
    lines = report(facts).splitlines()
    assert [line.removeprefix("## ") for line in lines if line.startswith("#")] == [
        "What happened",
        "What did you expect to happen",
        "How can we reproduce it (as minimally and precisely as possible)",
        "Kubernetes version",
        "Environment",
        "Relevant logs",
    ]
    at = lines.index("## Environment")
    asked = [line.partition(":")[0] for line in lines[at : lines.index("## Relevant logs")] if line.startswith("- ")]
    assert asked == [
        "- Cloud provider",
        "- OS distro",
        "- Networking choice and configuration",
        "- Container runtime (containerd or Docker) and version",
    ]
    assert lines[lines.index("```console") + 1] == "$ kubectl version"


@pytest.mark.row("OB-08")
def test_how_much_the_kubelet_logs_is_said() -> None:
    assert "- verbosity of kubelet: --v=6" in report(KNOWN)


@pytest.mark.row("LG-03")
def test_docker_is_called_docker_and_what_nobody_knows_is_to_be_filled_in() -> None:
    said = report(Facts(node="win1", runtime="docker://20.10.9"))
    assert "and version: Docker 20.10.9" in said
    for release in ("1.30.4", "v1.30.4"):
        assert "kubelet on win1: v1.30.4" in report(Facts(node="win1", kubernetes=release)).splitlines()
    empty = report(Facts(node="win1"))
    for heading in ("Server Version", "kubelet on win1", "- Cloud provider", "- OS distro", "- Container runtime"):
        (line,) = [line for line in empty.splitlines() if line.startswith(heading)]
        assert line.endswith(TODO), line


@pytest.mark.row("LG-04", "LG-05")
def test_it_ends_with_the_label_and_begins_with_the_search() -> None:
    text = report(KNOWN)
    assert text.splitlines()[-1] == "/sig windows"
    assert text.splitlines()[0] == (
        "<!-- Search first whether somebody has reported it already: "
        "https://github.com/kubernetes/kubernetes/issues?q=is%3Aissue+label%3Asig%2Fwindows -->"
    )
