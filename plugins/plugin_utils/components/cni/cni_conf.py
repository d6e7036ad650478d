# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cni.conf for flannel on Windows: what it has to say, and what is wrong with a text that came out of a template.

A policy that HNS' plugins do not understand is left out without a word: the mistake shows as pods whose traffic is
translated where it must not be. Hence the strictness. Source: containernetworking/plugins pkg/hns/netconf_windows.go.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...engine.resource import Refused
from ...facts import cni as cni_facts
from ...facts.cni import TRANSLATES_NODES
from ...facts.flannel import BACKENDS
from ...facts.version import Line, Version
from .. import networks

FILE = "cni.conf"

NO_DOCKERSHIM = Line(1, 24)
"""Source: kubernetes CHANGELOG-1.24.md: dockershim removed from the kubelet."""

OLD_KEYS = {"ROUTE": "SDNRoute", "PA": "ProviderAddress"}
"""Types of the form without apiVersion (dockershim), and what they are called under apiVersion 2."""


@dataclass(frozen=True, slots=True)
class CniConf:
    """What cni.conf shall say.

    `network` is the HNS network's name, `cni_versions` those that the plugins take. Pods reach `exceptions` with their
    own address; `needed` are those among them without which the cluster does not work. `api_version` is 2 with
    containerd, 1 with dockershim.
    """

    network: str
    mode: str
    cni_version: str
    cni_versions: tuple[str, ...]
    api_version: int
    needed: tuple[str, ...]
    exceptions: tuple[str, ...]
    service_cidr: str
    management_ip: str
    dns_service_ip: str
    search: tuple[str, ...]
    subnet_file: str = ""

    @property
    def delegate(self) -> str:
        """The plugin that does the work."""
        return BACKENDS[self.mode].delegate


def exceptions(needed: Iterable[str], extra: Iterable[str]) -> tuple[str, ...]:
    """The pods', the services' and the host's own network, and what the user adds; IPv4. Refused for an addition that
    is no network."""
    added = [str(found) for each in extra for found in networks.ipv4(networks.ranges(each, "winkube_exception_list"))]
    return tuple(dict.fromkeys((*needed, *added)))


def template_variables(wanted: CniConf) -> dict[str, Any]:
    """What a template gets, as the variable `cni`."""
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
        "policies": policies(wanted),
    }
    return {"cni": variables}


def policies(wanted: CniConf) -> list[dict[str, Any]]:
    """The endpoint policies: no translation inside the cluster, services and (l2bridge) the host itself through the
    encapsulation, the node's address as the tunnel's end (overlay)."""
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


def equal(left: str, right: str) -> bool:
    """Whether two texts say the same to the plugins."""
    try:
        return bool(json.loads(left) == json.loads(right))
    except ValueError:
        return False


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
) -> CniConf:
    """What cni.conf shall say for these options. Refused for a cniVersion that the plugins do not take, and for
    dockershim where the kubelet has none."""
    takes = cni_facts.cni_versions(plugins)
    version = cni_version or cni_facts.default_cni_version(plugins)
    if version not in takes:
        raise Refused(
            f"winkube_cni_version: '{version}' is not taken by {BACKENDS[mode].delegate} of the CNI plugins {plugins}, "
            f"which take {', '.join(takes)}."
        )
    if runtime == "dockershim" and kubernetes is not None and kubernetes >= NO_DOCKERSHIM:
        raise Refused(
            f"winkube_container_runtime: dockershim is gone from the kubelet since Kubernetes {NO_DOCKERSHIM}; "
            f"this is {kubernetes}. Take containerd."
        )
    cluster = networks.ipv4(networks.ranges(cluster_cidr, "winkube_cluster_cidr"))
    services = networks.ipv4(networks.ranges(service_cidr, "winkube_service_cidr"))
    own = () if mode in TRANSLATES_NODES else networks.ipv4(networks.ranges(subnet, "subnet"))
    needed = tuple(str(each) for each in (*cluster, *services, *own))
    return CniConf(
        network=network,
        mode=mode,
        cni_version=version,
        cni_versions=takes,
        api_version=1 if runtime == "dockershim" else 2,
        needed=needed,
        exceptions=exceptions(needed, extra),
        service_cidr=str(services[0]),
        management_ip=management_ip,
        dns_service_ip=dns_service_ip,
        search=(f"svc.{cluster_domain}",),
        subnet_file=subnet_file,
    )


