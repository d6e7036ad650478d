# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod in which this run of ansible-playbook is, as its manifest tells it: a pod does not know its uid otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .error import ClusterError

VARIABLE = "WINKUBE_POD"
_FORM = re.compile(r"(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+)/(?P<uid>[0-9A-Za-z-]+)")


@dataclass(frozen=True, slots=True)
class OwnPod:
    """The run's pod; a later pod of its name has another uid."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.uid}"


def find_own_pod(environment: Mapping[str, str]) -> OwnPod | None:
    """What `WINKUBE_POD` says; None where it is not set. ClusterError for a value of another form."""
    value = environment.get(VARIABLE, "")
    if not value:
        return None
    found = _FORM.fullmatch(value)
    if found is None:
        raise ClusterError(
            f"The environment variable {VARIABLE} is {value!r}, not <namespace>/<name>/<uid> of the run's pod. Set it "
            "by the downward API from metadata.namespace, metadata.name and metadata.uid, or leave it away."
        )
    return OwnPod(**found.groupdict())
