# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Kubernetes has mended by now, as sentences: of a cause, of a stack trace, of a release that lacks it."""

from __future__ import annotations

from collections.abc import Iterable

from ..facts.kubernetes_fixes import FIXES, Fix
from ..facts.version import Version
from .remedy import join_and

CRASH = "start.panic"
"""The cause of a program that crashed: its stack trace, which follows the message, names functions."""


def find_fixes(cause: str, text: str = "", release: Version | None = None, network: str = "") -> tuple[Fix, ...]:
    """The fixes that may end a cause, or that a text names a function of; without those that `release` has, and those
    for another kind of `network` in HNS."""
    return tuple(
        each
        for each in FIXES
        if (cause in each.causes or any(name in text for name in each.functions))
        and (release is None or each.lacks(release) is not False)
        and (not network or each.network in {"", network})
    )


def describe_fixes(fixes: Iterable[Fix]) -> str:
    """In which releases they are, a sentence each; empty for none."""
    return " ".join(
        f"Kubernetes has mended this in {join_and(map(str, sorted(each.mended)))} ({_name_pull(each)}): {each.breaks}"
        for each in fixes
    )


def describe_lacking(release: Version, concerned: Iterable[Fix]) -> str:
    """What a release lacks that a later one of its line has, with the nearest that has all of it; empty for nothing."""
    found = {each: each.find_release(release.line) for each in concerned if each.lacks(release)}
    lacking = sorted((own, each.id, each) for each, own in found.items() if own is not None)
    if not lacking:
        return ""
    nearest = lacking[-1][0]
    told = " ".join(f"{each.breaks} ({own}, kubernetes#{each.mended[own]})" for own, _id, each in reversed(lacking))
    return f"Kubernetes {release} lacks what {nearest} has mended for Windows: {told}"


def _name_pull(fix: Fix) -> str:
    return f"kubernetes/kubernetes#{fix.mended[max(fix.mended)]}"
