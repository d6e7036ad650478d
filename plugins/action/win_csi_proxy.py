# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges csi-proxy; documented in modules/win_csi_proxy.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plugin_utils.components import csi_proxy, log_runner
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.source import is_archive
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.source_action import SourceAction


class ActionModule(SourceAction):
    """win_csi_proxy."""

    module = "win_csi_proxy"
    component = csi_proxy.NAME

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, program, service."""
        csi_proxy.check(options["version"])
        url = options["source"]["url"]
        if not url:
            raise Refused(
                "csi-proxy: no source. The project publishes no programs; name the archive or the csi-proxy.exe that "
                "you trust in winkube_csi_proxy_url, with its checksum."
            )
        service = options["service"]
        return csi_proxy.desired(
            csi_proxy.CsiProxyArgs(
                layout=layout,
                source=self.source_of(options),
                archive=is_archive(csi_proxy.NAME, url),
                pipes=csi_proxy.pipes(tuple(options["groups"])),
                manager=service["manager"],
                nssm=self.nssm_of(options, layout, mark),
                rotation=log_runner.rotation(options["log"]),
                start_timeout_s=service["start_timeout"],
                stop_timeout_s=service["stop_timeout"],
                mark=mark,
            )
        )
