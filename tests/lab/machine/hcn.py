"""HNS's second API (HCN): the JSON that goes into computenetwork.dll and comes out of it, for the objects of hns.py.

Fields: hcsshim v0.13.0 hcn/hcnnetwork.go, hcnendpoint.go, hcnnamespace.go, hcnpolicy.go. How version 1 shows policies
that version 2 was given: tests/recorded/hns/acn-1752-policies.json (OutBoundNAT, SDNRoute as ROUTE, ProviderAddress as
PA); of PortMapping as NAT: containernetworking/plugins pkg/hns/netconf_windows.go, which renders both.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from tests.lab.machine.hns import Hns, Object
from tests.lab.machine.hns_subnets import ENDPOINT, HCN_ENDPOINT, check_policies

SCHEMA = {"Major": 2, "Minor": 0}
_POLICIES = {"SDNRoute": "ROUTE", "ProviderAddress": "PA", "PortMapping": "NAT"}
_SETTINGS = {"Exceptions": "ExceptionList", "ProviderAddress": "PA"}


def network(found: Object) -> Object:
    """A network of version 1 as version 2 shows it."""
    subnets = [
        {
            "IpAddressPrefix": one["AddressPrefix"],
            "Routes": [{"NextHop": one["GatewayAddress"], "DestinationPrefix": "0.0.0.0/0"}],
            "Policies": [_nested(policy) for policy in one.get("Policies") or []],
        }
        for one in found["Subnets"]
    ]
    return {
        "ID": found["ID"],
        "Name": found["Name"],
        "Type": found["Type"],
        "Policies": [_nested(policy) for policy in found["Policies"]],
        "MacPool": {"Ranges": found["MacPools"]},
        "Ipams": [{"Type": "Static", "Subnets": subnets}],
        "Flags": found["Flags"],
        "SchemaVersion": SCHEMA,
    }


def _nested(policy: Object) -> Object:
    """A policy with its fields under Settings."""
    if "Settings" in policy:
        return policy
    return {"Type": policy["Type"], "Settings": {key: value for key, value in policy.items() if key != "Type"}}


def endpoint(found: Object, asked: Object) -> Object:
    """An endpoint of version 1 as version 2 shows it; `asked` is what it was made from."""
    return {
        **asked,
        "ID": found["ID"],
        "HostComputeNetwork": found["VirtualNetwork"],
        **({"HostComputeNamespace": found["Namespace"]["ID"]} if "Namespace" in found else {}),
        "MacAddress": found["MacAddress"],
        "IpConfigurations": [{"IpAddress": found["IPAddress"], "PrefixLength": found["PrefixLength"]}],
        "Routes": [{"NextHop": found["GatewayAddress"], "DestinationPrefix": "0.0.0.0/0"}],
    }


def create_endpoint(hns: Hns, request: Object) -> Object:
    """The endpoint as version 1 shows it. Errors: those of Hns.create_endpoint, 0x803b000d for a policy that no
    endpoint of version 2 has."""
    policies: list[Object] = request.get("Policies") or []
    check_policies(policies, HCN_ENDPOINT)
    addresses = request.get("IpConfigurations") or [{}]
    routes = request.get("Routes") or [{}]
    dns = request.get("Dns") or {}
    return hns.create_endpoint(
        {
            "Name": request.get("Name"),
            "VirtualNetwork": request.get("HostComputeNetwork"),
            "IPAddress": addresses[0].get("IpAddress"),
            "MacAddress": _colonless(str(request.get("MacAddress") or "")),
            "GatewayAddress": routes[0].get("NextHop"),
            "DNSServerList": ",".join(dns.get("ServerList") or []),
            "DNSSuffix": ",".join(dns.get("Search") or []),
            "Policies": [flat(policy) for policy in policies],
        },
        HCN_ENDPOINT | ENDPOINT,
    )


def _colonless(mac: str) -> str:
    return mac.upper().replace(":", "-")


def flat(policy: Object) -> Object:
    """A policy of an endpoint as version 1 shows it."""
    kind = str(policy["Type"])
    settings: dict[str, Any] = policy.get("Settings") or {}
    return {"Type": _POLICIES.get(kind, kind), **{_SETTINGS.get(key, key): value for key, value in settings.items()}}


def namespace(found: Object, endpoints: Iterable[Object]) -> Object:
    """A namespace of version 1 as version 2 shows it, with those of the endpoints that are in it."""
    inside = [one["ID"] for one in endpoints if one.get("Namespace", {}).get("ID") == found["ID"]]
    return {
        "ID": found["ID"],
        "NamespaceId": found["CompartmentId"],
        "Type": "HostDefault" if found["IsDefault"] else "Host",
        "Resources": [{"Type": "Endpoint", "Data": {"ID": one}} for one in inside],
        "SchemaVersion": SCHEMA,
    }


def pod_endpoint(conf: Object, network: Object, address: str, sandbox: str, namespace: str) -> Object:
    """What win-bridge or win-overlay asks HNS for: `conf` is its configuration (a delegate's), `network` one of
    version 1, `address` what host-local gave, `namespace` the CNI_NETNS of the sandbox.

    Source: containernetworking/plugins v1.9.0 plugins/main/windows (processEndpointArgs), pkg/hns/endpoint_windows.go
    (GenerateHcnEndpoint), netconf_windows.go. Recorded: tests/recorded/hns/requests.
    """
    overlay = network["Type"] == "Overlay"
    policies = [
        _policy(one["value"])
        for one in ({key.lower(): value for key, value in item.items()} for item in conf.get("policies") or [])
        if str(one.get("name", "")).lower() == "endpointpolicy" and isinstance(one.get("value"), dict)
    ]
    if overlay and network["ManagementIP"]:
        _apply(policies, "ProviderAddress", "ProviderAddress", network["ManagementIP"])
    if overlay and conf.get("ipMasq"):
        _apply(policies, "OutBoundNAT", "Exceptions", network["Subnets"][0]["AddressPrefix"])
    if not overlay and conf.get("ipMasqNetwork"):
        _apply(policies, "OutBoundNAT", "Exceptions", conf["ipMasqNetwork"])
    if conf.get("loopbackDSR"):  # ApplyLoopbackDSR
        policies.append({"Type": "OutBoundNAT", "Settings": {"Destinations": [address]}})
    prefix = ipaddress.IPv4Network(network["Subnets"][0]["AddressPrefix"])
    gateway = network["Subnets"][0]["GatewayAddress"]
    if not overlay:
        own = (conf.get("ipam") or {}).get("subnet") or str(prefix)
        gateway = str(ipaddress.IPv4Network(own).network_address + 2)
    dns = {**(conf.get("dns") or {})}
    given = (conf.get("runtimeConfig") or {}).get("dns") or {}
    known = {
        "Domain": dns.get("domain"),
        "Search": given.get("searches") or dns.get("search"),
        "ServerList": given.get("servers") or dns.get("nameservers"),
        "Options": dns.get("options"),
    }
    numbers = "-".join(f"{byte:02x}" for byte in ipaddress.IPv4Address(address).packed)
    mac = f"{conf.get('endpointMacPrefix') or '0E-2A'}-{numbers}" if overlay else ""
    return {
        "Name": f"{sandbox_id(sandbox, namespace)}_{conf['name']}",
        "HostComputeNetwork": network["ID"],
        **({"Policies": policies} if policies else {}),
        "IpConfigurations": [{"IpAddress": address}],
        "Dns": {key: value for key, value in known.items() if value},
        "Routes": [{"NextHop": gateway, "DestinationPrefix": "0.0.0.0/0"}],
        **({"MacAddress": mac} if mac else {}),
        "Health": {"Extra": {}},
        "SchemaVersion": SCHEMA,
    }


def sandbox_id(container: str, namespace: str) -> str:
    """Source: pkg/hns/endpoint_windows.go, GetSandboxContainerID."""
    return namespace.split(":", 1)[1] if namespace != "none" and ":" in namespace else container


def _policy(value: Object) -> Object:
    """As Go's decoder takes it: of hcn.EndpointPolicy's two fields, whatever their case, and nothing else."""
    lower = {key.lower(): item for key, item in value.items()}
    return {"Type": lower.get("type", ""), **({"Settings": lower["settings"]} if "settings" in lower else {})}


def _apply(policies: list[Object], kind: str, field: str, value: str) -> None:
    """Adds a policy unless one of its kind has this very value."""
    wanted: Any = [value] if field == "Exceptions" else value
    for policy in policies:
        found = (policy.get("Settings") or {}).get(field)
        if policy["Type"] == kind and (value in found if isinstance(found, list) else found == value):
            return
    policies.append({"Type": kind, "Settings": {field: wanted}})
