# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names that images for a build of Windows go by, and the name of its RuntimeClass.

Every name here is a build: which builds a node runs is said in windows.py (`runs_image`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .version import Line
from .windows import release_of, runs_image


@dataclass(frozen=True, slots=True)
class ImageNames:
    """Tags: `servercore` of mcr.microsoft.com/windows/servercore, `iis` of mcr.microsoft.com/windows/servercore/iis,
    None where none was seen."""

    build: int
    servercore: str
    iis: str | None
    source: str


_GUIDE = "kubernetes.io, Guide for Running Windows Containers in Kubernetes, v1.27"
_DOCKER = "microsoft/iis-docker README.md, supported tags; servercore: learn.microsoft.com, container base images"

IMAGE_NAMES: tuple[ImageNames, ...] = (
    ImageNames(17763, "ltsc2019", "windowsservercore-ltsc2019", f"{_GUIDE}: win-webserver and iis-2019"),
    ImageNames(19041, "2004", None, "microsoft/hcsshim test/cri-containerd: the image of build V20H1"),
    ImageNames(19042, "20H2", None, "FROM lines of public Dockerfiles, such as cosmo0920's of win32-api"),
    ImageNames(20348, "ltsc2022", "windowsservercore-ltsc2022", _DOCKER),
    ImageNames(26100, "ltsc2025", "windowsservercore-ltsc2025", _DOCKER),
)

RUNTIME_CLASS_API = "node.k8s.io/v1"
RUNTIME_CLASS_SINCE = Line(1, 20)
"""Source: kubernetes v1.20 CHANGELOG, RuntimeClass promoted to node.k8s.io/v1."""


def image_names(build: int) -> ImageNames | None:
    """The row of the newest images that a host of this build runs: its own, or those of the LTSC release before it."""
    return next((row for row in reversed(IMAGE_NAMES) if runs_image(build, row.build)), None)


def short_name(build: int) -> str:
    """`2019`, `20h2`; the number of a build that has no name here."""
    release = release_of(build)
    return release.name.rpartition(" ")[2].lower() if release else str(build)


def class_name(build: int) -> str:
    """The RuntimeClass of a build, such as `windows-2019`. Source: the same guide, runtimeClasses.yml."""
    return f"windows-{short_name(build)}"
