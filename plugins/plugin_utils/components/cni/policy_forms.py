# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert endpoint policies to the form of apiVersion 2 without losing a setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...facts.policy_forms import FORMS, NEW_KEYS, Form

Object = Mapping[str, Any]


class NoFormError(Exception):
    """The new form cannot hold a setting of a policy; the text is a sentence."""


def find_dropped(value: Object) -> tuple[str, ...]:
    """The keys of a policy that hcsshim drops under apiVersion 2, as written."""
    return tuple(key for key in value if key.casefold() not in {"type", "settings"})


def find_new_type(kind: str) -> str:
    """The name of a type under apiVersion 2, spelled as in hcsshim; the type itself if it is unknown."""
    folded = kind.casefold()
    old = next((form.type for name, form in FORMS.items() if name.casefold() == folded), "")
    return old or next((name for name in NEW_KEYS if name.casefold() == folded), kind)


def convert(value: Object) -> dict[str, Any]:
    """The policy in the form of apiVersion 2; settings that it already has stay. NoFormError if a setting would be
    lost, which could open a block rule."""
    kind = str(next((each for key, each in value.items() if key.casefold() == "type"), ""))
    inner = next((each for key, each in value.items() if key.casefold() == "settings"), None)
    settings = dict(inner) if isinstance(inner, Mapping) else {}
    name = next((each for each in FORMS if each.casefold() == kind.casefold()), "")
    target = find_new_type(kind)
    form = FORMS.get(name) or Form(target, {})
    own = {each.casefold(): each for each in NEW_KEYS.get(target, ())}
    old = {key.casefold(): new for key, new in form.keys.items()}
    for key in (
        *find_dropped(value),
        *(key for key in settings if key.casefold() in old and key.casefold() not in own),
    ):
        given = settings.pop(key) if key in settings else value[key]
        place = old.get(key.casefold()) or own.get(key.casefold())
        if place is None:
            raise NoFormError(f"the {kind} policy's '{key}' has no place under apiVersion 2")
        _put(settings, place, _value(form, place, given), kind)
    return {"Type": target, **({"Settings": settings} if settings or inner is not None else {})}


def _put(settings: dict[str, Any], key: str, value: Any, kind: str) -> None:
    before = settings.get(key)
    if isinstance(before, list) and isinstance(value, list):
        settings[key] = [*before, *(each for each in value if each not in before)]
    elif before is None:
        settings[key] = value
    elif before != value:
        raise NoFormError(f"the {kind} policy says '{key}' twice, {before!r} and {value!r}")


def _value(form: Form, key: str, value: Any) -> Any:
    if form.numbers is not None and key == "Protocol" and isinstance(value, str):
        if value.isdigit():
            return int(value)
        if value.upper() not in form.numbers:
            raise NoFormError(f"'{value}' is not a protocol")
        return form.numbers[value.upper()]
    return str(value) if key in form.texts and isinstance(value, int) else value
