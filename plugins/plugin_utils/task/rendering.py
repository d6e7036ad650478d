# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many templates over the same variables, each of these rendered once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ansible.errors import AnsibleError
from ansible.template import is_trusted_as_template

from .argument_spec import plain
from .variables import NAME

_ONE = re.compile(r"\{\{ (winkube_[a-z0-9_]+) \}\}")


class Rendering:
    """Renders with `render`, which renders with `variables`; these are changed.

    A variable that is a template itself gets its value as soon as a template names it. One that has none stays as it
    is: it fails, as it would without this, where its value is wanted.
    """

    def __init__(self, variables: dict[str, Any], render: Callable[[Any], Any]) -> None:
        self._variables, self._render = variables, render
        self._seen: set[str] = set()
        self._rendered: dict[str, str | int | float] = {}

    def render(self, value: Any) -> Any:
        """A value with its templates filled in. AnsibleError if that cannot be done now."""
        if isinstance(value, Mapping):
            return {name: self.render(each) for name, each in value.items()}
        if not isinstance(value, str) or not is_trusted_as_template(value):
            return self._render(value)
        self.settle(value)
        one = _ONE.fullmatch(value)
        if one and one[1] in self._variables and _is_plain(found := self._variables[one[1]]):
            return plain(found)
        text = str(value)
        if text not in self._rendered:
            found = self._render(value)
            if not isinstance(found, str | int | float):  # no one else may change it
                return found
            self._rendered[text] = found
        return self._rendered[text]

    def settle(self, text: str) -> None:
        """Give each variable that a template names its value."""
        for name in NAME.findall(text):
            self._settle(name)

    def _settle(self, name: str) -> None:
        value = self._variables.get(name)
        if name in self._seen or not isinstance(value, str) or not is_trusted_as_template(value) or "{" not in value:
            return
        self._seen.add(name)
        with suppress(AnsibleError, TypeError):  # TypeError: `omit` is not a value
            self._variables[name] = self.render(value)


def _is_plain(value: Any) -> bool:
    """Whether no template is in it."""
    if isinstance(value, Mapping):
        return all(_is_plain(each) for each in value.values())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return "{" not in value or not is_trusted_as_template(value)
    return value is None or isinstance(value, (bool, int, float))
