"""A step's order as planned and as done; every step of the collection begins with a known verb."""

from __future__ import annotations

import re

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.sentences import PAST, as_steps, put_in_past

from tests.quality.sanity import ROOT, project_files

pytestmark = pytest.mark.quick
# How orders are written: Change(text=..), Step(.., ..), Notice(.., ..); what begins with a variable is not looked at.
ORDER = re.compile(r"""(?:\btext=|\b(?:Step|Notice)\(\s*(?:f?"[^"]*"|[\w.]+),\s*|\bsteps \+?= \[)f?"([a-z]+) """)


def test_planned_and_done() -> None:
    orders = ["install containerd 2.3.7 from https://x/", "write C:\\a"]
    assert as_steps(orders, planned=True) == [
        {"text": "would install containerd 2.3.7 from https://x/", "state": "planned"},
        {"text": "would write C:\\a", "state": "planned"},
    ]
    assert as_steps(orders, planned=False) == [
        {"text": "installed containerd 2.3.7 from https://x/", "state": "done"},
        {"text": "wrote C:\\a", "state": "done"},
    ]
    assert put_in_past("frobnicate it") == "did frobnicate it"


def test_every_step_begins_with_a_verb_that_has_a_past() -> None:
    """Failed with "let", "put", "take", "note" and "turn", which became "did let" and "did take"."""
    rooms = ("action", *(f"plugin_utils/{room}" for room in ("components", "engine", "repair", "provision", "cri_tcp")))
    begun: dict[str, str] = {}
    for name in project_files():
        if name.endswith(".py") and name.startswith(tuple(f"plugins/{room}/" for room in rooms)):
            for found in ORDER.finditer((ROOT / name).read_text(encoding="utf-8")):
                begun.setdefault(found[1], name)
    assert len(begun) > 15, "the pattern finds them no longer"
    assert {verb: name for verb, name in begun.items() if verb not in PAST} == {}
