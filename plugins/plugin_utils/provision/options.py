# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_provisioner, which its documentation describes, but for those of one item
(`provision_items.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components.shared_options import DrainOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds in which a service has to be healthy, and has to stop; and for how long it is watched then (None: as long
    as its kind needs)."""

    start_timeout: int = 120
    stop_timeout: int = 120
    stable: int | None = None

    def deadline_s(self, services: int) -> int:
        """How long the node may take to swap the programs of so many services."""
        return max(900, 2 * self.start_timeout + 600) + services * (self.stable or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerOptions(Timeouts):
    """How programs get to the node, and what is waited for in the cluster."""

    fetch_by: Literal["node", "controller"]
    transfer: Literal["auto", "whole", "pull"]
    pull_address: str
    pull_ports: str
    fetch_timeout: int
    proxy: str
    node_name: str
    node_timeout: int

    def find_node_name(self, drain: DrainOptions, host: str) -> str:
        """The Node's name: the module's, else the drain's, else that of the inventory's host."""
        return (self.node_name or drain.node_name or host).lower()
