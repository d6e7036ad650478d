# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches the ends of logs, and what a person pastes, for the messages that are known (facts/messages_*.py).

    for hit in search({"kubelet": text}):        # by service
        print(hit.finding, hit.lines)
    about("hcnCreateEndpoint failed in Win32: ... (0x803b000d)")     # ("hns.policy-refused",)

A log tells of earlier times as well. A line counts if the program has not said since that the thing works, nobody
sees that it works now, and it is not much older than the log's last line; of a program that runs, and of what it tries
again and again, the node's clock decides instead of the last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..facts import messages_containers, messages_general, messages_pasted, messages_programs, messages_windows
from ..facts.message import Message

MESSAGES: tuple[Message, ...] = (
    *messages_windows.MESSAGES,
    *messages_containers.MESSAGES,
    *messages_programs.MESSAGES,
    *messages_general.MESSAGES,
)
"""The first one that fits a line is taken: what is particular stands before what is general."""

GENERAL = frozenset(each for each in messages_general.MESSAGES if not each.finding.startswith("start."))
"""Not said where another line of the same text names a reason. That a program ended is said in any case."""

LINES = 3
"""So many lines are kept of a hit: the last ones."""
WIDTH = 400
"""So many characters of a line."""
RECENT = timedelta(minutes=15)
"""What is older by more than this is over. The number is this module's own: kubelet and
kube-proxy try again within 5 minutes at the latest (kubernetes pkg/kubelet/pod_workers.go, maxBackoff)."""

OVER: Mapping[str, re.Pattern[str]] = {
    "kubelet": re.compile(r"Successfully registered node|status as it just became ready|event=\"NodeReady\"", re.I),
    "flanneld": re.compile(r"Wrote subnet file|Running backend|Backend is running", re.I),
    "containerd": re.compile(r"containerd successfully booted", re.I),
    "antrea": re.compile(r"Setting up node network|Setting Node MTU", re.I),
    "rke2": re.compile(r"labels have been set successfully|has been set successfully", re.I),
    "kube-proxy": re.compile(r"Hns Network loaded|load ?balancer (?:policy )?resource created|Created Hns load", re.I),
}
"""After such a line of a program, what it said of its start before is over. Sources: kubernetes pkg/kubelet
kubelet_node_status.go, kubelet.go; flannel main.go; containerd cmd/containerd/command/main.go; kubernetes
pkg/proxy/winkernel/proxier.go, hns.go; antrea pkg/agent/agent.go; rancher/rke2#4722."""

REACHED = re.compile(
    r"Caches (?:are synced|populated)|Successfully registered node|Node controller sync successful|"
    r"event=\"NodeReady\"|status as it just became ready",
    re.I,
)
"""After such a line of any program it has reached the API server: that it did not before is over. Sources: client-go
tools/cache/shared_informer.go, reflector.go; flannel pkg/subnet/kube/kube.go."""

_KLOG = re.compile(r"^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)")
_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)")

_COMPILED = tuple((re.compile(each.pattern, re.IGNORECASE), each) for each in MESSAGES)


@dataclass(frozen=True, slots=True)
class Hit:
    """What a log says: the id of the finding that it leads to, whose log, the last lines, and how many there are."""

    finding: str
    program: str
    lines: tuple[str, ...]
    count: int
    source: str


def known(text: str) -> Message | None:
    """The first message of the table that fits."""
    said = plain(text)
    return next((message for pattern, message in _COMPILED if pattern.search(said)), None)


def plain(text: str) -> str:
    """Without the quoting of a log inside of a log, and without the zeros of UTF-16."""
    text = text.replace("\x00", "")
    while '\\"' in text or "\\\\" in text:
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    return text


def _particular(found: Iterable[Message]) -> tuple[Message, ...]:
    """Those that name a reason, if there is one: what is said in general is then the same fault once more."""
    all_found = tuple(found)
    return tuple(each for each in all_found if each not in GENERAL) or all_found


