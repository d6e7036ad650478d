"""Many strange manifests: no crash, a stable fix, no new finding from the fix."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.fix import apply_fixes, fix
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import (
    UnreadableError,
    live_documents,
    read_documents,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import NEWEST_MINOR, OLDEST_MINOR, Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import FORMATS, render
from hypothesis import given, seed
from hypothesis import strategies as st

from .pods import FLAG, damaged, pick, written

SEED = int(os.environ.get("WINKUBE_SEED", "1"))


def _profile(minor: int, docker: bool, mode: str, dsr: bool, builds: tuple[int, ...], unknown: str) -> Profile:
    runtime = "docker" if docker and minor < 24 else "containerd"
    return Profile(minor=minor, runtime=runtime, mode=mode, dsr=dsr, builds=builds, unknown_pods=unknown)


PROFILES = st.builds(
    _profile,
    st.integers(OLDEST_MINOR, NEWEST_MINOR),
    FLAG,
    pick("l2bridge", "overlay"),
    FLAG,
    pick((), (20348,), (17763, 26100)),
    pick("skip", "windows"),
)


def keys(report: Report) -> Counter[tuple[str, str, str]]:
    return Counter((each.rule, each.object, each.path) for each in report.findings)


@seed(SEED)
@given(written(), PROFILES)
def test_every_finding_names_a_place_in_the_text(manifest: tuple[str, str], profile: Profile) -> None:
    name, text = manifest
    lines = text.splitlines()
    report = lint(read_documents(name, text), profile)
    for each in report.findings:
        assert 1 <= each.line <= len(lines) and 1 <= each.column <= len(lines[each.line - 1])
    # Each format gets its share of the manifests.
    form = FORMATS[len(text) % len(FORMATS)]
    assert render(report, profile, form) or (form == "github" and not report.findings)


@seed(SEED)
@given(damaged(), PROFILES)
def test_odd_manifests_never_crash_it(objects: list[Any], profile: Profile) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    found = keys(lint(live_documents([listed]), profile))
    documents = read_documents("f.json", json.dumps(listed, ensure_ascii=False))
    report = lint(documents, profile)
    # From a cluster or from a file: the same is found.
    assert keys(report) == found
    # Whatever it is, a fix improves it or leaves it alone.
    fixed = fix(documents, report, profile, ())
    assert keys(lint(apply_fixes(documents, fixed), profile)) <= keys(report)


@seed(SEED)
@given(st.text(max_size=60) | st.text("{}[]:,-&*!|>'\"%@`#? \n\tab1", max_size=30))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    for name in ("f.yml", "f.json"):
        try:
            lint(read_documents(name, text), Profile(unknown_pods="windows"))
        except UnreadableError as error:
            assert str(error).startswith(name)


@seed(SEED)
@given(written(), PROFILES)
def test_a_fix_is_stable_and_adds_no_finding(manifest: tuple[str, str], profile: Profile) -> None:
    name, text = manifest
    before = read_documents(name, text)
    first = lint(before, profile)
    fixed = fix(before, first, profile, ())
    after = apply_fixes(before, fixed)
    second = lint(after, profile)
    assert set(keys(second)) <= set(keys(first))
    assert sum(each.severity for each in second.findings) <= sum(each.severity for each in first.findings)
    assert [each.diff for each in fix(after, second, profile, ()) if each.after != each.before] == []
    # All that is safe was done, in whatever layout.
    assert [sentence for each in fixed for sentence in each.refused] == []
    for each in fixed:
        assert (json.loads if name == "f.json" else lambda value: list(yaml.safe_load_all(value)))(each.after)
