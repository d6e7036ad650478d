# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's arguments and KubeletConfiguration drop-in, per release.

The arguments have the order of kubernetes.io's own command line (Windows in Kubernetes, v1.22, "Register kubelet.exe");
further ones follow. A setting goes either into the arguments or into the drop-in, never into both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...engine.reading import Query, Reading
from ...engine.resource import Refused
from ...engine.resources.environment_variable import ENVIRONMENT_KEY
from ...facts import feature_gates, kubelet_config
from ...facts.flags import KUBELET, normalize
from ...facts.quantity import resolve_cpu
from ...facts.version import Line, Version
from ..flag_check import render_gates

Runtime = Literal["containerd", "dockershim"]

DOCKERSHIM_ENDS = Line(1, 24)
PAUSE_IS_AN_ARGUMENT = Line(1, 27)
"""Earlier releases get the sandbox image as an argument; later ones ask the runtime."""
DROP_INS = Line(1, 30)
"""The first minor release whose --config-dir needs no KUBELET_CONFIG_DROPIN_DIR_ALPHA in the environment.

Source: kubernetes v1.28.15, v1.29.15 (needed), v1.30.14 (not) cmd/kubelet/app/server.go.
"""
DROP_IN_NAME = "50-winkube.conf"
"""The kubelet reads *.conf in its drop-in folder, sorted. Source: kubernetes v1.30.14 cmd/kubelet/app/server.go."""

RESOLV_CONF_IN_DROP_IN = Line(1, 33)
"""The first minor release whose drop-in may empty resolvConf; before, it is an argument.

Seen: kubelet v1.30.4 restores its default (tests/real/upstream/test_configuration_files.py), v1.33.13 does not.
"""

ENDPOINT_IN_CONFIGURATION = Line(1, 27)
"""The first minor release with containerRuntimeEndpoint and imageServiceEndpoint in KubeletConfiguration.

Source: kubernetes v1.27.16 staging kubelet/config/v1beta1/types.go.
"""


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """What a kubelet should do.

    Paths are Windows paths; `pipe` and `image_pipe` are names of named pipes (`image_pipe` empty: the same).
    Reservations and thresholds are Kubernetes quantities by resource or signal. `config_file` and `drop_in_dir` are
    set if kubeadm manages the kubelet; without `drop_in_dir`, or on releases without drop-ins, everything is an
    argument. `client_ca_file` is the cluster's CA; `serving_certificate`: the kubelet asks the cluster for the
    certificate of its port, without which API servers of k3s and rke2 do not talk to it. `extra` comes last,
    unchanged. `log_dir` is empty if another program writes the kubelet's log.
    """

    version: Version
    node_name: str
    kubeconfig: str = r"c:\k\config"
    runtime: Runtime = "containerd"
    containerd_version: Version | None = None
    pipe: str = "containerd-containerd"
    image_pipe: str = ""
    pause_image: str = ""
    cluster_dns: tuple[str, ...] = ("10.96.0.10",)
    cluster_domain: str = "cluster.local"
    verbosity: int = 6
    log_dir: str = r"C:\k"
    cni_bin_dir: str = r"c:\k\cni"
    cni_conf_dir: str = r"c:\k\cni\config"
    priority_class: str = "ABOVE_NORMAL_PRIORITY_CLASS"
    system_reserved: Mapping[str, str] = field(default_factory=lambda: {"memory": "2Gi"})
    kube_reserved: Mapping[str, str] = field(default_factory=dict)
    eviction_hard: Mapping[str, str] = field(default_factory=dict)
    eviction_soft: Mapping[str, str] = field(default_factory=dict)
    eviction_soft_grace_period: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ("os=windows:NoSchedule",)
    labels: Mapping[str, str] = field(default_factory=dict)
    node_ip: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    shutdown_grace_period: str = ""
    shutdown_grace_period_critical_pods: str = ""
    bootstrap_kubeconfig: str = ""
    cert_dir: str = ""
    config_file: str = ""
    drop_in_dir: str = ""
    client_ca_file: str = ""
    serving_certificate: bool = False
    credential_config: str = ""
    credential_dir: str = ""
    extra: tuple[str, ...] = ()

    @property
    def uses_drop_in(self) -> bool:
        """Whether settings of KubeletConfiguration go into a drop-in."""
        return bool(self.drop_in_dir) and self.version.line >= DROP_INS


@dataclass(frozen=True, slots=True)
class _Setting:
    """One argument, and the field of KubeletConfiguration with the same meaning (empty: none)."""

    flag: str
    value: str | None
    field: str = ""
    content: Any = None

    @property
    def argument(self) -> str:
        return f"--{self.flag}" if self.value is None else f"--{self.flag}={self.value}"


