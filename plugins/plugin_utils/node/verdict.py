# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's answer as a sentence for the person who runs the playbook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..components.blocked import ACKNOWLEDGE, describe_batch
from ..engine.printable import make_printable
from ..engine.sentences import end_sentence, read_message
from .link import NodeError

_NAMELESS = "delete blocked.json in its state folder, which names no batch"


def check_done(answer: Mapping[str, Any], component: str) -> None:
    """NodeError, with the whole story, unless the batch is done."""
    if answer.get("answer") == "accepted" and answer.get("outcome") == "done":
        return
    raise NodeError(f"{component}: {sentence(answer)}")


def sentence(answer: Mapping[str, Any], ending: str = "") -> str:
    """Why the batch of `answer` is not done. `ending`: what is known of a roll back besides that it was one."""
    match answer.get("answer"):
        case "refused":
            return f"the node refused to work: {answer.get('reason')}"
        case "busy":
            busy = answer.get("busy") or {}
            trouble = busy.get("error")
            return (
                f"{busy.get('controller')} has been working on this node since {busy.get('since')} "
                f"(batch {busy.get('id')}). "
                f"{f'The last start of its runner failed: {end_sentence(str(trouble))} ' if trouble else ''}"
                "Nothing was done; run again later."
            )
        case "blocked":
            blocked = answer.get("blocked") or {}
            mend = f"acknowledge it with {ACKNOWLEDGE}{blocked['id']}" if blocked.get("id") else _NAMELESS
            return (
                f"an earlier change could not be rolled back ({describe_batch(blocked)}). Check the node, then {mend}. "
                "Nothing was done."
            )
        case "stale":
            return stale_sentence(answer)
    error = answer.get("error") or {}
    match answer.get("outcome"):
        case "undone":
            failure = _failure(error)
            own = "" if failure.endswith("rolled back.") else "Rolled back."
            return f"{failure} {ending or own}".rstrip()
        case "undo_failed":
            undo = "; ".join(dict.fromkeys(end_sentence(read_message(item))[:-1] for item in error.get("undo") or ()))
            return (
                f"{_failure(error)} The roll back failed as well: {end_sentence(undo)} The node is blocked until "
                f"someone has checked it and acknowledges that with {ACKNOWLEDGE}{answer.get('batch')}."
            )
        case "running":
            return (
                f"batch {answer.get('batch')} is still running after its deadline; run the playbook again to see its "
                "outcome."
            )
        case outcome:
            return f"batch {answer.get('batch')} ended as '{outcome}'. {_failure(error)}"


def stale_sentence(answer: Mapping[str, Any]) -> str:
    """What changed on the node between plan and batch."""
    items = answer.get("stale") or ()
    # A value may be nested so deeply that its text cannot be made.
    seen = ({name: make_printable(item.get(name)) for name in ("key", "found", "expect")} for item in items)
    what = "; ".join(f"{item['key']} is {item['found']}, was planned as {item['expect']}" for item in seen)
    return f"the node has changed since it was read: {what}"


def _failure(error: Mapping[str, Any]) -> str:
    return end_sentence(read_message(error))
