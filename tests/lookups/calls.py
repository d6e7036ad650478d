"""Calls that start a program, or look one up, in a Go source: found as text, without comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_STARTS = re.compile(
    r"(?<![\w.])(?P<of>[A-Za-z_][\w.]*)\.(?P<how>Command|CommandContext|LookPath)\("
    r"|(?<![\w.])(?P<system>os|syscall|windows|winapi|exec)\.(?P<start>StartProcess|CreateProcess\w*)\("
    r"|(?<![\w.])(?P<own>[Rr]un[Pp]ower[Ss]hell\w*)\("
)
_CONSTANT = re.compile(r'^\s*(?:const\s+|var\s+)?(\w+)\s*(?:string\s*)?:?=\s*("[^"\n]*"|`[^`]*`)\s*$', re.MULTILINE)
_NOISE = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_CMDLET = re.compile(
    r"\b(?:Add|Clear|Connect|ConvertFrom|ConvertTo|Disable|Disconnect|Dismount|Enable|Format|Get|Import|Initialize|Mount|New|Remove|Resize|Restart|Set|Start"
    r"|Stop|Test|Update|Write)-[A-Z][A-Za-z]+\b"
)
_NO_PROGRAM = re.compile(r"^(cobra|cmd|root\w*|flag\w*|rootCmd|cli|c|req\w*|app|p)$")
"""What else is called Command: cobra's and cli's."""


@dataclass(frozen=True)
class Call:
    """`how`: the function; `name`: the program as a literal, else the expression in <>."""

    line: int
    how: str
    name: str


def without_comments(source: str) -> str:
    """The same text, of the same length and lines, with blanks for comments."""

    def plain(found: re.Match[str]) -> str:
        text = found[0]
        return re.sub(r"[^\n]", " ", text) if text.startswith(("//", "/*")) else text

    return _NOISE.sub(plain, source)


def constants(sources: Iterable[str]) -> dict[str, str]:
    """The names of a package that stand for a literal text, once each; a name with two texts is left out."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for name, text in _CONSTANT.findall(without_comments(source)):
            found.setdefault(name, set()).add(text[1:-1])
    return {name: next(iter(texts)) for name, texts in found.items() if len(texts) == 1}


def calls(source: str, known: Mapping[str, str]) -> Iterator[Call]:
    """Each call, from top to bottom; `known` are the package's constants."""
    text = without_comments(source)
    for found in _STARTS.finditer(text):
        owner, how = found["of"] or found["system"] or "", found["how"] or found["start"] or found["own"]
        if _NO_PROGRAM.match(owner) or text[: found.start()].endswith("func "):
            continue
        given = arguments(text, found.end())
        if how == "CommandContext":
            given = given[1:]
        if not given:
            continue
        line = text.count("\n", 0, found.start()) + 1
        yield Call(line, f"{owner}.{how}" if owner else how, _name(given[0], known))


def cmdlets(source: str) -> Iterator[Call]:
    """The cmdlets that its texts name, where it or its package runs PowerShell; each once."""
    text, seen = without_comments(source), set()
    for quoted in _NOISE.finditer(text):
        for found in _CMDLET.finditer(quoted[0]):
            if found[0] not in seen:
                seen.add(found[0])
                yield Call(text.count("\n", 0, quoted.start() + found.start()) + 1, "cmdlet", found[0])


def _name(expression: str, known: Mapping[str, str]) -> str:
    value = " ".join(expression.split())
    if re.fullmatch(r'"[^"]*"|`[^`]*`', value):
        return value[1:-1]
    return known.get(value, f"<{value[:80]}>")


def arguments(text: str, at: int) -> list[str]:
    """What stands between the bracket that opens before `at` and the one that closes it, by its commas."""
    depth, start, found = 0, at, []
    position = at
    while position < len(text):
        quoted = _NOISE.match(text, position)
        if quoted:
            position = quoted.end()
            continue
        char = text[position]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                found.append(text[start:position])
                break
        elif char == "," and depth == 0:
            found.append(text[start:position])
            start = position + 1
        position += 1
    return [one for one in (part.strip() for part in found) if one]
