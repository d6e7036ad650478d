# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration file: what is known of the cluster, and which findings are accepted.

profile: "1.33"
builds: [2022]
dsr: true
ignore:
  - rule: termination-grace-period
    reason: the programs handle CTRL_SHUTDOWN_EVENT
    files: ["charts/web/*"]
    objects: ["Deployment default/*"]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .manifest import Document, UnreadableError, read_documents
from .model import as_list
from .profile import SETTINGS
from .rulebook import UnknownRuleError, rule_id
from .silence import Ignore

DEFAULT_FILE = ".workload-lint.yml"
_KEYS = (*SETTINGS, "exclude", "ignore")
_ENTRY_KEYS = ("rule", "reason", "files", "objects")


class ConfigError(Exception):
    """A sentence with file and line."""


@dataclass(frozen=True, slots=True)
class Config:
    """`settings` are those of profile.with_settings, still unchecked; `file` is empty if there is none."""

    settings: dict[str, Any] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    file: str = ""


def read_config(path: Path) -> Config:
    """Read the file. Raises ConfigError, with line and remedy, for anything that it would otherwise ignore."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        documents = read_documents(str(path), text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the configuration cannot be read: {error}.") from error
    except UnreadableError as error:
        raise ConfigError(str(error)) from error
    if not documents:
        return Config(file=str(path))
    document = documents[0]
    if not isinstance(document.value, dict) or len(documents) > 1:
        raise ConfigError(f"{path}: the configuration has to be one mapping with the keys {', '.join(_KEYS)}.")
    for key in document.value:
        if key not in _KEYS:
            raise ConfigError(f"{_locate(document, key)}: unknown key {key!r}; known keys are {', '.join(_KEYS)}.")
    entries = document.value.get("ignore")
    if entries is not None and not isinstance(entries, list):
        raise ConfigError(f"{_locate(document, 'ignore')}: ignore has to be a list of entries with rule and reason.")
    ignore = tuple(_entry(document, number, entry) for number, entry in enumerate(as_list(entries)))
    exclude = document.value.get("exclude") or []
    if not isinstance(exclude, list) or not all(isinstance(each, str) for each in exclude):
        raise ConfigError(f"{_locate(document, 'exclude')}: exclude has to be a list of patterns of files.")
    settings = {key: value for key, value in document.value.items() if key in SETTINGS}
    return Config(settings, tuple(exclude), ignore, str(path))


def _locate(document: Document, *path: str | int) -> str:
    line, column = document.position(path)
    return f"{document.file}:{line}:{column}"


def _entry(document: Document, number: int, entry: Any) -> Ignore:
    where = _locate(document, "ignore", number)
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: an entry of ignore is a mapping with rule and reason, not {entry!r}.")
    for key in entry:
        if key not in _ENTRY_KEYS:
            raise ConfigError(
                f"{_locate(document, 'ignore', number, key)}: unknown key {key!r}; known keys are "
                f"{', '.join(_ENTRY_KEYS)}."
            )
    names = entry.get("rule")
    names = [names] if isinstance(names, str) else as_list(names)
    if not names:
        raise ConfigError(f"{where}: rule is missing: name the rule, or a list of rules, that is accepted.")
    try:
        rules = frozenset(rule_id(str(name)) for name in names)
    except UnknownRuleError as error:
        raise ConfigError(f"{_locate(document, 'ignore', number, 'rule')}: {error}") from None
    reason = entry.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise ConfigError(f"{where}: reason is missing: say why the finding is accepted.")
    return Ignore(
        rules,
        reason.strip(),
        _patterns(document, number, entry, "files"),
        _patterns(document, number, entry, "objects"),
        where,
    )


def _patterns(document: Document, number: int, entry: dict[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{_locate(document, 'ignore', number, key)}: {key} has to be a list of patterns.")
    return tuple(value)
