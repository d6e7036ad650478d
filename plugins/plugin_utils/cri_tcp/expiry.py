# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI over TCP for a limited time: what the node does when the time is over, and what remains to be reported.

The port stays open until containerd restarts. So the node first disables the firewall rule, which needs no restart,
then closes config.toml if it is unchanged since, and restarts containerd if that is allowed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ..components import runner_task
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Op, as_base64
from ..engine.clock import as_timestamp
from ..engine.reading import CONFIDENTIAL, Query, Reading, file_key, system_query
from ..engine.resource import Change, Refused
from ..engine.resources.file import backup_of, write_ops
from ..engine.resources.firewall_rule import NETSH, NO_RULE
from ..engine.resources.service import running_dependants
from ..engine.secret import Secret
from ..engine.tools import move, run, start_ops, stop_ops, wait_pipe
from ..facts import cri_tcp as facts
from .edit import Address
from .kept import LIMIT, document

TASK = r"\winkube\expiry"
ABOUT = "Closes CRI over TCP, which winkube.node opened for a limited time on this machine."

REMEDY = "Run containerd_config_tcp with state: absent."

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LEAST_S, _MOST_S = 60, 30 * 86400


def seconds(text: str) -> int:
    """Parse `90m`, `8h`, `2d` or a number of seconds; 0 for `never`. Refused below a minute and above 30 days."""
    if text.strip() == "never":
        return 0
    if not text.strip():
        raise Refused(
            "expires_after is missing: give the time after which the node closes the port by itself, such as 8h, or "
            "'never'."
        )
    match = re.fullmatch(r"(\d{1,9})([smhd]?)", text.strip())
    found = int(match[1]) * _UNITS[match[2]] if match else 0
    if not _LEAST_S <= found <= _MOST_S:
        raise Refused(f"expires_after '{text}' is not a time from 1m to 30d; write it as 45m, 8h or 2d, or as 'never'.")
    return found


def task_file(layout: Layout) -> str:
    """The XML file of the task."""
    return windows_path.join(layout.state_dir, "expiry.xml")


def _document(layout: Layout) -> Query:
    path = windows_path.join(layout.state_dir, "expiry.json")
    return Query(f"{CONFIDENTIAL}expiry", "file", (("path", path), ("content_limit", LIMIT)))


def _outcome(layout: Layout) -> Query:
    path = windows_path.join(layout.state_dir, "expired.json")
    return Query(file_key(path), "file", (("path", path), ("content_limit", 4096)))


def _task() -> Query:
    return Query("task:expiry", "task", (("path", TASK),))


def _processes(layout: Layout) -> Query:
    return Query("processes:containerd", "processes", (("names", (windows_path.name(layout.containerd_binary),)),))


def outcome_reads(layout: Layout) -> tuple[Query, ...]:
    """The queries of `finding`."""
    return (_outcome(layout), _processes(layout))


def finding(layout: Layout, reading: Reading) -> str:
    """A sentence about what remains to be done for a port whose time is over; empty if nothing."""
    outcome = document(reading, _outcome(layout))
    if outcome is None or not (outcome.get("error") or not outcome.get("same") or _still_open(layout, reading)):
        return ""
    at = f"The time of CRI over TCP was over at {outcome.get('at')}, and its firewall rule is disabled"
    if not outcome.get("same"):
        return (
            f"{at}, but {layout.containerd_config} had been changed by somebody since the port was opened, and was "
            f"left alone: it may still be open on the node itself. {REMEDY}"
        )
    if outcome.get("error"):
        return f"{at}, but then something failed: {str(outcome['error']).rstrip('.')}. {REMEDY}"
    return (
        f"{at} and {layout.containerd_config} closed, but containerd has not been restarted since and still listens on "
        f"the node's own addresses. {REMEDY}"
    )


def _still_open(layout: Layout, reading: Reading) -> bool:
    """Whether containerd has been running since before the time was over."""
    outcome = document(reading, _outcome(layout)) or {}
    listed = reading.parts.get(_processes(layout).key)
    name = windows_path.name(layout.containerd_binary).casefold()
    over = _time(outcome.get("at"))
    return any(
        str(one.get("name")).casefold() == name and (_time(one.get("started")) or over or datetime.min) < over
        for one in (listed if isinstance(listed, list) else ())
        if over is not None
    )


@dataclass(frozen=True, slots=True)
class Restart:
    """The restart of the service that listens on `address`, when the time is over."""

    service: str
    program: str
    pipe: str
    address: Address
    start_timeout_s: int
    stop_timeout_s: int

    def ops(self, reading: Reading) -> tuple[Op, ...]:
        """Stop the dependants and the service, and start them again. Then wait until nothing listens: an imported file
        can name the same address. containerd opens the pipe right after the port.
        Source: containerd cmd/containerd/command/main.go (1.7: TCP, then GRPC), cmd/containerd/server/server.go, Start
        (2.3)."""
        names = (*running_dependants(self.service, reading), self.service)
        stop = (
            op
            for name in names
            for op in stop_ops(name, self.program if name == self.service else "", self.stop_timeout_s)
        )
        start = (op for name in reversed(names) for op in start_ops(name, self.start_timeout_s))
        closed = {"for": "tcp_closed", "host": self.address.near, "port": self.address.port, "timeout_s": 5}
        return (*stop, *start, wait_pipe(self.pipe, self.start_timeout_s), Op("wait", closed))


