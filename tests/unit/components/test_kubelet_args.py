"""A kubelet's arguments from its settings, release by release: the documentation's own line and its replacements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import shared_options
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args, kubelet_check
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.options import KubeletOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import (
    Interface,
    Variable,
    list_options,
    option,
    role_variables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line

from .nodes import LAYOUT, wanted_kubelet

ACCESS = ("--anonymous-auth", "--authentication-token", "--authorization-mode", "--client-ca-file", "--read-only-port")
"""What a kubelet without a KubeletConfiguration is told of those who may talk to it."""
CNI = {"cni_bin_dir": r"c:\k\cni", "cni_conf_dir": r"c:\k\cni\config"}
DOCUMENTS_LINE = (
    r"--hostname-override=<hostname> --v=6 --pod-infra-container-image=mcr.microsoft.com/oss/kubernetes/pause:1.4.1 "
    r'--resolv-conf="" --allow-privileged=true --enable-debugging-handlers --cluster-dns=<DNS-service-IP> '
    r"--cluster-domain=cluster.local --kubeconfig=c:\k\config --hairpin-mode=promiscuous-bridge "
    r"--image-pull-progress-deadline=20m --cgroups-per-qos=false --log-dir=<log directory> --logtostderr=false "
    r'--enforce-node-allocatable="" --network-plugin=cni --cni-bin-dir=c:\k\cni --cni-conf-dir=c:\k\cni\config'
)
"""kubernetes.io, Windows containers in Kubernetes, v1.22: `nssm set kubelet AppParameters ...`."""


def settings(version: str, **changes: Any) -> kubelet_args.Kubelet:
    return wanted_kubelet(version, **{"pause_image": "registry.k8s.io/pause:3.5", **changes})


def arguments(version: str, **changes: Any) -> tuple[str, ...]:
    return kubelet_args.arguments(settings(version, **changes))


def value(found: tuple[str, ...], flag: str) -> str | None:
    """The value of the only argument of this name; None if it is missing; fails if it appears twice."""
    values = [argument.partition("=")[2] for argument in found if argument.partition("=")[0] == f"--{flag}"]
    assert len(values) < 2, f"--{flag} stands twice"
    return values[0] if values else None


@pytest.mark.row("KU-02", "KU-03", "KU-06", "KU-07", "KU-08", "KU-09", "KU-10", "KU-11", "KU-14", "KU-15", "SV-14")
def test_the_documents_line_for_their_version_argument_by_argument() -> None:
    """Two differences: --allow-privileged was removed before 1.22, and the pause image is a newer one."""
    filled = (
        DOCUMENTS_LINE.replace("<hostname>", "win1")
        .replace("<DNS-service-IP>", "10.96.0.10")
        .replace("<log directory>", r"C:\k")
        .replace("mcr.microsoft.com/oss/kubernetes/pause:1.4.1", "registry.k8s.io/pause:3.5")
    )
    documents = command_line.split(f"kubelet.exe {filled}")[1:]
    documents.remove("--allow-privileged=true")
    found = [
        word
        for word in arguments(
            "1.22.17", container_runtime="dockershim", verbosity=6, kubelet_kubeconfig=r"c:\k\config", **CNI
        )
        if not word.startswith(ACCESS)
    ]
    assert found[: len(documents)] == documents
    assert found[len(documents) :] == [
        "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
        "--system-reserved=memory=2Gi",
        "--register-with-taints=os=windows:NoSchedule",
    ]


@pytest.mark.row("KU-24", "KU-18", "RS-06", "RS-09", "KU-21")
def test_the_newest_release_gets_exactly_this() -> None:
    assert arguments("1.37.1") == (
        "--hostname-override=win1",
        "--v=2",
        "--resolv-conf=",
        "--enable-debugging-handlers",
        "--cluster-dns=10.96.0.10",
        "--cluster-domain=cluster.local",
        r"--kubeconfig=C:\etc\kubernetes\kubelet.conf",
        "--cgroups-per-qos=false",
        "--enforce-node-allocatable=",
        "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd",
        "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
        "--system-reserved=memory=2Gi",
        "--register-with-taints=os=windows:NoSchedule",
        "--anonymous-auth=false",
        "--authentication-token-webhook=true",
        "--authorization-mode=Webhook",
        r"--client-ca-file=C:\etc\kubernetes\pki\ca.crt",
        "--read-only-port=0",
    )


@pytest.mark.row("KU-02")
def test_the_nodes_name_is_lower_case() -> None:
    assert value(arguments("1.37.1", node_name="WIN-7A"), "hostname-override") == "win-7a"


@pytest.mark.parametrize(
    ("version", "runtime", "expected"),
    [
        ("1.22.17", "containerd", True),
        ("1.26.15", "containerd", True),
        ("1.27.16", "containerd", False),
        ("1.23.17", "dockershim", True),
    ],
)
@pytest.mark.row("KU-04")
def test_the_pause_image_is_an_argument_up_to_1_26(version: str, runtime: str, expected: bool) -> None:
    found = value(arguments(version, container_runtime=runtime), "pod-infra-container-image")
    assert found == ("registry.k8s.io/pause:3.5" if expected else None)


@pytest.mark.row("KU-07")
@pytest.mark.parametrize("version", ["1.22.17", "1.29.15", "1.37.1"])
def test_allow_privileged_is_never_written(version: str) -> None:
    assert value(arguments(version), "allow-privileged") is None


@pytest.mark.row("KU-12")
@pytest.mark.parametrize(("version", "expected"), [("1.23.17", "promiscuous-bridge"), ("1.24.17", None)])
def test_hairpin_mode_goes_with_dockershim(version: str, expected: str | None) -> None:
    assert value(arguments(version), "hairpin-mode") == expected


@pytest.mark.row("KU-13", "KU-17")
def test_dockershims_flags_are_for_docker_only() -> None:
    flags = ("image-pull-progress-deadline", "network-plugin", "cni-bin-dir", "cni-conf-dir")
    docker, containerd = arguments("1.23.17", container_runtime="dockershim"), arguments("1.23.17")
    assert [value(docker, flag) for flag in flags] == ["20m", "cni", r"C:\k\cni", r"C:\k\cni\config"]
    assert [value(containerd, flag) for flag in flags] == [None] * 4


@pytest.mark.row("KU-16")
@pytest.mark.parametrize(("version", "expected"), [("1.25.16", (r"D:\logs", "false")), ("1.26.15", (None, None))])
def test_klogs_flags_end_with_1_25(version: str, expected: tuple[str | None, str | None]) -> None:
    found = arguments(version, log_dir=r"D:\logs")
    assert (value(found, "log-dir"), value(found, "logtostderr")) == expected


@pytest.mark.row("KU-24")
@pytest.mark.parametrize(("version", "expected"), [("1.22.17", "remote"), ("1.23.17", "remote"), ("1.24.17", None)])
def test_the_remote_runtime_is_named_while_docker_is_the_default(version: str, expected: str | None) -> None:
    found = arguments(version, containerd_pipe="containerd-dev")
    assert value(found, "container-runtime") == expected
    assert value(found, "container-runtime-endpoint") == "npipe:////./pipe/containerd-dev"


@pytest.mark.row("KU-25", "CT-16")
def test_the_image_service_is_named_when_wanted() -> None:
    assert value(arguments("1.37.1"), "image-service-endpoint") is None


@pytest.mark.row("KU-19", "KU-20", "RS-06", "RS-08")
def test_reservations_and_thresholds_have_their_real_names_in_a_fixed_order() -> None:
    found = arguments(
        "1.37.1",
        system_reserved={"memory": "4Gi", "cpu": "500m"},
        kube_reserved={"memory": "1Gi"},
        eviction_hard={"nodefs.available": "10%", "memory.available": "500Mi"},
        eviction_soft={"memory.available": "1Gi"},
        eviction_soft_grace_period={"memory.available": "90s"},
    )
    assert tuple(word for word in found if "reserved" in word or "eviction" in word) == (
        "--system-reserved=cpu=500m,memory=4Gi",
        "--kube-reserved=memory=1Gi",
        "--eviction-hard=memory.available<500Mi,nodefs.available<10%",
        "--eviction-soft=memory.available<1Gi",
        "--eviction-soft-grace-period=memory.available=90s",
    )


@pytest.mark.row("KU-21", "KU-31")
def test_taints_reach_the_kubelet_without_quotes_and_can_be_none() -> None:
    two = arguments("1.37.1", taints=("os=windows:NoSchedule", "gpu:NoExecute"))
    assert value(two, "register-with-taints") == "os=windows:NoSchedule,gpu:NoExecute"
    assert value(arguments("1.37.1", taints=()), "register-with-taints") is None


@pytest.mark.row("KU-31")
def test_a_path_with_a_blank_is_quoted_once_in_the_one_string_for_nssm() -> None:
    found = arguments("1.25.16", log_dir=r"C:\Program Files\logs", kubelet_kubeconfig=r"C:\k\config")
    line = command_line.join(found)
    assert r'"--log-dir=C:\Program Files\logs"' in line
    assert command_line.split(f"kubelet.exe {line}")[1:] == list(found)


@pytest.mark.row("KU-26", "KU-30", "CT-32")
def test_feature_gates_are_one_argument_and_off_unless_asked_for() -> None:
    assert value(arguments("1.29.15"), "feature-gates") is None
    found = arguments("1.29.15", feature_gates={"PodAndContainerStatsFromCRI": True, "NodeLogQuery": False})
    assert value(found, "feature-gates") == "NodeLogQuery=false,PodAndContainerStatsFromCRI=true"


@pytest.mark.row("KU-23")
@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.22.17", None), ("1.23.17", "IdentifyPodOS=true"), ("1.24.17", None), ("1.27.16", None)],
)
def test_identify_pod_os_is_set_where_it_is_needed(version: str, expected: str | None) -> None:
    assert value(arguments(version), "feature-gates") == expected


@pytest.mark.row("KU-06", "KU-08", "KU-09", "KU-10", "KU-14", "KU-15", "KU-21", "KU-24", "KU-30", "KU-32")
def test_on_a_kubeadm_node_the_settings_go_into_a_drop_in_and_not_into_arguments() -> None:
    kubeadm = settings(
        "1.35.6",
        join="kubeadm",
        feature_gates={"NodeLogQuery": True},
        taints=("os=windows:NoSchedule", "gpu:NoExecute"),
        node_ip="10.0.0.5",
        labels={"tier": "web"},
    )
    assert kubelet_args.arguments(kubeadm) == (
        "--hostname-override=win1",
        "--v=2",
        r"--kubeconfig=C:\etc\kubernetes\kubelet.conf",
        "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
        "--node-ip=10.0.0.5",
        "--node-labels=tier=web",
        r"--client-ca-file=C:\etc\kubernetes\pki\ca.crt",
        r"--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"--cert-dir=C:\var\lib\kubelet\pki",
        r"--config=C:\var\lib\kubelet\config.yaml",
        r"--config-dir=C:\var\lib\kubelet\config.d",
    )
    assert kubelet_args.configuration(kubeadm) == {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "resolvConf": "",
        "enableDebuggingHandlers": True,
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": "npipe:////./pipe/containerd-containerd",
        "systemReserved": {"memory": "2Gi"},
        "registerWithTaints": [
            {"key": "os", "value": "windows", "effect": "NoSchedule"},
            {"key": "gpu", "effect": "NoExecute"},
        ],
        "featureGates": {"NodeLogQuery": True},
        "singleProcessOOMKill": None,
        "userNamespaces": None,
    }


@pytest.mark.row("KU-24", "KU-32")
@pytest.mark.parametrize(("version", "in_file"), [("1.26.15", False), ("1.27.16", True)])
def test_the_runtimes_address_is_in_the_configuration_from_1_27_on(version: str, in_file: bool) -> None:
    assert ("containerRuntimeEndpoint" in kubelet_args.configuration(settings(version))) is in_file


@pytest.mark.row("KU-06", "KU-32", "NW-06")
@pytest.mark.parametrize(("version", "in_file"), [("1.30.14", False), ("1.32.13", False), ("1.33.13", True)])
def test_an_empty_resolv_conf_is_in_the_drop_in_from_1_33_on(version: str, in_file: bool) -> None:
    """An older kubelet puts its own default in the place of an empty one."""
    wanted = settings(version, join="kubeadm")
    assert kubelet_args.configuration(wanted).get("resolvConf") == ("" if in_file else None)
    assert ("--resolv-conf=" in kubelet_args.arguments(wanted)) is not in_file


@pytest.mark.row("KU-32")
@pytest.mark.parametrize(("version", "drop_in"), [("1.27.16", False), ("1.29.15", False), ("1.30.14", True)])
def test_before_drop_ins_without_a_switch_everything_stays_an_argument(version: str, drop_in: bool) -> None:
    found = arguments(version, join="kubeadm")
    assert value(found, "config-dir") == (r"C:\var\lib\kubelet\config.d" if drop_in else None)
    assert (value(found, "cluster-domain") is None) is drop_in


def test_extra_arguments_come_last_as_they_are() -> None:
    assert arguments("1.37.1", extra_arguments=("--max-pods=60",))[-1] == "--max-pods=60"


@dataclass(frozen=True, slots=True, kw_only=True)
class WithMaxPods(KubeletOptions):
    """One line more in the table."""

    max_pods: int | None = option(
        "Pods.", default=None, variable=Variable("winkube_kubelet_max_pods"), flag="max-pods", setting="maxPods"
    )


def test_a_plain_flag_is_one_line_in_the_table_of_options() -> None:
    """From it follow the module's option, the role's variable and the way from this to that, the argument, the field of
    the drop-in, and whether the release knows them."""
    known = list_options(KubeletOptions)
    (added,) = (each for each in list_options(WithMaxPods) if each not in known)
    assert added.document() == {"description": "Pods.", "type": "int"}
    assert [each.variable.name for each in role_variables((added,))] == ["winkube_kubelet_max_pods"]
    interface = Interface("win_kubelet", "", "", WithMaxPods)
    assert shared_options.arguments(interface)["max_pods"] == "{{ winkube_kubelet_max_pods }}"
    given = {"version": "1.37.1", "node_name": "win1", "source": {"url": "https://example.com/kubelet.exe"}}
    for join, argument in (("kubeconfig", True), ("kubeadm", False)):
        set_, unset = (
            kubelet_args.Kubelet(interface.read({**given, "join": join, "max_pods": pods}), LAYOUT)
            for pods in (60, None)
        )
        assert ("--max-pods=60" in kubelet_args.arguments(set_)) is argument
        assert kubelet_args.configuration(set_)["maxPods"] == 60
        assert kubelet_check.problems(set_) == []
        assert "maxPods" not in kubelet_args.configuration(unset)
        assert not any("max-pods" in word for word in kubelet_args.arguments(unset))
