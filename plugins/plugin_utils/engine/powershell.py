# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Literals in PowerShell."""

from __future__ import annotations

import re

TYPOGRAPHIC = "\u2018\u2019\u201a\u201b"
"""Characters that PowerShell treats as an apostrophe. Source: PowerShell v7.4.6
src/System.Management.Automation/engine/parser/CharTraits.cs, IsSingleQuote."""
_QUOTE = re.compile(f"['{TYPOGRAPHIC}]")


def literal(text: str) -> str:
    """The text as a PowerShell string; each quote is doubled, so nothing in the text ends it.

    Source: the same release, engine/parser/tokenizer.cs, ScanStringLiteral: the second of two quotes stays.
    """
    return f"'{_QUOTE.sub(lambda found: found[0] * 2, text)}'"
