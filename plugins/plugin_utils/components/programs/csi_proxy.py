# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""csi-proxy: it lends its rights to CSI drivers without their own. Program and service.

It works once its pipes exist. A driver that runs as a HostProcess container does not need it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import pipe_query
from ...engine.resource import Refused
from ...engine.tools import wait_pipe
from ...facts.version import Line
from ..declaration import Daemon, NoHealth, ServiceKind
from ..kubernetes_fit import release
from ..options import option
from ..program_service import Recipe, declare

# csi-proxy's groups of operations, each with its own named pipe, and its command line.


@dataclass(frozen=True, slots=True)
class Group:
    """One group, with the version of its API that releases from 1.0 on serve. `default`: drivers in use need it, so
    a start waits for it."""

    name: str
    version: str
    default: bool
    source: str

    @property
    def pipe(self) -> str:
        """The pipe's name without the common prefix."""
        return f"csi-proxy-{self.name}-{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsiProxyOptions:
    """Which pipes csi-proxy has to make."""

    groups: tuple[str, ...] = option(
        "Groups of operations whose pipes have to be there; empty for disk, filesystem, smb and volume.", default=()
    )


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


FIRST = Line(1, 0)
"""The first release line with stable groups and -kubelet-path. Source: kubernetes-csi.github.io/docs/csi-proxy.html."""


def pipes(groups: Iterable[str]) -> tuple[str, ...]:
    """The pipes of these groups; of the groups that drivers in use need, if none is named. Refused for an unknown
    group."""
    known = {group.name: group for group in GROUPS}
    named = tuple(groups)
    if wrong := [name for name in named if name not in known]:
        raise Refused(f"csi-proxy: groups: {', '.join(wrong)}: there are only {', '.join(known)}.")
    chosen = [known[name] for name in named] or [group for group in GROUPS if group.default]
    return tuple(group.pipe for group in chosen)


def check(version: str, options: CsiProxyOptions) -> None:
    """Refused for a release before 1.0, whose command line and pipes differ, and for unknown groups."""
    if release(version, "winkube_csi_proxy_version").line < FIRST:
        raise Refused(f"csi-proxy {version} is older than {FIRST}, whose groups are stable; take a newer release.")
    pipes(options.groups)


def _build_gate(options: CsiProxyOptions, seconds: int) -> tuple[Op, ...]:
    """Waits for every pipe: the service is RUNNING before it has made one."""
    return tuple(wait_pipe(pipe, seconds) for pipe in pipes(options.groups))


DECLARATION = declare(
    "csi-proxy",
    "csi_proxy",
    Daemon(
        service=lambda _layout: SERVICE,
        program=lambda layout: windows_path.join(layout.root, "csi-proxy.exe"),
        kind=ServiceKind(
            managers=("sc", "nssm"),
            native_flag="-windows-service",
            why="csi-proxy does not make its own service.",
            source="kubernetes-csi/csi-proxy 10bd8800 cmd/csi-proxy/main.go; "
            "kubernetes-csi.github.io/docs/csi-proxy.html",
        ),
        health=NoHealth("It has no HTTP server; it works once its named pipes are there."),
        log=lambda layout: windows_path.join(layout.log_dir, "csi-proxy.log"),
        asks=(),  # it has no flag for its version: with one it would start to serve
    ),
    Recipe(
        summary="Runs csi-proxy on a Windows node, for CSI drivers that are not HostProcess containers",
        title="CSI proxy",
        version="1.2.1",
        description=(
            "Installs csi-proxy.exe, and creates and starts its service. It counts as working when the named pipes of "
            "the groups exist.",
            "Only for CSI drivers whose node part runs in an ordinary container. A driver that runs as a "
            "HostProcess container does not need it; new drivers are built that way.",
        ),
        example={
            "source": {
                "url": "https://mirror.example.com/csi-proxy-v1.2.1.tar.gz",
                "checksum": "sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e",
            }
        },
        no_url="The project publishes no programs; name the archive or the csi-proxy.exe that you trust",
        members=(ARCHIVE_MEMBER,),
        options=CsiProxyOptions,
        arguments=lambda layout, _options: (f"{KUBELET_PATH}={layout.kubelet_dir}",),
        log_arguments=lambda log: (f"-log_file={log}", "-logtostderr=false"),
        check=check,
        ready=_build_gate,
        queries=tuple(pipe_query(group.pipe) for group in GROUPS),
    ),
)
