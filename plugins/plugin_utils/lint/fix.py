# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Safe edits: remove fields without effect on Windows, add what a Windows pod should say.

Two guarantees are checked before anything is returned: the edited text has exactly the edited values, and it has no new
finding.
"""

from __future__ import annotations

import copy
import difflib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..facts.taint import Taint
from .catalog import PodCase
from .edits import Cut, Edit, EditError, Put, Splice, apply_splices, apply_to_value, splices_of
from .engine import Found, Report, lint
from .manifest import Document, UnreadableError, read_documents
from .profile import Profile
from .rule import Complete, Remove
from .rules_scheduling import find_missing_tolerations
from .silence import Ignore
from .target import OS_LABELS


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file before and after. `refused` says why fixable findings remain, one sentence each."""

    file: str
    before: str
    after: str
    refused: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, f"{self.file} (before)", f"{self.file} (after)"))


def fix(documents: Sequence[Document], report: Report, profile: Profile, ignore: Sequence[Ignore]) -> list[FixedFile]:
    """The files that can be changed, in the order of the input. Silenced findings are left alone."""
    work: defaultdict[str, dict[int, list[Found]]] = defaultdict(dict)
    for found in report.found:
        if found.finding.fixable and not found.finding.silenced:
            work[found.document.file].setdefault(id(found.document), []).append(found)
    rejected = _stay_rejected(report)
    fixed = {file: _fix_file(list(groups.values()), rejected) for file, groups in work.items()}
    again = apply_fixes(documents, list(fixed.values()))
    new = {_key(found) for found in lint(again, profile, ignore).found} - {_key(found) for found in report.found}
    for file in {key[1] for key in new}:
        rules = ", ".join(sorted({key[0] for key in new if key[1] == file}))
        fixed[file] = FixedFile(file, fixed[file].before, fixed[file].before, (f"{file}: it would then have {rules}.",))
    return [each for each in fixed.values() if each.after != each.before or each.refused]


def apply_fixes(documents: Sequence[Document], fixed: Sequence[FixedFile]) -> list[Document]:
    """All documents after the files are written."""
    changed = {each.file: each.after for each in fixed if each.after != each.before}
    kept = [document for document in documents if document.file not in changed]
    return kept + [document for file, text in changed.items() for document in read_documents(file, text)]


def _key(found: Found) -> tuple[str, str, str, str]:
    finding = found.finding
    return finding.rule, finding.file, finding.object, finding.path


def _stay_rejected(report: Report) -> set[int]:
    """Pods that keep a field which the API server rejects together with os.name: these must not get os.name."""
    return {
        id(found.pod)
        for found in report.found
        if found.pod is not None and found.rule.level.admission is not None and not _goes(found)
    }


def _goes(found: Found) -> bool:
    remove = found.rule.fix
    return isinstance(remove, Remove) and not found.finding.silenced and remove.when(_value(found))


def _value(found: Found) -> Any:
    value = found.document.value
    for part in found.path:
        value = value[part]
    return value


def _fix_file(groups: Sequence[Sequence[Found]], rejected: set[int]) -> FixedFile:
    file, text = groups[0][0].document.file, groups[0][0].document.text
    splices: list[Splice] = []
    refused: list[str] = []
    expected: dict[int, Any] = {}
    for group in groups:
        document = group[0].document
        edits = list(_edits(group, rejected))
        try:
            value = copy.deepcopy(document.value)
            apply_to_value(document, value, edits)
            splices += splices_of(document, text, edits)
            expected[document.start] = value
        except (EditError, LookupError, TypeError) as error:
            refused.append(f"{file}: {group[0].finding.object} was left as it is: {error}.")
    after = apply_splices(text, splices)
    if not _says(file, text, after, expected):
        return FixedFile(file, text, text, (f"{file}: it is written in a way that cannot be edited safely.",))
    return FixedFile(file, text, after, tuple(refused))


def _says(file: str, before: str, after: str, expected: Mapping[int, Any]) -> bool:
    """Whether every document of the edited text has the expected value."""
    wanted = [expected.get(document.start, document.value) for document in read_documents(file, before)]
    try:
        if file.endswith(".json"):
            json.loads(after)
        return wanted == [document.value for document in read_documents(file, after)]
    except (UnreadableError, ValueError):
        return False


def _edits(group: Sequence[Found], rejected: set[int]) -> Iterator[Edit]:
    missing: dict[int, set[str]] = {}
    cases: dict[int, PodCase] = {}
    for found in group:
        if isinstance(found.rule.fix, Remove) and found.rule.fix.when(_value(found)):
            yield Cut(found.path)
        elif isinstance(found.rule.fix, Complete) and found.pod is not None:
            missing.setdefault(id(found.pod), set()).update(found.rule.fix.what)
            cases[id(found.pod)] = found.pod
    for number, what in missing.items():
        yield from _completions(cases[number], what - ({"os"} if number in rejected else set()))


def _completions(case: PodCase, what: set[str]) -> Iterator[Edit]:
    """What to add to the pod. The last one comes first in the text."""
    spec = (*case.pod.prefix, "spec")
    if "toleration" in what:
        tolerations = [toleration_of(taint) for taint in find_missing_tolerations(case)]
        if isinstance(case.pod.spec.get("tolerations"), list):
            for toleration in tolerations:
                yield Put((*spec, "tolerations"), None, toleration)
        elif tolerations:
            yield Put(spec, "tolerations", tolerations)
    if "selector" in what and isinstance(case.pod.spec.get("nodeSelector"), dict):
        yield Put((*spec, "nodeSelector"), OS_LABELS[0], "windows")
    elif "selector" in what:
        yield Put(spec, "nodeSelector", {OS_LABELS[0]: "windows"})
    if "os" in what and isinstance(case.pod.spec.get("os"), dict):
        yield Put((*spec, "os"), "name", "windows")
    elif "os" in what:
        yield Put(spec, "os", {"name": "windows"})


def toleration_of(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