def arguments(settings: KubeletSettings) -> tuple[str, ...]:
    """The kubelet's arguments without the program, for a service under nssm."""
    chosen = (item for item in _settings(settings) if not (settings.uses_drop_in and item.field))
    return (*(item.argument for item in chosen), *settings.extra)


def configuration(settings: KubeletSettings) -> dict[str, Any]:
    """The KubeletConfiguration of these settings as plain data: the content of the drop-in."""
    fields = {item.field: item.content for item in _settings(settings) if item.field}
    head = {"kind": kubelet_config.KIND, "apiVersion": kubelet_config.API_VERSION}
    return {**head, **fields, **_periods(settings), **dict.fromkeys(list_taken_out(settings.version.line))}


def list_taken_out(line: Line) -> tuple[str, ...]:
    """Fields that a kubelet of this line ends on, on Windows, and that a null in our drop-in takes out: the cluster's
    KubeletConfiguration is that of its Linux nodes, too."""
    if line < kubelet_config.PATCHES_VERSIONED:
        return ()
    return tuple(name for name, since in kubelet_config.REFUSED_ON_WINDOWS.items() if line >= since)


def _periods(settings: KubeletSettings) -> dict[str, str]:
    """The grace periods, which have no flags. Both or neither: kubeadm's file may have a longer critical period."""
    total, critical = settings.shutdown_grace_period, settings.shutdown_grace_period_critical_pods
    return {"shutdownGracePeriod": total, "shutdownGracePeriodCriticalPods": critical or "0s"} if total else {}


def gates(settings: KubeletSettings) -> dict[str, bool]:
    """Feature gates to set: the user's, and IdentifyPodOS in 1.23, which ignores `.spec.os.name` without it."""
    identify = feature_gates.gate("kubelet", "IdentifyPodOS", settings.version.line)
    needed = {"IdentifyPodOS": True} if identify and identify.stage == "alpha" else {}
    return {**needed, **settings.feature_gates}


def endpoint(pipe: str) -> str:
    """The address of a named pipe in the form that kubelet and crictl take."""
    return f"npipe:////./pipe/{pipe}"


def _settings(settings: KubeletSettings) -> list[_Setting]:
    line = settings.version.line
    dockershim = settings.runtime == "dockershim"
    name = (_Setting("hostname-override", settings.node_name.lower()),) if settings.node_name else ()
    items = [*name, _Setting("v", str(settings.verbosity))]
    if settings.pause_image and line < PAUSE_IS_AN_ARGUMENT:
        items.append(_Setting("pod-infra-container-image", settings.pause_image))
    items += [
        _Setting("resolv-conf", "", "resolvConf" if line >= RESOLV_CONF_IN_DROP_IN else "", ""),
        _Setting("enable-debugging-handlers", None, "enableDebuggingHandlers", True),
        _Setting("cluster-dns", ",".join(settings.cluster_dns), "clusterDNS", list(settings.cluster_dns)),
        _Setting("cluster-domain", settings.cluster_domain, "clusterDomain", settings.cluster_domain),
        _Setting("kubeconfig", settings.kubeconfig),
    ]
    if line < DOCKERSHIM_ENDS:
        items.append(_Setting("hairpin-mode", "promiscuous-bridge", "hairpinMode", "promiscuous-bridge"))
    if dockershim:
        items.append(_Setting("image-pull-progress-deadline", "20m"))
    items.append(_Setting("cgroups-per-qos", "false", "cgroupsPerQOS", False))
    if settings.log_dir and "log-dir" in KUBELET.list_known(line):
        items += [_Setting("log-dir", settings.log_dir), _Setting("logtostderr", "false")]
    items.append(_Setting("enforce-node-allocatable", "", "enforceNodeAllocatable", []))
    items += _dockershim(settings) if dockershim else _runtime(settings)
    items.append(_Setting("windows-priorityclass", settings.priority_class))
    return [*items, *_resources(settings), *_node(settings), *_access(settings), *_files(settings)]


def _dockershim(settings: KubeletSettings) -> list[_Setting]:
    return [
        _Setting("network-plugin", "cni"),
        _Setting("cni-bin-dir", settings.cni_bin_dir),
        _Setting("cni-conf-dir", settings.cni_conf_dir),
    ]


def _runtime(settings: KubeletSettings) -> list[_Setting]:
    line = settings.version.line
    items = [_Setting("container-runtime", "remote")] if line < DOCKERSHIM_ENDS else []
    in_file = line >= ENDPOINT_IN_CONFIGURATION
    for flag, name, pipe in (
        ("container-runtime-endpoint", "containerRuntimeEndpoint", settings.pipe),
        ("image-service-endpoint", "imageServiceEndpoint", settings.image_pipe),
    ):
        if pipe:
            items.append(_Setting(flag, endpoint(pipe), name if in_file else "", endpoint(pipe)))
    return items


