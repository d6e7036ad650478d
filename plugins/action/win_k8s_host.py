# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges the machine itself; documented in modules/win_k8s_host.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components import host
from ..plugin_utils.components.host import HostArgs, Proxy
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.node_fit import Wanted
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource


class ActionModule(ComponentAction):
    """win_k8s_host."""

    module = "win_k8s_host"
    component = host.NAME
    deadline_s = 1800
    """Turning on a feature takes minutes on a slow disk."""

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, the feature Containers, the machine's name and proxy; refused before anything is touched."""
        args = arguments(options, layout)
        if not reading.missing(host.reads(layout)):
            for sentence in host.check(args, reading).warnings:
                self.warn_once(f"{self._host}: {sentence}")
        return host.desired(args, reading)


def arguments(options: Mapping[str, Any], layout: Layout) -> HostArgs:
    """The component's arguments from the module's options."""
    proxy, network = options["proxy"], options["network"]
    return HostArgs(
        layout=layout,
        wanted=Wanted(
            kubernetes=options["kubernetes_version"],
            containerd=options["containerd_version"],
            pause_image=options["pause_image"],
            pause_image_source=options["pause_image_source"],
            network_mode=network["mode"],
            allow_unsupported_os=options["allow_unsupported_os"],
        ),
        computer_name=options["computer_name"],
        proxy=Proxy(
            http=proxy["http"],
            https=proxy["https"],
            exceptions=tuple(proxy["no_proxy"]),
            ranges=tuple(
                each.strip() for name in ("cluster_cidr", "service_cidr") for each in network[name].split(",") if each
            ),
            domain=network["domain"],
        ),
        interface=network["interface"],
        address=network["address"],
        page_file_mb=options["page_file_min_mb"],
        require_encryption=options["require_encryption"],
    )
