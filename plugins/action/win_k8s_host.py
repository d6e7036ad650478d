# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges the machine itself; documented in modules/win_k8s_host.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components import host
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource


class ActionModule(ComponentAction):
    """win_k8s_host."""

    module = "win_k8s_host"
    component = host.NAME

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """The folders."""
        return host.desired(host.HostArgs(layout))
