"""The sentences that the code can say to a user, read from its source, and the words of them that a page quotes.

White space counts as one blank. A page writes `<...>` for a value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# An imperative at the start of a clause, in the words that errors use for a remedy.
_REMEDY = re.compile(
    r"(?:^|[.;:] |\b(?:or|then) )"
    r"(?:allow|choose|do|give|install|log in|look|make|name|put|remove|run|set|take|use|write)\b",
    re.IGNORECASE,
)
_WORDS = 4
_LETTERS = re.compile(r"[A-Za-z]{3}")
# "..." with `` ` `` as escape, or '...'; a string ends where its quote does.
_POWERSHELL_TEXT = re.compile(r"""(?:throw|return|reason =)\s+(?:"(?P<double>(?:[^"`]|`.)*)"|'(?P<single>[^']*)')""")
_POWERSHELL_VALUE = re.compile(r"\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\$\{\w+\}|\$\w+(?:\['\w+'\])?")


@dataclass(frozen=True)
class Sentence:
    """Where it is said, and how its source reads."""

    file: str
    line: int
    text: str

    @property
    def explains_itself(self) -> bool:
        """Whether it says what to do, asks back, or has hardly a word of its own beside what it passes on."""
        return bool(_REMEDY.search(self.text)) or "?" in self.text or len(_LETTERS.findall(self.text)) < _WORDS

    def is_among(self, quotations: Iterable[str]) -> bool:
        """Whether it has the words of one of the quotations."""
        return any(re.search(pattern(quotation), self.text) for quotation in quotations)


def pattern(quotation: str) -> str:
    """A regular expression for the quoted words; a value is anything on the line."""
    return ".+?".join(re.escape(part) for part in re.split("<[^<>]*>", quotation))


def quotations(markdown: str) -> list[str]:
    """What a page quotes: each piece of `code` in the first column of the tables whose heading is `error`."""
    found: list[str] = []
    heading = ""
    for line in markdown.splitlines():
        first = line.removeprefix("|").partition(" |")[0].strip() if line.startswith("|") else ""
        heading = heading or first if first else ""
        if heading == "error":
            found += re.findall(r"`([^`]+)`", first)
    return found


def single_blanks(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


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
            yield Sentence(file, node.lineno, single_blanks(shown))


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
        if match["double"] is not None:
            said = _POWERSHELL_VALUE.sub("<..>", said)
        if _LETTERS.search(said) and " " in said:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Sentence(str(path.relative_to(root)), line, single_blanks(said)))
    return found


def literals(path: Path) -> str:
    """Every text of a Python file, a line each; in an f-string the values are not text."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr | ast.Constant):
            found.append(single_blanks("".join(piece or "\0" for piece in _pieces(node))))
    return "\n".join(found)
