# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoint policies of the form without apiVersion (dockershim), and what they are under apiVersion 2.

Sources: hcsshim internal/hns/hnspolicy.go (old), hcn/hcnpolicy.go (new): types, keys and their kinds. Under apiVersion
2 hcsshim's EndpointPolicy has `Type` and `Settings`: every other key is dropped without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """`type` is the new type, `keys` the new key of each old one. `numbers` are the new values of keys whose names
    became numbers (protocols), `texts` the keys whose numbers became texts."""

    type: str
    keys: Mapping[str, str]
    numbers: Mapping[str, int] | None = None
    texts: tuple[str, ...] = ()


PROTOCOL_NUMBERS = {"ICMPV4": 1, "IGMP": 2, "TCP": 6, "UDP": 17, "ICMPV6": 58}
"""IANA protocol numbers. Source: containernetworking/plugins pkg/hns/netconf_windows.go protocolEnums."""

FORMS: Mapping[str, Form] = {
    "OutBoundNAT": Form(
        "OutBoundNAT",
        {
            "ExceptionList": "Exceptions",
            "VIP": "VirtualIP",
            "Destinations": "Destinations",
            "MaxPortPoolUsage": "MaxPortPoolUsage",
        },
    ),
    "ROUTE": Form(
        "SDNRoute", {"DestinationPrefix": "DestinationPrefix", "NextHop": "NextHop", "NeedEncap": "NeedEncap"}
    ),
    "PA": Form("ProviderAddress", {"PA": "ProviderAddress"}),
    "NAT": Form(
        "PortMapping",
        {"Protocol": "Protocol", "InternalPort": "InternalPort", "ExternalPort": "ExternalPort", "VIP": "VIP"},
        numbers=PROTOCOL_NUMBERS,
    ),
    "ACL": Form(
        "ACL",
        {
            "Protocol": "Protocols",
            "Protocols": "Protocols",
            "Action": "Action",
            "Direction": "Direction",
            "LocalAddresses": "LocalAddresses",
            "RemoteAddresses": "RemoteAddresses",
            "LocalPort": "LocalPorts",
            "LocalPorts": "LocalPorts",
            "RemotePort": "RemotePorts",
            "RemotePorts": "RemotePorts",
            "RuleType": "RuleType",
            "Priority": "Priority",
        },
        texts=("Protocols", "LocalPorts", "RemotePorts"),
    ),
    "QOS": Form("QOS", {"MaximumOutgoingBandwidthInBytes": "MaximumOutgoingBandwidthInBytes"}),
    "PROXY": Form(
        "L4Proxy",
        {
            "IP": "IP",
            "Port": "Port",
            "ExceptionList": "Exceptions",
            "Destination": "Destination",
            "OutboundNat": "OutboundNAT",
        },
    ),
}
"""By the old type. What is not here (VLAN, VSID) has no counterpart at an endpoint."""

NEW_KEYS = {
    "SDNRoute": ("DestinationPrefix", "NextHop", "NeedEncap"),
    "ProviderAddress": ("ProviderAddress",),
    "PortMapping": ("Protocol", "InternalPort", "ExternalPort", "VIP", "Flags"),
    "L4Proxy": ("IP", "Port", "Protocol", "Exceptions", "Destination", "OutboundNAT"),
    "OutBoundNAT": ("Exceptions", "VirtualIP", "Destinations", "Flags", "MaxPortPoolUsage"),
    "ACL": ("Protocols", "Action", "Direction", "LocalAddresses", "RemoteAddresses", "LocalPorts", "RemotePorts",
            "RuleType", "Priority"),
    "QOS": ("MaximumOutgoingBandwidthInBytes",),
}  # fmt: skip
"""The keys of a new type's settings. Source: hcn/hcnpolicy.go, *PolicySetting."""
