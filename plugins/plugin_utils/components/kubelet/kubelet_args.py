# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's arguments and KubeletConfiguration drop-in, per release.

The arguments have the order of kubernetes.io's own command line (Windows in Kubernetes, v1.22, "Register kubelet.exe");
further ones follow. A setting goes either into the arguments or into the drop-in, never into both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine import windows_path
from ...engine.reading import Query, Reading
from ...engine.resource import Refused
from ...engine.resources.environment_variable import ENVIRONMENT_KEY
from ...facts import feature_gates, kubelet_config
from ...facts.flags import KUBELET, normalize
from ...facts.quantity import resolve_cpu
from ...facts.version import Line, Version
from ..flag_check import render_gates
from ..layout import Layout
from ..options import list_flags
from . import credentials, places
from .options import KubeletOptions
from .places import ROOT_DIR

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
class Kubelet:
    """A kubelet as it is wanted on one node.

    In `options` nothing depends on the node any more (component.py, `resolve`): reservations are quantities, `node_ip`
    has the addresses, `service.manager` is not `auto`, `pause_image` is empty unless it is an argument. The rest
    follows from them and the layout.

    Only kubeadm writes a KubeletConfiguration, which also says who may talk to the kubelet, and only kubeadm and a
    bootstrap lead to a certificate. Without a drop-in folder, or on releases without drop-ins, everything is an
    argument. `serving_certificate`: the kubelet asks the cluster for the certificate of its port, without which API
    servers of k3s and rke2 do not talk to it.
    """

    options: KubeletOptions
    layout: Layout
    serving_certificate: bool = False

    @property
    def version(self) -> Version:
        return Version.parse(self.options.version)

    @property
    def containerd_version(self) -> Version | None:
        """The containerd beside it, if it is known."""
        return Version.parse(self.options.containerd_version) if self.options.containerd_version else None

    @property
    def log_dir(self) -> str:
        """The folder that it logs to; empty if kube-log-runner writes its log."""
        return "" if self.options.service.manager == "sc" else self.layout.log_dir

    @property
    def extra(self) -> tuple[str, ...]:
        """The arguments behind the others: one that follows from the layout, and the user's, unchanged."""
        own = () if windows_path.is_same(self.layout.kubelet_dir, ROOT_DIR) else (self.layout.kubelet_dir,)
        return (*(f"--root-dir={folder}" for folder in own), *self.options.extra_arguments)

    @property
    def has_configuration(self) -> bool:
        """Whether kubeadm writes its KubeletConfiguration."""
        return self.options.join == "kubeadm"

    @property
    def uses_drop_in(self) -> bool:
        """Whether settings of KubeletConfiguration go into a drop-in."""
        return self.has_configuration and self.version.line >= DROP_INS

    @property
    def drop_in(self) -> str:
        """The path of that drop-in."""
        return windows_path.join(places.drop_in_dir(self.layout), DROP_IN_NAME)


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


def arguments(kubelet: Kubelet) -> tuple[str, ...]:
    """The kubelet's arguments without the program, for a service under nssm."""
    chosen = (item for item in _settings(kubelet) if not (kubelet.uses_drop_in and item.field))
    return (*(item.argument for item in chosen), *kubelet.extra)


def configuration(kubelet: Kubelet) -> dict[str, Any]:
    """The KubeletConfiguration of these settings as plain data: the content of the drop-in."""
    fields = {item.field: item.content for item in _settings(kubelet) if item.field}
    head = {"kind": kubelet_config.KIND, "apiVersion": kubelet_config.API_VERSION}
    ours = {**head, **fields, **_periods(kubelet), **dict.fromkeys(list_taken_out(kubelet.version.line))}
    return _merge(ours, kubelet.options.config)


