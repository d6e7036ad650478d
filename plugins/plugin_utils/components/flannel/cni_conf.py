# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What flannel's cni.conf must say, and a check of the rendered text.

HNS' plugins silently ignore a policy that they do not understand: the effect is wrong address translation in pods. So
the check is strict. components/cni/rules.py has its rules, as for a file on a node. Source: containernetworking/plugins
pkg/hns/netconf_windows.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...engine.resource import Refused
from ...facts import cni as cni_facts
from ...facts.cni import TRANSLATES_NODES
from ...facts.flannel import BACKENDS
from ...facts.version import Line, Version
from .. import networks
from ..cni.conf import FILE, read
from ..cni.judge import judge
from ..cni.rules import Subject

NO_DOCKERSHIM = Line(1, 24)
"""Source: kubernetes CHANGELOG-1.24.md: dockershim removed from the kubelet."""


@dataclass(frozen=True, slots=True)
class CniConf:
    """What cni.conf must say.

    `network` is the HNS network's name. Pods reach `exceptions` with their own address. `api_version` is 2 with
    containerd, 1 with dockershim. `subject` is what the text is judged by.
    """

    subject: Subject
    network: str
    mode: str
    cni_version: str
    api_version: int
    exceptions: tuple[str, ...]
    service_cidr: str
    management_ip: str
    dns_service_ip: str
    search: tuple[str, ...]
    subnet_file: str = ""
    dsr: bool = False
    """Whether kube-proxy uses direct server return: a pod then reaches itself through its Service only with the
    loopback policy of `loopbackDSR`. Source: containernetworking/plugins pkg/hns/netconf_windows.go,
    ApplyLoopbackDSR."""

    @property
    def delegate(self) -> str:
        """The plugin that makes the endpoints."""
        return BACKENDS[self.mode].delegate


def exceptions(needed: Iterable[str], extra: Iterable[str]) -> tuple[str, ...]:
    """The IPv4 networks of pods, services and host, and the user's additions. Refused for an addition that is not a
    network."""
    added = [str(found) for each in extra for found in networks.ipv4(networks.ranges(each, "winkube_exception_list"))]
    return tuple(dict.fromkeys((*needed, *added)))


def template_variables(wanted: CniConf) -> dict[str, Any]:
    """The template's variable `cni`."""
    variables: dict[str, Any] = {
        "network": wanted.network,
        "mode": wanted.mode,
        "version": wanted.cni_version,
        "api_version": wanted.api_version,
        "delegate": wanted.delegate,
        "exceptions": list(wanted.exceptions),
        "service_cidr": wanted.service_cidr,
        "management_ip": wanted.management_ip,
        "nameservers": [wanted.dns_service_ip],
        "search": list(wanted.search),
        "subnet_file": wanted.subnet_file,
        "dsr": wanted.dsr,
        "policies": policies(wanted),
    }
    return {"cni": variables}


def policies(wanted: CniConf) -> list[dict[str, Any]]:
    """The endpoint policies: no translation inside the cluster, encapsulation for services and (l2bridge) the host
    itself, the node's address as the tunnel's end (overlay)."""
    new = wanted.api_version == 2
    values: list[dict[str, Any]] = []
    if new:
        values.append({"Type": "OutBoundNAT", "Settings": {"Exceptions": list(wanted.exceptions)}})
    else:
        values.append({"Type": "OutBoundNAT", "ExceptionList": list(wanted.exceptions)})
    routes = [wanted.service_cidr]
    if wanted.mode == "l2bridge":
        routes.append(f"{wanted.management_ip}/32")
    for prefix in routes:
        route = {"DestinationPrefix": prefix, "NeedEncap": True}
        values.append({"Type": "SDNRoute", "Settings": route} if new else {"Type": "ROUTE", **route})
    if wanted.mode == "overlay":
        address = {"ProviderAddress": wanted.management_ip}
        values.append(
            {"Type": "ProviderAddress", "Settings": address} if new else {"Type": "PA", "PA": wanted.management_ip}
        )
    return [{"Name": "EndpointPolicy", "Value": value} for value in values]


def settings(
    *,
    plugins: Version,
    runtime: str,
    kubernetes: Line | None,
    network: str,
    mode: str,
    cni_version: str,
    cluster_cidr: str,
    service_cidr: str,
    subnet: str,
    management_ip: str,
    dns_service_ip: str,
    cluster_domain: str,
    extra: Iterable[str],
    subnet_file: str = "",
    dsr: bool = False,
) -> CniConf:
    """What cni.conf must say for these options. Refused for a cniVersion that the plugins do not accept, and for
    dockershim with a kubelet that has none."""
    takes = cni_facts.cni_versions(plugins)
    version = cni_version or cni_facts.default_cni_version(plugins)
    if version not in takes:
        raise Refused(
            f"winkube_cni_version: '{version}' is not supported by {BACKENDS[mode].delegate} of the CNI plugins "
            f"{plugins}, which support {', '.join(takes)}."
        )
    if runtime == "dockershim" and kubernetes is not None and kubernetes >= NO_DOCKERSHIM:
        raise Refused(
            f"winkube_container_runtime: the kubelet has no dockershim since Kubernetes {NO_DOCKERSHIM}; this is "
            f"{kubernetes}. Use containerd."
        )
    cluster = networks.list_pod_ranges(cluster_cidr)
    services = networks.ipv4(networks.ranges(service_cidr, "winkube_service_cidr"))
    own = () if mode in TRANSLATES_NODES else networks.ipv4(networks.ranges(subnet, "subnet"))
    needed = tuple(str(each) for each in (*cluster, *services, *own))
    return CniConf(
        subject=Subject(
            FILE,
            network_name=network,
            runtime=runtime,
            plugins_version=str(plugins),
            cluster_cidr=cluster_cidr,
            service_cidr=service_cidr,
            subnets=(subnet,),
            management_ip=management_ip,
            mode=mode,
            dsr=dsr,
            flannel=True,
        ),
        network=network,
        mode=mode,
        cni_version=version,
        api_version=1 if runtime == "dockershim" else 2,
        exceptions=exceptions(needed, extra),
        service_cidr=str(services[0]),
        management_ip=management_ip,
        dns_service_ip=dns_service_ip,
        search=(f"svc.{cluster_domain}",),
        subnet_file=subnet_file,
        dsr=dsr,
    )


def check(text: str, wanted: CniConf) -> tuple[str, ...]:
    """Warnings about the text. Refused with one sentence per error."""
    faults = judge(text, wanted.subject)
    refused = tuple(each.sentence for each in faults if each.rule.is_refused)
    if refused:
        raise Refused(*refused)
    return tuple(each.sentence for each in faults)


def external_warnings(text: str, external: Iterable[str]) -> tuple[str, ...]:
    """External targets that the exceptions of a checked cni.conf cover, one sentence each. Refused for a target that
    is not an address."""
    external = tuple(external)
    for address in external:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise Refused(f"winkube_external_targets: '{address}' is not an IP address.") from None
    found = read(text).exceptions()
    return tuple(
        f"{FILE}: the exceptions cover {address}, which is said to lie outside the cluster: pods reach it only when "
        "their address is translated. Take the network that covers it out of winkube_exception_list."
        for address in external
        if networks.exception_list_covers(found, address)
    )
