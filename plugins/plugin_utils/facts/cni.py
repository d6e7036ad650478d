# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CNI plugins for Windows: members of their archives, and which cniVersion each release's win-* plugins take."""

from __future__ import annotations

from dataclasses import dataclass

from .version import Version

PLUGINS = ("host-local.exe", "win-bridge.exe", "win-overlay.exe")
"""Members of cni-plugins-windows-amd64-v<version>.tgz that flannel needs, at its top.

Source: containernetworking/plugins scripts/release.sh (tar -C bin .; a .sha256 beside each archive).
"""

FLANNEL_MEMBER = "flannel-amd64.exe"
"""The plugin in cni-plugin-flannel-windows-amd64-v<version>.tgz; called flannel.exe where it is installed.

Source: flannel-io/cni-plugin scripts/package.sh (a .sha256 beside each archive).
"""

FLANNEL_PLUGIN = "flannel.exe"


@dataclass(frozen=True, slots=True)
class CniVersions:
    """From release `since` on, win-bridge and win-overlay take these values of `cniVersion`, oldest first."""

    since: Version
    versions: tuple[str, ...]
    source: str
    unverified: bool = False


CNI_VERSIONS: tuple[CniVersions, ...] = (
    CniVersions(
        Version.parse("0.8.0"),
        ("0.1.0", "0.2.0", "0.3.0"),
        "containernetworking/plugins 2b68088 win-bridge_windows.go: PluginSupports(0.1.0, 0.2.0, 0.3.0); what "
        "win-overlay of v0.8.6 and v1.0.0 answers to VERSION",
    ),
    CniVersions(
        Version.parse("1.0.1"),
        ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"),
        "containernetworking/plugins#652 (version.All, asked for v1.0.1), #668 (what v1.0.1 answers to VERSION)",
    ),
    CniVersions(
        Version.parse("1.6.0"),
        ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"),
        "containernetworking/plugins v1.5.1 (without) and v1.6.0: what win-overlay answers to VERSION",
    ),
)

SDN_PLUGINS = ("nat", "sdnbridge", "sdnoverlay")
SDN_VERSIONS = ("0.2.0", "0.3.0", "0.4.0", "1.0.0")
"""What the plugins of microsoft/windows-container-networking take, 1.0.0 from v0.3.1 on. Source: its cni/cni.go,
VersionsSupported (0.2.0 to 0.4.0 in v0.3.0; 1.0.0 with pull request #101)."""

PREFERRED = "1.0.0"
"""What flannel's CNI configuration says where the plugins take it. Source: rancher/rke2 pkg/windows/flannel.go."""

DEFAULT_CNI_VERSION = "0.2.0"
"""Taken by every release. Source: the cni.conf of kubernetes.io, v1.22 (microsoft/SDN Kubernetes/flannel)."""


def cni_versions(plugins: Version) -> tuple[str, ...]:
    """The values of `cniVersion` that this release takes, oldest first; none for releases older than all known."""
    known = [entry for entry in CNI_VERSIONS if entry.since <= plugins]
    return known[-1].versions if known else ()


def default_cni_version(plugins: Version) -> str:
    """`cniVersion` where nobody says one."""
    return PREFERRED if PREFERRED in cni_versions(plugins) else DEFAULT_CNI_VERSION
