# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that several components have: in tables of their own, with what differs, or in the fragments that modules
share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..engine.secret import Secret
from .options import Interface, Variable, list_options, list_templates, option, suboptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSource:
    """Where a program comes from. A component says of what kind `url` is, and which variables set it."""

    url: str = option("The program, fetched by the node.", default="")
    checksum: str = option("Its checksum.", default="")
    proxy: str = option("A web proxy for the download.", default="", variable="winkube_http_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAddress:
    """Which of the machine's addresses is the node's."""

    interface_name: str = option(
        "The adapter that the node's address is on.", default="Ethernet", variable="winkube_interface_name"
    )
    management_ip: str = option(
        "The node's address. Empty for the first IPv4 address of O(interface_name). Refused if no adapter has it.",
        default="",
        variable="winkube_management_ip",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """How a component's service is created and run. `manager` is empty for the first of its kind's."""

    manager: str = option("Its manager.", default="")
    environment: Mapping[str, Secret[str]] = option("Variables.", default={})
    depends_on: tuple[str, ...] = option("Services.", default=())
    start_timeout: int = option("Seconds.", default=120)
    stop_timeout: int = option("Seconds within which the service must stop.", default=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the controller reaches a cluster's API: kubeconfigs there (empty: not at all), and a context."""

    kubeconfig: str = option("Kubeconfigs.", default="")
    context: str = option("A context.", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Firewall:
    """The inbound rule for a program's port."""

    enabled: bool = option("Whether there is one.", default=True, variable="winkube_firewall")
    sources: tuple[str, ...] = option("Who may come in.", default=(), variable="winkube_firewall_sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class NssmSource:
    """Where nssm.exe comes from."""

    url: str = option("Its zip.", default="https://nssm.cc/release/nssm-2.24.zip", variable="winkube_nssm_url")
    checksum: str = option("Its checksum.", default="", variable="winkube_nssm_checksum")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRunnerSource:
    """Where kube-log-runner.exe comes from."""

    version: str = option("Its release.", default="1.37.2", variable="winkube_log_runner_version")
    url: str = option(
        "The program.",
        default="https://dl.k8s.io/release/v1.37.2/bin/windows/amd64/kube-log-runner.exe",
        variable="winkube_log_runner_url",
    )
    checksum: str = option(
        "Its checksum.",
        default="https://dl.k8s.io/release/v1.37.2/bin/windows/amd64/kube-log-runner.exe.sha256",
        variable="winkube_log_runner_checksum",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """When a log gets a new file, and how long kube-log-runner keeps old ones (nssm keeps them forever)."""

    max_mb: int = option("Megabytes.", default=10, variable="winkube_log_max_mb")
    keep_days: int = option("Days.", default=14, variable="winkube_log_keep_days")


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """How many Windows Nodes may be away at once."""

    max_unavailable: str = option("How many.", default="1")
    nodes: str = option("Which count.", default="kubernetes.io/os=windows")
    timeout: int = option("Seconds.", default=600)
    take_over: str = option("A dead run.", default="")
    until: str = option("The end.", default="")
    events: bool = option("Whether.", default=False)
    why: str = option("What the run does.", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """Whether and how a Node is drained before its pods are interrupted."""

    enabled: bool = option("Whether.", default=False)
    node_name: str = option("The Node.", default="")
    cluster: Access = suboptions(Access, "The way to the cluster.")
    timeout: int = option("Seconds.", default=600)
    grace_period: int = option("Seconds.", default=-1)
    force: bool = option("Whether.", default=False)
    delete_emptydir_data: bool = option("Whether.", default=False)
    host_process_namespace: str = option("Of the connection's pods.", default="winkube-node")
    budget: BudgetOptions = suboptions(BudgetOptions, "The budget.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """The options of the fragments in doc_fragments/, which document them; a module has those of the fragments that it
    extends. They are the same for all components of a node."""

    nssm_source: NssmSource = suboptions(NssmSource, "nssm.exe.", fragment="nssm")
    log: LogOptions = suboptions(LogOptions, "Logs.", fragment="nssm")
    log_runner_source: LogRunnerSource = suboptions(LogRunnerSource, "kube-log-runner.exe.", fragment="log_runner")
    firewall: Firewall = suboptions(Firewall, "The firewall.", fragment="inbound")
    cluster: Access = suboptions(Access, "The cluster.", variable="winkube_cluster", fragment="cluster")
    golden_image: bool = option(
        "Whether the machine becomes an image.",
        default=False,
        variable="winkube_golden_image",
        fragment="golden_image",
    )
    keep_pushed_builds: bool = option(
        "Whether.", default=False, variable="winkube_keep_pushed_builds", fragment="pushed_builds"
    )
    drain: DrainOptions = suboptions(DrainOptions, "Draining.", variable="winkube_node_drain", fragment="drain")
    node: Mapping[str, Any] = option("Places on the node.", default={}, variable="winkube_node", fragment="node")
    refresh: bool = option("Whether the node is read again.", default=False)
    reading_max_age: int = option("Seconds.", default=300, variable="winkube_reading_max_age", fragment="node")
    runner: Literal["task", "inline"] = option(
        "How changes are worked off.", default="task", variable="winkube_runner", fragment="node"
    )
    reconnect_timeout: int = option("Seconds.", default=300, variable="winkube_reconnect_timeout", fragment="node")
    answer_timeout: int = option("Seconds.", default=300, variable="winkube_answer_timeout", fragment="node")


def arguments(interface: Interface) -> dict[str, Any]:
    """A module's options as its role's task passes them (`list_templates`): its own, and those of its fragments."""
    shared = (row for row in list_options(SharedOptions) if row.fragment in interface.shared)
    return list_templates((*interface.rows, *shared))


def unverified_option(*names: str) -> Any:
    """The option `allow_unverified`, for sources of these names."""
    return option(
        f"Components whose sources may come without a checksum, though not over http, such as {' and '.join(names)}.",
        default=(),
        variable="winkube_allow_unverified",
    )


def checksum_option(name: str, variable: Variable, *, sums: str = "the publisher's sum file") -> Any:
    """The option `checksum` of a source that `allow_unverified` knows by this name."""
    return option(
        (
            f"V(sha256:) and 64 hex digits, or the https address of {sums}, which the controller reads.",
            f"Without one the source is refused, unless O(allow_unverified) names C({name}).",
        ),
        default="",
        variable=variable,
    )


def version_option() -> Any:
    """The release of a program of Kubernetes."""
    return option(
        "The release of Kubernetes, such as V(1.37.1). Refused if it does not go with the cluster's API server.",
        variable="winkube_kubernetes_version",
    )


def node_name_option() -> Any:
    """The name of the Node object."""
    return option(
        "The name of the Node object, in lower case. The kubelet, kube-proxy and flanneld get the same one.",
        variable="winkube_node_name",
    )


def kubernetes_source(program: str, *, needed: str = "") -> ProgramSource:
    """The option `source` of a Kubernetes program. `needed` says when the source is needed, unless always."""
    prefix = f"winkube_{program.replace('-', '_')}"
    base = Variable(
        f"{prefix}_url",
        f"{{{{ winkube_kubernetes_base_url }}}}/{program}.exe",
        shown="below C(winkube_kubernetes_base_url)",
    )
    beside = f"({prefix}_url ~ '.sha256') if {prefix}_url.startswith('https://') else ''"
    sums = Variable(
        f"{prefix}_checksum",
        f"{{{{ winkube_kubernetes_checksum or ({beside}) }}}}",
        shown="the publisher's sum file",
    )
    text = "The program (C(.exe)), fetched by the node; V(http), V(https), or V(file:///C:/...) on the node."
    return suboptions(
        ProgramSource,
        f"Where {program}.exe comes from.{f' {needed}' if needed else ''}",
        required=not needed,
        url=option(text, default="", variable=base) if needed else option(text, variable=base),
        checksum=checksum_option(program, sums),
    )


def service_options(
    managers: tuple[str, ...],
    text: str | tuple[str, ...],
    *,
    start: Any,
    stop: Any,
    environment: Any = None,
    depends_on: Any = None,
    manager: Variable | str = "",
    variable: Variable | str = "",
) -> ServiceOptions:
    """The option `service`, with its `manager` (the first is the default); `text` describes the managers. Without
    `environment` or `depends_on` there is no such option."""
    return suboptions(
        ServiceOptions,
        "How the service is created and run.",
        variable=variable,
        manager=option(text, default=managers[0], choices=managers, variable=manager),
        environment=environment,
        depends_on=depends_on,
        start_timeout=start,
        stop_timeout=stop,
    )


def start_option(text: str, seconds: int, variable: Variable | str = "") -> Any:
    """The time limit of a service's start; `text` says what the start waits for."""
    return option(text, default=seconds, variable=variable)


def stop_option(seconds: int, variable: Variable | str = "") -> Any:
    """The time limit of a service's stop."""
    return option("Seconds within which the service must stop.", default=seconds, variable=variable)


def extra_arguments_option(such: str, variable: str) -> Any:
    """Arguments of a program besides ours."""
    text = f"Further arguments, such as V({such}). They are checked like the others."
    return option(text, default=(), variable=Variable(variable))


def environment_option(variable: Variable | str = "", besides: str = "such as HTTPS_PROXY") -> Any:
    """The option `environment`: the service's own variables."""
    text = f"Variables of the service's own environment, {besides}. A change restarts it."
    return option(text, default={}, variable=variable)


def depends_on_option(such: str, variable: Variable) -> Any:
    """The option `depends_on`: services that Windows starts before this one."""
    text = (
        f"Services that Windows has to start before, such as V({such}), and whose stop also stops this one.",
        "None by default. If one of them does not come up at boot, this service stays down.",
    )
    return option(text, default=(), variable=variable)
