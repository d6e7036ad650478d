# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML, JSON and TOML with limits: depth, and what aliases make of a small text.

A text that keeps the limits has no value that contains itself, and none that is much larger than the text: it can be
printed, compared and walked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from .files import ForeignError

DEEPEST = 128
"""Levels of lists and mappings. The deepest definitions of Kubernetes have some 40."""
EXPANSION = 10
"""So many times its own size a text may be with its aliases written out."""
SMALL = 100_000
"""Characters that a text may have with its aliases written out, however small it is."""
MOST_TOML = 1 << 20
"""Characters."""
_LONGEST_NUMBER = 4000
"""Digits. Python refuses more than 4300, with a sentence about itself."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, where PyYAML has it."""


def load_yaml(text: str) -> Any:
    """The value of a text of one document. ForeignError, whose sentence does not quote the text."""
    loader = LOADER(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        check_node(node)
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise explain_yaml(error) from error
    finally:
        loader.dispose()


def explain_yaml(error: BaseException) -> ForeignError:
    """Why a text is not YAML, and where. The sentence quotes nothing of the text, which may be a secret."""
    if isinstance(error, ForeignError):
        return error
    if isinstance(error, RecursionError):
        return ForeignError(_TOO_DEEP)
    if not isinstance(error, yaml.YAMLError):
        return ForeignError("it is not valid YAML: it has a date that does not exist, or a number that is too long.")
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    where = f" (line {line}, column {column})" if mark else ""
    problem = str(getattr(error, "problem", None) or "")
    said = f": {problem}" if problem and not _QUOTES.search(problem) else ""
    return ForeignError(f"it is not valid YAML{said}{where}.", line, column)


_QUOTES = re.compile(r"['\"]")
"""PyYAML puts what it quotes of a text between quotes."""
_TOO_DEEP = f"its values are nested more than {DEEPEST} deep."


def check_node(node: yaml.Node) -> None:
    """ForeignError, with the place, if the tree of a document is too deep, contains itself, or is too large with its
    aliases written out. Time is linear in the text."""
    size = node.end_mark.index - node.start_mark.index
    most = max(SMALL, EXPANSION * size)
    done: dict[int, tuple[int, int]] = {}
    """Of a node its size with all aliases written out, and its height."""
    entered: set[int] = set()
    waiting = [node]
    while waiting:
        one = waiting[-1]
        key = id(one)
        if key in done:
            waiting.pop()
            continue
        below = [*_children(one)]
        if key not in entered:
            if len(entered) > DEEPEST:
                raise _at(_TOO_DEEP, one)
            entered.add(key)
            for child in below:
                if id(child) in entered:
                    raise _at("an alias stands inside the very value that it names.", child)
                waiting.append(child)
            continue
        entered.discard(key)
        waiting.pop()
        own = len(one.value) if isinstance(one, yaml.ScalarNode) else 0
        whole = 1 + own + sum(done[id(child)][0] for child in below)
        height = 1 + max((done[id(child)][1] for child in below), default=0)
        if height > DEEPEST:
            raise _at(_TOO_DEEP, one)
        if whole > most:
            raise _at(f"its aliases make more than {most} characters of {size}: write the values out.", one)
        done[key] = whole, height


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _at(sentence: str, node: yaml.Node) -> ForeignError:
    mark = node.start_mark
    return ForeignError(sentence, mark.line + 1, mark.column + 1)


_OF_JSON = re.compile(rf'"(?:[^"\\]|\\.)*"?|[\[{{]|[\]}}]|\d{{{_LONGEST_NUMBER},}}', re.DOTALL)


def check_json(text: str) -> None:
    """ForeignError for values nested too deeply and for numbers that Python does not read. Time is linear."""
    depth = 0
    for found in _OF_JSON.finditer(text):
        sign = found.group()[0]
        if sign in "[{":
            depth += 1
            if depth > DEEPEST:
                raise ForeignError(_TOO_DEEP, text.count("\n", 0, found.start()) + 1)
        elif sign in "]}":
            depth -= 1
        elif sign != '"':
            raise ForeignError("it has a number of thousands of digits.", text.count("\n", 0, found.start()) + 1)


def load_json(text: str) -> Any:
    """The value. ForeignError."""
    check_json(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ForeignError(
            f"it is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).", error.lineno, error.colno
        ) from error


def check_toml(text: str) -> None:
    """ForeignError for what Python's reader of TOML takes too long for: keys of hundreds of parts."""
    if len(text) > MOST_TOML:
        raise ForeignError(f"a configuration in TOML of more than {MOST_TOML >> 20} MB is not read.")
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].count(".") > DEEPEST:
            raise ForeignError(_TOO_DEEP, number)


def shorten(value: Any, most: int = 200) -> str:
    """A value for a sentence: on one line, its control characters escaped, at most `most` characters."""
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in str(value)[: most + 1])
    return text if len(text) <= most else f"{text[: most - 3]}..."