def check(text: str, wanted: CniConf) -> tuple[str, ...]:
    """Warnings about the text. Refused with a sentence for each thing that would not work."""
    data = _parse(text)
    problems = [*_of_file(data, wanted)]
    delegate = data.get("delegate")
    if isinstance(delegate, Mapping):
        problems += _of_delegate(delegate, wanted)
    if problems:
        raise Refused(*(f"{FILE}: {problem}" for problem in problems))
    return tuple(f"{FILE}: {warning}" for warning in _warnings(data))


def _parse(text: str) -> Mapping[str, Any]:
    """Strict JSON: no comments, no key twice, an object."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: set[str] = set()
        for key, _value in pairs:
            if key.casefold() in seen:
                raise Refused(f"{FILE}: the key '{key}' stands twice in one object; the plugins ignore case.")
            seen.add(key.casefold())
        return dict(pairs)

    try:
        data = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        line = text.splitlines()[error.lineno - 1].strip()[:80] if text.strip() else ""
        raise Refused(
            f"{FILE}: line {error.lineno}, column {error.colno}: {error.msg}: '{line}'. It has to be strict JSON, "
            "without comments."
        ) from None
    if not isinstance(data, Mapping):
        raise Refused(f"{FILE}: it has to be a JSON object.")
    return _lower(data)


def _lower(data: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as Go reads them: without regard to case. What is inside a policy's value keeps its case, since the plugins
    search that as text."""
    return {key.casefold(): value if key.casefold() == "value" else _lower_value(value) for key, value in data.items()}


def _lower_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _lower(value)
    if isinstance(value, list):
        return [_lower_value(each) for each in value]
    return value


def _of_file(data: Mapping[str, Any], wanted: CniConf) -> Iterator[str]:
    if "plugins" in data:
        yield f"'plugins' is for a file that ends in .conflist; {FILE} holds one plugin."
        return
    if data.get("name") != wanted.network:
        yield (
            f"'name' is {_show(data.get('name'))}, but the HNS network will be called '{wanted.network}': pods would "
            "fail with 'network not found'."
        )
    if data.get("type") != "flannel":
        yield f"'type' is {_show(data.get('type'))}, wanted 'flannel'."
    version = data.get("cniversion")
    if version not in wanted.cni_versions:
        yield (
            f"'cniVersion' is {_show(version)}; {wanted.delegate} of these plugins takes "
            f"{', '.join(wanted.cni_versions)}."
        )
    if not isinstance(data.get("delegate"), Mapping):
        yield f"there is no 'delegate' with the type {wanted.delegate}."


def _of_delegate(delegate: Mapping[str, Any], wanted: CniConf) -> Iterator[str]:
    if delegate.get("type") != wanted.delegate:
        yield (
            f"'delegate.type' is {_show(delegate.get('type'))}, but winkube_network_mode {wanted.mode} needs "
            f"'{wanted.delegate}'."
        )
    version = delegate.get("apiversion", 1)
    if version != wanted.api_version:
        runtime = "containerd" if wanted.api_version == 2 else "dockershim"
        yield f"'delegate.apiVersion' is {version}, {runtime} needs {wanted.api_version}."
        return
    ipam = delegate.get("ipam")
    if isinstance(ipam, Mapping) and ipam.get("type") == "azure-vnet-ipam":
        yield (
            "'delegate.ipam.type' is azure-vnet-ipam, which works with Azure's CNI plugin alone; flannel uses "
            "host-local."
        )
    dns = delegate.get("dns")
    search = dns.get("search") if isinstance(dns, Mapping) else None
    if isinstance(search, list) and len(search) > 1:
        yield f"'delegate.dns.Search' has {len(search)} suffixes; Windows pods use one."
    found: list[str] = []
    for number, policy in enumerate(delegate.get("policies") or (), start=1):
        yield from _of_policy(policy, number, wanted)
        found += _exceptions_of(policy)
    try:
        missing = networks.uncovered(found, wanted.needed)
    except ValueError as error:
        yield f"the exceptions of OutBoundNAT have an entry that is no network ({error})."
        return
    if missing:
        yield (
            f"the exceptions of OutBoundNAT do not cover {', '.join(missing)}: traffic inside the cluster would be "
            "translated, which Kubernetes does not allow."
        )


