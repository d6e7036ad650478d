"""Mistakes in values: what a Windows node does with them, and what a finding has to say (2026-11-25.yml has the form).

Those of the files beside this one taught the rules; those of ../frozen did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, add_unreadable, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import (
    UnreadableError,
    live_documents,
    read_documents,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import HYGIENE

from tests.corpus.planted import changed

LEARNT = tuple(sorted(Path(__file__).parent.glob("*.yml")))
_SEVERITY = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


@dataclass(frozen=True, slots=True)
class Mistake:
    """`fields`: parts of a path, one of which the finding's path holds; `says`: what its message matches."""

    mistake: str
    outcome: str
    report: Report
    fields: tuple[str, ...]
    says: re.Pattern[str]

    @property
    def hits(self) -> list[Finding]:
        return [
            each
            for each in self.report.findings
            if each.rule not in HYGIENE
            and any(field in each.path for field in self.fields)
            and self.says.search(f"{each.message} {each.remedy}")
        ]

    @property
    def found(self) -> bool:
        return bool(self.hits)

    @property
    def as_bad_as_it_is(self) -> bool:
        return any(each.severity.name == _SEVERITY[self.outcome] for each in self.hits)


def mistakes(*files: Path) -> Iterator[Mistake]:
    for file in files:
        for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
            says, fields = re.compile(entry["says"]), tuple(entry["field"])
            yield Mistake(entry["mistake"], entry["outcome"], _report(entry), fields, says)


def _report(entry: dict[str, Any]) -> Report:
    if "raw" in entry:
        try:
            return lint(read_documents("a.yml", entry["raw"]), Profile())
        except UnreadableError as error:
            return add_unreadable(lint([], Profile()), [error])
    return lint(live_documents([changed(entry), *entry.get("more", ())]), Profile())
