"""The assembled command line is refused, with the remedy, before a kubelet would exit on it."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark import ParameterSet
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_check
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.kubelet_args import arguments
from ansible_collections.winkube.node.plugins.plugin_utils.facts.quantity import resolve_cpu
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from .test_kubelet_args import DOCUMENTS_LINE, settings

KUBEADM_1_34 = (
    'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=npipe:////./pipe/containerd-containerd '
    '--pod-infra-container-image=registry.k8s.io/pause:3.10.1"\n'
)


def check(line: str, version: str = "1.37.1", env: str = "") -> list[str]:
    return kubelet_check.check_command_line(line.split(), Version.parse(version), env)


def problems(version: str, env: str = "", **changes: Any) -> list[str]:
    return kubelet_check.problems(settings(version, **changes), env)


def warnings(version: str, **changes: Any) -> list[str]:
    return kubelet_check.warnings(settings(version, **changes))


def refused(line: str, version: str, sentence: str, *rows: str) -> ParameterSet:
    """A command line for a release, the expected sentence, and the rows that this proves."""
    return pytest.param(line, version, sentence, marks=[pytest.mark.row(*rows)] if rows else [])


REFUSED = [
    refused("--kubelet-reserve=cpu=1", "1.37.1", "write --kube-reserved", "KU-19", "RS-08"),
    refused("--system-reserve=cpu=1", "1.37.1", "write --system-reserved", "KU-19", "RS-08"),
    refused("--enforce-node-allocable=", "1.37.1", "write --enforce-node-allocatable", "KU-15"),
    refused("--service", "1.37.1", "write --windows-service", "SV-03"),
    refused("--allow-privileged=true", "1.22.17", "it went with Kubernetes 1.15", "KU-07"),
    refused("--network-plugin=cni", "1.24.17", "removed in Kubernetes 1.24: CNI's", "KU-17"),
    refused("--image-pull-progress-deadline=20m", "1.24.17", "image_pull_progress_timeout", "KU-13"),
    refused(r"--log-dir=C:\k", "1.26.15", "removed in Kubernetes 1.26: its output", "KU-16"),
    refused("--container-runtime=remote", "1.27.16", "removed in Kubernetes 1.27", "KU-24"),
    refused("--container-runtime=docker", "1.24.17", "removed dockershim", "KU-24"),
    refused("--pod-infra-container-image=x", "1.35.6", "removed in Kubernetes 1.35", "KU-04"),
    refused("--config-dir=x", "1.27.16", "came with Kubernetes 1.28", "KU-32"),
    refused("--resolve-conf=", "1.37.1", "meant is probably --resolv-conf"),
    refused("--housekeeping_interval=1s", "1.37.1", "only builds for Linux"),
    refused("--enforce-node-allocatable=pods", "1.37.1", "no cgroups", "KU-15", "KU-29"),
    refused("--enforce-node-allocatable=none", "1.30.14", "takes an empty list only", "KU-15", "KU-29"),
    refused("--enforce-node-allocatable=none", "1.27.16", "none is taken from 1.31 on", "KU-15"),
    refused("--cgroups-per-qos=true", "1.37.1", "--cgroups-per-qos=false", "KU-14"),
    refused("--cgroups-per-qos=T", "1.37.1", "--cgroups-per-qos=false", "KU-14"),
    refused("--cgroups-per-qos=1", "1.37.1", "--cgroups-per-qos=false", "KU-14"),
    refused("--cgroups-per-qos=yes", "1.37.1", "takes true or false, not 'yes'"),
    refused("--windows-priorityclass=HIGH", "1.37.1", "one of IDLE_PRIORITY_CLASS", "KU-18", "RS-09"),
    refused("--hostname-override=Win1", "1.37.1", "write --hostname-override=win1", "KU-02"),
    refused(r"--hostname-override=win1--kubeconfig=c:\k\config", "1.37.1", r"win1 --kubeconfig=c:\k\config", "KP-02"),
    refused(
        "--register-with-taints='os=windows:NoSchedule'",
        "1.37.1",
        "write --register-with-taints=os=windows:NoSchedule",
        "KU-21",
    ),
    refused(
        "--container-runtime-endpoint=npipe:////./pipe/a --image-service-endpoint=npipe:////./pipe/b",
        "1.37.1",
        "leave out --image-service-endpoint",
        "KU-25",
    ),
    refused("--v=6 --v=2", "1.37.1", "is '6'"),
    refused(r"--root-dir=C:\Program Files\k", "1.37.1", r"'Files\\k' is not a flag", "KU-31"),
    refused("--enable-debugging-handlers true", "1.37.1", "'true' is not a flag"),
    refused("--node-ip", "1.37.1", "--node-ip needs a value"),
    refused("--node-ip --register-node", "1.37.1", "--node-ip has no value"),
    refused("--node-ip=10.0.0.5,10.0.0.6", "1.37.1", "one of each family, such as 10.0.0.5,fd00::5"),
    refused("--node-ip=10.0.0.5,fd00::5,fd00::6", "1.37.1", "one of each family"),
    refused("--node-ip=0.0.0.0,fd00::5", "1.37.1", "no 0.0.0.0 and no :: in a pair"),
    refused("--node-ip=10.0.0.5,fe80::5", "1.37.1", "no address such as fe80::5"),
    refused("--node-ip=win1", "1.37.1", "'win1' does not appear to be an IPv4 or IPv6 address"),
    refused("--node-ip=10.0.0.5,fd00::5 --cloud-provider=external", "1.28.15", "takes one address (two from 1.29 on"),
    refused("--feature-gates=IdentifyPodOS=true", "1.27.16", "unrecognized feature gate", "KU-23"),
    refused("--feature-gates=IdentifyPodOS=true", "1.22.17", "it came with Kubernetes 1.23", "KU-23"),
    refused("--feature-gates=WinDSR=false", "1.34.4", "locked to true", "KP-15", "VC-19"),
    refused("--feature-gates=WindowsHostNetwork=true", "1.25.16", "came with Kubernetes 1.26", "KU-22"),
    refused("--feature-gates=NoSuchGate=true", "1.37.1", "no kubelet from 1.22 on knows it"),
    refused("--feature-gates=NodeLogQuery", "1.29.15", "not <name>=true or <name>=false"),
    refused(
        "--feature-gates=NodeLogQuery=true --feature-gates=NodeLogQuery=false",
        "1.29.15",
        "feature gate NodeLogQuery is true",
        "KU-30",
    ),
    refused("--v=2", "1.21.14", "the tables begin with 1.22"),
]


@pytest.mark.parametrize(("line", "version", "sentence"), REFUSED)
def test_refused_with_the_remedy(line: str, version: str, sentence: str) -> None:
    found = check(line, version)
    assert len(found) == 1, found
    assert sentence in found[0]
    assert found[0].endswith(".")
    assert "?." not in found[0]


ACCEPTED = [
    ("--network-plugin=cni --image-pull-progress-deadline 20m", "1.23.17"),
    (r"--log-dir=C:\k --logtostderr=false", "1.25.16"),
    ("--container-runtime=remote", "1.26.15"),
    ("--container-runtime=docker", "1.23.17"),
    ("--pod-infra-container-image=x", "1.34.4"),
    ("--config-dir=x", "1.28.15"),
    ("-v 6 --node_ip 10.0.0.1 --windows-service --enable-debugging-handlers", "1.37.1"),
    ("--resolv-conf= --enforce-node-allocatable= --cgroups-per-qos=false", "1.37.1"),
    ("--enforce-node-allocatable=none", "1.37.1"),
    ("--enforce-node-allocatable=none", "1.31.14"),
    ("--feature-gates=WinDSR=true,WinOverlay=true", "1.37.1"),
    ("--feature-gates=IdentifyPodOS=true", "1.23.17"),
    ("--feature-gates=WindowsHostNetwork=true", "1.26.15"),
    ("--feature-gates=AllAlpha=true --feature-gates=NodeLogQuery=true", "1.29.15"),
    ("--v=6 --v=6", "1.37.1"),
    ("--node-ip=10.0.0.5,fd00::5", "1.22.17"),
    ("--node-ip=fd00::5,10.0.0.5 --cloud-provider=external", "1.29.15"),
    ("--v=2", "1.38.0-alpha.1"),
]


@pytest.mark.parametrize(("line", "version"), ACCEPTED)
def test_accepted(line: str, version: str) -> None:
    assert check(line, version) == []


@pytest.mark.row("KU-07")
def test_the_documents_line_has_one_mistake_in_its_own_version() -> None:
    (sentence,) = check(DOCUMENTS_LINE.replace("<log directory>", r"C:\k").replace('""', ""), "1.22.17")
    assert "--allow-privileged" in sentence


@pytest.mark.row("KU-13", "KU-16", "KU-17")
def test_the_documents_line_is_refused_flag_by_flag_in_the_newest() -> None:
    found = check(DOCUMENTS_LINE.replace("<log directory>", r"C:\k").replace('""', ""), "1.37.1")
    assert [sentence.split(": ")[1] for sentence in found] == [
        "--pod-infra-container-image",
        "--allow-privileged",
        "--image-pull-progress-deadline",
        "--log-dir",
        "--logtostderr",
        "--network-plugin",
        "--cni-bin-dir",
        "--cni-conf-dir",
    ]


@pytest.mark.row("KU-04", "KU-32")
def test_what_an_older_kubeadm_wrote_is_part_of_the_line() -> None:
    """kubernetes#133778: kubeadm 1.34 writes an argument on which a kubelet 1.35 exits."""
    assert check("--v=2", "1.34.4", KUBEADM_1_34) == []
    (sentence,) = check("--v=2", "1.35.6", KUBEADM_1_34)
    assert sentence.startswith("kubeadm-flags.env: --pod-infra-container-image: it was removed in Kubernetes 1.35")
    stripped = kubelet_check.drop_unknown(KUBEADM_1_34, Version.parse("1.35.6"))
    assert stripped == ('KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=npipe:////./pipe/containerd-containerd"\n')
    assert check("--v=2", "1.35.6", stripped) == []
    assert kubelet_check.drop_unknown(KUBEADM_1_34, Version.parse("1.34.4")) == KUBEADM_1_34


