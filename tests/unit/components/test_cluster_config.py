"""config.yaml of a node that has joined against the cluster's ConfigMap: what kubeadm would write, and what differs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import ClusterConfiguration
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.cluster_config import (
    ClusterConfig,
    ConfigFile,
    build,
    follow,
    list_foreign_gates,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import File
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from .nodes import bare, file

OLD, NEW = Version.parse("1.36.3"), Version.parse("1.37.1")
PATH = r"C:\var\lib\kubelet\config.yaml"
SOURCE = "ConfigMap kube-system/kubelet-config"
HEAD: dict[str, Any] = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
SOCKET = "npipe:////./pipe/containerd-containerd"


def made(
    version: str = "1.37.1",
    cluster: ClusterConfiguration | None = None,
    instance: str | None = None,
    **fields: Any,
) -> Any:
    known = cluster or ClusterConfiguration()
    return build(HEAD | fields, known, Version.parse(version), drive="C:", socket=SOCKET, instance=instance)


def differing(present: dict[str, Any], wanted: dict[str, Any], version: Version = NEW) -> tuple[str, ...]:
    found = follow(HEAD | wanted, SOURCE, PATH, yaml.safe_dump(HEAD | present), version)
    return tuple(str(each) for each in found.differences) if found else ()


def test_gates_that_this_release_does_not_take() -> None:
    gates = {"NoSuchGate": True, "NodeLogQuery": True, "WinDSR": False, "DefaultPodSysctls": True}
    assert list_foreign_gates({"featureGates": gates}, OLD) == (
        "DefaultPodSysctls",
        "NoSuchGate",
        "WinDSR",
    )
    assert list_foreign_gates({"featureGates": gates}, NEW) == ("NoSuchGate", "WinDSR")
    assert list_foreign_gates({}, NEW) == ()


@pytest.mark.parametrize(
    ("version", "gates", "instance", "endpoint"),
    [
        ("1.33.13", {}, None, None),
        ("1.33.13", {"NodeLocalCRISocket": True}, None, SOCKET),
        ("1.34.9", {}, None, SOCKET),
        ("1.34.9", {"NodeLocalCRISocket": False}, None, None),
        ("1.36.4", {"NodeLocalCRISocket": False}, None, SOCKET),
        ("1.37.1", {}, 'containerRuntimeEndpoint: "npipe:////./pipe/other"\n', "npipe:////./pipe/other"),
        ("1.37.1", {}, "containerRuntimeEndpoint: {", SOCKET),
    ],
)
def test_the_runtimes_socket_is_the_nodes_own(
    version: str, gates: dict[str, bool], instance: str | None, endpoint: str | None
) -> None:
    assert (
        made(version, ClusterConfiguration(feature_gates=gates), instance).get("containerRuntimeEndpoint") == endpoint
    )


def test_a_gate_on_which_this_kubelet_ends_is_not_taken_over() -> None:
    assert made(featureGates={"NoSuchGate": True, "NodeLogQuery": True})["featureGates"] == {"NodeLogQuery": True}


def test_what_the_cluster_does_not_say_is_kubeadms_default() -> None:
    found = made(cluster=ClusterConfiguration(service_subnet="10.233.0.0/18,fd00::/112", dns_domain="k8s.example"))
    assert found["clusterDNS"] == ["10.233.0.10"]
    assert found["clusterDomain"] == "k8s.example"
    assert found["rotateCertificates"] is True
    assert found["authentication"]["anonymous"] == {"enabled": False}


@pytest.mark.parametrize(
    ("present", "wanted", "said"),
    [
        ({}, {"maxPods": 60}, ("maxPods: 110 -> 60",)),
        ({"maxPods": 60}, {}, ("maxPods: 60 -> 110",)),
        ({}, {"maxPods": 110, "serverTLSBootstrap": False, "syncFrequency": "0s", "tlsCipherSuites": []}, ()),
        ({"syncFrequency": "60s"}, {"syncFrequency": "1m0s"}, ()),
        (
            {"featureGates": {"A": True}},
            {"featureGates": {"B": True}},
            ("featureGates.A: true -> not set", "featureGates.B: not set -> true"),
        ),
        ({}, {"tlsMinVersion": "VersionTLS13"}, ('tlsMinVersion: not set -> "VersionTLS13"',)),
        ({}, {"userNamespaces": {}}, ("userNamespaces: not set -> {}",)),
        (
            {"staticPodURLHeader": {"Authorization": ["a"]}},
            {"staticPodURLHeader": {"Authorization": ["b"]}},
            ("staticPodURLHeader: (hidden) -> (hidden)",),
        ),
    ],
)
def test_keys_that_differ_are_named_with_both_values(
    present: dict[str, Any], wanted: dict[str, Any], said: tuple[str, ...]
) -> None:
    assert differing(present, wanted) == said


def test_a_file_that_is_no_yaml_is_written_anew() -> None:
    found = follow(HEAD | {"maxPods": 60}, SOURCE, PATH, "maxPods: {", NEW)
    assert found is not None
    assert yaml.safe_load(found.text) == HEAD | {"maxPods": 60}


def test_a_sentence_names_the_first_keys_and_how_many_more_there_are() -> None:
    found = follow(
        HEAD | {"featureGates": {f"Gate{n:02}": True for n in range(15)}}, SOURCE, PATH, yaml.safe_dump(HEAD), NEW
    )
    assert found is not None
    assert found.sentence.endswith("featureGates.Gate11: not set -> true; and 3 more")


def test_the_diff_has_the_keys_alone() -> None:
    text = yaml.safe_dump(HEAD | {"staticPodURLHeader": {"Authorization": ["Bearer s3cr3t"]}})
    found = follow(HEAD | {"maxPods": 60}, SOURCE, PATH, text, NEW)
    assert isinstance(found, ClusterConfig)
    resource = ConfigFile(File(PATH, found.text.encode(), backup="", equal=None), found)
    reading = bare(resource.reads()).merge({f"file:{PATH.casefold()}": file(text.encode())})
    change = resource.change(reading)
    assert change is not None
    assert change.before == "maxPods: 110\nstaticPodURLHeader: (hidden)\n"
    assert change.after == "maxPods: 60\nstaticPodURLHeader: not set\n"
    assert "s3cr3t" not in repr((change.text, change.before, change.after))
