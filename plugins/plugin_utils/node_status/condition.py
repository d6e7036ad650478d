# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions and Events of a Node, written only where they say something new.

Programs match a condition's type and status (MachineHealthCheck, readiness rules); reason and message are for people.
`UpToDate` is told by runs that compare a machine with its variables, and nobody but the next run acts on it. `Healthy`
is False only for a cause that a repair has tried and not mended, and Unknown while one has left its work to roles.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..cluster.error import ClusterError
from ..cluster.records import NodeObject
from ..engine.printable import make_printable

UP_TO_DATE, HEALTHY = "winkube.node/UpToDate", "winkube.node/Healthy"
APPLIED = "winkube.node/applied"
"""The annotation with the fingerprint of the variables that were last made true (task/fingerprint.py)."""
SOURCE = "winkube.node"
EVENTS = "/api/v1/namespaces/default/events"
"""Where Events about a Node are. Source: kubernetes pkg/apis/core/validation/events.go, legacyValidateEvent."""
LONGEST = 1024
"""Characters of a message. An Event's may have no more. Source: as above, NoteLengthLimit."""
APPLIED_ELSEWHERE = "NotApplied"
"""The reason of a look that found other variables than the last run's; only a look takes it back."""

LEFT_TO_ROLES = "LeftToRoles"
"""The reason of Healthy until they have run, or a run finds that nothing of the node differs."""


class Api(Protocol):
    """What of the cluster's API is needed; cluster.client.Cluster has it."""

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> dict[str, Any]: ...

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Condition:
    """`status` is `True`, `False` or `Unknown`."""

    type: str
    status: str
    reason: str
    message: str

    def describe(self) -> str:
        """What an Event says of it."""
        return f"{self.type} is {self.status}: {self.message}"


def describe_steps(steps: Mapping[str, Sequence[str]]) -> Condition:
    """UpToDate of a node that a run has planned: the steps by component, none where nothing differs."""
    if not steps:
        return Condition(UP_TO_DATE, "True", "AsWanted", "Nothing differs from what is configured.")
    said = "; ".join(f"{name}: {', '.join(texts)}" for name, texts in steps.items())
    return Condition(UP_TO_DATE, "False", "Differs", shorten(f"A run would: {said}."))


def not_known(why: str) -> Condition:
    """UpToDate of a node that could not be planned."""
    return Condition(UP_TO_DATE, "Unknown", "NotLookedAt", shorten(f"It could not be compared: {why}"))


def healthy(cause: str = "", why: str = "") -> Condition:
    """Healthy: False with a cause that a repair has tried, and what became of it."""
    if not cause:
        return Condition(HEALTHY, "True", "NothingInVain", "No repair of this node was in vain.")
    return Condition(HEALTHY, "False", make_reason(cause), shorten(f"The repair {cause} was in vain: {why}"))


def left_to(cause: str, roles: Sequence[str]) -> Condition:
    """Healthy while a repair has left its work to roles."""
    said = f"The repair {cause} leaves its work to roles that have not run yet: {', '.join(roles)}."
    return Condition(HEALTHY, "Unknown", LEFT_TO_ROLES, shorten(said))


def make_reason(cause: str) -> str:
    """A cause's id (`flannel.subnet-env-stale`) as a condition's reason (`FlannelSubnetEnvStale`).

    Source: kubernetes apimachinery pkg/apis/meta/v1/types.go, Condition.Reason: CamelCase.
    """
    parts = "".join(each if each.isalnum() else " " for each in cause).split()
    return "".join(part[:1].upper() + part[1:] for part in parts) or "NotMended"


def shorten(text: str) -> str:
    """On one line, fit to be printed, and not too long."""
    line = " ".join(make_printable(text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."


def find_applied(node: NodeObject) -> str:
    """The fingerprint on a Node; empty if it has none."""
    return node.annotations.get(APPLIED, "")


def select_new(node: NodeObject, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Those that say something else than the Node's own."""

    def is_new(each: Condition) -> bool:
        found = node.find_condition(each.type)
        return found is None or Condition(found.type, found.status, found.reason, found.message) != each

    return tuple(each for each in conditions if is_new(each))


def plan_report(node: NodeObject, conditions: Sequence[Condition], applied: str = "") -> tuple[str, ...]:
    """What `write_report` would do: a sentence for each condition that changes, and for the annotation."""
    name = node.name
    said = [f"set {each.type} of {name} to {each.status} ({each.reason})" for each in select_new(node, conditions)]
    return (*said, *((f"annotate {name} with {APPLIED}",) if applied and find_applied(node) != applied else ()))


def write_report(
    api: Api, node: NodeObject, conditions: Sequence[Condition], now: str, *, applied: str = ""
) -> tuple[str, ...]:
    """Write what is new, in one request, and an Event for each condition that changed; what was done, as `plan_report`
    says it. No request where nothing is new. ClusterError; Events that are refused do not count.

    Args:
        api: The cluster.
        node: The Node as it was read.
        conditions: What it shall say.
        now: The time, as the API writes it.
        applied: The fingerprint to be kept; empty leaves the Node's.
    """
    planned = plan_report(node, conditions, applied)
    if not planned:
        return ()
    new = select_new(node, conditions)
    body: dict[str, Any] = {"status": {"conditions": [_as_data(each, node, now) for each in new]}} if new else {}
    if applied and find_applied(node) != applied:
        body["metadata"] = {"annotations": {APPLIED: applied}}
    # The annotation goes the same way, as the kubelet's do. Source: kubernetes pkg/registry/core/node/strategy.go,
    # nodeStatusStrategy.PrepareForUpdate, which keeps the spec alone.
    api.patch(f"/api/v1/nodes/{node.name}/status", body, "strategic")
    for each in new:
        write_event(api, node.name, node.uid, each.reason, each.describe(), now, warning=each.status != "True")
    return planned


def write_event(api: Api, name: str, uid: str, reason: str, message: str, now: str, *, warning: bool = True) -> bool:
    """Whether an Event about the Node of this name and uid was taken; one that is not does not end a run."""
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{uuid.uuid4().hex[:16]}", "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid},
        "reason": reason,
        "message": shorten(message),
        "type": "Warning" if warning else "Normal",
        "source": {"component": SOURCE},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        api.create(EVENTS, body)
    except ClusterError:
        return False
    return True


def _as_data(each: Condition, node: NodeObject, now: str) -> dict[str, str]:
    found = node.find_condition(each.type)
    since = found.since if found is not None and found.since and found.status == each.status else now
    told = {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
    return told | {"lastTransitionTime": since, "lastHeartbeatTime": now}