def test_the_env_file_and_our_arguments_may_not_contradict_each_other() -> None:
    (sentence,) = check("--hostname-override=win1", "1.37.1", 'KUBELET_KUBEADM_ARGS="--hostname-override=win2"')
    assert "'win1' (kubelet's arguments) and 'win2' (kubeadm-flags.env)" in sentence


def test_the_env_file_is_unquoted_as_go_quotes() -> None:
    text = 'KUBELET_KUBEADM_ARGS="--root-dir=C:\\\\k --node-labels=\\"a=b\\""\n'
    assert kubelet_check.env_arguments(text) == [r"--root-dir=C:\k", "--node-labels=a=b"]
    assert kubelet_check.env_arguments("") == []
    assert kubelet_check.env_arguments("KUBELET_KUBEADM_ARGS=--v=2") == ["--v=2"]


@pytest.mark.row("VC-10")
def test_docker_ends_with_1_23() -> None:
    assert problems("1.23.17", container_runtime="dockershim") == []
    assert problems("1.24.17", container_runtime="dockershim") == [
        "winkube_container_runtime: Kubernetes 1.24 removed dockershim, so kubelet 1.24.17 cannot use Docker; use "
        "containerd."
    ]
    (sentence,) = problems("1.23.17", container_runtime="dockershim", join="kubeadm")
    assert "dockershim joins with winkube_join: kubeconfig" in sentence


