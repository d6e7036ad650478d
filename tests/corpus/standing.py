"""What each rule rests on beside its own sentence: public manifests that it met, upstream's verdict, a public thread.

A rule that met no public manifest keeps its severity only where a recorded verdict of kube-apiserver refuses the very
field, or where a thread of its sources shows the failure.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.facts.evidence import list_evidence
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import (
    NEWEST_MINOR,
    OLDEST_MINOR,
    RUNTIMES,
    Profile,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS, RULES

from . import objects
from .repositories import read_file
from .upstream import FIXTURES, HERE, place, pods, theirs, whole_or_field

DROPPED = ("linux-command",)
"""Rules that went, since others say the same."""
THREAD = re.compile(r"\b[\w.-]+/[\w.-]+#\d+")


def _worst(rule: str, profiles: Sequence[Profile]) -> int:
    """0 where none of its parts says anything."""
    levels = [each.level for each in RULES if each.id == rule]
    return max(level.of(profile, told) or 0 for level in levels for profile in profiles for told in (True, False))


_EVER = [Profile(minor, runtime) for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1) for runtime in RUNTIMES]
BY_VERSION = frozenset(rule for rule in IDS if _worst(rule, _EVER) > Severity.INFO >= _worst(rule, [Profile()]))
"""Warnings and errors of old versions and of Docker alone; nobody runs these any more, so that nobody shows them."""


@dataclass(frozen=True, slots=True)
class Standing:
    """`right` and `false`: what people judged of its findings in public manifests."""

    rule: str
    right: int
    false: int
    refused: bool
    threads: tuple[str, ...]

    @property
    def proved(self) -> bool:
        return self.refused or bool(self.threads)


@cache
def standings() -> dict[str, Standing]:
    right, false = _judged()
    refused = frozenset(_refused())
    return {rule: Standing(rule, right[rule], false[rule], rule in refused, _threads(rule)) for rule in IDS}


def _judged() -> tuple[Counter[str], Counter[str]]:
    right: Counter[str] = Counter()
    false: Counter[str] = Counter()
    for file in (HERE / "judged.jsonl", HERE / "frozen" / "manifests.jsonl"):
        for each in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            right.update(key.split()[0] for key in each.get("right", ()))
            false.update(key.split()[0] for key in each.get("false", ()))
    for judgement in (each for judgements in read_file()[1].values() for each in judgements):
        (right if judgement.right else false)[judgement.rule] += len(judgement.places)
    return right, false


def _threads(rule: str) -> tuple[str, ...]:
    sources = [*(each.source for each in RULES if each.id == rule), *map(str, list_evidence(rule))]
    return tuple(sorted({thread for source in sources for thread in THREAD.findall(source)}))


def _refused() -> Iterator[str]:
    """Rules that say of a field what a record of upstream's validation, or of a whole API server, says of it."""
    from tests.unit.lint.judged import judged_pods

    for path in objects.RECORDS.glob("*.json"):
        yield from objects.compare(path.stem).rules

    records = [(path, list(pods())) for path in sorted((HERE / "verdicts").glob("*.json"))]
    for path in sorted(FIXTURES.glob("*.json")):
        records.append((path, list(judged_pods(_minor(path)))))
    for path, known in records:
        verdicts = {each["pod"]: theirs(each) for each in json.loads(path.read_text(encoding="utf-8"))["verdicts"]}
        for pod in known:
            yield from _agreeing(pod, _minor(path), verdicts.get(pod["metadata"]["name"], set()))
        # It takes a field that it does not know away, and warns: the fixtures have their rules' names.
        for each in json.loads(path.read_text(encoding="utf-8"))["verdicts"]:
            if each.get("unknown"):
                yield each["pod"].rpartition("-")[0]


def _agreeing(pod: dict[str, Any], minor: int, fields: set[str]) -> Iterator[str]:
    for finding in lint(live_documents([pod]), Profile(minor=minor)).findings if fields else ():
        named = place(whole_or_field(finding, finding.path))
        if finding.severity is Severity.ERROR and "API server rejects" in finding.message and named in fields:
            yield finding.rule


def _minor(path: Path) -> int:
    return int(path.stem.split(".")[1])


def unseen() -> frozenset[str]:
    """What the linter's own list of these has to be."""
    return frozenset(each.rule for each in standings().values() if not each.right and not each.proved) - BY_VERSION
