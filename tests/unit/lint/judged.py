"""The pods that the real validation of kube-apiserver is asked about (tests/real/apiserver_judge)."""

from __future__ import annotations

from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.fix import apply_fixes, fix
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from tests.yaml_text import dump, load

from .test_rules import BASE, CASES, merged

# What does not even decode has a judge of its own (tests/corpus/types).
_UNDECODABLE = "undecodable-value"


def judged_pods(minor: int) -> list[dict[str, Any]]:
    """Every pod that a fixture describes as a change of the base, its clean twins, and all of them after --fix."""
    found = []
    for rule, fixture in CASES:
        if rule == _UNDECODABLE:
            continue
        patches = [(f"{rule}-{n}", case["flagged"]) for n, case in enumerate([fixture, *fixture.get("more", [])])]
        for name, patch in [*patches, (f"{rule}-clean", fixture["clean"])]:
            if isinstance(patch, dict):
                pod = _named(merged(load(BASE), patch), name)
                found += [pod, _named(_fixed(pod, minor), f"{name}-fixed")]
    return found


def _fixed(pod: dict[str, Any], minor: int) -> dict[str, Any]:
    documents = read_documents("pod.yml", dump(pod, sort_keys=False))
    profile = Profile(minor=minor)
    (document,) = apply_fixes(documents, fix(documents, lint(documents, profile), profile, ()))
    return dict(document.value)


def _named(pod: dict[str, Any], name: str) -> dict[str, Any]:
    pod["metadata"]["name"] = name.lower()
    return pod