@pytest.mark.row("KU-22")
def test_windows_host_network_needs_its_releases_and_containerd_1_7() -> None:
    gate = {"WindowsHostNetwork": True}
    assert problems("1.32.13", feature_gates=gate, containerd_version="1.7.0") == []
    (old_runtime,) = problems("1.27.16", feature_gates=gate, containerd_version="1.6.38")
    assert "containerd 1.6.38 cannot do it" in old_runtime
    (deprecated,) = problems("1.33.13", feature_gates=gate)
    assert "deprecated and without effect in Kubernetes 1.33" in deprecated


@pytest.mark.parametrize("taint", ["'os=windows:NoSchedule'", "os=windows", "os=windows:Never"])
@pytest.mark.row("KU-21")
def test_a_taint_that_is_none_is_refused(taint: str) -> None:
    assert any(f"taint {taint!r}" in sentence for sentence in problems("1.37.1", taints=(taint,)))


@pytest.mark.row("KU-21")
@pytest.mark.parametrize("taint", ["os=windows:NoSchedule", "os=windows:PreferNoSchedule", "gpu:NoExecute"])
def test_a_taint_of_each_effect_is_fine(taint: str) -> None:
    assert problems("1.37.1", taints=(taint,)) == []


def test_a_reservation_that_is_no_quantity_is_refused() -> None:
    (sentence,) = problems("1.37.1", system_reserved={"memory": "2 GB"})
    assert "'2 GB' is not a quantity" in sentence


@pytest.mark.row("KU-32")
def test_a_setting_of_the_drop_in_is_refused_as_an_extra_argument_too() -> None:
    extra = ("--cluster-domain=corp.local", "--max-pods=60")
    (sentence,) = problems("1.37.1", join="kubeadm", extra_arguments=extra)
    assert "clusterDomain stands in the drop-in" in sentence
    for own, argument in (({"maxPods": 60}, "--max-pods=50"), ({"hairpinMode": "none"}, "--hairpin-mode=none")):
        (twice,) = problems("1.37.1", join="kubeadm", config=own, extra_arguments=(argument,))
        assert f"{argument}: {next(iter(own))} stands in the drop-in" in twice
        assert twice.endswith("(winkube_kubelet_config); take one of the two out.")
    (gate,) = problems("1.37.1", join="kubeadm", feature_gates={"WinDSR": False})
    assert "locked" in gate


