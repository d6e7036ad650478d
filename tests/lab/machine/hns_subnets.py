"""What HNS checks of the subnets, addresses and policies that it is given."""

from __future__ import annotations

import copy
import ipaddress
from typing import Any

from tests.lab.machine import hns_errors as errors
from tests.lab.machine.hns_errors import HnsError

Object = dict[str, Any]
# v1 policies of endpoints and of policy lists. Source: hcsshim internal/hns, hnspolicy.go (PolicyType) and
# hnspolicylist.go. HNS shows SDNRoute and L4WFPPROXY of the v2 API as they are.
ENDPOINT = frozenset(
    {"ROUTE", "OutBoundNAT", "SDNRoute", "NAT", "ACL", "PA", "L2Driver", "QOS", "VLAN", "VSID", "PROXY", "L4WFPPROXY"}
)
LIST = frozenset({"ELB", "ROUTE", "L4WFPPROXY"})
# v2 policies of endpoints. Source: hcsshim v0.15.0-rc.4 hcn/hcnpolicy.go (EndpointPolicyType). That HNS refuses the
# types of networks and subnets there as it does unknown ones is unverified.
HCN_ENDPOINT = frozenset(
    {"PortMapping", "ACL", "QOS", "L2Driver", "OutBoundNAT", "SDNRoute", "L4Proxy", "L4WFPPROXY", "PortName"}
    | {"EncapOverhead", "Iov", "ProviderAddress", "InterfaceConstraint", "TierAcl"}
)


def prefix_of(text: str) -> ipaddress.IPv4Network:
    """`10.244.3.0/24`. Error: 0x80070057."""
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        raise HnsError(errors.INVALID) from None


def _address(text: str, code: int) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(text)
    except ValueError:
        raise HnsError(code) from None


def read_subnet(given: Object, kind: str) -> Object:
    """A subnet of a request as HNS shows it afterwards. Errors: 0x80070057; 0x803b000d for an overlay without VSID."""
    prefix, gateway = str(given.get("AddressPrefix") or ""), str(given.get("GatewayAddress") or "")
    network = prefix_of(prefix)
    if kind != "transparent" and _address(gateway, errors.INVALID) not in network:
        raise HnsError(errors.INVALID)
    policies = copy.deepcopy(given.get("Policies") or [])
    if kind == "overlay" and not any(item.get("Type") == "VSID" for item in policies):
        raise HnsError(errors.INVALID_POLICY)
    found: Object = {"AddressPrefix": prefix, "GatewayAddress": gateway, "ObjectType": 5}
    return {**found, **({"Policies": policies} if policies else {}), "State": 0}


def check_address(network: Object, taken: set[str], text: str) -> None:
    """Whether an endpoint may have it: in a subnet, not its gateway, first or last address, not taken. 0x803b002f."""
    address = _address(text, errors.ADDRESS_RESERVED)
    for subnet in network["Subnets"]:
        prefix = prefix_of(subnet["AddressPrefix"])
        reserved = {prefix.network_address, prefix.broadcast_address}
        if address in prefix and address not in reserved and text not in {*taken, subnet["GatewayAddress"]}:
            return
    raise HnsError(errors.ADDRESS_RESERVED)


def free_address(network: Object, taken: set[str]) -> str:
    """The first that is free, from .2 on. Error: 0x803b002f."""
    for subnet in network["Subnets"]:
        reserved = {*taken, subnet["GatewayAddress"]}
        for address in list(prefix_of(subnet["AddressPrefix"]).hosts())[1:]:
            if str(address) not in reserved:
                return str(address)
    raise HnsError(errors.ADDRESS_RESERVED)


def check_policies(policies: list[Object], known: frozenset[str]) -> None:
    """Error: 0x803b000d for a type that is not known there."""
    if any(str(item.get("Type")) not in known for item in policies):
        raise HnsError(errors.INVALID_POLICY)
