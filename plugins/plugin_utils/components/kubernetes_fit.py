# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases and Nodes' names in options, and what the wanted Kubernetes means for containerd: the sandbox image, and
whether the two work together."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..engine.resource import Refused
from ..facts.containerd import UnsupportedVersionError
from ..facts.kubernetes import SUPPORTED, NoPauseImageError, pair
from ..facts.kubernetes import pause_image as known_image
from ..facts.version import Line, Version, VersionError

_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""Source: kubernetes.io, Object Names and IDs: DNS subdomain names, 253 characters."""


def check_node_name(name: str) -> None:
    """Refused unless `name` is a valid Node name, so that kubelet, kube-proxy and flanneld use the same one."""
    if len(name) > 253 or not _NODE_NAME.fullmatch(name):
        better = re.sub("[^a-z0-9.-]", "-", name.lower()).strip("-.") or "win1"
        raise Refused(
            f"winkube_node_name: '{name}' cannot be the name of a Node: lower-case letters, digits, '-' and '.', with "
            f"a letter or digit at both ends; for example '{better}'."
        )


def release(text: str, what: str) -> Version:
    """The release in an option. Refused, with `what` as its name, if the text is not a release."""
    try:
        return Version.parse(text, what)
    except VersionError as error:
        raise Refused(str(error)) from error


def kubernetes_line(text: str) -> Line | None:
    """The minor release of the wanted Kubernetes; None for none. Refused if the text is not a release."""
    return release(text, "kubernetes_version").line if text else None


def pause_image(wanted: str, line: Line | None, source: str, build: int | None) -> str:
    """The sandbox image: `wanted`, else the one of this Kubernetes from `source` that runs on this `build` of Windows.

    Without a Kubernetes, that of the newest supported one. Refused if there is none.
    """
    if wanted:
        return wanted
    try:
        return known_image(line or SUPPORTED[-1], source, build)
    except NoPauseImageError as error:
        raise Refused(str(error)) from error


def check_pair(line: Line | None, containerd: Version, warn: Callable[[str], None]) -> None:
    """Refused if the two cannot work together; warns about an untested pair."""
    if line is None:
        return
    try:
        verdict, sentence = pair(line, containerd)
    except UnsupportedVersionError as error:
        raise Refused(str(error)) from error
    if verdict == "refused":
        raise Refused(sentence)
    if verdict == "untested":
        warn(sentence)