@dataclass(frozen=True, slots=True)
class Expiry:
    """`closed` replaces the config.toml `opened` `after_s` seconds after the run that opens the port; 0 for never. A
    later run with the same values does not extend the time."""

    layout: Layout
    backup: str
    after_s: int
    opened: str = ""
    closed: str = ""
    restart: Restart | None = None

    @property
    def label(self) -> str:
        return "end of CRI over TCP"

    def reads(self) -> tuple[Query, ...]:
        """The node's clock, the planned end, the task, and the outcome of an earlier one."""
        asked = (_task(),) if self.after_s else ()  # closing must work even if the Task Scheduler does not answer
        return (system_query(), _document(self.layout), *asked, *outcome_reads(self.layout))

    def change(self, reading: Reading) -> Change | None:
        """Schedule the end or cancel it; forget an outcome, and complete what it left undone."""
        planned = document(reading, _document(self.layout))
        task = bool((reading.parts.get(_task().key) or {}).get("exists")) if self.after_s else planned is not None
        outcome = bool(reading.parts[_outcome(self.layout).key].get("exists"))
        remedied = finding(self.layout, reading) != "" and _still_open(self.layout, reading)
        away = Op("remove", {"path": self._path("expired.json")})
        forget = (away,) if outcome else ()
        touches = frozenset({file_key(self.layout.containerd_config)}) if remedied else frozenset()
        state = (_task(), _outcome(self.layout))
        change = Change(text="forget that CRI over TCP has ended", finish=forget, touches=touches, state=state)
        if self.after_s == 0:
            if planned is None and not task:
                return change if outcome else None
            text, ops = f"cancel the planned {self.label}", self._cancel(planned is not None, task)
            return replace(change, text=text, before=_line(planned), after="none\n", prepare=ops)
        at = _now(reading) + timedelta(seconds=self.after_s)
        wanted = self._desired_state(at, reading)
        if not outcome and task and _same(planned, wanted, _now(reading)):
            return None
        text, ops = f"schedule the {self.label} for {wanted['at']}", self._schedule(wanted, planned is not None, task)
        return replace(change, text=text, before=_line(planned), after=_line(wanted), prepare=ops)

    def _desired_state(self, at: datetime, reading: Reading) -> dict[str, Any]:
        """The content of expiry.json; the runner ignores `after_s`."""
        rule = run(
            NETSH,
            "advfirewall",
            "firewall",
            "set",
            "rule",
            f"name={facts.RULE}",
            "new",
            "enable=no",
            ok_exit=(0, NO_RULE),
        )
        write = Op("write", {"path": self.layout.containerd_config, "content": as_base64(self.closed.encode())})
        restart = self.restart.ops(reading) if self.restart else ()
        return {
            "schema": 1,
            "at": as_timestamp(at),
            "after_s": self.after_s,
            "path": self.layout.containerd_config,
            "sha256": [self._hash_opened(reading), _hash(self.closed)],
            "first": [rule.wire()],
            "same": [op.wire() for op in (write, *restart)],
            "last": [_delete().wire(), Op("remove", {"path": self._path("expiry.xml")}).wire()],
        }

    def _hash_opened(self, reading: Reading) -> str:
        """For an unchanged file the hash from the node: it may begin with a byte order mark, which the text lacks."""
        path = self.layout.containerd_config
        present = str(reading.file(path).get("sha256") or "") if reading.text(path) == self.opened else ""
        return present or _hash(self.opened)

    def _schedule(self, wanted: Mapping[str, Any], planned: bool, task: bool) -> tuple[Op, ...]:
        """Write the files, then create the task; the undo restores an earlier schedule."""
        xml = runner_task.xml(self.layout.state_dir, ABOUT, since=str(wanted["at"]), every="PT5M")
        create = runner_task.create(TASK, self._path("expiry.xml"))
        data = Secret(json.dumps(wanted, indent=1).encode())
        first, *rest = write_ops(self._path("expiry.json"), data, self.backup, there=planned)
        return (
            first.with_undo(*first.undo, *((create,) if planned and task else ())),
            *rest,
            *write_ops(self._path("expiry.xml"), xml, self.backup, there=planned),
            create.with_undo(_delete()),
        )

    def _cancel(self, planned: bool, task: bool) -> tuple[Op, ...]:
        create = runner_task.create(TASK, self._path("expiry.xml"))
        delete = _delete().with_undo(*([create] if planned and task else []))
        if not planned:
            return (delete,)
        paths = (self._path("expiry.json"), self._path("expiry.xml"))
        aside = (move(path, backup_of(self.backup, path)) for path in paths)
        return (Op("mkdir", {"path": self.backup}), delete, *aside)

    def _path(self, name: str) -> str:
        return windows_path.join(self.layout.state_dir, name)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _delete() -> Op:
    return runner_task.delete(TASK)


def _same(planned: Mapping[str, Any] | None, wanted: Mapping[str, Any], now: datetime) -> bool:
    """Whether the same end is already scheduled, and in the future; the times may differ."""
    if planned is None or {**planned, "at": ""} != {**wanted, "at": ""}:
        return False
    at = _time(planned.get("at"))
    return at is not None and at > now


def _now(reading: Reading) -> datetime:
    """The time of the node's clock."""
    found = _time(reading.parts.get("system", {}).get("clock"))
    if found is None:
        raise Refused("expires_after: the node did not report its time; run again with refresh: true.")
    return found


def _time(text: object) -> datetime | None:
    """PowerShell prints seven digits of a second; Python takes six."""
    try:
        found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(text)))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _line(document: Mapping[str, Any] | None) -> str:
    if document is None:
        return "none\n"
    restarts = len(document.get("same") or ()) > 1
    return f"at {document.get('at')}{', with a restart of containerd' if restarts else ''}\n"
