# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text itself says is over: a program that works since, a pod that is Ready, a container that has started.

    ends = Ends()
    ends.hear(record, works="kubelet", reached=True)       # each record of the text
    ends.is_over(record, "start.failed", of_start=True)

Times count, and only of one time the order of the lines: an event log has its newest line first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime, timedelta

from ..facts.message_places import PROBE
from .line import parse
from .records import AGE, Record

_RUNS = "is now running|entered the running state"
OVER: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"{words}|\b{name}(?: service)? (?:{_RUNS})", re.I)
    for name, words in {
        "kubelet": r"Successfully registered node|status as it just became ready|event=\"NodeReady\"|"
        r"status is now: NodeReady",
        "flanneld": "Wrote subnet file|Running backend|Backend is running",
        "containerd": "containerd successfully booted",
        "antrea": "Setting up node network|Setting Node MTU",
        "rke2": "labels have been set successfully|has been set successfully",
        "kube-proxy": "Hns Network loaded|load ?balancer (?:policy )?resource created|Created Hns load",
    }.items()
}
"""After such a line of a program, or one that its service runs, what it said of its start before is over. Sources:
kubernetes pkg/kubelet kubelet_node_status.go, kubelet.go; flannel main.go; containerd cmd/containerd/command/main.go;
kubernetes pkg/proxy/winkernel/proxier.go, hns.go; antrea pkg/agent/agent.go; rancher/rke2#4722; the service manager's
event 7036."""

REACHED = re.compile(
    r"Caches (?:are synced|populated)|Successfully registered node|Node controller sync successful|"
    r"event=\"NodeReady\"|status as it just became ready",
    re.I,
)
"""After such a line a program has reached the API server: that it did not before is over. Of another program that says
nothing: it may have another address, login or CA. Sources: client-go tools/cache/shared_informer.go, reflector.go;
flannel pkg/subnet/kube/kube.go."""

_AGAIN = re.compile(r"has done this (?!1 )\d+ time", re.I)
"""The service manager starts what has ended: of what ended more than once, one more start says nothing."""
_PROCESS = re.compile(r"[IWEF]\d{4} \S+\s+(\d+) \S+:|\d{4}-\d\d-\d\d [\d:.]+ \[\w+\]\[(\d+)\]")
"""The process that klog and Calico name."""
_FIRST = "1"
"""What each container calls its own."""
_DESCRIBED = re.compile(r"Name: +\S")
"""What kubectl describes begins so."""
_LISTED = re.compile(r"Events:|Type +Reason +Age\b")
"""Above its events, of which it has one list."""
_READY = re.compile(r"Conditions: .*\bReady +True\b")
_RESTARTED = re.compile(r"Restart Count: +[1-9]")
_EVENT = re.compile(
    rf"(?:(?P<namespace>(?!{AGE} )[a-z0-9][\w-]*) +)?(?:{AGE} +)?(?:Normal|Warning) +(?P<reason>\w+) +"
    rf"(?:{AGE}|(?P<object>[a-z]+/[\w.:-]+))\b"
)
_VOLUMES = ("FailedAttachVolume", "FailedMapVolume", "FailedMount")
_OF_POD = frozenset(("FailedScheduling", "NetworkNotReady", "FailedCreatePodSandBox", *_VOLUMES))
"""A container starts when its pod is past these. Source: kubernetes pkg/kubelet/events/event.go."""
_OF_CONTAINER = frozenset(("Failed", "BackOff", "InspectFailed", "ErrImageNeverPull"))
"""These name no container: that one of the pod has started says nothing of the others."""
_DAY = timedelta(days=1)
_CODES_OF_PODS = frozenset(("hcn", "hcs"))
_When = tuple[datetime, int]
"""Time and line: of one time, the later line is later."""


class Ends:
    """What the records of a text end, and when."""

    def __init__(self) -> None:
        self._works: dict[str, _When] = {}
        self._reached: dict[str, _When] = {}
        self._started: dict[str, _When] = {}
        self._sections: list[int] = []
        self._listed: set[int] = set()
        self._ready: set[int] = set()
        self._restarted: set[int] = set()

    def hear(self, record: Record, works: str, reached: bool) -> None:
        """A record: the program that it says works, empty without one, and whether it has reached the API server. In
        the order of their lines."""
        if _DESCRIBED.match(record.text):
            self._sections.append(record.number)
        elif _LISTED.match(record.text):
            if self._section(record) in self._listed:
                self._sections.append(record.number)
            self._listed.add(self._section(record))
        elif _READY.match(record.text):
            self._ready.add(self._section(record))
        elif _RESTARTED.match(record.text):
            self._restarted.add(self._section(record))
        event = _EVENT.match(record.text)
        if not (event or works or reached) or (at := record.moment) is None:
            return
        who, when = self._who(record, event), (at, record.number)
        if event and event["reason"] == "Started":
            self._started[who] = max(self._started.get(who, when), when)
        everyone = {who} if event else {who, *filter(None, (_process(record), works))}
        for told, names in ((self._works, everyone if works else ()), (self._reached, everyone if reached else ())):
            for name in names:
                told[name] = max(told.get(name, when), when)

    def is_over(self, record: Record, finding: str, *, of_start: bool) -> bool:
        """Whether the same program says later within a day that it works; or the pod of an event has started since, or
        is Ready."""
        event = _EVENT.match(record.text)
        if event and self._is_of_ready(record, event):
            return True
        at = record.moment
        if at is None or _AGAIN.search(record.text):
            return False
        who = self._who(record, event)
        ends = [self._works.get(who)] if of_start else []
        if finding.startswith("cluster."):
            ends.append(self._reached.get(who))
        return any(end and (at, record.number) <= end and end[0] - at <= _DAY for end in ends)

    def is_place_over(self, record: Record) -> bool:
        """The same of a record of which no cause is known: what its program says of itself, and not of a pod."""
        line = parse(record.text)
        of_itself = line.object.partition(" ")[0] in {"", "node"} and line.innermost.kind not in _CODES_OF_PODS
        return self.is_over(record, "", of_start=of_itself)

    def _is_of_ready(self, record: Record, event: re.Match[str]) -> bool:
        if event["reason"] in _OF_CONTAINER or PROBE in parse(record.text).operations:
            return self._section(record) in self._ready - self._restarted
        started, at = self._started.get(self._who(record, event)), record.moment
        if event["reason"] not in _OF_POD or started is None or at is None:
            return False
        return (at, record.number) < started

    def _section(self, record: Record) -> int:
        """Which of the things that kubectl describes a record is of; 0 before the first."""
        return bisect_right(self._sections, record.number)

    def _who(self, record: Record, event: re.Match[str] | None) -> str:
        """Who speaks: the program, else its process, if one of them is told; of an event what it is about."""
        if event:
            return f"{event['namespace']} {event['object'] or self._section(record)}"
        return program_of(parse(record.text).program) or _process(record)


def _process(record: Record) -> str:
    found = _PROCESS.match(record.text)
    number = next(filter(None, found.groups())) if found else _FIRST
    return "" if number == _FIRST else f"process {number}"


def program_of(service: str) -> str:
    """The program behind a service's name, by the name; the service's own name if that does not tell."""
    folded = service.casefold()
    return next((name for name in OVER if name in folded or name.replace("-", "") in folded), folded)
