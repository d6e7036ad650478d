# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A baseline: the findings that were there when the linter came, so that only new ones fail.

{"schema": 1, "findings": [{"rule": "host-pid", "object": "Pod default/web", "field": "spec.hostPID"}]}

A finding is known by its rule, object and field, never by a line: texts move. Of alike ones as many are accepted as it
has: two files may have an object of one name.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from .engine import Report
from .model import Finding

SCHEMA = 1
Key = tuple[str, str, str]


class BaselineError(Exception):
    """A file is not a baseline; the text is a sentence."""


def key(finding: Finding) -> Key:
    return finding.rule, finding.object, finding.path


def read_baseline(path: Path) -> Counter[Key]:
    """The keys of a file, and how often each is there. Raises BaselineError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if value["schema"] != SCHEMA:
            raise BaselineError(f"{path}: its schema is {value['schema']}, and this version reads {SCHEMA}.")
        return Counter((str(each["rule"]), str(each["object"]), str(each["field"])) for each in value["findings"])
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error}. --write-baseline writes one.") from error
    except (ValueError, TypeError, LookupError) as error:
        raise BaselineError(f"{path}: this is not a baseline: --write-baseline writes one.") from error


def as_text(report: Report) -> str:
    """A baseline of all findings that are not accepted otherwise. Broken files and what was not rendered stay out."""
    keys = sorted(key(each) for each in report.findings if each.object)
    found = [dict(zip(("rule", "object", "field"), each, strict=True)) for each in keys]
    return json.dumps({"schema": SCHEMA, "findings": found}, indent=1) + "\n"


def apply_baseline(report: Report, known: Counter[Key], name: str) -> tuple[Report, int]:
    """The report with the known findings accepted, and the number of entries that match nothing in it."""
    left = known.copy()
    reason = f"in the baseline {name}"
    found = list(report.found)
    for number, each in enumerate(found):
        if left[key(each.finding)] > 0:
            left[key(each.finding)] -= 1
            if not each.finding.silenced:
                found[number] = replace(each, finding=replace(each.finding, silenced=reason, external=True))
    return replace(report, found=tuple(found)), left.total()
