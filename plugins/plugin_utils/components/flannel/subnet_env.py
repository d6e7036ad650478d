# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""subnet.env: flanneld writes it when it has a lease, and the CNI plugin `flannel` reads it.

Source: flannel v0.28 pkg/subnet/subnet.go WriteSubnetFile (FLANNEL_NETWORK, FLANNEL_SUBNET, FLANNEL_MTU,
FLANNEL_IPMASQ, a line each; the subnet with its first address).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ...engine import windows_path
from ...engine.batch import Op, as_base64
from ...engine.reading import Query, Reading, file_key, file_query, services_query
from ...engine.resource import Change, Refused
from .. import networks
from ..layout import Layout

DEFAULT_FOLDER = r"C:\run\flannel"
"""The default folder of flanneld and the plugin."""

LIMIT = 4096
SMALLEST_MTU, LARGEST_MTU = 576, 9216
VXLAN_OVERHEAD = 50
"""Bytes of the outer headers. Source: flannel v0.28 pkg/backend/vxlan/vxlan_network_windows.go, encapOverhead."""

T = TypeVar("T")
_LENGTH = re.compile(r"/\d+$")
"""The plugin takes no address without it. Source: flannel-io/cni-plugin flannel.go, loadFlannelSubnetEnv, by Go's
net.ParseCIDR."""


class SubnetEnvError(Exception):
    """The file cannot be used; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class SubnetEnv:
    """The file's content. `subnet` is the node's range with its first address, such as 10.244.4.1/24."""

    network: ipaddress.IPv4Network
    subnet: ipaddress.IPv4Interface
    mtu: int
    ip_masq: bool


def path(layout: Layout) -> str:
    """The file's path on the node."""
    return windows_path.join(layout.flannel_run_dir, "subnet.env")


def is_default(layout: Layout) -> bool:
    """Whether it is the path that flanneld and the plugin use by default."""
    return windows_path.is_same(layout.flannel_run_dir, DEFAULT_FOLDER)


def query(layout: Layout) -> Query:
    """The file with its content."""
    return file_query(path(layout), sha256=True, content_limit=LIMIT)


def parse(text: str) -> SubnetEnv:
    """The parsed file. SubnetEnvError names the row that is missing or invalid."""
    rows = dict(line.strip().split("=", 1) for line in text.splitlines() if "=" in line)

    def row(name: str) -> str:
        if not rows.get(name):
            raise SubnetEnvError(f"there is no {name}")
        return rows[name]

    def parsed(name: str, of: Callable[[str], T]) -> T:
        text = row(name)
        try:
            if _LENGTH.search(text):
                return of(text)
        except ValueError:
            pass
        raise SubnetEnvError(f"{name} is '{text}', which is not an IPv4 network")

    network = parsed("FLANNEL_NETWORK", ipaddress.IPv4Network)
    subnet = parsed("FLANNEL_SUBNET", ipaddress.IPv4Interface)
    if not row("FLANNEL_MTU").isdigit():
        raise SubnetEnvError(f"FLANNEL_MTU is '{rows['FLANNEL_MTU']}', which is not a number")
    if row("FLANNEL_IPMASQ") not in {"true", "false"}:
        raise SubnetEnvError(f"FLANNEL_IPMASQ is '{rows['FLANNEL_IPMASQ']}', neither true nor false")
    return SubnetEnv(network, subnet, int(rows["FLANNEL_MTU"]), rows["FLANNEL_IPMASQ"] == "true")


def problems(text: str, *, cluster: str, mode: str, mtu: int, ip_masq: bool = True) -> tuple[str, ...]:
    """What does not fit this node, one clause each. `cluster` is the pods' network, `mtu` the adapter's (0:
    unknown), `ip_masq` flanneld's argument."""
    try:
        found = parse(text)
    except SubnetEnvError as error:
        return (str(error),)
    wrong = []
    if found.network != ipaddress.ip_network(cluster):
        wrong.append(f"FLANNEL_NETWORK is {found.network}, but winkube_cluster_cidr is {cluster}")
    if not found.subnet.network.subnet_of(found.network):
        wrong.append(f"FLANNEL_SUBNET {found.subnet} does not lie in FLANNEL_NETWORK {found.network}")
    largest = (mtu or LARGEST_MTU) - (VXLAN_OVERHEAD if mode == "overlay" else 0)
    if not SMALLEST_MTU <= found.mtu <= largest:
        wrong.append(f"FLANNEL_MTU is {found.mtu}; {SMALLEST_MTU} to {largest} fits this adapter and {mode}")
    if found.ip_masq != ip_masq:
        wrong.append(f"FLANNEL_IPMASQ is {str(found.ip_masq).lower()}, but flanneld is told --ip-masq={int(ip_masq)}")
    return tuple(wrong)


@dataclass(frozen=True, slots=True)
class Lease:
    """subnet.env exists while flanneld runs, and says what is wanted; otherwise flanneld is restarted to write it.

    An old file is removed first, while flanneld is down, so that nothing takes it for the new one.
    """

    layout: Layout
    service: str
    cluster: str
    mode: str
    mtu: int
    network: str = ""

    @property
    def label(self) -> str:
        """The path."""
        return path(self.layout)

    def reads(self) -> tuple[Query, ...]:
        """The file, and whether flanneld runs."""
        asked = (networks.hns_query(),) if self.network else ()
        return (query(self.layout), services_query((self.service,)), *asked)

    def change(self, reading: Reading) -> Change | None:
        """Remove a file that does not fit; restart flanneld if the file is missing."""
        found = reading.file(self.label)
        key = frozenset({file_key(self.label)})
        if not found.get("exists"):
            if reading.service(self.service) is None:
                return None
            return Change(text=f"have {self.service} write {self.label}, which is missing", touches=key)
        text = reading.text(self.label) or ""
        wrong = self.problems(text) or self._find_other_range(text, reading)
        if not wrong:
            return None
        back = Op("write", {"path": self.label, "content": as_base64(text.encode())})
        return Change(
            text=f"remove {self.label} ({'; '.join(wrong)}), so that {self.service} writes it again",
            before=text,
            commit=(Op("remove", {"path": self.label}).with_undo(back),),
            touches=key,
            state=(query(self.layout),),
        )

    def problems(self, text: str) -> tuple[str, ...]:
        """What does not fit this node, one clause each."""
        return problems(text, cluster=self.cluster, mode=self.mode, mtu=self.mtu)

    def _find_other_range(self, text: str, reading: Reading) -> tuple[str, ...]:
        """A clause if flanneld's HNS network has another range than the lease."""
        try:
            known = networks.hns_networks(reading) if self.network else None
        except Refused:
            return ()
        own = next((each for each in known or () if each.name.casefold() == self.network.casefold()), None)
        subnet = parse(text).subnet
        if own is None or not own.prefixes or str(subnet.network) in own.prefixes:
            return ()
        return (f"FLANNEL_SUBNET is {subnet}, but the HNS network {own.name} has {', '.join(own.prefixes)}",)
