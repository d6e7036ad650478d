# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets that a run knows: values whose names say that they are secret, wherever they are in variables and
kubeconfigs.

A file of its own: the redaction takes values and does not ask where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..engine.secret import SHORTEST, Secret
from ..foreign.files import ForeignError, read_text
from ..foreign.values import load_yaml
from .redact import is_secret_name

_NO_VALUE = re.compile(
    r"(?:file|path|dir|directory|folder|name|namespace|url|ref|version|mode|ttl|hours?|minutes?|seconds?|id|hash)$",
    re.IGNORECASE,
)
"""Names that are about a secret, and whose values are none."""
_PLACE = re.compile(r"(?:[A-Za-z]:)?[\\/]|~|npipe:")
_DEEPEST = 12


def names_known(name: str) -> bool:
    """Whether the value of a variable or field of this name is a secret."""
    return is_secret_name(name) and _NO_VALUE.search(name) is None


def has_secret(value: Any, name: str = "", depth: int = 0) -> bool:
    """Whether a variable has such a name, or has it somewhere within; nothing is rendered."""
    if isinstance(value, Mapping):
        return depth < _DEEPEST and any(has_secret(each, str(key), depth + 1) for key, each in value.items())
    if isinstance(value, list | tuple):
        return depth < _DEEPEST and any(has_secret(each, name, depth + 1) for each in value)
    return names_known(name)


def list_secrets(value: Any, name: str = "", depth: int = 0) -> Iterator[Secret[str]]:
    """The values in a variable that has been rendered. Places of files are none."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from list_secrets(each, str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from list_secrets(each, name, depth + 1)
    elif isinstance(value, str) and names_known(name) and len(value.strip()) >= SHORTEST and not _PLACE.match(value):
        yield Secret(value)


def list_of_kubeconfigs(files: Iterable[Path]) -> Iterator[Secret[str]]:
    """The credentials in kubeconfigs; none of one that cannot be read, which others tell."""
    for file in files:
        with suppress(ForeignError, OSError):
            yield from list_secrets(load_yaml(read_text(file)))