@pytest.mark.row("KU-32")
def test_an_argument_and_a_file_that_differ_are_named() -> None:
    wanted = settings("1.29.15")
    same = {"clusterDomain": "cluster.local", "resolvConf": "", "enforceNodeAllocatable": []}
    assert kubelet_check.conflicts(arguments(wanted), wanted, same) == []
    (sentence,) = kubelet_check.conflicts(arguments(wanted), wanted, {**same, "clusterDomain": "corp.local"})
    assert "--cluster-domain=cluster.local" in sentence
    assert '"corp.local"' in sentence


@pytest.mark.row("RS-06", "KU-19")
@pytest.mark.parametrize(("memory", "warned"), [("2Gi", False), ("2048Mi", False), ("2047Mi", True), ("2G", True)])
def test_less_than_2_gib_for_the_system_is_warned_about(memory: str, warned: bool) -> None:
    found = warnings("1.37.1", system_reserved={"memory": memory})
    assert any("Windows and its services need 2Gi" in sentence for sentence in found) is warned


@pytest.mark.row("RS-06")
def test_no_reservation_at_all_is_warned_about_and_the_default_is_not() -> None:
    assert warnings("1.37.1") == []
    assert len(warnings("1.37.1", system_reserved={})) == 1


@pytest.mark.row("RS-07")
@pytest.mark.parametrize(
    ("wanted", "cores", "expected"),
    [
        ("10%", 4, "400m"),
        ("5%", 3, "150m"),
        ("12.5%", 1, "125m"),
        ("99%", 2, "1980m"),
        ("33.33%", 1, "334m"),  # rounded up
        ("500m", 8, "500m"),
        ("0.5", 8, "0.5"),
    ],
)
def test_a_share_of_the_cores_is_computed(wanted: str, cores: int, expected: str) -> None:
    assert resolve_cpu(wanted, cores) == expected


@pytest.mark.row("RS-07")
@pytest.mark.parametrize("wanted", ["100%", "half", "-1"])
def test_a_share_that_cannot_be_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted) as refused:
        resolve_cpu(wanted, 4)
    assert str(refused.value).endswith(
        "of the CPU leaves nothing for pods; reserve less than 100%."
        if wanted.endswith("%")
        else "is not a valid CPU quantity: write cores (0.5), millicores (500m) or a share (10%)."
    )


@pytest.mark.row("KU-18", "RS-09")
@pytest.mark.parametrize(
    ("name", "warned"),
    [
        ("IDLE_PRIORITY_CLASS", True),
        ("BELOW_NORMAL_PRIORITY_CLASS", True),
        ("NORMAL_PRIORITY_CLASS", True),
        ("ABOVE_NORMAL_PRIORITY_CLASS", False),
        ("HIGH_PRIORITY_CLASS", False),
        ("REALTIME_PRIORITY_CLASS", False),
    ],
)
def test_a_low_priority_is_warned_about(name: str, warned: bool) -> None:
    assert problems("1.37.1", priority_class=name) == []
    said = warnings("1.37.1", priority_class=name)
    assert bool(said) is warned
    assert all("use ABOVE_NORMAL_PRIORITY_CLASS or higher" in sentence for sentence in said)


@pytest.mark.row("KU-20")
@pytest.mark.parametrize(("version", "count"), [("1.30.14", 2), ("1.31.14", 0)])
def test_eviction_by_memory_works_on_windows_from_1_31_on(version: str, count: int) -> None:
    thresholds = {"memory.available": "500Mi"}
    found = warnings(version, eviction_hard=thresholds, eviction_soft=thresholds)
    assert len([sentence for sentence in found if sentence.startswith("eviction-")]) == count


@pytest.mark.row("KU-20")
def test_before_that_a_threshold_is_accounting_alone_or_nothing() -> None:
    thresholds = {"memory.available": "500Mi"}
    assert warnings("1.30.14", eviction_hard=thresholds) == [
        "eviction-hard: a kubelet 1.30.14 on Windows subtracts it from what pods may request and evicts nothing by it "
        "(from 1.31 on memory.available works)."
    ]
    assert warnings("1.30.14", eviction_soft=thresholds) == [
        "eviction-soft: a kubelet 1.30.14 on Windows evicts nothing by it (from 1.31 on memory.available works); "
        "leave it out."
    ]
    assert problems("1.30.14", eviction_hard=thresholds) == []


@pytest.mark.row("KU-23")
def test_in_1_23_the_operator_is_told_of_the_control_plane() -> None:
    assert [sentence for sentence in warnings("1.23.17") if "kube-apiserver" in sentence]
    assert warnings("1.24.17") == []
