# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract between resources and the planner, and the two resources that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from .batch import Op
from .reading import Query, Reading, file_query


class Refused(Exception):  # noqa: N818 - reads as a sentence at the place where it is raised
    """The wanted state is impossible, and nothing was done. `sentences` say why, one each; `lacking` are those about
    what somebody else brings, by who does."""

    def __init__(self, *sentences: str, lacking: Mapping[str, str] | None = None) -> None:
        self.lacking = dict(lacking or {})
        self.sentences = (*sentences, *self.lacking.values())
        super().__init__("\n".join(self.sentences))

    def list_own(self, refused: Collection[str]) -> tuple[str, ...]:
        """The sentences without those that only follow: who brings it is `refused`."""
        follow = {sentence for who, sentence in self.lacking.items() if who in refused}
        return tuple(sentence for sentence in self.sentences if sentence not in follow)


def list_refusals(check: Callable[[], object]) -> tuple[str, ...]:
    """Why `check` refuses; nothing if it does not. For what is said together with other refusals."""
    try:
        check()
    except Refused as refused:
        return refused.sentences
    return ()


@dataclass(frozen=True, slots=True)
class Change:
    """The steps that bring one resource to its wanted state.

    `prepare` may run while services run, `commit` only while the services that use the resource are stopped, `define`
    right before they start again. `touches` are the files (path keys) that will differ: a service that uses one of them
    restarts, and so does one whose own definition changes, unless the whole change takes effect `at_once`. `predicted`
    are the parts of the reading afterwards, `state` what to read again.

    `reboot` is why only a restart of the machine completes this, for example "the feature Containers comes into force";
    a change that only waits for that has neither text nor ops.
    """

    text: str
    before: str = ""
    after: str = ""
    prepare: tuple[Op, ...] = ()
    commit: tuple[Op, ...] = ()
    define: tuple[Op, ...] = ()
    finish: tuple[Op, ...] = ()
    touches: frozenset[str] = frozenset()
    predicted: dict[str, Any] = field(default_factory=dict)
    state: tuple[Query, ...] = ()
    reboot: str = ""
    at_once: bool = False


class Resource(Protocol):
    """Something that should be there. `label` names it in diffs and messages."""

    @property
    def label(self) -> str:
        """A name for people, such as the path."""

    def reads(self) -> tuple[Query, ...]:
        """The queries needed to plan this resource."""

    def change(self, reading: Reading) -> Change | None:
        """The change, or None if the state is as wanted. Refused if the change is impossible."""


@runtime_checkable
class ReadsForUndo(Protocol):
    """A resource whose undo needs more than its plan."""

    def reads_for_undo(self, reading: Reading) -> tuple[Query, ...]:
        """Further queries, made only by the task that changes this resource."""


# What a person should know beside the other steps of a plan, such as what was left out and why.


@dataclass(frozen=True, slots=True)
class Notice:
    """A step of a plan that changes nothing. It is not shown if nothing else changes."""

    label: str
    text: str

    def reads(self) -> tuple[Query, ...]:
        """Nothing."""
        return ()

    def change(self, reading: Reading) -> Change | None:
        """Only the sentence."""
        return Change(text=self.text)


# Things of others on the node that a plan was made from.


def whole_file(path: str, content_limit: int = 0) -> Query:
    """A query that identifies a file's content and state, so that any further answer about it can be compared."""
    return file_query(path, sha256=True, sddl=True, content_limit=content_limit)


@dataclass(frozen=True, slots=True)
class ReliesOn:
    """Things that are read and never changed: the batch is valid only while they are as they were read."""

    label: str
    queries: tuple[Query, ...]

    def reads(self) -> tuple[Query, ...]:
        """All of them."""
        return self.queries

    def change(self, reading: Reading) -> Change | None:
        """Never a change."""
        return None
