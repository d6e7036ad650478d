# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a component: the wanted resources of each, as a function of arguments, reading and answers.

task/converge.py runs them from top to bottom; each ends in at most one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..cluster.client import Cluster
from ..engine.answer import Answer
from ..engine.batch import Batch
from ..engine.plan import Step
from ..engine.reading import Query, Reading
from ..engine.resource import Resource
from .asks import Asks
from .layout import Layout
from .shared_options import Access, SharedOptions

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")


V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class Key(Generic[V]):
    """Something that stages learn beside the reading; `name` is for people."""

    name: str


class Learned:
    """What the stages of a run have learned. What is planned again is learned again."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}

    def note(self, key: Key[V], value: V) -> None:
        """Keep it, in place of what was learned before."""
        self._values[key] = value

    def get(self, key: Key[V]) -> V | None:
        """The last value; None if no stage has learned it."""
        found: V | None = self._values.get(key)
        return found


@dataclass(frozen=True, slots=True)
class Given(Generic[T_co]):
    """The input of planning.

    `name` is the component's, `options` are its own, `shared` those of the fragments; `mark` is the id of the batch to
    be sent; with `check` none is sent. `programs` are the names of all programs that run as services on a node. What a
    stage learns beside the reading it notes in `learned`.
    """

    name: str
    options: T_co
    layout: Layout
    reading: Reading
    asks: Asks
    shared: SharedOptions = field(default_factory=SharedOptions)
    mark: str = ""
    check: bool = False
    programs: tuple[str, ...] = ()
    learned: Learned = field(default_factory=Learned)

    @property
    def is_unsettled(self) -> bool:
        """Whether this task only plans, on a reading that is itself only planned."""
        return self.check and self.reading.predicted

    def cluster(self, *, shared: bool = False) -> Cluster | None:
        """The cluster. None without a kubeconfig, and for an image, which belongs to no cluster. ClusterError if the
        kubeconfig cannot be read. `shared` as in `Asks.cluster`."""
        return self.asks.cluster(self._access, shared=shared)

    def ask_cluster(self, what: str, ask: Callable[[Cluster], A]) -> A | None:
        """The result of `ask` for the cluster, asked once; None without one. ClusterError if it does not answer."""
        return self.asks.of_cluster(self._access, what, ask)

    def ask_for_all(self, what: str, ask: Callable[[Cluster], A]) -> A | None:
        """As `ask_cluster`, for what is the same for all nodes: the hosts of the task share the answers."""
        return self.asks.of_cluster(self._access, what, ask, shared=True)

    @property
    def _access(self) -> Access:
        return Access() if self.shared.golden_image else self.shared.cluster

    def warn(self, sentences: Iterable[str]) -> None:
        """Warn of each, with the component's name."""
        for sentence in sentences:
            self.asks.warn(f"{self.name}: {sentence}")


Resources = tuple[Resource, ...]


def _no_steps(_given: Given[Any], _resources: Resources) -> tuple[Step, ...]:
    return ()


def _nothing_learned(_given: Given[Any], _batch: Batch, _answer: Answer) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class First:
    """A batch that a stage sends before its own, because planning the rest needs its result.

    `batch` is None if nothing must be asked. `steps` are printed. `learned` is the answer as parts of the reading,
    known only to this task. `planned`: the rest is planned beforehand, so that a refusal comes first. `unsettled` is
    the error if the node needs the same batch again at once.
    """

    batch: Callable[[Given[Any], Resources], Batch | None]
    steps: Callable[[Given[Any], Resources], tuple[Step, ...]] = _no_steps
    learned: Callable[[Given[Any], Batch, Answer], Mapping[str, Any]] = _nothing_learned
    planned: bool = False
    unsettled: str = ""


def _nothing(_given: Given[Any]) -> None:
    return None


def _always(_given: Given[Any]) -> bool:
    return True


Probe = Callable[[Sequence[Query]], Mapping[str, Any]]
"""Asks the node."""


def _no_more(_given: Given[Any], _probe: Probe) -> str:
    return ""


def _no_state(_layout: Layout) -> tuple[Query, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One batch of a component, and the steps before it.

    `build_resources` builds the desired resources. It raises Refused, or ClusterError if the cluster does not answer.
    `wanted` decides whether the stage runs at all. `before` runs once, before the node is touched. `first` lists the
    batches that run first. `deadline` is the number of seconds after which the node rolls the batch back. `state` is
    read after each batch, in addition to what the batch touches. `called` names the batch if its name differs from the
    component's. `failed` adds to the error message: what stays on the node, or what the node knows about the failure.
    """

    name: str
    build_resources: Callable[[Given[Any]], Resources]
    wanted: Callable[[Given[Any]], bool] = _always
    before: Callable[[Given[Any]], object] = _nothing
    first: tuple[First, ...] = ()
    deadline: Callable[[Given[Any]], int] = lambda _given: 900
    state: Callable[[Layout], tuple[Query, ...]] = _no_state
    called: str = ""
    failed: Callable[[Given[Any], Probe], str] = _no_more


@dataclass(frozen=True, slots=True)
class After:
    """What remains when all stages are done. `steps` were taken in the cluster; `result` is merged into the task's;
    `told` puts values that are known now into the steps' texts; `problem`, if set, fails the task."""

    steps: tuple[str, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    told: Callable[[str], str] | None = None
    problem: str = ""


Ending = Callable[[Given[Any], Collection[str], bool], After]
"""From the input (with the last reading), the stages that sent a batch, and whether anything changes."""


def nothing_after(_given: Given[Any], _acted: Collection[str], _changed: bool) -> After:
    """The end of most components: nothing."""
    return After()
