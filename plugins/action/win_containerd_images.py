# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pulls images before they are needed; documented in modules/win_containerd_images.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plugin_utils.component_action import ComponentAction
from ..plugin_utils.components.containerd import images
from ..plugin_utils.components.kubernetes_fit import pause_image
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource


class ActionModule(ComponentAction):
    """win_containerd_images."""

    module = "win_containerd_images"
    component = images.NAME
    deadline_s = 4 * 60 * 60

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """The images, the sandbox's first: no pod starts without it."""
        pause = pause_image(
            options["pause_image"], options["kubernetes_version"], options["pause_image_source"], reading.build
        )
        return (images.desired(layout, (pause, *options["images"]), options["timeout"]),)

    def stage_first(self, resources: tuple[Resource, ...], reading: Reading) -> Batch | None:
        """Where no receipt tells, containerd is asked what it has."""
        (wanted,) = resources
        return wanted.listing(reading) if isinstance(wanted, images.Images) else None

    def _after(self, reading: Reading, batch: Batch, answer: Mapping[str, Any], layout: Layout) -> Reading:
        """What the listing said is known to this task alone: it is no fact."""
        after = super()._after(reading, batch, answer, layout)
        listed = [op for op in batch.ops if "ls" in op.args.get("args", ())]
        return after.merged({images.PRESENT: list(images.present(answer))}) if listed else after
