# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every field of the API that a pod, its volumes and its Services can have, and what Windows makes of it.

api_fields.txt is generated (tests/fields). field_verdicts.txt beside it is written by hand: type, field, verdict by
release, source, and the rules about it or why there is none. Verdicts: `works`; `ignored`: accepted, without effect;
`refused`: the pod is refused or does not start; `depends`: on the value, on other fields or on the cluster. A file of
its own: facts know no rules of the linter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VERDICTS = ("works", "ignored", "refused", "depends")
SOURCES = (
    *("apiserver", "scheduler", "controllers", "kubelet", "kubelet-windows", "winkernel", "containerd", "hcsshim"),
    *("csi", "cni", "ingress"),
)


SCALARS = ("string", "bool", "int32", "int64", "quantity", "intOrString", "time", "any")
JUDGED = (
    *("PodSpec", "PersistentVolumeClaimSpec", "PersistentVolumeSpec", "ServiceSpec"),
    *("StorageClass", "CSIDriverSpec", "IngressSpec", "NetworkPolicySpec"),
)
"""Somebody has said of each field that is reached from these, but for its metadata, what Windows makes of it."""
_METADATA = frozenset(["apiVersion", "kind", "metadata"])


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: the type below it, of this table, or one of SCALARS; `several`: "*" a list, "%" a map. `last`: None if it
    is still there."""

    kind: str
    several: str
    first: int
    last: int | None

    @property
    def below(self) -> str:
        """The type below it; empty for a scalar."""
        return "" if self.kind in SCALARS else self.kind

    def has_come(self, minor: int) -> bool:
        return self.first <= minor

    def is_gone(self, minor: int) -> bool:
        return self.last is not None and self.last < minor


@dataclass(frozen=True, slots=True)
class Verdict:
    """`spans`: (verdict, first minor, last minor or None). `why`: why no rule covers what does not work."""

    spans: tuple[tuple[str, int, int | None], ...]
    source: str
    rules: tuple[str, ...]
    why: str

    def judge(self, minor: int) -> str:
        """Empty where that release has no such field."""
        return next(
            (name for name, first, last in self.spans if first <= minor and (last is None or minor <= last)), ""
        )


def _lines(name: str) -> Iterator[str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def types() -> Mapping[str, Mapping[str, Field]]:
    """Type -> name -> field."""
    found: dict[str, dict[str, Field]] = {}
    for owner, name, kind, first, last in map(str.split, _lines("api_fields.txt")):
        several = kind[0] if kind[0] in "*%" else ""
        field = Field(kind.lstrip("*%"), several, int(first), None if last == "-" else int(last))
        found.setdefault(owner, {})[name] = field
    return found


@cache
def verdicts() -> Mapping[tuple[str, str], Verdict]:
    """(type, name) -> verdict."""
    found = {}
    for line in _lines("field_verdicts.txt"):
        row, _hash, why = line.partition(" # ")
        owner, name, spans, source, *rules = row.split()
        found[owner, name] = Verdict(tuple(map(_span, spans.split(","))), source, tuple(rules), why)
    return found


def _span(text: str) -> tuple[str, int, int | None]:
    verdict, _colon, minors = text.partition(":")
    first, _dash, last = minors.partition("-")
    return verdict, int(first), int(last) if last else None


def without_verdict() -> list[tuple[str, str]]:
    """(type, name) of fields of the API that no one has judged."""
    waiting, seen = list(JUDGED), set(JUDGED)
    found = []
    while waiting:
        owner = waiting.pop()
        for name, field in types()[owner].items():
            if name in _METADATA:
                continue
            if (owner, name) not in verdicts():
                found.append((owner, name))
            if field.below and field.below not in seen:
                seen.add(field.below)
                waiting.append(field.below)
    return found
