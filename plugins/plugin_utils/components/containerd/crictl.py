# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""crictl.exe beside containerd, and a crictl.yaml that names the pipe."""

from __future__ import annotations

from ...engine import windows_path
from ...engine.reading import Query
from ...engine.resource import Resource
from ...engine.resources.file import File
from ...engine.resources.programs import Programs, Source
from ..kubelet.kubelet_args import endpoint
from ..layout import Layout

NAME = "crictl"
MEMBER = "crictl.exe"
"""The release archive crictl-vX.Y.Z-windows-amd64.tar.gz has it at the top."""


def path(layout: Layout) -> str:
    """The path of crictl.exe."""
    return windows_path.join(layout.containerd_bin_dir, "crictl.exe")


def config_path(layout: Layout) -> str:
    """The path of crictl.yaml. crictl searches the user's `.crictl`, then its program's own folder (unverified: not
    run on Windows); `crictl --config` names it explicitly."""
    return windows_path.join(layout.containerd_bin_dir, "crictl.yaml")


def config(layout: Layout) -> str:
    """The text of crictl.yaml: one pipe serves both of CRI's services."""
    where = endpoint(layout.containerd_pipe)
    return f"runtime-endpoint: {where}\nimage-endpoint: {where}\ntimeout: 10\n"


def build_resources(layout: Layout, source: Source, *, archive: bool, mark: str) -> tuple[Resource, ...]:
    """The program and its file. Nothing restarts for them."""
    return (
        Programs(NAME, source, ((MEMBER if archive else "", path(layout)),), layout.state_dir, mark[:8]),
        File(config_path(layout), config(layout).encode(), backup=layout.backup(mark)),
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads for this layout."""
    wanted = build_resources(layout, Source("", None, ""), archive=True, mark="")
    return tuple(query for resource in wanted for query in resource.reads())
