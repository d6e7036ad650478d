# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""csi-proxy: its groups of operations, each of which is a named pipe, and its command line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """One group and the version of its API that a release from 1.0 on serves; `default` whether drivers in use need
    it, so that it is waited for."""

    name: str
    version: str
    default: bool
    source: str

    @property
    def pipe(self) -> str:
        """The name of the pipe, without the prefix that all pipes have."""
        return f"csi-proxy-{self.name}-{self.version}"


_API = "kubernetes-csi/csi-proxy client/api/{}/api.proto"

GROUPS: tuple[Group, ...] = (
    Group("disk", "v1", True, _API.format("disk/v1")),
    Group("filesystem", "v1", True, _API.format("filesystem/v1")),
    Group("smb", "v1", True, _API.format("smb/v1")),
    Group("volume", "v1", True, _API.format("volume/v1")),
    Group("iscsi", "v1alpha1", False, _API.format("iscsi/v1alpha1")),
    Group("system", "v1alpha1", False, _API.format("system/v1alpha1")),
)

SERVICE = "csiproxy"
"""Source: kubernetes-csi.github.io/docs/csi-proxy.html, Deployment (sc.exe create csiproxy)."""

KUBELET_PATH = "-kubelet-path"
"""Since 1.0.0; before, -kubelet-csi-plugins-path and -kubelet-pod-path. Source: the same page, Usage."""

ARCHIVE_MEMBER = "bin/csi-proxy.exe"
"""In the archive csi-proxy-v<version>.tar.gz. Source: AKS' staging/cse/windows, Install of csi-proxy, and
csi-driver-smb docs/install-driver-on-windows, which both unpack it."""
