# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The known name that somebody probably meant by an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ALIKE = 0.6
"""From here on two names are taken for one, by difflib's ratio: `stepu` is setup. It is difflib's own number."""


def nearest(word: str, known: Iterable[str], most: int = 1) -> tuple[str, ...]:
    """The known names that are nearly the word, the nearest first; case, hyphens and underscores do not count:
    sourceUrl means sourceURL."""
    by_form: dict[str, str] = {}
    for name in known:
        by_form.setdefault(_form(name), name)
    return tuple(by_form[each] for each in get_close_matches(_form(word), by_form, most, _ALIKE))


def meant(word: str, known: Iterable[str]) -> str:
    """The nearest one; empty if none is near."""
    return next(iter(nearest(word, known)), "")


def _form(name: str) -> str:
    return name.casefold().replace("_", "-")
