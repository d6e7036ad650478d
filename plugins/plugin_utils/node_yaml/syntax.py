# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses text into YAML nodes, and turns parser errors into helpful sentences.

YAML stops at its first complaint, but a person wants to see all mistakes at once. Where the remedy is plain (a stray
colon, a path in double quotes), the text is read as if it were corrected. Otherwise reading continues at the next
document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from .problems import Position, Problem, position_of, quote

_REPAIRS_MAX = 50
_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_STRAY_COLON = re.compile(r"^(?P<lead>\s*(?:- +)*)(?P<key>[\w.-]+): +(?P<value>[^\s#'\"][^#'\"]*?)\s*:\s*(?:#.*)?$")
_SECRET_LINE = re.compile(r"password", re.IGNORECASE)
_TAB_INDENT = re.compile(r"^(?: *\t)", re.MULTILINE)


@dataclass
class Composed:
    """Documents that could be parsed; None stands for an empty one."""

    documents: list[yaml.Node | None] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class _Complaint:
    problems: tuple[Problem, ...]
    repaired: str | None = None  # the text as it is probably meant; same lines, same columns


def compose(text: str) -> Composed:
    """Parse all documents of a text and collect its syntax errors."""
    result = Composed()
    done = 0  # documents before the text that is still to be read
    for _attempt in range(_REPAIRS_MAX):
        del result.documents[done:]
        try:
            loader = yaml.SafeLoader(text)
            while loader.check_node():
                node = loader.get_node()
                empty = isinstance(node, yaml.ScalarNode) and node.value == "" and node.style is None
                result.documents.append(None if empty else node)
        except (yaml.YAMLError, RecursionError) as error:
            complaint = _explain(error, text)
            result.problems.extend(complaint.problems)
            if complaint.repaired is not None and complaint.repaired != text:
                text = complaint.repaired
                continue
            rest = _from_next_document(text, complaint.problems[0].at.line)
            if rest is None or rest == text:
                break
            text, done = rest, len(result.documents)
            continue
        break
    return result


def line_at(text: str, index: int) -> tuple[int, str]:
    """Start and content of the line with the character at `index`, by YAML's line breaks."""
    start = max(text.rfind(char, 0, index) for char in "\n\x85\u2028\u2029\r") + 1
    ends = [end for char in "\r\n\x85\u2028\u2029" if (end := text.find(char, index)) >= 0]
    return start, text[start : min(ends, default=len(text))]


def _from_next_document(text: str, line: int) -> str | None:
    """Blank out everything before the first document marker after `line`; None if there is no marker."""
    offset = 0
    for _line in range(line):
        offset = text.find("\n", offset) + 1
        if offset == 0:
            return None
    marker = _MARKER.search(text, offset)
    if marker is None:
        return None
    return "\n" * text.count("\n", 0, marker.start()) + text[marker.start() :]


def _explain(error: yaml.YAMLError | RecursionError, text: str) -> _Complaint:
    if isinstance(error, RecursionError):
        return _only(Position(1, 1), "found brackets nested too deeply to read, wanted a Node YAML.")
    if isinstance(error, yaml.reader.ReaderError):
        start, _line = line_at(text, error.position)
        at = Position(text.count("\n", 0, error.position) + 1, error.position - start + 1)
        sentence = (
            f"found the character U+{ord(text[error.position]):04X}, which YAML does not allow, wanted printable text;"
            " remove it."
        )
        return _Complaint((Problem(at, sentence, "syntax"),), text[: error.position] + "?" + text[error.position + 1 :])
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return _only(Position(1, 1), f"found text that is not YAML ({error}), wanted a Node YAML.")
    mark, problem, context = error.problem_mark, error.problem or "", error.context or ""
    at = position_of(mark)
    start, line = line_at(text, mark.index)
    if problem.startswith("mapping values are not allowed"):
        return _unexpected_colon(text, at, mark.index, start, line)
    if "'\\t'" in problem or _TAB_INDENT.match(line):
        return _tabs(text, at)
    if problem.startswith(("found unknown escape character", "expected escape sequence")):
        return _escape(error, text, mark.index)
    if "alias" in problem:
        return _only(at, "found a * that begins an undefined YAML alias, wanted text; put the value in quotes.")
    if problem.startswith("found character"):
        char = text[mark.index]
        return _only(
            at,
            f"found {char} at the beginning of a value, which YAML keeps for itself, wanted text; put the value in"
            " quotes.",
        )
    if context.startswith("while scanning a quoted scalar") and error.context_mark is not None:
        return _only(
            position_of(error.context_mark),
            "found a quote that is never closed, wanted a second quote of the same kind at the end of the value.",
        )
    if problem.startswith("could not find expected ':'"):
        lost = position_of(error.context_mark) if error.context_mark is not None else at
        return _only(lost, "found a line without a colon, wanted 'key: value'; add the colon and a blank after it.")
    if problem.startswith("expected <block end>"):
        return _only(
            at,
            "found a line whose indentation fits nothing above it, or text after a closing quote; wanted keys of one"
            " block and dashes of one list in the same column.",
        )
    return _only(at, f"found text that is not YAML ({' '.join(filter(None, (context, problem)))}), wanted a Node YAML.")


def _only(at: Position, text: str) -> _Complaint:
    return _Complaint((Problem(at, text, "syntax"),))


def _unexpected_colon(text: str, at: Position, index: int, start: int, line: str) -> _Complaint:
    before = line[: index - start]
    stray = _STRAY_COLON.match(line)
    if stray and ":" not in line[index - start + 1 :].partition("#")[0]:
        right = f"{stray['key']}: {stray['value']}"
        hide = _SECRET_LINE.search(line) is not None
        found = "found a line" if hide else f"found '{right}:'"
        wanted = "wanted it without" if hide else f"wanted '{right}'"
        sentence = f"{found} with a stray colon at the end, which YAML cannot read; {wanted}: remove the colon."
        return _Complaint((Problem(at, sentence, "syntax"),), text[:index] + " " + text[index + 1 :])
    if ": " in before:
        return _only(
            at,
            "found a second ': ' in one line, which YAML cannot read; wanted one key and one value: put the value in"
            " quotes.",
        )
    word = before.strip().removeprefix("- ").strip()
    return _only(
        at,
        f"found the key {quote(word)} indented below a line that has a value already (or below a line without a colon);"
        " wanted a line above it that ends in a colon, such as 'metadata:' or 'spec:', or the same indentation as its"
        " neighbours.",
    )


def _tabs(text: str, at: Position) -> _Complaint:
    lines = [text.count("\n", 0, match.start()) + 1 for match in _TAB_INDENT.finditer(text)]
    places = [Position(line, 1) for line in lines if line >= at.line][:10] or [at]
    sentence = "found a tab in the indentation, which YAML does not allow; wanted blanks: replace it."
    return _Complaint(tuple(Problem(place, sentence, "syntax") for place in places))


def _escape(error: yaml.MarkedYAMLError, text: str, index: int) -> _Complaint:
    start = error.context_mark.index if error.context_mark is not None else index
    begin, line = line_at(text, start)
    tail = line[start - begin :]
    problem = Problem(
        position_of(error.context_mark) if error.context_mark is not None else Position(1, 1),
        "found a backslash in double quotes, where YAML takes it for an escape; wanted the path without quotes or in"
        " single quotes: 'c:\\k\\kubelet.exe'.",
        "syntax",
    )
    return _Complaint((problem,), text[:start] + tail.replace("\\", "/") + text[start + len(tail) :])
