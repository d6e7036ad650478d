# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many templates over the same variables, each of these rendered once; and the collection's own templates compiled
once in a run.

A file of its own: Ansible compiles a template again each time that someone names it, and again in each of its workers,
which was half of what a node on which nothing differs cost the controller. What is saved here is known only here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ansible.errors import AnsibleError
from ansible.template import Templar, is_trusted_as_template, trust_as_template

from .argument_spec import plain
from .variables import NAME

_ONE = re.compile(r"\{\{ (winkube_[a-z0-9_]+) \}\}")
_COMPILED: dict[tuple[str, bool, bool], Any] = {}
"""The collection's own templates, by text and by whether blocks are trimmed behind and before. Code belongs to no
environment: Jinja's cache of bytecode keeps it likewise."""
_WANTED: set[str] = set()
"""The texts that are being compiled."""


def keep_compiled(templates: Iterable[str], **how: Any) -> None:
    """Compiles these now, before workers are forked, and lets Ansible take what was compiled. Where Ansible's inside is
    another one, it compiles as ever.

    Args:
        templates: Texts of the collection, as its roles have them; no one else's are touched.
        how: What they are rendered with, as `Templar.template` has it.
    """
    templar = Templar(loader=None, variables={})
    kind: Any = type(getattr(getattr(templar, "_engine", None), "environment", None))
    known = {source for source, *_trimmed in _COMPILED}
    wanted = {str(text) for text in templates if "{{" in text or "{%" in text} - known
    if not wanted or not callable(getattr(kind, "compile", None)):
        return
    if not getattr(kind.compile, "keeps", False):
        kind.compile = _keeping(kind.compile)
    _WANTED.update(wanted)
    for text in wanted:
        with suppress(AnsibleError):  # its variables are not known here
            templar.template(trust_as_template(text), **how)
    _WANTED.clear()


def _keeping(compiles: Callable[..., Any]) -> Callable[..., Any]:
    def kept(environment: Any, source: Any, *arguments: Any, **keywords: Any) -> Any:
        if arguments or keywords or not isinstance(source, str):
            return compiles(environment, source, *arguments, **keywords)
        key = (source, environment.trim_blocks, environment.lstrip_blocks)
        if key not in _COMPILED and source in _WANTED:
            _COMPILED[key] = compiles(environment, source)
        return _COMPILED[key] if key in _COMPILED else compiles(environment, source)

    kept.keeps = True  # type: ignore[attr-defined]
    return kept


def texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


class Rendering:
    """Renders with `render`, which renders with `variables`; these are changed.

    A variable that is a template itself gets its value as soon as a template names it. One that has none stays as it
    is: it fails, as it would without this, where its value is wanted.
    """

    def __init__(self, variables: dict[str, Any], render: Callable[[Any], Any]) -> None:
        self._variables, self._render = variables, render
        self._seen: set[str] = set()

    def of(self, value: Any) -> Any:
        """A value with its templates filled in. AnsibleError if that cannot be done now."""
        if isinstance(value, Mapping):
            return {name: self.of(each) for name, each in value.items()}
        if not isinstance(value, str) or not is_trusted_as_template(value):
            return self._render(value)
        for name in NAME.findall(value):
            self._settle(name)
        one = _ONE.fullmatch(value)
        if one and one[1] in self._variables and _is_plain(found := self._variables[one[1]]):
            return plain(found)
        return self._render(value)

    def _settle(self, name: str) -> None:
        value = self._variables.get(name)
        if name in self._seen or not isinstance(value, str) or not is_trusted_as_template(value) or "{" not in value:
            return
        self._seen.add(name)
        with suppress(AnsibleError, TypeError):  # TypeError: `omit` is not a value
            self._variables[name] = self.of(value)


def _is_plain(value: Any) -> bool:
    """Whether no template is in it."""
    if isinstance(value, Mapping):
        return all(_is_plain(each) for each in value.values())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return "{" not in value or not is_trusted_as_template(value)
    return value is None or isinstance(value, (bool, int, float))
