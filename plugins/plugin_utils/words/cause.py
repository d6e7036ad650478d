# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with a node or a cluster: a cause, in words, without a look at any node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .remedy import Remedy

ISSUES = "https://github.com/"

ERROR, WARNING, NOTE, NEVER = "error", "warning", "note", "never"

SEVERITIES = (ERROR, WARNING)
"""Most severe first. An error: what should work does not, or will not. A warning: it may. A note is neither: what
Windows cannot do, and what no one could look at; it stands apart from the findings."""


class Area(StrEnum):
    """What a cause is about; the selections of the diagnosis are made of these."""

    PROGRAMS = "programs"
    """Services and their programs."""
    NETWORK = "network"
    """HNS, adapters, flannel, CNI, kube-proxy."""
    NODE = "node"
    """The Node object."""
    WORKLOADS = "workloads"
    """Pods and where their traffic goes."""


@dataclass(frozen=True, slots=True)
class Cause:
    """`id` is the same from release to release. `title` says what is wrong, `why` how that comes about, `remedy` what
    mends it. `issue` is the public thread that shows it, `<owner>/<repository>#<number>`; `explains` are the ids, or
    patterns of ids (`kube-proxy.*`), of causes that follow from this one."""

    id: str
    severity: str
    title: str
    why: str
    remedy: Remedy
    issue: str = ""
    explains: tuple[str, ...] = ()
    area: Area = Area.NETWORK

    @property
    def link(self) -> str:
        """The address of the issue."""
        repository, _hash, number = self.issue.partition("#")
        return f"{ISSUES}{repository}/issues/{number}" if self.issue else ""
