# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What no longer fits a node after an upgrade of Windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..facts.node_labels import BUILD_LABEL
from ..facts.windows import describe_images, runs_image
from ..lint.images import image_build

Object = Mapping[str, Any]


def list_misfits(pods: Iterable[Object], build: int) -> Iterator[str]:
    """What of these pods, as NodeDrain.list_evictable has them, a host of this build does not run; a sentence each."""
    for pod in pods:
        name = f"{pod['namespace']}/{pod['name']}"
        for image in pod["images"]:
            made_for = image_build(image)
            if made_for is not None and not runs_image(build, made_for):
                runs = f"a host of build {build} runs images of {describe_images(build)}"
                yield f"{name}: {image} is for build {made_for}; {runs}."
        wanted = str(pod.get("build") or "")
        if wanted and wanted != f"10.0.{build}":
            yield f"{name}: its nodeSelector wants {BUILD_LABEL}={wanted}; the host is now 10.0.{build}."
