# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration file: what is known of the cluster, and which findings are accepted.

profile: "1.33"
builds: [2022]
dsr: true
paths: [deploy, charts]
charts:
  - {path: charts/web, values: [values/prod.yaml], set: [image.tag=1.2.3]}
ignore:
  - rule: termination-grace-period
    reason: the programs handle CTRL_SHUTDOWN_EVENT
    files: ["charts/web/*"]
    objects: ["Deployment default/*"]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .manifest import Document, UnreadableError, read_documents
from .model import as_list
from .profile import SETTINGS, Profile, SettingError, apply_settings
from .rendering import ChartValues, Rendering
from .rulebook import UnknownRuleError, rule_id
from .silence import Ignore

DEFAULT_FILE = ".workload-lint.yml"
_FLAGS = ("fail_on_unchecked", "build_dependencies")
KEYS = (*SETTINGS, "paths", "exclude", "charts", *_FLAGS, "baseline", "ignore")
_ENTRY_KEYS = ("rule", "reason", "files", "objects")
_CHART_KEYS = ("path", "values", "set")


class ConfigError(Exception):
    """A sentence with file and line."""


@dataclass(frozen=True, slots=True)
class Config:
    """`settings` are those of profile.apply_settings, still unchecked; `file` is empty if there is none.

    `paths`, and the paths of `charts`, are as the working folder sees them; in the file they count from its own folder.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    charts: tuple[ChartValues, ...] = ()
    fail_on_unchecked: bool = False
    build_dependencies: bool = False
    baseline: str = ""
    ignore: tuple[Ignore, ...] = ()
    file: str = ""

    @property
    def folder(self) -> str:
        """From where its patterns of files count."""
        return os.path.dirname(self.file) or "."  # noqa: PTH120

    def profile(self, given: Mapping[str, Any]) -> Profile:
        """The cluster by its settings, and by those given here, which stand before them. Raises SettingError."""
        try:
            own = apply_settings(Profile(), self.settings)
        except SettingError as error:
            raise SettingError(f"{self.file}: {error}") from None
        return apply_settings(own, given)

    def rendering(
        self,
        minor: int,
        charts: Iterable[ChartValues] = (),
        build_dependencies: bool | None = None,
        values: Iterable[str] = (),
        sets: Iterable[str] = (),
    ) -> Rendering:
        """How charts are rendered for Kubernetes 1.`minor`; what is given here stands before the file."""
        build = self.build_dependencies if build_dependencies is None else build_dependencies
        return Rendering(minor, tuple(values), tuple(sets), (*charts, *self.charts), build)


def repository_of(folder: Path) -> Path | None:
    """The root of the git repository that a folder is in."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def find_config(folder: Path) -> Path | None:
    """The configuration of a folder: its own, else the nearest one above it in its git repository."""
    above = [folder, *folder.parents]
    last = above.index(repository_of(folder) or folder)
    found = next((each / DEFAULT_FILE for each in above[: last + 1] if (each / DEFAULT_FILE).is_file()), None)
    return Path(os.path.relpath(found, folder)) if found is not None else None


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
        raise ConfigError(f"{path}: the configuration has to be one mapping with the keys {', '.join(KEYS)}.")
    _refuse_unknown(document, document.value, KEYS)
    entries = document.value.get("ignore")
    if entries is not None and not isinstance(entries, list):
        raise ConfigError(f"{_locate(document, 'ignore')}: ignore has to be a list of entries with rule and reason.")
    ignore = tuple(_entry(document, number, entry) for number, entry in enumerate(as_list(entries)))
    settings = {key: value for key, value in document.value.items() if key in SETTINGS}
    flags = {key: _flag(document, key) for key in _FLAGS}
    paths = tuple(_beside(path, each) for each in _texts(document, document.value, "paths"))
    baseline = document.value.get("baseline", "")
    if not isinstance(baseline, str):
        raise ConfigError(f"{_locate(document, 'baseline')}: baseline has to be the name of a file.")
    baseline = _beside(path, baseline) if baseline else ""
    exclude, charts = _texts(document, document.value, "exclude"), tuple(_charts(document, path))
    return Config(settings, paths, exclude, charts, **flags, baseline=baseline, ignore=ignore, file=str(path))


def _beside(config: Path, name: str) -> str:
    """A name of the configuration, from the working folder."""
    return os.path.normpath(config.parent / name)


def _flag(document: Document, key: str) -> bool:
    value = document.value.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{_locate(document, key)}: {key} is {value!r}; it has to be true or false.")
    return value


def _charts(document: Document, path: Path) -> Iterator[ChartValues]:
    entries = document.value.get("charts") or []
    if not isinstance(entries, list):
        raise ConfigError(
            f"{_locate(document, 'charts')}: charts has to be a list of entries with path, values and set."
        )
    for number, entry in enumerate(entries):
        where = ("charts", number)
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise ConfigError(f"{_locate(document, *where)}: an entry of charts is a mapping with path, not {entry!r}.")
        _refuse_unknown(document, entry, _CHART_KEYS, *where)
        values = tuple(_beside(path, each) for each in _texts(document, entry, "values", *where))
        sets = _texts(document, entry, "set", *where)
        yield ChartValues(_beside(path, entry["path"]), values, sets, _locate(document, *where))


def _refuse_unknown(document: Document, entry: dict[str, Any], known: Sequence[str], *where: str | int) -> None:
    for key in entry:
        if key not in known:
            raise ConfigError(
                f"{_locate(document, *where, key)}: unknown key {key!r}; known keys are {', '.join(known)}."
            )


def _texts(document: Document, holder: dict[str, Any], key: str, *where: str | int) -> tuple[str, ...]:
    value = holder.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{_locate(document, *where, key)}: {key} has to be a list of {_LISTS[key]}.")
    return tuple(value)


_LISTS = {
    "paths": "files, folders and patterns",
    "exclude": "patterns of files",
    "values": "files of values",
    "set": "texts key=value",
    "files": "patterns",
    "objects": "patterns",
}


def _locate(document: Document, *path: str | int) -> str:
    line, column = document.position(path)
    return f"{document.file}:{line}:{column}"


def _entry(document: Document, number: int, entry: Any) -> Ignore:
    where = _locate(document, "ignore", number)
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: an entry of ignore is a mapping with rule and reason, not {entry!r}.")
    _refuse_unknown(document, entry, _ENTRY_KEYS, "ignore", number)
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
        _texts(document, entry, "files", "ignore", number),
        _texts(document, entry, "objects", "ignore", number),
        where,
        os.path.dirname(document.file) or ".",  # noqa: PTH120
    )
