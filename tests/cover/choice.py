"""The cheapest tests that together execute all that any of them executes, and prove every row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_


@dataclass(frozen=True)
class Scenario:
    """A test by its id, its processor seconds, what it executes and claims; one that is `bound` stays in any case."""

    name: str
    cost_s: float
    covers: frozenset[str]
    bound: bool = False


@dataclass(frozen=True)
class Choice:
    """`kept` cover everything. `spare` are the others."""

    kept: tuple[Scenario, ...]
    spare: tuple[Scenario, ...]

    @property
    def cost_s(self) -> float:
        return sum(test.cost_s for test in self.kept)


def choose(scenarios: Iterable[Scenario], covered: frozenset[str] = frozenset(), budget_s: float = 0.0) -> Choice:
    """A cover of what is not `covered` by tests that are not to be chosen from.

    Greedy: the test that brings most for its time, until nothing is left; then those whose all is brought by others go,
    the dearest first. A budget that is larger than the cover's cost is filled up with those that execute, for their
    time, most of what only one kept test executes.
    """
    tests = sorted(scenarios, key=lambda test: (test.cost_s, test.name))
    numbers = {one: number for number, one in enumerate(sorted(frozenset().union(*(test.covers for test in tests))))}
    bits = {test.name: sum(1 << numbers[one] for one in test.covers - covered) for test in tests}
    kept = [test for test in tests if test.bound]
    todo = _all(bits.values()) & ~_all(bits[test.name] for test in kept)
    while todo:
        best = max(tests, key=lambda test: (bits[test.name] & todo).bit_count() / test.cost_s)
        kept.append(best)
        todo &= ~bits[best.name]
    for test in sorted(kept, key=lambda test: -test.cost_s):
        others = _all(bits[other.name] for other in kept if other is not test)
        if not test.bound and not bits[test.name] & ~others:
            kept.remove(test)
    spent_s = sum(test.cost_s for test in kept)
    while pool := [test for test in tests if test not in kept and spent_s + test.cost_s <= budget_s]:
        once = _once(bits[test.name] for test in kept)
        best = max(pool, key=lambda test: (bits[test.name] & once).bit_count() / test.cost_s)
        kept.append(best)
        spent_s += best.cost_s
    return Choice(tuple(kept), tuple(test for test in tests if test not in kept))


def _all(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _once(sets: Iterable[int]) -> int:
    """What is in one of them only."""
    seen = twice = 0
    for one in sets:
        twice |= seen & one
        seen |= one
    return seen & ~twice
