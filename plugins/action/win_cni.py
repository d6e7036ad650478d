# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings in the CNI plugins; documented in modules/win_cni.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plugin_utils.components.cni import cni
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.source import is_archive
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.source_action import KubernetesAction


class ActionModule(KubernetesAction):
    """win_cni."""

    module = "win_cni"
    component = cni.NAME

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """The folders, and the plugins unless they are the cluster's."""
        if options["managed_by"] == "cluster":
            return cni.desired(cni.CniArgs(layout, mark=mark))
        self.warn_all(list(cni.strangers(layout, reading)))
        version = cni.plugins_version(options["version"])
        plugins, flannel = options["source"], options["flannel_source"]
        if not plugins["url"] or not flannel["url"]:
            raise Refused("source.url and flannel_source.url: the CNI plugins need an address each.")
        if not is_archive(cni.PLUGINS, plugins["url"]):
            raise Refused(
                f"{cni.PLUGINS}: '{plugins['url']}' is one program; several are needed, which come in an "
                "archive (.tgz)."
            )
        return cni.desired(
            cni.CniArgs(
                layout=layout,
                plugins=self.source_of(options, component=cni.PLUGINS, version=str(version)),
                flannel=self.source_of(
                    options, component=cni.FLANNEL, version=options["flannel_version"], option="flannel_source"
                ),
                flannel_archive=is_archive(cni.FLANNEL, flannel["url"]),
                mark=mark,
            )
        )

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """Plugins of unknown origin are compared with the archives' before they are called different."""
        return cni.stage_first(self.component, resources, reading)
