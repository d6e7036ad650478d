# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Windows lets containers of containerd reach network shares with a group Managed Service Account (gMSA)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GmsaFloor:
    """A build of Windows that needs the `revision` (UBR) of `update` or a later one."""

    build: int
    revision: int
    update: str
    source: str


_OF_2004 = (
    "microsoft/Windows-Containers#44: the update 11C of 2020; support.microsoft.com: November 30, 2020, KB4586853 (OS "
    "Builds 19041.662 and 19042.662) Preview"
)

GMSA_FLOORS: tuple[GmsaFloor, ...] = (
    GmsaFloor(
        17763,
        1817,
        "KB5000822",
        "kubernetes.io, Configure GMSA for Windows Pods and containers, Containerd (kubernetes/website#27131, #31412)",
    ),
    GmsaFloor(19041, 662, "KB4586853", _OF_2004),
    GmsaFloor(19042, 662, "KB4586853", _OF_2004),
)

ENOUGH_FROM = 20348
"""Newer Windows has the change from its first release. Concluded: it is named for older ones alone, and none of the
sources names an update for Windows Server 2022. unverified"""

STATE_KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\hns\State"
NAMESPACE = "EnableCompartmentNamespace"
"""A dword; 1 lets a container reach a share by its name, not by its address alone.

Source: kubernetes-sigs/windows-gmsa#30; kubernetes.io, the same page; Azure/AgentBaker#710.
"""


def gmsa_floor(build: int) -> GmsaFloor | None:
    """What this build needs; None for nothing in particular, or for a build that no source names."""
    return next((floor for floor in GMSA_FLOORS if floor.build == build), None)
