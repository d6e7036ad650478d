# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Windows firewall in the registry, and the ports of a node that it has to let in.

It blocks whatever comes in unless a rule lets it. Source: learn.microsoft.com, Windows Firewall rules.
"""

from __future__ import annotations

from collections.abc import Mapping

_POLICY = r"HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy"

PROFILES: Mapping[str, str] = {
    name: rf"{_POLICY}\{key}"
    for name, key in (("domain", "DomainProfile"), ("private", "StandardProfile"), ("public", "PublicProfile"))
}
"""The keys of the three profiles; `EnableFirewall` (dword) 0 means that the profile lets everything in. Source:
[MS-GPFAS] 2.2.3.2."""

_GROUP_POLICY = r"HKLM\SOFTWARE\Policies\Microsoft\WindowsFirewall"

POLICIES: Mapping[str, str] = {
    name: rf"{_GROUP_POLICY}\{key}"
    for name, key in (("domain", "DomainProfile"), ("private", "StandardProfile"), ("public", "PublicProfile"))
}
"""The same of a group policy: where its `EnableFirewall` is there, it counts and not the machine's own. Source:
[MS-GPFAS] 2.2.3.2; Policy CSP, ADMX_WindowsFirewall (StandardProfile is the private one)."""

KUBELET_RULE = "winkube-kubelet"
KUBELET_PORT = 10250
"""Logs, exec and metrics. Source: rancher/rke2#1762; kubernetes-sigs/sig-windows-tools PrepareNode.ps1 and
image-builder's kubelet tasks open it."""

VXLAN_RULE = "winkube-vxlan"
"""flannel's UDP port in overlay. Source: microsoft/SDN Kubernetes/windows/helper.psm1 and start.ps1
(`OverlayTraffic4789UDP`); rancher/rke2 pkg/windows."""