def _merge(ours: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The user's fields over ours; a null is kept, since it takes the cluster's value away."""
    merged = dict(ours)
    for name, value in given.items():
        before = merged.get(name)
        nested = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[name] = _merge(before or {}, value) if nested else value
    return merged


def list_taken_out(line: Line) -> tuple[str, ...]:
    """Fields that a kubelet of this line ends on, on Windows, and that a null in our drop-in takes out: the cluster's
    KubeletConfiguration is that of its Linux nodes, too."""
    if line < kubelet_config.PATCHES_VERSIONED:
        return ()
    return tuple(name for name, since in kubelet_config.REFUSED_ON_WINDOWS.items() if line >= since)


def _periods(kubelet: Kubelet) -> dict[str, str]:
    """The grace periods, which have no flags. Both or neither: kubeadm's file may have a longer critical period."""
    total, critical = kubelet.options.shutdown_grace_period, kubelet.options.shutdown_grace_period_critical_pods
    return {"shutdownGracePeriod": total, "shutdownGracePeriodCriticalPods": critical or "0s"} if total else {}


def gates(kubelet: Kubelet) -> dict[str, bool]:
    """Feature gates to set: the user's, and IdentifyPodOS in 1.23, which ignores `.spec.os.name` without it."""
    identify = feature_gates.gate("kubelet", "IdentifyPodOS", kubelet.version.line)
    needed = {"IdentifyPodOS": True} if identify and identify.stage == "alpha" else {}
    return {**needed, **kubelet.options.feature_gates}


def endpoint(pipe: str) -> str:
    """The address of a named pipe in the form that kubelet and crictl take."""
    return f"npipe:////./pipe/{pipe}"


def _settings(kubelet: Kubelet) -> list[_Setting]:
    line = kubelet.version.line
    dockershim = kubelet.options.container_runtime == "dockershim"
    name = (_Setting("hostname-override", kubelet.options.node_name.lower()),) if kubelet.options.node_name else ()
    plain = _plain(kubelet.options)
    items = [*name, plain.pop("verbosity")]
    if kubelet.options.pause_image and line < PAUSE_IS_AN_ARGUMENT:
        items.append(_Setting("pod-infra-container-image", kubelet.options.pause_image))
    items += [
        _Setting("resolv-conf", "", "resolvConf" if line >= RESOLV_CONF_IN_DROP_IN else "", ""),
        _Setting("enable-debugging-handlers", None, "enableDebuggingHandlers", True),
        _Setting("cluster-dns", ",".join(kubelet.options.cluster_dns), "clusterDNS", list(kubelet.options.cluster_dns)),
        plain.pop("cluster_domain"),
        _Setting("kubeconfig", kubelet.layout.kubelet_kubeconfig),
    ]
    if line < DOCKERSHIM_ENDS:
        items.append(_Setting("hairpin-mode", "promiscuous-bridge", "hairpinMode", "promiscuous-bridge"))
    if dockershim:
        items.append(_Setting("image-pull-progress-deadline", "20m"))
    items.append(_Setting("cgroups-per-qos", "false", "cgroupsPerQOS", False))
    if kubelet.log_dir and "log-dir" in KUBELET.list_known(line):
        items += [_Setting("log-dir", kubelet.log_dir), _Setting("logtostderr", "false")]
    items.append(_Setting("enforce-node-allocatable", "", "enforceNodeAllocatable", []))
    items += _dockershim(kubelet) if dockershim else _runtime(kubelet)
    items.append(plain.pop("priority_class"))
    return [*items, *_resources(kubelet), *_node(kubelet), *_access(kubelet), *_files(kubelet), *plain.values()]


def _plain(options: KubeletOptions) -> dict[str, _Setting]:
    """The options that are a flag as they stand, by their names; None leaves it to the kubelet."""
    found = ((each, getattr(options, each.name)) for each in list_flags(type(options)))
    return {
        each.name: _Setting(
            each.flag, str(value).lower() if isinstance(value, bool) else str(value), each.setting, value
        )
        for each, value in found
        if value is not None
    }


def _dockershim(kubelet: Kubelet) -> list[_Setting]:
    return [
        _Setting("network-plugin", "cni"),
        _Setting("cni-bin-dir", kubelet.layout.cni_bin_dir),
        _Setting("cni-conf-dir", kubelet.layout.cni_conf_dir),
    ]


def _runtime(kubelet: Kubelet) -> list[_Setting]:
    line = kubelet.version.line
    items = [_Setting("container-runtime", "remote")] if line < DOCKERSHIM_ENDS else []
    in_file = line >= ENDPOINT_IN_CONFIGURATION
    address = endpoint(kubelet.layout.containerd_pipe)
    name = "containerRuntimeEndpoint" if in_file else ""
    return [*items, _Setting("container-runtime-endpoint", address, name, address)]


def _resources(kubelet: Kubelet) -> list[_Setting]:
    maps = (
        ("system-reserved", "systemReserved", kubelet.options.system_reserved, "="),
        ("kube-reserved", "kubeReserved", kubelet.options.kube_reserved, "="),
        ("eviction-hard", "evictionHard", kubelet.options.eviction_hard, "<"),
        ("eviction-soft", "evictionSoft", kubelet.options.eviction_soft, "<"),
        ("eviction-soft-grace-period", "evictionSoftGracePeriod", kubelet.options.eviction_soft_grace_period, "="),
    )
    return [
        _Setting(flag, ",".join(f"{key}{sign}{value}" for key, value in sorted(found.items())), name, dict(found))
        for flag, name, found, sign in maps
        if found
    ]


def _node(kubelet: Kubelet) -> list[_Setting]:
    items = []
    if kubelet.options.taints:
        taints = [_taint(taint) for taint in kubelet.options.taints]
        items.append(_Setting("register-with-taints", ",".join(kubelet.options.taints), "registerWithTaints", taints))
    if kubelet.options.node_ip:
        items.append(_Setting("node-ip", kubelet.options.node_ip))
    if kubelet.options.labels:
        labels = ",".join(f"{key}={value}" for key, value in sorted(kubelet.options.labels.items()))
        items.append(_Setting("node-labels", labels))
    wanted = gates(kubelet)
    if wanted:
        items.append(_Setting("feature-gates", render_gates(wanted), "featureGates", dict(wanted)))
    return items


def _access(kubelet: Kubelet) -> list[_Setting]:
    """The CA by which the kubelet authenticates callers and, without a KubeletConfiguration, who may talk to it: by
    default anyone who reaches port 10250 may run commands in every pod, and port 10255 shows their specs. Such settings
    in `extra` win.

    The CA is always named. kubeadm writes it to `ca_file`, but the KubeletConfiguration has the path of the control
    plane's folder (kubespray: /etc/kubernetes/ssl/ca.crt), to which 1.22 adds no drive and later releases that of
    kubeadm.exe; caCertPath cannot follow it everywhere, as it has to end in .crt. An argument wins over the file.
    Sources: kubernetes cmd/kubeadm/app/componentconfigs/kubelet.go, kubelet_windows.go (mutatePaths),
    apis/kubeadm/validation/validation.go; cmd/kubelet/app/server.go (kubeletConfigFlagPrecedence): v1.22.17, v1.27.4,
    v1.30.4, v1.33.13, v1.35.4, v1.37.1.

    A kubelet that rotates its certificate uses nothing else of its kubeconfig, least of all a token: rotation is only
    for one that got its certificate by bootstrap. Source: kubernetes v1.37.1 cmd/kubelet/app/options/options.go,
    applyLegacyDefaults; cmd/kubelet/app/server.go, buildKubeletClientConfig; kubeadm's values:
    cmd/kubeadm/app/componentconfigs/kubelet.go.
    """
    items = [
        _Setting("anonymous-auth", "false"),
        _Setting("authentication-token-webhook", "true"),
        _Setting("authorization-mode", "Webhook"),
        _Setting("client-ca-file", places.ca_file(kubelet.layout)),
        _Setting("read-only-port", "0"),
    ]
    if kubelet.options.join != "kubeconfig":
        items.append(_Setting("rotate-certificates", "true"))
    if kubelet.serving_certificate:
        items.append(_Setting("rotate-server-certificates", "true"))
    if kubelet.has_configuration:
        items = [item for item in items if item.flag == "client-ca-file"]
    theirs = {normalize(word.lstrip("-").partition("=")[0]) for word in kubelet.extra}
    return [item for item in items if item.flag not in theirs]


def _files(kubelet: Kubelet) -> list[_Setting]:
    options, layout = kubelet.options, kubelet.layout
    certificate, providers = options.join != "kubeconfig", bool(options.credential_providers)
    files = (
        ("bootstrap-kubeconfig", certificate, places.bootstrap_file(layout)),
        ("cert-dir", certificate, places.cert_dir(layout)),
        ("config", kubelet.has_configuration, places.config_file(layout)),
        ("config-dir", kubelet.uses_drop_in, places.drop_in_dir(layout)),
        ("image-credential-provider-config", providers, credentials.config_file(layout)),
        ("image-credential-provider-bin-dir", providers, credentials.folder(layout)),
    )
    return [_Setting(flag, path) for flag, wanted, path in files if wanted]


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
