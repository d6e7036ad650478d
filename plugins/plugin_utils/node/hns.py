# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script text that calls HNS, and what it travels with.

It calls Windows by P/Invoke, which endpoint protection looks at closely: no other text of the collection does, so that
a batch or a reading without HNS brings nothing of the kind to the node.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

TEXT = Path(__file__).parent / "hns.ps1"
PREFIX = "hns"
"""So begins the name of each op, wait kind and query that needs it (docs/protocol.md)."""


def with_hns(sent: Mapping[str, Any]) -> dict[str, Any]:
    """A request of node_probe or an envelope of node_apply, with the field `hns` if anything in it needs that."""
    return {**sent, "hns": hns_packed()} if needs_hns(sent) else dict(sent)


def needs_hns(sent: Any) -> bool:
    """Whether any op, wait or query in a document names HNS, at whatever depth: ops, undo lists, gate, `pre`,
    `state`."""
    if isinstance(sent, Mapping):
        words = (sent.get("op"), sent.get("for"))
        named = any(isinstance(word, str) and word.startswith(PREFIX) for word in words)
        return named or any(needs_hns(value) for value in sent.values())
    return isinstance(sent, list | tuple) and any(needs_hns(item) for item in sent)


@cache
def hns_packed() -> str:
    """base64 of gzip of the text: Ansible writes the arguments of node_probe into the event log, which has room for
    31,839 characters."""
    return base64.b64encode(gzip.compress(TEXT.read_bytes(), compresslevel=9, mtime=0)).decode()
