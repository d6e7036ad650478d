# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-proxy's arguments and environment per release, and a check whether it would start with them.

The arguments have the order of kubernetes.io's own command lines (Windows in Kubernetes, v1.22, "Register
kube-proxy.exe": l2bridge / host-gw and overlay / vxlan); further ones follow.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...engine.environment import Entry
from ...facts import feature_gates
from ...facts.flags import KUBE_PROXY, NEWEST, TRUE
from ...facts.version import Line, Version
from ..flag_check import CommandLine, contradictions, gate_problems, line_problem, read, render_gates
from ..layout import Layout
from .options import KubeProxyOptions

Mode = Literal["l2bridge", "overlay"]

NETWORKS: Mapping[str, str] = {"l2bridge": "cbr0", "overlay": "vxlan0"}
"""The HNS network of each mode. Source: kubernetes.io, Windows in Kubernetes, v1.22."""

PROXY_MODE = "kernelspace"
"""The only mode for Windows that every release has; userspace was removed in 1.26."""

HEALTHZ_PORT = "10256"
"""Source: kubernetes v1.37.1 pkg/cluster/ports/ports.go, ProxyHealthzPort."""

OWN = "kube-proxy's arguments"
"""The name of this place in messages."""

_BESIDE_CONFIG = frozenset(
    {"config", "hostname-override", "windows-service", "v", "vmodule", "logging-format", "log-flush-frequency"}
)
"""Arguments that still count with --config. Source: kubernetes v1.37.1 cmd/kube-proxy/app/options.go, Complete."""


@dataclass(frozen=True, slots=True)
class KubeProxy:
    """A kube-proxy as it is wanted on one node.

    In `options` nothing depends on the node any more: `network_mode` is one of NETWORKS, `service.manager` is not
    `auto`, feature gates are true or false. `source_vip` is for overlay only: one address of `pod_cidr`, the node's own
    range (empty: not compared).
    """

    options: KubeProxyOptions
    layout: Layout
    source_vip: str = ""
    pod_cidr: str = ""

    @property
    def version(self) -> Version:
        return Version.parse(self.options.version)

    @property
    def is_overlay(self) -> bool:
        """Whether the pods' network is an overlay; else it is l2bridge."""
        return self.options.network_mode == "overlay"

    @property
    def network_name(self) -> str:
        """The HNS network, by name."""
        return self.options.network_name or NETWORKS["overlay" if self.is_overlay else "l2bridge"]

    @property
    def log_dir(self) -> str:
        """The folder that it logs to; empty if kube-log-runner writes its log."""
        return "" if self.options.service.manager == "sc" else self.layout.log_dir


def arguments(proxy: KubeProxy) -> tuple[str, ...]:
    """kube-proxy's arguments without the program, for a service under nssm."""
    overlay = proxy.is_overlay
    wanted = gates(proxy)
    found = [f"--v={proxy.options.verbosity}", f"--proxy-mode={PROXY_MODE}"]
    if wanted:
        found.append(f"--feature-gates={render_gates(wanted)}")
    found += [
        f"--hostname-override={proxy.options.node_name.lower()}",
        f"--kubeconfig={proxy.layout.kube_proxy_kubeconfig}",
    ]
    if overlay:
        found += [f"--network-name={proxy.network_name}", f"--source-vip={proxy.source_vip}"]
    found.append(f"--enable-dsr={str(proxy.options.dsr).lower()}")
    if proxy.log_dir and "log-dir" in KUBE_PROXY.list_known(proxy.version.line):
        found += [f"--log-dir={proxy.log_dir}", "--logtostderr=false"]
    if proxy.options.cluster_cidr:
        found.append(f"--cluster-cidr={proxy.options.cluster_cidr}")
    return (*found, *proxy.options.extra_arguments)


def environment(proxy: KubeProxy) -> tuple[Entry, ...]:
    """The service's own environment: l2bridge's network is set by KUBE_NETWORK, overlay's by --network-name."""
    return (Entry.plain("KUBE_NETWORK", proxy.network_name),) if not proxy.is_overlay else ()


def gates(proxy: KubeProxy) -> dict[str, bool]:
    """Feature gates to set: those of the mode unless they are locked, and the user's."""
    needed = [name for name, on in (("WinOverlay", proxy.is_overlay), ("WinDSR", proxy.options.dsr)) if on]
    states = ((name, feature_gates.gate("kube-proxy", name, proxy.version.line)) for name in needed)
    ours = {name: True for name, state in states if state is not None and not state.locked}
    return {**ours, **proxy.options.feature_gates}


def healthz(proxy: KubeProxy) -> tuple[str, str] | None:
    """The health address of these settings, as in `healthz_of`."""
    return healthz_of(read(((OWN, arguments(proxy)),), KUBE_PROXY, proxy.version.line))


def healthz_of(line: CommandLine) -> tuple[str, str] | None:
    """(host, port) of the health URL on the node itself; None if there is none, or if the user's configuration file
    sets it.

    --healthz-port only counts if the address has no port, and 0 turns it off. Source: kubernetes v1.22.17 to v1.37.1
    cmd/kube-proxy/app, addressFromDeprecatedFlags.
    """
    address, given = line.find_last("healthz-bind-address"), line.find_last("healthz-port")
    text = address.value if address else f"0.0.0.0:{HEALTHZ_PORT}"
    if line.find_last("config") or not text or (given and given.value == "0"):
        return None
    bare = text.count(":") != 1 and not text.startswith("[")
    host, _colon, port = (text, "", "") if bare else text.rpartition(":")
    host = host.strip("[]")
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None  # kube-proxy refuses such an address itself
    if found.is_unspecified:
        host = "127.0.0.1"
    return (f"[{host}]" if ":" in host else host), port or (given.value if given else HEALTHZ_PORT)


