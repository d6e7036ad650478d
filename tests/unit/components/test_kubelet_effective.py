"""The kubelet's effective configuration against upstream's own rules: what is merged, and what ends a kubelet."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import ClusterConfiguration
from ansible_collections.winkube.node.plugins.plugin_utils.components.flag_check import read
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import drop_ins
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.duration import go_duration, nanoseconds
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.effective import (
    Effective,
    Part,
    adapt,
    effective,
    find_overriding,
    list_removable,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import KUBELET
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

FILE, FOLDER = r"C:\var\lib\kubelet\config.yaml", r"C:\var\lib\kubelet\config.d"
OURS = rf"{FOLDER}\50-winkube.conf"
WINDOWS = {"cgroupsPerQOS": False, "enforceNodeAllocatable": [], "resolvConf": ""}


def text(**fields: Any) -> str:
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    return yaml.safe_dump({**head, **fields})


def run(
    base: dict[str, Any] | None,
    *drop_ins: tuple[str, str],
    flags: tuple[str, ...] = (),
    release: str = "1.37.1",
    ours: dict[str, Any] | None = None,
) -> Effective:
    """With our drop-in, as a converged node has it."""
    version = Version.parse(release)
    parts = [Part(OURS, text(**(WINDOWS if ours is None else ours)))]
    parts += [Part(rf"{FOLDER}\{name}", content) for name, content in drop_ins]
    line = read((("the kubelet's arguments", flags),), KUBELET, version.line)
    return effective(None if base is None else Part(FILE, text(**base)), parts, line, version)


def keys(found: Effective) -> list[tuple[str, str]]:
    return [(fault.kind, fault.key) for fault in found.faults]


def test_defaults_are_those_of_the_release() -> None:
    values = run({}).values
    assert values["maxPods"] == 110
    assert values["authentication.anonymous.enabled"] is False
    assert values["evictionHard"] == {
        "memory.available": "500Mi",
        "nodefs.available": "10%",
        "imagefs.available": "15%",
    }
    assert values["nodeStatusReportFrequency"] == "5m0s"
    assert values["failCgroupV1"] is True
    assert run({}, release="1.34.9").values["failCgroupV1"] is False
    assert "failCgroupV1" not in run({}, release="1.30.14").values
    assert values["crashLoopBackOff.maxContainerRestartPeriod"] == "5m0s"
    assert keys(run({})) == []


def test_without_a_file_the_defaults_are_those_of_flags() -> None:
    values = run(None).values
    assert (values["authentication.anonymous.enabled"], values["authorization.mode"]) == (True, "AlwaysAllow")
    assert values["readOnlyPort"] == 10255


@pytest.mark.parametrize(
    ("field", "value", "first"),
    [
        ("singleProcessOOMKill", False, 32),
        ("userNamespaces", {}, 33),
        ("userNamespaces", {"idsPerPod": 65536}, 33),
        ("defaultPodSysctls", {"net.core.somaxconn": "1024"}, 37),
    ],
)
def test_windows_refuses_it_from_its_first_line_on(field: str, value: Any, first: int) -> None:
    for minor, release in {31: "1.31.14", 32: "1.32.13", 33: "1.33.13", 36: "1.36.4", 37: "1.37.2"}.items():
        refused = [fault for fault in run({field: value}, release=release).faults if fault.kind == "field"]
        assert [fault.key for fault in refused] == ([field] if minor >= first else []), release
        if refused:
            assert refused[0].place == FILE
            assert release in refused[0].sentence


def test_an_empty_map_of_sysctls_is_taken() -> None:
    assert keys(run({"defaultPodSysctls": {}})) == []


@pytest.mark.parametrize("field", ["singleProcessOOMKill", "userNamespaces", "defaultPodSysctls"])
def test_null_in_a_drop_in_takes_out_what_windows_refuses(field: str) -> None:
    value = {"singleProcessOOMKill": True, "userNamespaces": {"idsPerPod": 1}, "defaultPodSysctls": {"kernel.shm": "1"}}
    found = run({field: value[field]}, ours={**WINDOWS, field: None})
    assert keys(found) == []
    assert not any(path.startswith(field) for path in found.values)


def test_before_1_32_null_in_a_drop_in_deletes_nothing() -> None:
    base = {"featureGates": {"NoSuchGate": True}}
    for release in ("1.30.14", "1.31.14"):
        found = run(base, ours={**WINDOWS, "featureGates": {"NoSuchGate": None}}, release=release)
        assert ("gate", "featureGates.NoSuchGate") in keys(found)


def test_from_1_32_a_gate_of_config_yaml_ends_the_kubelet_before_drop_ins_are_read() -> None:
    base = {"featureGates": {"NoSuchGate": True}}
    found = run(base, ours={**WINDOWS, "featureGates": {"NoSuchGate": None}}, release="1.37.1")
    assert keys(found) == [("gate", "featureGates.NoSuchGate")]
    assert found.faults[0].place == FILE
    assert list_removable(found) == found.faults


def test_gates_are_those_of_the_exact_release() -> None:
    assert keys(run({"featureGates": {"WinDSR": False}}, release="1.37.1")) == [("gate", "featureGates.WinDSR")]
    assert keys(run({"featureGates": {"WinDSR": True}}, release="1.33.13")) == []
    found = run({"featureGates": {"DefaultPodSysctls": True}}, release="1.36.4")
    assert keys(found) == [("gate", "featureGates.DefaultPodSysctls")]
    assert "1.37" in found.faults[0].sentence


@pytest.mark.parametrize(
    "content",
    ["maxPods: 50\n", "kind: KubeletConfiguration\nmaxPods: 50\n", "", "a: [", "- 1\n", "apiVersion: v1\nkind: Pod\n"],
)
def test_a_file_that_is_no_kubelet_configuration_ends_it(content: str) -> None:
    found = run({}, ("90-other.conf", content))
    assert [(fault.kind, fault.place) for fault in found.faults] == [("file", rf"{FOLDER}\90-other.conf")]
    assert found.values["maxPods"] == 110


def test_only_conf_files_count_sorted_with_those_of_subfolders() -> None:
    found = run(
        {"maxPods": 10},
        ("20-b.conf", text(maxPods=20)),
        ("20-a.yaml", "nonsense ["),
        (r"10-folder\99.conf", text(maxPods=99)),
        ("Z.conf", text(eventBurst=7)),
        ("a.conf", text(eventBurst=8)),
    )
    assert keys(found) == []
    assert (found.values["maxPods"], found.places["maxPods"]) == (20, rf"{FOLDER}\20-b.conf")
    assert found.values["eventBurst"] == 8
    assert [value for _place, value in found.set_by["maxPods"]] == [10, 99, 20]


def test_maps_are_merged_by_key_and_lists_are_replaced() -> None:
    found = run(
        {"systemReserved": {"memory": "1Gi", "cpu": "100m"}, "clusterDNS": ["10.96.0.10"]},
        ("60.conf", text(systemReserved={"memory": "2Gi", "cpu": None}, clusterDNS=["10.0.0.10"])),
    )
    assert found.values["systemReserved"] == {"memory": "2Gi"}
    assert found.values["clusterDNS"] == ["10.0.0.10"]


def test_null_brings_back_the_default() -> None:
    assert run({"maxPods": 10}, ("60.conf", text(maxPods=None))).values["maxPods"] == 110


def test_an_empty_list_of_config_yaml_is_lost_when_drop_ins_are_merged() -> None:
    base = {"cgroupsPerQOS": False, "enforceNodeAllocatable": []}
    found = run(base, ours={"resolvConf": ""})
    assert found.values["enforceNodeAllocatable"] == ["pods"]
    assert keys(found) == [("value", "enforceNodeAllocatable")]
    assert keys(run(base)) == []


def test_parallel_pulls_of_a_drop_in_alone_contradict_the_default_of_config_yaml() -> None:
    assert keys(run({}, ("60.conf", text(maxParallelImagePulls=4)))) == [("value", "maxParallelImagePulls")]
    assert keys(run({"maxParallelImagePulls": 4})) == []
    assert keys(run({}, ("60.conf", text(maxParallelImagePulls=4, serializeImagePulls=False)))) == []


def test_a_misspelt_field_is_told_and_changes_nothing() -> None:
    found = run({"maxPodz": 5})
    assert found.values["maxPods"] == 110
    assert found.ignored == (
        rf"{FILE}: maxPodz: no field of KubeletConfiguration; the kubelet ignores it in silence (is maxPods meant?).",
    )


def test_in_a_drop_in_the_case_of_a_name_does_not_matter() -> None:
    assert run({}, ("60.conf", text(maxpods=5))).values["maxPods"] == 5
    assert run({"maxpods": 5}).values["maxPods"] == 110


def test_a_field_of_a_later_release_is_told_as_such() -> None:
    found = run({"defaultPodSysctls": {"a": "b"}}, release="1.36.4")
    assert keys(found) == []
    assert "a kubelet 1.36.4 does not know it" in found.ignored[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("maxPods", "50"),
        ("maxPods", 5.5),
        ("serverTLSBootstrap", "true"),
        ("clusterDNS", "10.96.0.10"),
        ("syncFrequency", 60),
        ("syncFrequency", "1 minute"),
        ("authentication", []),
        ("clusterDomain", 7),
    ],
)
def test_a_value_of_another_type_ends_it(field: str, value: Any) -> None:
    assert keys(run({field: value})) == [("type", field)]


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"port": 0x10000}, "port"),
        ({"imageGCHighThresholdPercent": 70}, "imageGCLowThresholdPercent"),
        ({"oomScoreAdj": -1001}, "oomScoreAdj"),
        ({"topologyManagerPolicy": "some"}, "topologyManagerPolicy"),
        ({"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "20s"}, "shutdownGracePeriodCriticalPods"),
        ({"shutdownGracePeriod": "500ms"}, "shutdownGracePeriod"),
        ({"containerLogMaxFiles": 1}, "containerLogMaxFiles"),
        ({"containerLogMonitorInterval": "1s"}, "containerLogMonitorInterval"),
        ({"cpuCFSQuotaPeriod": "2s"}, "cpuCFSQuotaPeriod"),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "10m"}}, "crashLoopBackOff.maxContainerRestartPeriod"),
        ({"memoryThrottlingFactor": 1.5}, "memoryThrottlingFactor"),
        ({"memoryReservationPolicy": "Tiered"}, "memoryReservationPolicy"),
        ({"memoryThrottlingFactor": 0.8, "featureGates": {"MemoryQoS": False}}, "memoryThrottlingFactor"),
        ({"enableSystemLogQuery": True, "enableSystemLogHandler": False}, "enableSystemLogQuery"),
        ({"imageMaximumGCAge": "1m"}, "imageMaximumGCAge"),
        ({"logging": {"format": "xml"}}, "logging.format"),
        ({"registerWithTaints": [{"key": "os", "effect": "Never"}]}, "registerWithTaints"),
        ({"runOnce": True}, "runOnce"),
        ({"systemCgroups": "/system"}, "systemCgroups"),
        ({"featureGates": {"RotateKubeletServerCertificate": False}, "serverTLSBootstrap": True}, "serverTLSBootstrap"),
    ],
)
def test_a_value_that_the_validation_refuses(fields: dict[str, Any], key: str) -> None:
    assert key in [fault.key for fault in run(fields).faults if fault.kind in {"value", "gate"}], run(fields).faults


def test_cgroups_up_to_1_30_and_after() -> None:
    assert keys(run({}, ours={}, release="1.30.14")) == [
        ("value", "cgroupsPerQOS"),
        ("value", "enforceNodeAllocatable"),
    ]
    assert keys(run({}, ours={}, release="1.31.14")) == []
    assert keys(run({}, release="1.30.14")) == []


def test_flags_win_and_gates_add_up() -> None:
    found = run(
        {"maxPods": 10, "featureGates": {"NodeLogQuery": True}},
        flags=("--max-pods=20", "--feature-gates=AllAlpha=false", "--system-reserved=memory=2Gi"),
    )
    assert found.values["maxPods"] == 20
    assert found.gates == {"NodeLogQuery": True, "AllAlpha": False}
    assert found.values["systemReserved"] == {"memory": "2Gi"}
    assert found.places["maxPods"] == "the kubelet's arguments"


def test_a_flag_of_a_wrong_type() -> None:
    assert keys(run({}, flags=("--max-pods=many",))) == [("type", "")]


def test_a_foreign_drop_in_that_overrides_ours_is_told_with_both_values() -> None:
    ours = {**WINDOWS, "maxPods": 50, "clusterDomain": "a"}
    found = run({}, ("90-site.conf", text(maxPods=60, clusterDomain="a")), ours=ours)
    assert tuple(each.sentence for each in find_overriding(found, OURS)) == (
        rf"{FOLDER}\90-site.conf: maxPods: 60 overrides 50 of {OURS}; it was not changed. Take it out there, or set "
        "the option that gives ours to the same.",
    )
    assert find_overriding(run({}, ("10-site.conf", text(maxPods=60)), ours=ours), OURS) == ()


def test_relative_paths_lie_beside_config_yaml_and_rooted_ones_do_so_up_to_1_29() -> None:
    base = {"authentication": {"x509": {"clientCAFile": "/etc/kubernetes/ssl/ca.crt"}}, "staticPodPath": "manifests"}
    key = "authentication.x509.clientCAFile"
    assert run(base).values["staticPodPath"] == r"C:\var\lib\kubelet\manifests"
    assert run(base).values[key] == "/etc/kubernetes/ssl/ca.crt"
    assert run(base, release="1.29.15").values[key] == r"C:\var\lib\kubelet\etc\kubernetes\ssl\ca.crt"


def test_kubeadm_adapts_the_clusters_configuration_to_windows() -> None:
    document = {
        "staticPodPath": "/etc/kubernetes/manifests",
        "resolvConf": "/run/systemd/resolve/resolv.conf",
        "defaultPodSysctls": {"a": "b"},
        "maxPods": 50,
    }
    made = adapt(document, ClusterConfiguration(), "C:", Version.parse("1.36.4"))
    assert {key: made[key] for key in (*document, "authentication") if key in made} == {
        "staticPodPath": r"C:\etc\kubernetes\manifests",
        "resolvConf": "",
        "maxPods": 50,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": r"\etc\kubernetes\pki\ca.crt"},
        },
    }
    old = adapt(document, ClusterConfiguration(), "C:", Version.parse("1.22.17"))
    assert old["resolvConf"] == "/run/systemd/resolve/resolv.conf"


def test_the_document_is_nested_again() -> None:
    document = run({"userNamespaces": {}, "logging": {"verbosity": 6}}).document()
    assert document["userNamespaces"] == {}
    assert document["logging"]["verbosity"] == 6
    assert document["authentication"]["webhook"] == {"enabled": True, "cacheTTL": "2m0s"}


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("90s", "1m30s"),
        ("4h", "4h0m0s"),
        ("0s", "0s"),
        ("1.5s", "1.5s"),
        ("100ms", "100ms"),
        ("1h0m0.25s", "1h0m0.25s"),
    ],
)
def test_durations_are_printed_as_go_prints_them(given: str, printed: str) -> None:
    assert go_duration(nanoseconds(given) or 0) == printed


def test_drop_ins_in_folders_are_found_as_far_as_they_have_been_read() -> None:
    sub = rf"{FOLDER}\sub"
    first = Reading(
        parts={file_key(FOLDER): {"exists": True, "kind": "directory", "entries": ["50-winkube.conf", "sub"]}}
    )
    (relied,) = drop_ins.rely_on_foreign(FOLDER, first)
    assert [query.key for query in relied.queries] == [file_key(sub)]
    second = first.merge({file_key(sub): {"exists": True, "kind": "directory", "entries": ["a.conf", "b.txt"]}}, ())
    assert drop_ins.list_foreign(FOLDER, second) == (rf"{sub}\a.conf",)
    content = base64.b64encode(b"maxPods: 60\n").decode()
    third = second.merge({file_key(rf"{sub}\a.conf"): {"exists": True, "kind": "file", "content": content}}, ())
    base = drop_ins.config_part(FILE, third)
    found = drop_ins.compute((), Version.parse("1.37.1"), third, base=base, folder=FOLDER, ours=text(**WINDOWS))
    assert [(fault.kind, fault.place) for fault in found.faults] == [("file", rf"{sub}\a.conf")]
