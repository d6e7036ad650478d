# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that the API server cannot decode, fields that the API does not have at their place, and those without effect
on Windows that no other rule covers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from math import isinf
from typing import Any

from ..facts.fields import Field, types, verdicts
from ..facts.quantity import quantity
from ..foreign.spelling import meant
from .catalog import ObjectCase, PodCase
from .model import Hit, Path, Severity, show_path
from .rule import Rule, always, short
from .workload import TEMPLATES

KINDS = (*TEMPLATES, "Service")


def _walk(value: Any, owner: str, path: Path) -> Iterator[tuple[Path, str, str, Field | None]]:
    """(path, type, name, field) of everything in a value; None for a field that the type does not have."""
    known = types().get(owner)
    if known is None or not isinstance(value, dict):
        return
    for name, inner in value.items():
        field = known.get(name)
        yield (*path, name), owner, name, field
        if field is None or not field.below or inner is None:
            continue
        if field.several == "*":
            for number, each in enumerate(inner if isinstance(inner, list) else ()):
                yield from _walk(each, field.below, (*path, name, number))
        elif field.several == "%":
            for key, each in inner.items() if isinstance(inner, dict) else ():
                yield from _walk(each, field.below, (*path, name, key))
        else:
            yield from _walk(inner, field.below, (*path, name))


@lru_cache(maxsize=1)
def _fields(case: PodCase) -> tuple[tuple[Path, str, str, Field | None], ...]:
    return tuple(_walk(case.pod.spec, "PodSpec", ("spec",)))


def _is_for_windows(case: ObjectCase) -> bool:
    """Whether the object is, or may be, about Windows pods: it may be too broken to say so where it is looked for.

    A Service may be if it selects none of the pods of the input, of which some are Windows pods.
    """
    thing = case.object
    pods = [each for each in case.catalog.pods if each.pod.object is thing]
    if thing.kind == "Service":
        selector = thing.spec.get("selector")
        selected = case.catalog.select_pods(selector, thing.namespace) if isinstance(selector, dict) else []
        pods = selected or case.catalog.pods
    if pods:
        return any(each.target.windows for each in pods) or (
            thing.kind != "Service" and pods[0].target.os == "unknown" and _names_windows(thing.value)
        )
    return thing.kind != "Service" and _names_windows(thing.value)