def about(text: str) -> tuple[str, ...]:
    """The findings that a pasted message leads to, the most particular first; none for a message that is not known. A
    message of several lines may have been broken anywhere."""
    parts = [each for each in (text, " ".join(text.split()), *text.splitlines()) if each.strip()]
    known_ones = _particular(message for part in parts if (message := known(part)) is not None)
    found = sorted(known_ones, key=MESSAGES.index)
    ranked = (*_pasted(messages_pasted.PARTICULAR, text), *found, *_pasted(messages_pasted.GENERAL, text))
    return tuple(dict.fromkeys(each.finding for each in ranked))


def _pasted(table: tuple[Message, ...], text: str) -> Iterator[Message]:
    """What a person pastes and no log is searched for."""
    said = " ".join(plain(text).split())
    return (each for each in table if re.search(each.pattern, said, re.IGNORECASE))


def search(
    logs: Mapping[str, str], quiet: Mapping[str, timedelta] | None = None, working: Iterable[str] = ()
) -> tuple[Hit, ...]:
    """What the ends of logs say, in the order of the table's findings. `quiet` is how long ago the log of a program
    that runs was written last, by the node's clock; `working` are the programs of which is seen that they do their
    work now: what they said of their start, and of the cluster, is over."""
    known_quiet, done = quiet or {}, frozenset(working)
    hits = [
        hit
        for program, text in logs.items()
        for hit in _of_log(program, text, known_quiet.get(program, timedelta()), program in done)
    ]
    order = [each.finding for each in MESSAGES]
    return tuple(sorted(hits, key=lambda hit: order.index(hit.finding)))


def _of_log(program: str, text: str, quiet: timedelta, works: bool) -> Iterator[Hit]:
    lines = [line.strip() for line in text.replace("\x00", "").splitlines() if line.strip()]
    last = next((moment for line in reversed(lines) if (moment := _moment(line))), None)
    started = len(lines) if works else _last(lines, OVER.get(_program(program)))
    reached = len(lines) if works else _last(lines, REACHED)
    found: dict[str, tuple[Message, list[str]]] = {}
    for number, line in enumerate(lines):
        message = known(line)
        if message is None or (number < started and _of_start(message)):
            continue
        if message.early and number < len(lines) - 1 - _NEAR:
            continue
        if number < reached and message.finding.startswith("cluster."):
            continue
        moment = _moment(line)
        before = last - moment if last is not None and moment is not None and moment <= last else timedelta()
        if before + (quiet if message.finding.startswith(_TRIED_AGAIN) else timedelta()) > RECENT:
            continue
        found.setdefault(message.finding, (message, []))[1].append(line)
    particular = _particular(message for message, _said in found.values())
    for finding, (message, said) in found.items():
        if message not in particular:
            continue
        shown = tuple(each[:WIDTH] for each in dict.fromkeys(said[-LINES:]))
        yield Hit(finding, program, shown, len(said), message.source)


_NEAR = 40
"""What a healthy program says early counts only if it stands among this many last lines: kubelet says every 5 seconds
that there is no network (kubernetes pkg/kubelet/kubelet.go, updateRuntimeUp)."""

_RUNNING = ("hns.", "container.", "image.", "kube-proxy.rule", "cni.")
"""Findings that come up while a program runs: a good start does not say that they are over."""

_TRIED_AGAIN = (*_RUNNING, "cluster.")
"""Findings that a program speaks of again and again while they hold; of those of its start it speaks once."""


def _of_start(message: Message) -> bool:
    return message.early or not message.finding.startswith(_RUNNING)


def _program(service: str) -> str:
    """The program behind a service's name, by the name; the service's own name if that does not tell."""
    folded = service.casefold()
    return next((name for name in OVER if name in folded or name.replace("-", "") in folded), folded)


def _last(lines: Iterable[str], pattern: re.Pattern[str] | None) -> int:
    found = [number for number, line in enumerate(lines) if pattern is not None and pattern.search(line)]
    return found[-1] if found else -1


def _moment(line: str) -> datetime | None:
    """When a line was written: klog's (which knows no year) or an ISO time anywhere in its beginning."""
    if found := _KLOG.match(line):
        month, day, hour, minute, second = (int(each) for each in found.groups())
        return _at(2000, month, day, hour, minute, second)
    if found := _STAMP.search(line[:80]):
        return _at(*(int(each) for each in found.groups()))
    return None


def _at(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
