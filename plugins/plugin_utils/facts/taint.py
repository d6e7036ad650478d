# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taints of nodes."""

from __future__ import annotations

from dataclasses import dataclass

_STATES = (
    *(
        f"node.kubernetes.io/{state}"
        for state in (
            "not-ready",
            "unreachable",
            "unschedulable",
            "memory-pressure",
            "disk-pressure",
            "network-unavailable",
            "pid-pressure",
            "out-of-service",
        )
    ),
    "node.cloudprovider.kubernetes.io/",
)
"""Sources: k8s.io/api core/v1 well_known_taints.go; cloud-provider api."""


def follows_state(key: object) -> bool:
    """Whether a taint with this key comes and goes with the state of the node."""
    return str(key).startswith(_STATES)


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"

    @classmethod
    def parse(cls, text: str) -> Taint:
        """From `<key>=<value>:<effect>` or `<key>:<effect>`; without an effect it is NoSchedule."""
        rest, colon, effect = text.rpartition(":")
        rest, effect = (rest, effect) if colon else (text, "NoSchedule")
        key, _equals, value = rest.partition("=")
        return cls(key, value, effect)

    def toleration(self) -> dict[str, str]:
        """The toleration of this taint, in the form of Kubernetes' guide."""
        if not self.value:
            return {"effect": self.effect, "key": self.key, "operator": "Exists"}
        return {"effect": self.effect, "key": self.key, "operator": "Equal", "value": self.value}
