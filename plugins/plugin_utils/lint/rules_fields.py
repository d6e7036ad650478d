# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that the API does not have, and those without effect on Windows that no other rule covers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..facts.fields import Field, types, verdicts
from ..foreign.spelling import meant
from .catalog import PodCase
from .model import Hit, Path, Severity
from .rule import Rule, always
from .workload import TEMPLATES


def _walk(value: Any, owner: str, path: Path) -> Iterator[tuple[Path, str, str, Field | None]]:
    """(path, type, name, field) of everything in a value; None for a field that the type does not have."""
    known = types().get(owner)
    if known is None or not isinstance(value, dict):
        return
    for name, inner in value.items():
        field = known.get(name)
        yield (*path, name), owner, name, field
        if field is None or not field.kind or inner is None:
            continue
        if field.several == "*":
            for number, each in enumerate(inner if isinstance(inner, list) else ()):
                yield from _walk(each, field.kind, (*path, name, number))
        elif field.several == "%":
            for key, each in inner.items() if isinstance(inner, dict) else ():
                yield from _walk(each, field.kind, (*path, name, key))
        else:
            yield from _walk(inner, field.kind, (*path, name))


@lru_cache(maxsize=1)
def _fields(case: PodCase) -> tuple[tuple[Path, str, str, Field | None], ...]:
    return tuple(_walk(case.pod.spec, "PodSpec", ("spec",)))


@lru_cache(maxsize=1024)
def _like(owner: str, name: str) -> str:
    return meant(name, types()[owner])


def _unknown_fields(case: PodCase) -> Iterator[Hit]:
    """Unknown fields. Custom kinds may have fields besides those of a pod."""
    if case.pod.object.sort not in TEMPLATES or not case.pod.whole:
        return
    told: Path = ("",)
    for path, owner, name, field in _fields(case):
        if path[: len(told)] == told:
            continue
        there = field is not None and field.first <= case.profile.minor
        gone = field is not None and field.last is not None and field.last < case.profile.minor
        # A security context has its own rules for Windows.
        spoken_of = owner == "PodSecurityContext" or (owner == "SecurityContext" and field is not None)
        if isinstance(name, str) and (not there or gone) and not spoken_of:
            near = _like(owner, name) if field is None else ""
            why = "has not any more" if gone else f"has since 1.{field.first}" if field else "does not have"
            hint = f" Did you mean {near}?" if near else ""
            told = path
            yield Hit(path, {"value": name, "owner": owner, "why": why, "hint": hint})


def _without_effect(case: PodCase) -> Iterator[Hit]:
    judged = verdicts()
    for path, owner, name, _field in _fields(case):
        found = judged.get((owner, name))
        if found is not None and not found.rules and not found.why and found.judge(case.profile.minor) == "ignored":
            yield Hit(path, {"value": name})


RULES: tuple[Rule, ...] = (
    Rule(
        id="unknown-field",
        title="Fields that the API does not have",
        level=always(Severity.WARNING),
        find=_unknown_fields,
        message="{owner} of this Kubernetes {why} {value}: kubectl says so and stops, another client's is"
        " dropped.{hint}",
        remedy="Correct the name or its place, or remove it.",
        source="k8s.io/api v0.22 to v0.37, types.go; Kubernetes documentation, Server side field validation",
        paths=("spec.*",),
    ),
    Rule(
        id="field-without-effect",
        title="Fields without effect on Windows",
        level=always(Severity.WARNING),
        find=_without_effect,
        message="{value} is accepted and has no effect on Windows.",
        remedy="Remove it.",
        source="plugin_utils/facts/field_verdicts.txt",
        paths=("spec.*",),
    ),
)
