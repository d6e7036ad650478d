"""The sentences that the code can say to a user, as regular expressions: read from the source, not copied.

An f-string's own text stays, each value in it becomes "anything". White space counts as one blank, as documents wrap.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ANYTHING = r".+?"
_ADVICE = re.compile(r"\bRun again\.$|\?")
_WORDS = 4
_LETTERS = re.compile(r"[A-Za-z]{3}")
# "..." with `` ` `` as escape, or '...'; a string ends where its quote does.
_POWERSHELL_TEXT = re.compile(r"""(?:throw|return|reason =)\s+(?:"(?P<double>(?:[^"`]|`.)*)"|'(?P<single>[^']*)')""")
_POWERSHELL_VALUE = re.compile(r"\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\$\{\w+\}|\$\w+(?:\['\w+'\])?")


@dataclass(frozen=True)
class Sentence:
    """Where it is said, how its source reads, and the pattern that a document has to match."""

    file: str
    line: int
    text: str
    pattern: str

    @property
    def is_advice(self) -> bool:
        """Whether it says itself what to do, or has hardly a word of its own beside what it passes on."""
        return bool(_ADVICE.search(self.text)) or len(_LETTERS.findall(self.text)) < _WORDS

    def is_among(self, quotations: Iterable[str]) -> bool:
        """Whether one of the quotations has it."""
        return any(re.search(self.pattern, quotation) for quotation in quotations)


def quotations(markdown: str) -> list[str]:
    """What a document quotes: each line of a ```text block, and each piece of `code` in the prose; single blanks."""
    found: list[str] = []
    block: str | None = None
    for line in markdown.splitlines():
        if line.startswith("```"):
            block = None if block is not None else line.removeprefix("```")
        elif block == "text":
            found.append(single_blanks(line))
        elif block is None:
            found += [single_blanks(piece) for piece in re.findall(r"`([^`]+)`", line)]
    return found


def single_blanks(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def _pattern(pieces: Iterable[str | None]) -> str:
    """Pieces of text, None where a value stands, as a pattern; neighbouring values are one. A value at either end
    may be empty, such as `line 7: `."""
    text = "".join("\0" if piece is None else piece for piece in pieces).strip("\0")
    parts = [re.escape(single_blanks(f"x{part}x"))[1:-1] for part in re.split("\0+", text)]
    return ANYTHING.join(parts)


def _pieces(node: ast.expr) -> list[str | None]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [piece for value in node.values for piece in _pieces(value)]
    return [None]


def _sentences(nodes: Iterable[ast.expr], file: str) -> Iterator[Sentence]:
    for node in nodes:
        pieces = _pieces(node.elt if isinstance(node, ast.GeneratorExp | ast.ListComp) else node)
        literal = "".join(piece or "" for piece in pieces)
        if _LETTERS.search(literal):
            shown = "".join("<..>" if piece is None else piece for piece in pieces)
            yield Sentence(file, node.lineno, single_blanks(shown), _pattern(pieces))


def raised(path: Path, root: Path, names: Collection[str]) -> list[Sentence]:
    """What a Python file says in the calls of these exceptions."""
    file = str(path.relative_to(root))
    return [
        sentence
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
        for sentence in _sentences([part.value if isinstance(part, ast.Starred) else part for part in node.args], file)
    ]


def returned(path: Path, root: Path) -> list[Sentence]:
    """What the functions of a Python file return as text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]
    return list(_sentences(values, str(path.relative_to(root))))


def thrown(path: Path, root: Path) -> list[Sentence]:
    """What a PowerShell file throws, or returns as a reason, in text with at least two words."""
    text = path.read_text(encoding="utf-8")
    found: list[Sentence] = []
    for match in _POWERSHELL_TEXT.finditer(text):
        said = match["double"] if match["double"] is not None else match["single"]
        values = _POWERSHELL_VALUE if match["double"] is not None else re.compile(r"(?!)")
        pieces: list[str | None] = []
        for number, part in enumerate(values.split(said)):
            pieces += [None, part] if number else [part]
        if _LETTERS.search("".join(piece or "" for piece in pieces)) and " " in said:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Sentence(str(path.relative_to(root)), line, single_blanks(said), _pattern(pieces)))
    return found


def literals(path: Path) -> str:
    """Every text of a Python file, a line each; in an f-string the values are no text."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr | ast.Constant):
            found.append(single_blanks("".join(piece or "\0" for piece in _pieces(node))))
    return "\n".join(found)


_VALUE = re.compile(r"<[^<>]*>|'[^']*'|\S*[\d`\"\\{}]\S*|\.\.\.")


def share_said(line: str, said: str) -> float:
    """How many of a quoted sentence's neighbouring three words, values aside, stand in `said`: from 0 to 1. Sentences
    are put together of pieces, so not each of them stands there as a whole."""
    threes = []
    for piece in _VALUE.split(single_blanks(line)):
        words = piece.split()
        threes += [" ".join(words[at : at + 3]).strip(" .,:;()") for at in range(max(1, len(words) - 2)) if words]
    telling = [three for three in threes if len(_LETTERS.findall(three)) > 1]
    return sum(three in said for three in telling) / len(telling) if telling else 1.0
