# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a CNI configuration is judged by, and one violation of a rule (words/causes_cni.py)."""

from __future__ import annotations

from dataclasses import dataclass

from ...facts import cni
from ...words.causes_cni import RULES, Rule
from ..networks import parse_ranges


@dataclass(frozen=True, slots=True)
class Subject:
    """What to judge a file by. `file` is its name; the other fields describe the node and are empty or None if unknown.

    `plugins_version` is the release of the CNI plugins, `programs` the names in the plugins' folder, `networks` the
    names of HNS's networks, `mode` the type of the pods' network, `subnets` the host's own IPv4 networks, `addresses`
    its addresses; `dsr`: kube-proxy uses direct server return; `flannel`: the file should be flannel's.
    """

    file: str
    network_name: str = ""
    runtime: str = "containerd"
    plugins_version: str = ""
    cluster_cidr: str = ""
    service_cidr: str = ""
    subnets: tuple[str, ...] = ()
    management_ip: str = ""
    programs: tuple[str, ...] | None = None
    networks: tuple[str, ...] | None = None
    mode: str = ""
    addresses: tuple[str, ...] | None = None
    dsr: bool = False
    flannel: bool = False

    def list_needed(self, kind: str) -> tuple[str, ...]:
        """The IPv4 networks that pods must reach with their own address on an HNS network of type `kind`."""
        own = () if kind in cni.TRANSLATES_NODES else self.subnets
        found = parse_ranges(",".join((self.cluster_cidr, self.service_cidr, *own)))
        return tuple(str(each) for each in found if each.version == 4)


@dataclass(frozen=True, slots=True)
class Fault:
    """One violation of a rule. `where` is the place in the file, empty for the file itself; `seen` and `wanted` are
    its value and the right one."""

    id: str
    file: str
    where: str
    seen: str
    wanted: str

    @property
    def rule(self) -> Rule:
        """The violated rule."""
        return RULES[self.id]

    @property
    def subject(self) -> str:
        """The place, as findings print it."""
        return f"{self.file}, {self.where}" if self.where else self.file

    @property
    def sentence(self) -> str:
        """What is wrong, why, and how to fix it."""
        return f"{self.subject}: {self.seen}; wanted {self.wanted}. {self.rule.cause.why} {self.rule.by_hand}"
