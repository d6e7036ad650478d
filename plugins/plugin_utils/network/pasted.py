# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people paste of HNS: JSON in its several forms, PowerShell's lists and tables, hnsdiag's listing.

    read('{"ID": "1"}\n{"ID": "2"}')            # several objects in a row
    read("ID   : 1\nName : cbr0\n")             # Get-HnsNetwork | Format-List, what PowerShell prints by itself
    read("Name ID\n---- --\ncbr0 1\n")          # Get-HnsNetwork | Format-Table Name, ID

PowerShell cuts what lies too deep: ConvertTo-Json without -Depth, and every listing on a screen. What is left of such a
value is read, and what was cut is counted (`Pasted.cut`), so that no one takes it for nothing. Forms: public threads
microsoft/SDN#582, kubernetes-sigs/sig-windows-tools#103 and #168, projectcalico/calico#6996 and #8465.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..foreign.files import ForeignError
from ..foreign.values import check_json

Object = Mapping[str, Any]

CUT = re.compile(r"System\.(?:Object|String|Collections)\S*|\.\.\.$|\u2026$")
"""PowerShell's replacement for a value that is nested too deeply or too long."""

_PAIR = re.compile(r"^(\w[\w .\t-]*):(?: (.*))?$")
_RULE = re.compile(r"^\s*-{2,}(?: +-+)*\s*$")
_SECTION = re.compile(r"^(Networks|Endpoints|Namespaces|LoadBalancers?)\s*:?\s*$", re.IGNORECASE)
_JSON = re.compile(r"^(?:\{\s*\"|\[\s*\{)", re.MULTILINE)
_DROPPED = re.compile(r"^(?:PS [A-Z]:\\.*>|> ?|VERBOSE: ?|WARNING: )")


class PastedError(Exception):
    """The text is none of the forms."""


@dataclass(frozen=True, slots=True)
class Pasted:
    """`objects` have the keys as printed; `cut` names the keys whose values PowerShell truncated, each once."""

    objects: tuple[Object, ...]
    cut: tuple[str, ...] = ()


def read(text: str, kind: str = "") -> Pasted:
    """The objects in a text. `kind` (`networks`, `endpoints`, ..) selects a section of hnsdiag's listing.
    PastedError if there are none."""
    text = text.replace("\x00", "").lstrip("\ufeff").strip()
    if not text:
        return Pasted(())
    found = json_values(text) or _within(text)
    if found and not all(isinstance(each, list | Mapping | None) for each in found):
        raise PastedError(text)
    if found is None:
        lines = [_DROPPED.sub("", line.rstrip()) for line in text.splitlines()]
        listing = any(_SECTION.match(line) for line in lines)
        found = list(_parse_printed(_section(lines, kind) if listing else lines))
        if not found and not listing:
            raise PastedError(text)
    cut: dict[str, None] = {}
    return Pasted(tuple(_whole(each, cut) for each in _flat(found)), tuple(cut))


def json_values(text: str) -> list[Any] | None:
    """All values of a text of one or several JSON values in sequence, with or without commas; None for other text, and
    for values that are too deep."""
    decoder, values, at = json.JSONDecoder(), [], 0
    try:
        check_json(text)
    except ForeignError:
        return None
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return None
        values.append(value)
        at = _blank(text, at)
    return values


def _within(text: str) -> list[Any] | None:
    """The JSON among other lines, as in a copied window (`VERBOSE: Result :` before it, in any language, a prompt
    after it); None if no line begins with an object or a list of objects."""
    decoder, values, at = json.JSONDecoder(), [], 0
    for found in _JSON.finditer(text):
        if found.start() < at:
            continue
        try:
            value, at = decoder.raw_decode(text, found.start())
            check_json(text[found.start() : at])
        except (ValueError, RecursionError, ForeignError):
            continue
        values.append(value)
    return values or None


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _flat(values: list[Any]) -> Iterator[Object]:
    """Objects from lists and from HNS' own answer `{"Success", "Output"}`."""
    for each in values:
        if isinstance(each, list):
            yield from _flat(each)
        elif isinstance(each, Mapping) and isinstance(each.get("Output"), list | Mapping):
            yield from _flat([each["Output"]])
        elif isinstance(each, Mapping) and set(each) <= {"value", "Count"} and "value" in each:
            yield from _flat([each["value"]])  # PowerShell 5.1 wraps a list that it wrote as an object
        elif isinstance(each, Mapping):
            yield each


def _whole(value: Object, cut: dict[str, None]) -> Object:
    return {str(key): _value(each, str(key), cut) for key, each in value.items()}


