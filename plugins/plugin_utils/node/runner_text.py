# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of runner.ps1, sent to nodes with another one or none, and of hns.ps1 and hns_read.ps1, which call HNS.
`make generate` writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

RUNNER = Path(__file__).parent / "runner.ps1"


@cache
def runner_text() -> str:
    """runner.ps1: ASCII, line ends LF. Its first statement is its `param`, as PowerShell requires."""
    return RUNNER.read_text(encoding="ascii")


@cache
def runner_sha256() -> str:
    """The sha256 of `runner_text()` as UTF-8, lower-case hex, to compare with the node's."""
    return hashlib.sha256(runner_text().encode()).hexdigest()


# The script that calls HNS, sent only when needed. It uses P/Invoke, which endpoint protection watches closely; no
# other text of the collection does, so a batch or reading without HNS brings nothing of the kind to the node.

HNS_PREFIX = "hns"
"""The prefix of each op, wait kind and query that needs it (docs/protocol.md)."""


def add_hns_text(sent: Mapping[str, Any]) -> dict[str, Any]:
    """A request of node_probe or an envelope of node_apply, with the field `hns` if anything in it needs HNS."""
    return {**sent, "hns": hns_text(reads="queries" in sent)} if needs_hns(sent) else dict(sent)


def needs_hns(sent: Any) -> bool:
    """Whether any op, wait or query in the document names HNS, at any depth: ops, undo lists, gate, `pre`, `state`."""
    if isinstance(sent, Mapping):
        words = (sent.get("op"), sent.get("for"))
        named = any(isinstance(word, str) and word.startswith(HNS_PREFIX) for word in words)
        return named or any(needs_hns(value) for value in sent.values())
    return isinstance(sent, list | tuple) and any(needs_hns(item) for item in sent)


@cache
def hns_text(*, reads: bool = False) -> str:
    """hns.ps1, or hns_read.ps1 if HNS is only read. Not compressed: to AMSI and the attack-surface rule on
    obfuscated scripts, text that is unpacked and made a script block looks like a stager."""
    name = "hns_read.ps1" if reads else "hns.ps1"
    return (RUNNER.parent / name).read_text(encoding="ascii")
