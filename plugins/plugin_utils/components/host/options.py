# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_host and the variables of the role host."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from ...engine.secret import NO_TEXT, Secret
from ...facts.windows_revisions import BadRevision, parse_entries
from ..log_limit import LogLimitOptions
from ..options import Interface, Variable, inlined, option, suboptions


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """The cluster's network, and the node's place in it."""

    mode: str = option(
        "V(overlay) has more requirements for Windows than V(l2bridge). Empty if no network is set up.",
        default="",
        variable="winkube_network_mode if winkube_kubernetes_version else ''",
    )
    interface_name: str = option(
        "The network adapter of the node's address. It must exist if O(kubernetes_version) is given.",
        default="Ethernet",
        variable="winkube_interface_name",
    )
    address: str = option(
        "The node's address; empty for the first of the adapter.", default="", variable="winkube_management_ip"
    )
    cluster_cidr: str = option(
        "The pods' network, reached without a proxy.", default="", variable="winkube_network.cluster_cidr"
    )
    service_cidr: str = option(
        "The Services' network, reached without a proxy.", default="", variable="winkube_network.service_cidr"
    )
    domain: str = option(
        "The cluster's domain, reached without a proxy.", default="", variable="winkube_network.cluster_domain"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """The web proxy as variables of the machine's environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY)."""

    http: Secret[str] = option(
        ("The address of the proxy for http.", "It may hold a password."),
        default=NO_TEXT,
        variable=Variable(
            "winkube_node_http_proxy",
            default="{{ winkube_proxy }}",
            text="The machine's own web proxy for http, as a variable of its environment; empty leaves "
            "the variables as they are. Services see them only after a restart of the machine, so "
            "containerd and the kubelet have settings of their own.",
        ),
    )
    https: Secret[str] = option(
        ("The address of the proxy for https.", "It may hold a password."),
        default=NO_TEXT,
        variable=Variable("winkube_node_https_proxy", default="{{ winkube_proxy }}"),
    )
    no_proxy: tuple[str, ...] = option(
        "What else is reached without the proxy, in addition to the machine itself, its own network, "
        "and the cluster's networks and domain.",
        default=(),
        variable=Variable("winkube_node_no_proxy", default="{{ winkube_no_proxy }}"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsRevisionOptions:
    """Revisions of Windows that are known to be bad, beside those of docs/windows-support.md."""

    build: int = option("The build, such as V(20348).")
    since: int = option("The revision that brought it; V(0) for the first release.", default=0)
    mended: int = option("The revision that fixes it; V(0) if none is known.", default=0)
    breaks: str = option("What is wrong, a sentence.")
    source: str = option("An address; without one the entry is only told.", default="")
    concerns: str = option("Whom it concerns where that is not every node, such as V(overlay).", default="")
    unverified: bool = option("The entry is only told.", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OsSwitchOptions:
    """A switch of Windows in its registry."""

    key: str = option(r"The key, such as V(HKLM\\SYSTEM\\CurrentControlSet\\Services\\hns\\State).")
    name: str = option("The name of the value, a dword.")
    value: int = option("The number.")
    restart: bool = option("Whether it is in force only after a restart of the machine.", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartOptions:
    """Whether the machine may be restarted, and for how long that is waited for."""

    reboot: bool = option(
        "Restart the machine if a change takes effect only after a restart. With V(false) a warning says which "
        "changes are waiting for one.",
        default=True,
        variable=Variable("winkube_reboot"),
    )
    reboot_timeout: int = option(
        "Seconds to wait for a restarting machine.", default=900, variable=Variable("winkube_reboot_timeout")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    kubernetes_version: str = option(
        "The Kubernetes release that the node is for. Empty for none.",
        default="",
        variable="winkube_kubernetes_version",
    )
    containerd_version: str = option(
        "The containerd release that the node is for. Empty for none.",
        default="",
        variable="winkube_containerd_version | default('')",
    )
    pause_image: str = option(
        "The sandbox image; empty for the one that fits the Kubernetes release.",
        default="",
        variable="winkube_pause_image | default('')",
    )
    pause_image_source: Literal["kubernetes", "microsoft"] = option(
        "Whose sandbox image; V(microsoft) has signed programs.",
        default="kubernetes",
        variable="winkube_pause_image_source | default('kubernetes')",
    )
    allow_unsupported_os: bool = option(
        "Try a build of Windows that this Kubernetes does not support. What cannot work is still refused.",
        default=False,
        variable=Variable("winkube_allow_unsupported_os"),
    )
    network: NetworkOptions = suboptions(NetworkOptions, "The cluster's network, and the node's place in it.")
    computer_name: str = option(
        "The machine's name, up to 15 characters, set before it joins a cluster. Empty leaves it as it is.",
        default="",
        variable=Variable(
            "winkube_computer_name",
            text="The machine's name, up to 15 characters, set before the node joins a cluster; empty leaves"
            " it as it is. A node that has joined under another name is not renamed in the cluster.",
        ),
    )
    proxy: ProxyOptions = suboptions(
        ProxyOptions,
        "The web proxy as variables of the machine's environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY). Services see "
        "them only after a restart of the machine, so each service has its own setting for this. Without a proxy "
        "the variables are left alone.",
    )
    page_file_min_mb: int = option(
        "The size in megabytes to which the page files together must be allowed to grow; less is a warning, and no "
        "page file always is.",
        default=0,
        variable=Variable("winkube_page_file_min_mb"),
    )
    require_encryption: bool = option(
        "Refuse the machine unless BitLocker protects the volume of the kubelet's folder; otherwise that is a warning.",
        default=False,
        variable=Variable("winkube_require_encryption"),
    )
    gmsa: bool = option(
        "Whether pods will use group Managed Service Accounts. A warning says what in Windows prevents them; "
        "nothing is changed.",
        default=False,
        variable=Variable("winkube_gmsa"),
    )
    windows_revisions: tuple[WindowsRevisionOptions, ...] = option(
        "Revisions of Windows that are known to be bad, beside those of docs/windows-support.md. A node that has "
        "one is a warning.",
        default=(),
        variable=Variable("winkube_windows_revisions"),
    )
    os_switches: Literal["none", "image-builder", "aks"] = option(
        "Whose switches of Windows the machine gets, beside those that all of these makers set on every build; "
        "docs/defaults.md lists them. What is set already stays when the maker changes.",
        default="none",
        variable=Variable("winkube_os_switches"),
    )
    os_switch_values: tuple[OsSwitchOptions, ...] = option(
        "Switches of Windows of your own, which win over a maker's.",
        default=(),
        variable=Variable("winkube_os_switch_values"),
    )
    log: LogLimitOptions = suboptions(
        LogLimitOptions,
        "Limits for logs of services that nothing else limits: those that nssm has rotated, and the one that "
        "containerd holds open. A scheduled task checks them each hour; not with "
        "O(runner=inline), which creates no tasks.",
    )
    restart: RestartOptions = inlined(RestartOptions)

    @property
    def bad_revisions(self) -> tuple[BadRevision, ...]:
        """The user's own, beside those of facts. BadEntryError."""
        return parse_entries([asdict(each) for each in self.windows_revisions])


INTERFACE = Interface(
    module="win_k8s_host",
    summary="Prepares a Windows machine to become a Kubernetes node",
    task="Prepare the machine",
    shared=("node", "golden_image", "drain", "cluster"),
    options=HostOptions,
)