def _names_windows(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_names_windows(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return any(map(_names_windows, value))
    return isinstance(value, str) and "windows" in value.lower()


# What a value has to be, in words, and what to do.
_EXPECTED = {
    "string": ("a string", "Put it in quotes."),
    "bool": ("true or false", "Write true or false without quotes."),
    "int32": ("a whole number", "Write a whole number, without quotes and unit."),
    "int64": ("a whole number", "Write a whole number, without quotes and unit."),
    "quantity": ("a quantity", "Write a number with a suffix of the API: 512Mi, 2Gi, 500m."),
    "intOrString": ("a whole number or a string", "Write a whole number, or a name in quotes."),
    "time": ("a time", 'Write a time as RFC 3339 has it: "2026-01-31T12:00:00Z".'),
    "list": ("a list", "Write a list: each item behind a dash, or all of them in brackets."),
    "map": ("a mapping", "Write a mapping of names to values."),
}
_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63}
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")


def _decodes(kind: str, value: Any) -> bool:
    """Whether a scalar is read into a field of that kind. Source: Go's encoding/json; k8s.io/apimachinery
    pkg/api/resource, Quantity.UnmarshalJSON; pkg/util/intstr, IntOrString.UnmarshalJSON."""
    # A number that no float can hold, as in a hash 12e45678, is a string to kubectl.
    if not isinstance(value, str | bool | int | float | dict | list) or (isinstance(value, float) and isinf(value)):
        return True
    if kind in _INTEGERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return value == int(value) and -_INTEGERS[kind] <= value < _INTEGERS[kind]
    if kind == "quantity":
        return quantity(value.strip() if isinstance(value, str) else value) is not None
    if kind == "intOrString":
        return isinstance(value, str) or (isinstance(value, int) and _decodes("int32", value))
    if kind == "time":
        return isinstance(value, str) and _TIME.fullmatch(value) is not None
    return isinstance(value, bool) if kind == "bool" else isinstance(value, str)


def _undecoded(value: Any, field: Field, path: Path) -> Iterator[tuple[Path, Any, str]]:
    """(path, value, what it has to be) of what is not of its kind, the outermost only."""
    if value is None or field.kind == "any":
        return
    if field.several == "*":
        if isinstance(value, list):
            for number, each in enumerate(value):
                yield from _undecoded(each, Field(field.kind, "", 0, None), (*path, number))
        else:
            yield path, value, "list"
    elif field.several == "%":
        if isinstance(value, dict):
            for key, each in value.items():
                yield from _undecoded(each, Field(field.kind, "", 0, None), (*path, key))
        else:
            yield path, value, "map"
    elif not field.below:
        if not _decodes(field.kind, value):
            yield path, value, field.kind
    elif not isinstance(value, dict):
        yield path, value, "map"
    else:
        known = types()[field.below]
        for name, inner in value.items():
            if (one := known.get(name)) is not None:
                yield from _undecoded(inner, one, (*path, name))


def _undecodable(case: ObjectCase) -> Iterator[Hit]:
    found = list(_undecoded(dict(case.object.value), Field(case.object.kind, "", 0, None), ()))
    if found and _is_for_windows(case):
        for path, value, kind in found:
            expected, todo = _EXPECTED[kind]
            field = show_path(path[-2:] if isinstance(path[-1], int) else path[-1:])
            yield Hit(path, {"field": field, "value": _described(value), "expected": expected, "todo": todo})


def _described(value: Any) -> str:
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f'the string "{short(value)}"'


@lru_cache(maxsize=1024)
def _like(owner: str, name: str) -> str:
    return meant(name, types()[owner])


@cache
def _places(root: str) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Name -> the paths of types, from `root`, that have such a field."""
    found: dict[str, list[tuple[str, ...]]] = {}
    waiting: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((root,), ())]
    while waiting:
        owners, path = waiting.pop()
        for name, field in types()[owners[-1]].items():
            found.setdefault(name, []).append(path)
            if field.below and field.below not in owners:
                waiting.append(((*owners, field.below), (*path, name)))
    return {name: tuple(paths) for name, paths in found.items()}


def _belongs(root: str, path: Path) -> str:
    """Where the field at `path` has its place in an object of this kind: the nearest one; empty if there is
    none."""
    here, name = tuple(part for part in path[:-1] if isinstance(part, str)), path[-1]

    def distance(place: tuple[str, ...]) -> tuple[int, int]:
        common = next((n for n, (one, other) in enumerate(zip(here, place, strict=False)) if one != other), None)
        shared = min(len(here), len(place)) if common is None else common
        up, down = len(here) - shared, len(place) - shared
        return up + down, up

    places = _places(root).get(str(name), ())
    if not places:
        return ""
    place = min(places, key=distance)
    return ".".join(place) or "the object itself"


def _unknown_fields(case: ObjectCase) -> Iterator[Hit]:
    """Fields whose place is elsewhere, that are misspelt, or that this release does not have."""
    thing = case.object
    if not _is_for_windows(case):
        return
    told: Path = ("",)
    for path, owner, name, field in _walk(dict(thing.value), thing.kind, ()):
        if path[: len(told)] == told or not isinstance(name, str) or name.startswith("$"):
            continue
        # It has a rule of its own for its fields.
        if owner == "PodSecurityContext":
            continue
        if field is not None:
            if why := _why_not(field, owner, case.profile.minor):
                told = path
                yield Hit(path, {"value": name, "owner": owner, "why": why, "hint": ""})
            continue
        place, near = _belongs(thing.kind, path), _like(owner, name)
        if place or near:
            told = path
            hint = f" {name} belongs to {place}." if place else f" Did you mean {near}?"
            yield Hit(path, {"value": name, "owner": owner, "why": "does not have", "hint": hint})


def _why_not(field: Field, owner: str, minor: int) -> str:
    """Why this release does not have a field; only of a pod's, since of others nothing about Windows depends on it."""
    if owner == "SecurityContext" or owner not in _of_pods():
        return ""
    if field.is_gone(minor):
        return "has not any more"
    # Of a type that is younger itself, the field that leads to it tells, or it had another name.
    known = any(each.has_come(minor) for each in types()[owner].values())
    return f"has since 1.{field.first}" if known and not field.has_come(minor) else ""


@cache
def _of_pods() -> frozenset[str]:
    seen, waiting = {"PodSpec"}, ["PodSpec"]
    while waiting:
        for field in types()[waiting.pop()].values():
            if field.below and field.below not in seen:
                seen.add(field.below)
                waiting.append(field.below)
    return frozenset(seen)


def _without_effect(case: PodCase) -> Iterator[Hit]:
    judged = verdicts()
    for path, owner, name, _field in _fields(case):
        found = judged.get((owner, name))
        if found is not None and not found.rules and not found.why and found.judge(case.profile.minor) == "ignored":
            yield Hit(path, {"value": name})


RULES: tuple[Rule, ...] = (
    Rule(
        id="undecodable-value",
        title="Values that the API server cannot read",
        level=always(Severity.ERROR),
        find=_undecodable,
        message="{field} has to be {expected}, and is {value}: the API server refuses the object, which it cannot"
        " read.",
        remedy="{todo}",
        source="k8s.io/api v0.22 to v0.37, types.go; tests/corpus/types, what kube-apiserver 1.37 said of each",
        kinds=KINDS,
        paths=("every field of workloads, pods and Services",),
        all_pods=True,
    ),
    Rule(
        id="unknown-field",
        title="Fields that the API does not have at their place",
        level=always(Severity.WARNING),
        find=_unknown_fields,
        message="{owner} of this Kubernetes {why} {value}: kubectl says so and stops, another client's is"
        " dropped.{hint}",
        remedy="Correct the name or its place, or remove it.",
        source="k8s.io/api v0.22 to v0.37, types.go; Kubernetes documentation, Server side field validation",
        kinds=KINDS,
        paths=("every field of workloads, pods and Services",),
        all_pods=True,
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
