# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine itself: the folders that everything else lies in, with nobody but administrators writing to them.

Any user can make `C:\\k` first and would own it, and services run programs from there as LocalSystem.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.reading import Query
from ..engine.resource import Resource
from .folders import guarded_always
from .layout import Layout

NAME = "host"


@dataclass(frozen=True, slots=True)
class HostArgs:
    """Arguments of win_k8s_host."""

    layout: Layout


def desired(args: HostArgs) -> tuple[Resource, ...]:
    """The root folder, the CNI folders (containerd watches its conf folder from its first start), flannel's folders,
    and what is above them."""
    layout = args.layout
    folders = (layout.root, layout.cni_bin_dir, layout.cni_conf_dir, layout.flannel_dir, layout.flannel_run_dir)
    return guarded_always(*folders)


def reads(layout: Layout) -> tuple[Query, ...]:
    """What `desired` needs to know for this layout, whatever its other arguments."""
    return tuple(query for resource in desired(HostArgs(layout)) for query in resource.reads())
