# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders a page of this folder; whatever comes from a node is text in it, never HTML."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)


def render(template: str, **context: object) -> str:
    """The page, such as `diagnosis.html.j2`. Jinja's UndefinedError for a variable that is missing."""
    return _ENVIRONMENT.get_template(template).render(**context)


def drawing(svg: str) -> Markup:
    """An SVG element that this collection drew, its texts escaped, as a part of a page."""
    return Markup(svg)