def _resources(settings: KubeletSettings) -> list[_Setting]:
    maps = (
        ("system-reserved", "systemReserved", settings.system_reserved, "="),
        ("kube-reserved", "kubeReserved", settings.kube_reserved, "="),
        ("eviction-hard", "evictionHard", settings.eviction_hard, "<"),
        ("eviction-soft", "evictionSoft", settings.eviction_soft, "<"),
        ("eviction-soft-grace-period", "evictionSoftGracePeriod", settings.eviction_soft_grace_period, "="),
    )
    return [
        _Setting(flag, ",".join(f"{key}{sign}{value}" for key, value in sorted(found.items())), name, dict(found))
        for flag, name, found, sign in maps
        if found
    ]


def _node(settings: KubeletSettings) -> list[_Setting]:
    items = []
    if settings.taints:
        taints = [_taint(taint) for taint in settings.taints]
        items.append(_Setting("register-with-taints", ",".join(settings.taints), "registerWithTaints", taints))
    if settings.node_ip:
        items.append(_Setting("node-ip", settings.node_ip))
    if settings.labels:
        labels = ",".join(f"{key}={value}" for key, value in sorted(settings.labels.items()))
        items.append(_Setting("node-labels", labels))
    wanted = gates(settings)
    if wanted:
        items.append(_Setting("feature-gates", render_gates(wanted), "featureGates", dict(wanted)))
    return items


def _access(settings: KubeletSettings) -> list[_Setting]:
    """The CA by which the kubelet authenticates callers and, without a KubeletConfiguration, who may talk to it: by
    default anyone who reaches port 10250 may run commands in every pod, and port 10255 shows their specs. Such settings
    in `extra` win.

    A kubelet that rotates its certificate uses nothing else of its kubeconfig, least of all a token: rotation is only
    for one that got its certificate by bootstrap. Source: kubernetes v1.37.1 cmd/kubelet/app/options/options.go,
    applyLegacyDefaults; cmd/kubelet/app/server.go, buildKubeletClientConfig; kubeadm's values:
    cmd/kubeadm/app/componentconfigs/kubelet.go.
    """
    if not settings.client_ca_file:
        return []
    items = [
        _Setting("anonymous-auth", "false"),
        _Setting("authentication-token-webhook", "true"),
        _Setting("authorization-mode", "Webhook"),
        _Setting("client-ca-file", settings.client_ca_file),
        _Setting("read-only-port", "0"),
    ]
    if settings.bootstrap_kubeconfig:
        items.append(_Setting("rotate-certificates", "true"))
    if settings.serving_certificate:
        items.append(_Setting("rotate-server-certificates", "true"))
    if settings.config_file:
        items = [item for item in items if item.flag == "client-ca-file"]
    theirs = {normalize(word.lstrip("-").partition("=")[0]) for word in settings.extra}
    return [item for item in items if item.flag not in theirs]


def _files(settings: KubeletSettings) -> list[_Setting]:
    files = (
        ("bootstrap-kubeconfig", settings.bootstrap_kubeconfig),
        ("cert-dir", settings.cert_dir),
        ("config", settings.config_file),
        ("config-dir", settings.drop_in_dir if settings.uses_drop_in else ""),
        ("image-credential-provider-config", settings.credential_config),
        ("image-credential-provider-bin-dir", settings.credential_dir),
    )
    return [_Setting(flag, path) for flag, path in files if path]


def _taint(text: str) -> dict[str, str]:
    """`key=value:Effect` or `key:Effect` in the form of KubeletConfiguration."""
    pair, _colon, effect = text.rpartition(":")
    key, _equals, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


# What a node reserves for itself: quantities, or a share of its CPU.

PROCESSORS = Query("registry:processors", "registry", (("path", ENVIRONMENT_KEY), ("name", "NUMBER_OF_PROCESSORS")))
"""The machine's logical processors; on Windows Server 2019 with more than 64, those of one processor group.

Source: learn.microsoft.com, NUMBER_OF_PROCESSORS environment variable may show incorrect values.
"""


def resolve_reserved(option: str, given: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    """Reservations by resource as the kubelet takes them: a share of the CPU (`10%`) becomes millicores of this node.

    Refused for a share of 100 % or more, and if the node does not say how many processors it has.
    """
    found = {str(resource): str(value) for resource, value in given.items()}
    share = found.get("cpu", "")
    if not share.strip().endswith("%"):
        return found
    processors = str((reading.parts.get(PROCESSORS.key) or {}).get("value", ""))
    if not processors.isdecimal():
        raise Refused(
            f"{option}: cpu: {share}: the node does not say how many processors it has (NUMBER_OF_PROCESSORS of the "
            "machine's environment is not there); write cores (0.5) or millicores (500m)."
        )
    try:
        return found | {"cpu": resolve_cpu(share, int(processors))}
    except ValueError as error:
        raise Refused(f"{option}: cpu: {error}") from error
