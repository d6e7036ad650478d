# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the wanted Kubernetes means for containerd: the sandbox image, and whether the two go together."""

from __future__ import annotations

from collections.abc import Callable

from ..engine.resource import Refused
from ..facts.containerd import UnsupportedVersionError
from ..facts.kubernetes import SUPPORTED, NoPauseImageError, pair
from ..facts.kubernetes import pause_image as known_image
from ..facts.version import Line, Version, VersionError


def pause_image(wanted: str, kubernetes_version: str, source: str, build: int | None) -> str:
    """The sandbox image: the `wanted` one, else the one of this Kubernetes from `source` that runs on this `build`
    of Windows.

    Without a Kubernetes version, the newest supported one's. Refused if there is none.
    """
    if wanted:
        return wanted
    try:
        line = Version.parse(kubernetes_version, "kubernetes_version").line if kubernetes_version else SUPPORTED[-1]
        return known_image(line, source, build)
    except (VersionError, NoPauseImageError) as error:
        raise Refused(str(error)) from error


def check_pair(kubernetes_version: str, containerd_version: str, warn: Callable[[str], None]) -> None:
    """Refused if the two cannot work together; a pair that nobody tested is a warning."""
    if not kubernetes_version:
        return
    try:
        line: Line = Version.parse(kubernetes_version, "kubernetes_version").line
        verdict, sentence = pair(line, Version.parse(containerd_version, "containerd version"))
    except (VersionError, UnsupportedVersionError) as error:
        raise Refused(str(error)) from error
    if verdict == "refused":
        raise Refused(sentence)
    if verdict == "untested":
        warn(sentence)
