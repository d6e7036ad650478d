"""The objects of the smoke test against the documents' own, and what they become on nodes of several builds."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.modules.k8s_windows_conformance import DOCUMENTATION
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.manifests import Wish

from tests.unit.workload_tests import told

ROOT = Path(__file__).resolve().parents[4]
DOCUMENT = ROOT / "tests" / "fixtures" / "smoke" / "win-webserver.yaml"
PRINTED = DOCUMENT.with_name("win-webserver.printed.txt")
WISH = told.deployed({17763: 2}, until="2030-01-01T00:00:00Z")


def made(wish: Wish = WISH) -> dict[tuple[str, str], dict[str, Any]]:
    return {(item["kind"], item["metadata"]["name"]): item for _, item in manifests.objects(wish)}


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    service, deployment = yaml.safe_load_all(DOCUMENT.read_text(encoding="utf-8"))
    return service, deployment


@pytest.mark.row("SM-01")
def test_the_service_is_the_documents_own() -> None:
    service = made()["Service", "win-webserver"]
    wanted, _ = documents()
    assert service.pop("metadata") == {**wanted.pop("metadata"), "namespace": "smoke"}
    assert service["spec"].pop("ipFamilyPolicy") == "PreferDualStack", "the one thing that is added"
    assert service == wanted
    assert service["spec"] == {
        "ports": [{"port": 80, "targetPort": 80}],
        "selector": {"app": "win-webserver"},
        "type": "NodePort",
    }


@pytest.mark.row("SM-01", "SM-15")
def test_two_services_more_for_udp_one_with_an_address_and_one_with_a_name() -> None:
    port = {"name": "echo", "port": 8081, "targetPort": 8081, "protocol": "UDP"}
    spec = {"selector": {"app": "winkube-peer"}, "ports": [port]}
    assert made()["Service", "winkube-peer"]["spec"] == {**spec, "type": "NodePort"}
    assert made()["Service", "winkube-peers"]["spec"] == {**spec, "clusterIP": "None"}


@pytest.mark.row("SM-02")
def test_the_deployment_is_the_documents_own_and_its_command_line_byte_by_byte() -> None:
    found, (_, wanted) = made()["Deployment", "win-webserver"], documents()
    line = found["spec"]["template"]["spec"]["containers"][0]["command"]
    printed = PRINTED.read_bytes()
    assert f'"{line[2]}"'.encode() in printed
    assert line[:2] == ["powershell.exe", "-command"]
    assert line[2].count("$$") == printed.count(b"$$") == 50
    pod = copy.deepcopy(found)["spec"]["template"]["spec"]
    for ours in ("affinity", "tolerations", "os"):
        del pod[ours]
    assert pod == wanted["spec"]["template"]["spec"]
    assert found["spec"]["replicas"] == wanted["spec"]["replicas"] == 2
    assert found["spec"]["selector"] == wanted["spec"]["selector"]
    single = made(told.deployed({17763: 1}))["Deployment", "win-webserver"]
    assert single["spec"]["replicas"] == 2, "two pods, on one node as well"
    newer = made(told.deployed({20348: 1}))["Deployment", "win-webserver"]["spec"]["template"]["spec"]
    assert newer["containers"][0]["image"] == "mcr.microsoft.com/windows/servercore:ltsc2022"
    here = Path(manifests.__file__).with_name("win-webserver-deployment.yaml")
    assert yaml.safe_load(here.read_text(encoding="utf-8")) == wanted
    assert pod["containers"][0]["image"] == "mcr.microsoft.com/windows/servercore:ltsc2019"


@pytest.mark.row("SM-02")
def test_the_peer_of_udp_is_written_as_the_documents_write() -> None:
    (container,) = made()["Deployment", "winkube-peer"]["spec"]["template"]["spec"]["containers"]
    program, option, code = container["command"]
    assert (program, option) == ("powershell.exe", "-command")
    assert container["image"] == "mcr.microsoft.com/windows/servercore:ltsc2019"
    assert "$" in code and "$" not in code.replace("$$", ""), "Kubernetes makes one $ of two"


@pytest.mark.row("SM-03")
def test_the_pods_are_for_windows_nodes_and_our_own_linter_has_nothing_against_them() -> None:
    for name in ("win-webserver", "winkube-peer"):
        pod = made()["Deployment", name]["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"kubernetes.io/os": "windows"}
        assert pod["os"] == {"name": "windows"}
        taint = {"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}
        assert pod["tolerations"] == [taint]
    objects = [item for _, item in manifests.objects(WISH)]
    assert errors(objects) == []
    objects[-1]["spec"]["template"]["spec"]["hostPID"] = True
    assert errors(objects) != []


def errors(objects: list[dict[str, Any]]) -> list[str]:
    text = "---\n".join(json.dumps(item) + "\n" for item in objects)
    # The taint that this collection gives Windows nodes.
    profile = apply_settings(Profile(), {"taint": "os=windows:NoSchedule"})
    report = lint(read_documents("smoke", text), profile, ())
    return [found.message for found in report.at_least(Severity.ERROR)]


@pytest.mark.row("SM-17")
def test_the_documents_as_printed_cannot_be_applied_and_as_restored_they_can() -> None:
    """The page has lost its indentation: each document then has two keys `name`, `app` at the top, and no spec."""
    printed = [item for item in _lenient(PRINTED.read_text(encoding="utf-8")) if item]
    assert not any((item.get("metadata") or {}).get("name") for item in printed)
    restored = DOCUMENT.read_text(encoding="utf-8")
    lines = [line.strip() for line in restored.splitlines()]
    assert lines == [line.strip() for line in PRINTED.read_text(encoding="utf-8").splitlines()]
    objects = list(yaml.safe_load_all(restored))
    names = [(item["kind"], item["metadata"]["name"]) for item in objects]
    assert names == [("Service", "win-webserver"), ("Deployment", "win-webserver")]
    (error,) = errors(objects)
    assert "does not tolerate their taint os=windows:NoSchedule" in error, "which the smoke test adds"
    kinds = ("Service", "Deployment")
    peers = [("Service", "winkube-peer"), ("Service", "winkube-peers"), ("Deployment", "winkube-peer")]
    assert {name for name in made() if name[0] in kinds} == {*names, *peers}, "the restored ones are applied"


def _lenient(text: str) -> list[dict[str, Any]]:
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return []


@pytest.mark.row("KE-16", "SM-06", "SM-17")
def test_each_build_has_its_own_deployment_image_and_nodes() -> None:
    found = made(told.deployed({17763: 3, 20348: 1, 26100: 4}))
    web = {name: item for (kind, name), item in found.items() if name.startswith("win-webserver-")}
    images = {
        name: item["spec"]["template"]["spec"]["containers"][0]["image"].split(":")[1] for name, item in web.items()
    }
    assert images == {
        "win-webserver-17763": "ltsc2019",
        "win-webserver-20348": "ltsc2022",
        "win-webserver-26100": "ltsc2025",
    }
    assert [item["spec"]["replicas"] for item in web.values()] == [3, 1, 4]
    spread = {
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": {"app": "win-webserver"}},
            "topologyKey": "kubernetes.io/hostname",
        },
    }
    for name, item in web.items():
        affinity = item["spec"]["template"]["spec"]["affinity"]
        assert affinity == {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [spread]}}
        build = name.rpartition("-")[2]
        selector = item["spec"]["template"]["spec"]["nodeSelector"]
        assert selector["node.kubernetes.io/windows-build"] == f"10.0.{build}"
        assert item["spec"]["selector"]["matchLabels"]["winkube.node/build"] == build
        assert item["spec"]["template"]["metadata"]["labels"]["app"] == "win-webserver"  # one Service for all


def test_a_build_without_an_image_is_refused_unless_one_is_named() -> None:
    with pytest.raises(Refused, match="Windows build 18363; winkube_smoke_image_tags"):
        manifests.objects(told.deployed({18363: 1}))
    named = told.deployed({18363: 1}, image_tags={"18363": "1.2"})
    assert manifests.image(named, 18363) == "mcr.microsoft.com/windows/servercore:1.2"
    assert manifests.image(told.deployed({25398: 1}), 25398).endswith(":ltsc2022")


@pytest.mark.row("KE-14")
def test_the_peer_runs_as_a_user_that_is_no_administrator() -> None:
    pod = made()["Deployment", "winkube-peer"]["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"windowsOptions": {"runAsUserName": "ContainerUser"}}


@pytest.mark.row("KE-15")
def test_microsofts_repository_where_no_other_is_named() -> None:
    assert manifests.image(told.deployed({}), 20348) == "mcr.microsoft.com/windows/servercore:ltsc2022"
    option = yaml.safe_load(DOCUMENTATION)["options"]["smoke"]["suboptions"]["image_repo"]
    assert option["default"] == "mcr.microsoft.com/windows/servercore"
    playbook = (ROOT / "playbooks" / "test.yml").read_text(encoding="utf-8")
    assert 'image_repo: "{{ winkube_smoke_image_repo | default(omit) }}"' in playbook
    assert "`winkube_smoke_image_repo`" in (ROOT / "docs" / "smoke.md").read_text(encoding="utf-8")


@pytest.mark.row("KE-15")
def test_another_repository_and_a_pull_secret() -> None:
    wish = told.deployed({17763: 1}, image_repo="registry.example/win/core", pull_secret="a/b")
    for name in ("win-webserver", "winkube-peer"):
        pod = made(wish)["Deployment", name]["spec"]["template"]["spec"]
        assert pod["containers"][0]["image"] == "registry.example/win/core:ltsc2019"
        assert pod["imagePullSecrets"] == [{"name": "winkube-smoke-pull"}]
    assert "imagePullSecrets" not in made()["Deployment", "win-webserver"]["spec"]["template"]["spec"]


@pytest.mark.row("SM-03")
def test_taints_without_a_value_are_tolerated_too() -> None:
    pod = made(told.deployed({17763: 1}, taints=("dedicated:NoExecute",)))["Deployment", "win-webserver"]
    assert pod["spec"]["template"]["spec"]["tolerations"] == [
        {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}
    ]


@pytest.mark.row("SM-18")
def test_the_namespace_says_whose_it_is_and_until_when() -> None:
    metadata = manifests.namespace(WISH)["metadata"]
    assert metadata["labels"]["winkube.node/smoke"] == "true"
    assert metadata["annotations"] == {"winkube.node/smoke-until": "2030-01-01T00:00:00Z", "winkube.node/run": ""}