def _of_policy(policy: Any, number: int, wanted: CniConf) -> Iterator[str]:
    where = f"'delegate.policies', entry {number}"
    if not isinstance(policy, Mapping) or not isinstance(policy.get("value"), Mapping):
        yield f"{where}: it has no 'value', so the plugin leaves it out without a word."
        return
    if str(policy.get("name", "")).casefold() != "endpointpolicy":
        yield (
            f"{where}: 'name' is {_show(policy.get('name'))}, wanted 'EndpointPolicy'; the plugin leaves it out "
            "without a word."
        )
    value = policy["value"]
    kind = value.get("Type")
    if kind is None:
        yield f"{where}: there is no 'Type' (written so: the plugin minds its case)."
        return
    if str(kind).casefold() == "outboundnat" and kind != "OutBoundNAT":
        yield f"{where}: 'Type' is '{kind}', wanted 'OutBoundNAT' (written so: the plugin minds its case)."
    if wanted.api_version == 2:
        if kind in OLD_KEYS:
            yield (
                f"{where}: '{kind}' is the form for dockershim; under apiVersion 2 it is '{OLD_KEYS[kind]}' with "
                "'Settings'."
            )
        if "ExceptionList" in value:
            yield (
                f"{where}: 'ExceptionList' is the form for dockershim; under apiVersion 2 it is read as no exception "
                "at all. Write 'Settings': {'Exceptions': [...]}."
            )
        elif "Settings" not in value and kind not in OLD_KEYS:
            yield f"{where}: under apiVersion 2 a policy has 'Settings'."
    elif "Settings" in value:
        yield f"{where}: 'Settings' is the form of apiVersion 2; without it write the keys beside 'Type'."


def _exceptions_of(policy: Any) -> list[str]:
    value = policy.get("value") if isinstance(policy, Mapping) else None
    if not isinstance(value, Mapping) or value.get("Type") != "OutBoundNAT":
        return []
    settings = value.get("Settings")
    found = settings.get("Exceptions") if isinstance(settings, Mapping) else value.get("ExceptionList")
    return [str(each) for each in found] if isinstance(found, list) else []


def _warnings(data: Mapping[str, Any]) -> Iterator[str]:
    delegate = data.get("delegate") or {}
    ipam = delegate.get("ipam")
    if isinstance(ipam, Mapping) and not ipam.get("type"):
        yield (
            "'delegate.ipam' has no type, so HNS hands out the addresses; flannel's plugin sets host-local itself: "
            "leave it out."
        )
    for policy in delegate.get("policies") or ():
        for each in _exceptions_of(policy):
            if ipaddress.ip_network(each).prefixlen == 0:
                yield (
                    f"the exception {each} covers everything: traffic that leaves the cluster keeps the pod's address "
                    "too, and no answer finds its way back."
                )


def external_warnings(text: str, external: Iterable[str]) -> tuple[str, ...]:
    """Targets outside the cluster that the exceptions in a checked cni.conf cover, one sentence each. Refused for one
    that is no address."""
    external = tuple(external)
    for address in external:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise Refused(f"winkube_external_targets: '{address}' is no IP address.") from None
    delegate = _parse(text).get("delegate") or {}
    found = [each for policy in delegate.get("policies") or () for each in _exceptions_of(policy)]
    return tuple(
        f"{FILE}: the exceptions cover {address}, which is said to lie outside the cluster: pods reach it only when "
        "their address is translated. Take the network that covers it out of winkube_exception_list."
        for address in external
        if networks.exception_list_covers(found, address)
    )


def _show(value: Any) -> str:
    return "missing" if value is None else f"'{value}'"
