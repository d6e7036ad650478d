"""The sentences that the code can say to a user, as regular expressions: read from the source, not copied.

An f-string's own text stays, each value in it becomes "anything". White space counts as one blank, as documents wrap.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ANYTHING = r".+?"
_SAID_BY = frozenset({"Refused", "NodeError", "OutcomeUnknown"})
"""Exceptions whose arguments are sentences for the user."""
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


def raised(path: Path, root: Path) -> list[Sentence]:
    """What a Python file says in `Refused(...)`, `NodeError(...)`, `OutcomeUnknown(...)` and the package's own
    `...Error(...)` classes, as far as it stands in the call itself or in a list named `problems`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = str(path.relative_to(root))
    found: list[Sentence] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _is_sentence_error(node.func.id):
            arguments = [part.value if isinstance(part, ast.Starred) else part for part in node.args]
            found += _sentences(arguments, file)
        elif isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["problems"]:
            found += _sentences([node.value], file)
    return found


def _is_for_developers(node: ast.AST) -> bool:
    if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
        return False
    return isinstance(node.exc.func, ast.Name) and not _is_sentence_error(node.exc.func.id)


def _is_sentence_error(name: str) -> bool:
    return name in _SAID_BY or name.endswith(("VersionError", "ImageError"))


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


def spoken(path: Path, root: Path, words: int = 5, function: str = "") -> list[Sentence]:
    """Every text of a Python file, or of one function in it, that has at least so many words and is no documentation:
    for files that collect their sentences in lists."""
    tree: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    if function:
        tree = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    documentation |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    # What is raised as anything else is for developers.
    documentation |= {id(part) for node in ast.walk(tree) if _is_for_developers(node) for part in ast.walk(node)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    texts = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Constant)
        and id(node) not in documentation
        and (isinstance(node, ast.JoinedStr) or id(node) not in inner)
    ]
    found = _sentences(texts, str(path.relative_to(root)))
    return [sentence for sentence in found if len(re.findall(r"[A-Za-z]{2,}", sentence.text)) >= words]
