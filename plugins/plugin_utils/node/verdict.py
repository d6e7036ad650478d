# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's answer as a sentence for the person who runs the playbook."""

from __future__ import annotations

from ..components.blocked import ACKNOWLEDGE, describe_batch
from ..engine.answer import Answer
from ..engine.printable import make_printable
from ..engine.sentences import end_sentence, read_message
from .link import NodeError

_NAMELESS = "delete blocked.json in its state folder, which names no batch"


def check_done(answer: Answer, component: str) -> None:
    """NodeError, with the whole story, unless the batch is done."""
    if not answer.is_done:
        raise NodeError(f"{component}: {sentence(answer)}")


def sentence(answer: Answer, ending: str = "") -> str:
    """Why the batch of `answer` is not done. `ending`: what is known of a roll back besides that it was one."""
    if answer.busy is not None:
        busy = answer.busy
        trouble = f"The last start of its runner failed: {end_sentence(busy.error)} " if busy.error else ""
        return (
            f"{busy.controller} has been working on this node since {busy.since} (batch {busy.id}). {trouble}"
            "Nothing was done; run again later."
        )
    if answer.blocked is not None:
        blocked = answer.blocked
        mend = f"acknowledge it with {ACKNOWLEDGE}{blocked.id}" if blocked.id else _NAMELESS
        return (
            f"an earlier change could not be rolled back ({describe_batch(blocked)}). Check the node, then {mend}. "
            "Nothing was done."
        )
    match answer.answer:
        case "refused":
            return f"the node refused to work: {answer.reason}"
        case "stale":
            return stale_sentence(answer)
    failure = end_sentence(read_message(answer.error.message))
    match answer.outcome:
        case "undone":
            if failure.endswith("rolled back."):  # it was interrupted
                return " ".join(part for part in (failure, ending, "Run again.") if part)
            return f"{failure} {ending or 'Rolled back.'} Mend the reason, then run again."
        case "undo_failed":
            undo = "; ".join(dict.fromkeys(end_sentence(read_message(each))[:-1] for each in answer.error.undo))
            return (
                f"{failure} The roll back failed as well: {end_sentence(undo)} The node is blocked until "
                f"someone has checked it and acknowledges that with {ACKNOWLEDGE}{answer.batch}."
            )
        case "running":
            return (
                f"batch {answer.batch} is still running after its deadline; run the playbook again to see its outcome."
            )
        case outcome:
            return f"batch {answer.batch} ended as '{outcome}'. {failure}"


def stale_sentence(answer: Answer) -> str:
    """What changed on the node between plan and batch."""
    # A value may be nested so deeply that its text cannot be made.
    what = "; ".join(
        f"{make_printable(each.key)} is {make_printable(each.found)}, was planned as {make_printable(each.expect)}"
        for each in answer.stale
    )
    return f"the node has changed since it was read: {what}"
