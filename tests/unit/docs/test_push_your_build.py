"""docs/push-your-build.md and playbooks/build_and_push.yml build with the commands of the documents, no others."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "push-your-build.md").read_text(encoding="utf-8")
BUILD, PUSH = yaml.safe_load((ROOT / "playbooks" / "build_and_push.yml").read_text(encoding="utf-8"))

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
    (task,) = BUILD["tasks"]
    made = task["ansible.builtin.command"]["argv"]
    assert "winkube_builds[winkube_build_name].command" in made
    assert "winkube_builds[winkube_build_name].environment" in task["environment"]
    assert set(BUILD["vars"]["winkube_builds"]) == set(PUSH["vars"]["winkube_build_results"]) <= set(DAEMONS)
    assert PUSH["ansible.builtin.import_playbook"] == "provision.yml"
    (pushed,) = PUSH["vars"]["winkube_provisioners"]
    assert pushed["overwrite"] is True
    assert "winkube_build_dir" in pushed["sourceURL"] and "winkube_build_results" in pushed["sourceURL"]
    results = PUSH["vars"]["winkube_build_results"]
    assert results["containerd"] == MADE.partition("/")[0]
    assert results["kubelet"] == "_output/local/bin/windows/amd64"
