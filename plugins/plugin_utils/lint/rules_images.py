# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that do not exist or are no longer maintained. No registry is asked; unknown images have no finding.

A file of its own: the linter has one file of rules for each subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from ..facts.base_images import ENDS, REPOSITORIES, explain_tag
from ..foreign.windows import Pattern
from .catalog import PodCase
from .images import split_image, windows_for_sure
from .model import Hit, Severity
from .rule import ALL_CONTAINERS, Rule, always

_PATHS = (f"{ALL_CONTAINERS}.image",)


def _find_absent(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        repository, tag = split_image(container.image)
        known = REPOSITORIES.get(repository)
        digest = "@" in container.image
        if digest:
            continue
        what, use = explain_tag(repository, tag)
        if what:
            yield Hit((*container.path, "image"), {"value": container.image, "what": what, "use": use}, container.name)
        elif known is None:
            continue
        elif known.gone:
            values = {"value": container.image, "what": f"Docker Hub no longer serves {repository}", "use": known.gone}
            yield Hit((*container.path, "image"), values, container.name)
        elif known.tags is not None and not known.tags.fullmatch(tag or "latest"):
            what = f"{repository} has no tag {tag or 'latest'}"
            other = "mcr.microsoft.com/windows/server" if repository.endswith("/windows") else repository
            values = {"value": container.image, "what": what, "use": f"{other}:{known.example}"}
            yield Hit((*container.path, "image"), values, container.name)


_NAME = Pattern(r"(?P<name>1709|1803|1809|1903|1909|2004|20h2|23h2|ltsc20\d\d)", re.IGNORECASE)


def _find_ended(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        repository, tag = split_image(container.image)
        found = _NAME.match(tag)
        end = ENDS.get(found["name"].lower()) if found and repository in REPOSITORIES else None
        if end is not None and end < date.today():
            values = {"value": container.image, "end": end.isoformat()}
            yield Hit((*container.path, "image"), values, container.name)


def _windows_image(case: PodCase) -> Iterator[Hit]:
    if case.target.os != "linux" or not case.target.evidence or not case.target.evidence[0].strong:
        return
    for container in case.pod.containers:
        if windows_for_sure(container.image):
            yield Hit((*container.path, "image"), {"value": container.image}, container.name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="absent-image",
        title="Images that do not exist",
        level=always(Severity.ERROR),
        find=_find_absent,
        message="image {value}: {what}; it cannot be pulled, and the container does not start.",
        remedy="Use {use}.",
        source="learn.microsoft.com, Windows container base images; mcr.microsoft.com; plugin_utils/facts/base_images",
        paths=_PATHS,
    ),
    Rule(
        id="windows-image",
        title="Windows image in a pod for Linux",
        level=always(Severity.ERROR),
        find=_windows_image,
        message="image {value} is for Windows, and the pod is for Linux nodes: it cannot be pulled there, and the"
        " container does not start.",
        remedy="Select Windows nodes (nodeSelector kubernetes.io/os: windows), or use the image's Linux variant.",
        source="containerd core/images manifest selection by platform; k8s.io/kubernetes pkg/kubelet/images",
        paths=_PATHS,
        all_pods=True,
    ),
    Rule(
        id="image-without-updates",
        title="Base images without further updates",
        level=always(Severity.WARNING),
        find=_find_ended,
        message="image {value} has had no updates since {end}.",
        remedy="Use the tag of your nodes' release that still gets some: ltsc2019 (build 17763, as 1809), ltsc2022,"
        " ltsc2025.",
        source="learn.microsoft.com, Base image servicing lifecycles",
        paths=_PATHS,
    ),
)