def uses_dsr(argv: Sequence[str]) -> bool:
    """Whether a kube-proxy of any release uses direct server return with these arguments."""
    return _has_dsr(read(((OWN, argv),), KUBE_PROXY, NEWEST))


def _has_dsr(line: CommandLine) -> bool:
    found = line.find_last("enable-dsr")
    return found is not None and found.value.lower() in TRUE


def source_vip(text: str) -> str:
    """The source VIP in SourceVip.json, host-local's answer: `.ip4.ip` up to CNI 0.2, `.ips[0].address` later.

    ValueError with a sentence if there is none.
    """
    try:
        answer: Any = json.loads(text)
        address = str(answer["ip4"]["ip"] if "ip4" in answer else answer["ips"][0]["address"])
        return str(ipaddress.ip_interface(address).ip)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError(
            f"SourceVip.json holds no source VIP (wanted is ip4.ip or ips[0].address, such as 10.244.2.7/24): {error}. "
            "Remove the file; the next run reserves an address."
        ) from error


def check_command_line(argv: Sequence[str], version: Version, env: Sequence[str] = ()) -> list[str]:
    """Why a kube-proxy of `version` would not start or not do what its arguments say: one sentence each.

    `argv` are the arguments without the program; `env` is the service's own environment, `NAME=value` each, or only
    `NAME` if the value is unknown.
    """
    if sentence := line_problem(version.line):
        return [sentence]
    line = read(((OWN, argv),), KUBE_PROXY, version.line)
    return [
        *line.problems,
        *contradictions(line),
        *gate_problems(line, "kube-proxy", version.line),
        *_values(line, version.line),
        *_network(line, env),
    ]


def problems(proxy: KubeProxy) -> list[str]:
    """Why these settings are impossible: one sentence each, plus the sentences of `check_command_line`."""
    if sentence := line_problem(proxy.version.line):
        return [sentence]
    found = []
    if proxy.is_overlay and not proxy.source_vip:
        found.append(
            "source VIP: overlay needs an address of the node's own range that no pod has, and none is set; reserve "
            "one with host-local (id kube-proxy)."
        )
    if proxy.is_overlay and proxy.source_vip and proxy.pod_cidr:
        found += _outside(proxy.source_vip, proxy.pod_cidr)
    if found:
        return found
    return check_command_line(arguments(proxy), proxy.version, [entry.name for entry in environment(proxy)])


def _outside(vip: str, pod_cidr: str) -> list[str]:
    try:
        address, network = ipaddress.ip_address(vip), ipaddress.ip_network(pod_cidr)
    except ValueError as error:
        return [f"source VIP {vip!r} in {pod_cidr!r}: {error}."]
    if address in network:
        return []
    return [
        f"source VIP {vip} is not in the node's range {pod_cidr}: it is of an earlier range of this node. Remove "
        "SourceVip.json; the next run reserves an address."
    ]


def _values(line: CommandLine, version: Line) -> list[str]:
    found = []
    mode = line.find_last("proxy-mode")
    if mode and mode.value != PROXY_MODE:
        found.append(f"{mode.place}: {mode.text}: Windows has one mode only; write --proxy-mode={PROXY_MODE}.")
    hostname = line.find_last("hostname-override")
    if hostname is None:
        found.append(
            f"{OWN}: --hostname-override is missing: kube-proxy then takes the machine's name, and where that is not "
            "the node's, it deletes the endpoints of the node's own containers; write --hostname-override=<node name>."
        )
    dsr = line.find_last("enable-dsr")
    if dsr and _has_dsr(line):
        state = feature_gates.gate("kube-proxy", "WinDSR", version)
        if state is not None and not line.gates().get("WinDSR", state.default):
            found.append(
                f"{dsr.place}: {dsr.text}: kube-proxy {version} exits (WinDSR feature gate not enabled); add "
                "WinDSR=true to --feature-gates."
            )
    if line.find_last("config"):
        ignored = sorted({flag.name for flag in line.given} - _BESIDE_CONFIG)
        if ignored:
            found.append(
                f"{OWN}: --config is given, so {', '.join(f'--{name}' for name in ignored)} would be ignored; set them "
                "in the file."
            )
    return found


def _network(line: CommandLine, env: Sequence[str]) -> list[str]:
    if line.find_last("config"):
        return []
    found = []
    name, vip = line.find_last("network-name"), line.find_last("source-vip")
    own = {key.upper(): value if equals else None for key, equals, value in (entry.partition("=") for entry in env)}
    variable = own.get("KUBE_NETWORK", "")
    if not (name and name.value) and variable == "":
        found.append(
            f"{OWN}: neither --network-name nor KUBE_NETWORK in the service's environment names the HNS network, and "
            "kube-proxy waits for one; set KUBE_NETWORK=cbr0 (l2bridge) or --network-name=vxlan0 (overlay)."
        )
    if name and name.value and variable and name.value != variable:
        found.append(
            f"{name.place}: {name.text} and KUBE_NETWORK={variable} differ; the argument counts. Remove KUBE_NETWORK."
        )
    if vip and not vip.value:
        found.append(f"{vip.place}: --source-vip is empty, overlay exits without; reserve an address with host-local.")
    return found
