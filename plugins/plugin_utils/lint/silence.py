# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accepted findings: by an annotation on the object, or by an entry in the configuration file.

Both need a reason, and both refuse rule ids that do not exist: a silencing without effect is a trap.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch

from .manifest import KubeObject
from .model import as_map
from .rulebook import UnknownRuleError, rule_id
from .workload import Pod

ANNOTATION = "lint.winkube.node/"


class SilenceError(Exception):
    """An annotation or entry that has no effect or no reason; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """One entry of the configuration file. `files` and `objects` are patterns; empty means all. `base`: the folder
    that the patterns count from."""

    rules: frozenset[str]
    reason: str
    files: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    where: str = field(default="", compare=False)
    base: str = "."

    def covers(self, rule: str, file: str, label: str) -> bool:
        return (
            rule in self.rules
            and (not self.files or any(matches(file, pattern, self.base) for pattern in self.files))
            and (not self.objects or any(fnmatch(label, pattern) for pattern in self.objects))
        )


def matches(file: str, pattern: str, base: str) -> bool:
    """Whether a pattern matches a name, or its end from some folder on; names count from the working folder or from
    `base`, the configuration's."""
    names = {file} if base == "." or file == "-" else {file, os.path.relpath(file, base)}
    return any(fnmatch(name, pattern) or fnmatch(name, f"*/{pattern}") for name in names)


def read_ignored(thing: KubeObject, pod: Pod | None) -> Mapping[str, str]:
    """Rule id -> reason, from the annotations of the object and of its pod template. Raises SilenceError."""
    found: dict[str, str] = {}
    for prefix, holder in _holders(thing, pod):
        for key, reason in holder.items():
            if not isinstance(key, str) or not key.startswith(ANNOTATION):
                continue
            line, column = thing.document.position((*prefix, key))
            where = f"{thing.document.file}:{line}:{column}: annotation {key} of {thing.label}"
            try:
                accepted = rule_id(key.removeprefix(ANNOTATION))
            except UnknownRuleError as error:
                raise SilenceError(f"{where}: {error}") from None
            if not isinstance(reason, str) or not reason.strip():
                raise SilenceError(f"{where}: its value has to be the reason why the finding is accepted.")
            found[accepted] = reason.strip()
    return found


def _holders(thing: KubeObject, pod: Pod | None) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, object]]]:
    path = ("metadata", "annotations")
    yield (*thing.prefix, *path), as_map(thing.metadata.get("annotations"))
    if pod is not None and pod.prefix != thing.prefix:
        yield (*pod.prefix, *path), pod.annotations
