# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets that a run knows: what sets an option that is secret, whatever its name, and values whose names say that
they are secret, wherever they are in variables and kubeconfigs.

A file of its own: the redaction takes values and does not ask where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..components.options import list_secrets as list_secret_options
from ..components.registry import COMPONENTS
from ..engine.address import list_secrets as list_of_address
from ..engine.secret import SHORTEST, Secret
from ..foreign.files import ForeignError, read_text
from ..foreign.values import load_yaml
from ..redaction.redact import is_secret_name

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


def list_templates() -> dict[str, tuple[tuple[str, ...], ...]]:
    """The templates that set secret options of components, each with the keys of the secrets in its value."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for component in COMPONENTS:
        for template, keys in list_secret_options(component.interface):
            found[template] = (*found.get(template, ()), keys)
    return found


def list_given(value: Any, keys: tuple[str, ...], harmless: Collection[str]) -> Iterator[Secret[str]]:
    """The secrets at these keys of a value that has been rendered, with those in their addresses.

    Variables of services and headers are secret whatever their names. So that a bundle still says something, what is
    in every log is not taken for one (`is_common`), nor is `harmless`, what the run says openly elsewhere.
    """
    if isinstance(value, list | tuple):
        for each in value:
            yield from list_given(each, keys, harmless)
    elif isinstance(value, Mapping):
        for each in [value.get(keys[0])] if keys else value.values():
            yield from list_given(each, keys[1:], harmless)
    elif value is not None and not keys:
        text = str(value).strip()
        if _ADDRESS.match(text):
            yield from (each for each in list_of_address(text) if len(each.reveal()) >= SHORTEST)
        elif text not in harmless and not is_common(text):
            yield Secret(text)


def is_common(text: str) -> bool:
    """Whether a value is a switch, a level, a number, a quantity or duration, a path, or a list of addresses."""
    if len(text) < SHORTEST or _PATH.match(text):
        return True
    return all(_COMMON.fullmatch(part) for part in _PARTS.split(text) if part)


_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]{1,15}://")
_PATH = re.compile(r"(?i)[a-z]:[\\/]|npipe:|%[a-z]+%|\\\\[.?]\\")
_PARTS = re.compile(r"[,;\s]+")
_COMMON = re.compile(
    r"(?i)true|false|yes|no|on|off|none|null|always|never|auto|default|enabled|disabled|trace|debug|info|notice|warn"
    r"|warning|error|fatal|panic|json|text|logfmt|localhost|cluster|application/[a-z.+-]+"
    r"|v?\d{1,5}(?:\.\d{1,5})*[a-z%]{0,3}(?:\d{1,5}[a-z]{1,2})*"
    r"|(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?(?::\d+)?|\[?[0-9a-f]*:[0-9a-f:.]*\]?(?:/\d+)?(?::\d+)?|\*?\.[a-z][a-z0-9.-]*"
)


def list_secrets(value: Any, name: str = "", depth: int = 0) -> Iterator[Secret[str]]:
    """The values in a variable that has been rendered, also of a name beside its value. Places of files are none."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from list_secrets(each, str(key), depth + 1)
        if isinstance(value.get("name"), str) and isinstance(value.get("value"), str):
            yield from list_secrets(value["value"], value["name"], depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from list_secrets(each, name, depth + 1)
    elif isinstance(value, str) and names_known(name) and len(value.strip()) >= SHORTEST and not _PLACE.match(value):
        yield Secret(value)


def list_of_kubeconfigs(files: Iterable[Path]) -> Iterator[Secret[str]]:
    """The credentials in kubeconfigs and in the files of their tokens; none of what cannot be read, which others
    tell."""
    for file in files:
        with suppress(ForeignError, OSError):
            found = load_yaml(read_text(file))
            yield from list_secrets(found)
            for user in _list_entries(found, "users", "user"):
                if isinstance(place := user.get("tokenFile"), str):
                    yield from _list_token(file.parent / place)
            for cluster in _list_entries(found, "clusters", "cluster"):
                for name in ("server", "proxy-url"):
                    yield from list_of_address(str(cluster.get(name) or ""))


def _list_entries(document: Any, name: str, of: str) -> Iterator[Mapping[str, Any]]:
    entries = document.get(name) if isinstance(document, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(found := entry.get(of), Mapping):
            yield found


def _list_token(file: Path) -> Iterator[Secret[str]]:
    with suppress(ForeignError, OSError):
        yield Secret(read_text(file).strip())
