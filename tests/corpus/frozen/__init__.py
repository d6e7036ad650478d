"""The frozen set: 62 mistakes in values and 86 public manifests that no rule was mended on (put aside 2026-11-26).

planted.yml      mistakes that public threads tell of, or that the node's code refuses; form as in ../values
manifests.jsonl  where each stands (repository@commit:path) and its facts, as ../manifests.jsonl has those of the
others, and `right`: errors that a person found right
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings

from tests.corpus import values
from tests.corpus.facts import object_of

HERE = Path(__file__).resolve().parent


def mistakes() -> Iterator[values.Mistake]:
    return values.mistakes(HERE / "planted.yml")


def manifests() -> Iterator[tuple[str, Report, frozenset[str]]]:
    """(source, report, errors judged right as `rule object path`)."""
    for line in (HERE / "manifests.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        known = apply_settings(Profile(), {"disable": ["undefined-variable"]})
        report = lint(live_documents([object_of(each) for each in entry["objects"]]), known)
        yield entry["from"], report, frozenset(entry.get("right", ()))
