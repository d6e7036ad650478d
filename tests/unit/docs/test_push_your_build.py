"""docs/push-your-build.md and playbooks/push.yml build with the commands of the documents, no others."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "push-your-build.md").read_text(encoding="utf-8")
(BUILD,) = yaml.safe_load((ROOT / "playbooks" / "push.yml").read_text(encoding="utf-8"))
ROUND = yaml.safe_load((ROOT / "playbooks" / "tasks" / "push_round.yml").read_text(encoding="utf-8"))

CONTAINERD = "GOOS=windows make bin/containerd"
KUBELET = "make WHAT=cmd/kubelet KUBE_BUILD_PLATFORMS=windows/amd64"
MADE = "bin/containerd: PE32+ executable (console) x86-64, for MS Windows, 8 sections"
"""As the documents write them."""


def typed(section: str) -> list[str]:
    """What a section of the page lets one type at a prompt."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\$ (.*)$", text, re.MULTILINE)


def command(name: str) -> tuple[str, dict[str, str]]:
    """What the playbook runs, as one line, and the environment that it sets."""
    build: dict[str, Any] = BUILD["vars"]["winkube_builds"][name]
    return " ".join(build["command"]), build["environment"]


@pytest.mark.row("PV-11")
def test_containerd_is_built_as_in_the_documents() -> None:
    commands = typed("Build")
    assert commands[:3] == ["git checkout v1.7.12", CONTAINERD, "file bin/containerd"]
    assert "v1.6.27" in PAGE
    assert MADE in PAGE
    line, environment = command("containerd")
    assert f"GOOS={environment['GOOS']} {line}" == CONTAINERD
    assert environment == {"GOOS": "windows", "GOARCH": "amd64"}, "amd64 is what the documents' result is for"


@pytest.mark.row("PV-12")
def test_kubelet_is_built_as_in_the_documents() -> None:
    assert [line for line in typed("Build") if "WHAT=" in line] == [KUBELET]
    assert command("kubelet") == (KUBELET, {})
    assert command("kube-proxy") == (KUBELET.replace("kubelet", "kube-proxy"), {})


@pytest.mark.row("PV-11", "PV-12")
def test_the_playbook_runs_these_and_pushes_what_they_make() -> None:
    (made,) = (task["winkube.node.k8s_windows_build"] for task in ROUND if "winkube.node.k8s_windows_build" in task)
    (block,) = (task["block"] for task in ROUND if "block" in task)
    (push,) = (task[name] for task in block if (name := "winkube.node.win_k8s_provisioner") in task)
    assert "winkube_builds[winkube_build_name].command" in made["command"]
    assert "winkube_builds[winkube_build_name].environment" in made["environment"]
    assert "winkube_builds[winkube_build_name].result" in made["result"]
    assert set(BUILD["vars"]["winkube_builds"]) <= set(DAEMONS)
    (pushed,) = push["provisioners"]
    assert pushed["sourceURL"] == "{{ winkube_push_built.file.path }}", "the very file that was made"
    results = {name: each["result"] for name, each in BUILD["vars"]["winkube_builds"].items()}
    assert results["containerd"] == MADE.partition("/")[0]
    assert "$ ls " + results["kubelet"] in PAGE
    assert pushed["overwrite"] is True
