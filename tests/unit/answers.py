"""A node's answer to a batch as the gate makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.node.answer import ANSWER

ID = "ab" * 16


def answered(said: Mapping[str, Any]) -> Answer:
    """An accepted batch unless `said` has another answer; its results are of programs that ended well unless they say
    otherwise."""
    results = [{"n": n, "op": "run", "ok": True, **each} for n, each in enumerate(said.get("results") or ())]
    return ANSWER({"answer": "accepted", **said, "results": results}, "")