def _value(value: Any, key: str, cut: dict[str, None]) -> Any:
    if isinstance(value, Mapping):
        return _whole(value, cut)
    if isinstance(value, list):
        return [_value(each, key, cut) for each in value]
    if not isinstance(value, str):
        return value
    if CUT.match(value) or (value.startswith("@{") and CUT.search(value)):
        cut[key] = None
    if value.startswith("@{") or (" @{" in value and value.endswith("}")):
        cut[key] = None
        return _value(screen_value(value), key, cut)
    return [] if CUT.fullmatch(value) else value


def screen_value(text: str) -> Any:
    """A value as PowerShell prints it: `@{a=1; b=2}`, `{x, y}`, several of them in sequence, a number, True, a text."""
    text = text.strip()
    if text.startswith("@{") and _closes(text, 1) == len(text) - 1:
        return dict(_pairs(text[2:-1]))
    if text.startswith("@{"):  # a list of objects, as ToString writes it
        return [screen_value(each) for each in _split_outside(text, " ") if each]
    if text.startswith("{") and _closes(text, 0) == len(text) - 1:
        return [screen_value(each) for each in _split_outside(text[1:-1], ",") if each.strip()]
    if text in {"True", "False"}:
        return text == "True"
    return int(text) if re.fullmatch(r"-?\d{1,19}", text) else text


def _closes(text: str, at: int) -> int:
    """The position where the brace at `at` closes; -1 if it does not."""
    depth = 0
    for number in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[number], 0)
        if depth == 0:
            return number
    return -1


def _split_outside(text: str, mark: str) -> Iterator[str]:
    """The parts between marks outside of braces."""
    depth, begin = 0, 0
    for number, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == mark and depth == 0:
            yield text[begin:number].strip()
            begin = number + 1
    yield text[begin:].strip()


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    for each in _split_outside(text, ";"):
        key, equals, value = each.partition("=")
        if equals:
            yield key.strip(), screen_value(value)


def _parse_printed(lines: list[str]) -> Iterator[Object]:
    """Lists and tables."""
    ruled = next((number for number, line in enumerate(lines) if number and _RULE.match(line)), None)
    headed = next((number for number, line in enumerate(lines) if re.match(r"^\s*Name\s+ID\b", line)), None)
    if ruled is not None:
        yield from _table(lines[ruled - 1], lines[ruled + 1 :], lines[ruled])
    elif headed is not None:
        yield from _table(lines[headed], lines[headed + 1 :])
    else:
        yield from _lists(lines)


def _section(lines: list[str], kind: str) -> list[str]:
    """The lines of one kind in the output of `hnsdiag list all`."""
    wanted = {"policylists": "loadbalancer"}.get(kind, kind.rstrip("s"))
    found: list[str] = []
    taken = False
    for line in lines:
        if heading := _SECTION.match(line):
            taken = not kind or heading[1].casefold().rstrip("s") == wanted
        elif taken:
            found.append(line)
    return found


def _table(head: str, rows: list[str], rule: str = "") -> Iterator[Object]:
    """Rows by the columns of the dashes below the head, else by the head's words; the last column takes the rest of
    the row."""
    heading = re.finditer(r"-+", rule) if rule else re.finditer(r"\S+(?: (?=[A-Z])\S+)*", head)
    starts = [each.start() for each in heading]
    names = [head[begin:end].strip(" |") for begin, end in zip(starts, [*starts[1:], None], strict=True)]
    for row in rows:
        if not row.strip() or _RULE.match(row):
            continue
        cells = row.split()
        if len(cells) != len(names):
            cells = [row[begin:end].strip() for begin, end in zip(starts, [*starts[1:], None], strict=True)]
        yield {name: screen_value(cell) for name, cell in zip(names, cells, strict=True) if cell}


def _lists(lines: list[str]) -> Iterator[Object]:
    """Blocks of `Key : value`; a blank line or a repeated key ends a block."""
    width = max((len(line) for line in lines), default=0)
    found: dict[str, str] = {}
    last, previous = "", ""
    for line in [*lines, ""]:
        pair = _PAIR.match(line)
        if not line.strip():
            if found and not _open(found.get(last, "")):
                yield {key: screen_value(value) for key, value in found.items()}
                found, last = {}, ""
        elif pair and line[0] not in " \t":
            last = pair[1].strip()
            if last in found:
                yield {key: screen_value(value) for key, value in found.items()}
                found = {}
            found[last] = (pair[2] or "").strip()
        elif last:
            # A screen's width breaks lines inside words; otherwise the line was broken at a blank.
            glue = "" if len(previous) >= width else " "
            found[last] = (found[last] + glue + line.strip()).strip()
        previous = line
    if found:
        yield {key: screen_value(value) for key, value in found.items()}


def _open(value: str) -> bool:
    """Whether a brace in the value is still open."""
    return value.count("{") > value.count("}")
