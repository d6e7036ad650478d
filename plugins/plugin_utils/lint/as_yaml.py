# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares a text for PyYAML: JSON in a form that it accepts, definitions without their schemas.

A file of its own: manifest.py is about documents and objects.
"""

from __future__ import annotations

import itertools
import re


def as_yaml(file: str, text: str) -> str:
    """The prepared text, of the same length, so that positions stay right."""
    return _json_as_yaml(text) if file.endswith(".json") else _blank_schemas(text)


_OF_DEFINITION = re.compile(r"^kind:[ \t]*[\"']?CustomResourceDefinition\b", re.MULTILINE)
_SPEC = re.compile(r"^spec:[ \t]*\r?\n", re.MULTILINE)
_NEXT_KEY = re.compile(r"^[^\s#]", re.MULTILINE)
_SEPARATOR = re.compile(r"^---", re.MULTILINE)


def _blank_schemas(text: str) -> str:
    """The text with the specs of CustomResourceDefinitions replaced by blanks of the same length.

    No rule looks into them, and one operator's schemas are megabytes: parsing them took most of the time.
    """
    if "CustomResourceDefinition" not in text:
        return text
    begins = [0, *(found.start() for found in _SEPARATOR.finditer(text)), len(text)]
    return "".join(_blank_schema(text[begin:end]) for begin, end in itertools.pairwise(begins))


def _blank_schema(document: str) -> str:
    spec = _SPEC.search(document) if _OF_DEFINITION.search(document) else None
    if spec is None:
        return document
    after = _NEXT_KEY.search(document, spec.end())
    end = after.start() if after else len(document)
    blank = "\n".join(" " * len(line) for line in document[spec.end() : end].split("\n"))
    return document[: spec.end()] + blank + document[end:]


_JSON_ESCAPE = re.compile(r"\\(u[dD][89a-fA-F][0-9a-fA-F]{2}|.)")


def _json_as_yaml(text: str) -> str:
    """The text with JSON that YAML refuses replaced by something of the same length, so that positions stay right.

    A raw tab is legal between tokens and cannot be inside a string. An escaped UTF-16 surrogate becomes U+FFFD, as in
    Go's encoding/json for one without a partner.
    """
    return _JSON_ESCAPE.sub(lambda m: r"\uFFFD" if len(m[1]) > 1 else m[0], text.replace("\t", " "))
