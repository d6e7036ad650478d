"""The ways to change one value in a file."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

Value = str | int | float | bool | None
_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_TEXT_VALUE = re.compile(
    r"""(?P<number>(?<![\w.])\d+(?:\.\d+)*(?:/\d+)?(?![\w.]))|(?P<bool>\b(?:true|false)\b|\$(?:true|false)\b)"""
    r"""|(?P<word>[A-Za-z_/\\.-][\w/\\:.=@-]+[\w/\\])"""
)
# So long a word stands in a page for itself: `kubernetes/kubernetes#70604`.
_TELLING = 16
_VERSION = re.compile(r"\d+(\.\d+)+")
_FOR_PEOPLE = frozenset({"title", "source", "message", "remedy", "help", "doc"})
# Lines that only people read.
_PROSE = re.compile(r"""^[\s-]*"?(?:description|short_description|title|name|\$comment|\$schema|\$id)"?:""")
# What begins a comment, by the ending of a file's name.
_COMMENTS = {".yml": "#", ".yaml": "#", ".ps1": "#", ".psm1": "#", ".txt": "#", ".j2": "{#"}


@dataclass(frozen=True)
class Mutant:
    """One change: in `path`, from byte `start` to `end` of the file, `new` instead of `old`.

    `value`: what stands there; None for a comparison or a condition. `local`: in a function's body, so that the line
    runs only where the function is called. `says`: the texts that a condition decides on. `told`: it is in the making
    of a text.
    """

    path: str
    line: int
    start: int
    end: int
    new: str
    value: Value
    local: bool
    old: str
    says: tuple[str, ...] = ()
    told: bool = False

    def apply(self, text: str) -> str:
        """The file's text with the change."""
        data = text.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    @property
    def what(self) -> str:
        """`'pause:3.9' -> 'pause:3.9x'`, on one line."""
        return " ".join(f"{_short(self.old)} -> {_short(self.new)}".split())


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"...{text[-57:]}"


def mutants_of(path: str, text: str) -> Iterator[Mutant]:
    """Every change of one value in a file."""
    if path.endswith(".py"):
        yield from _python(path, text)
    else:
        yield from _plain(path, text)


def _python(path: str, text: str) -> Iterator[Mutant]:
    module = ast.parse(text)
    offsets = _line_offsets(text)
    idle = _idle(module)
    decided = _decided(module)
    parents = {child: node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(module):
        if node in idle or not isinstance(node, ast.expr):
            continue
        if not isinstance(node, ast.Constant | ast.Compare) and node not in decided:
            continue
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = text.encode()[start:end].decode()
        new = _other(node, old, inside_text=isinstance(parents.get(node), ast.JoinedStr))
        if new is not None and old:
            value = node.value if isinstance(node, ast.Constant) and not isinstance(node.value, bytes) else None
            plain = value if isinstance(value, str | int | float | bool) else None
            local = _is_local(node, parents)
            told = any(isinstance(each, ast.JoinedStr) for each in _above(node, parents))
            yield Mutant(path, node.lineno, start, end, new, plain, local, old, decided.get(node, ()), told)


def _other(node: ast.AST, old: str, *, inside_text: bool) -> str | None:
    """The source of another value; None where there is none to choose."""
    if isinstance(node, ast.Compare):
        flipped = _FLIPPED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if flipped is None:
            return f"(not ({old}))"
        return f"({ast.unparse(ast.Compare(node.left, [flipped()], node.comparators))})"
    if not isinstance(node, ast.Constant):
        return f"(not ({old}))"
    value = node.value
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int | float):
        return repr(value + 1)
    if isinstance(value, str):
        if not inside_text:
            return f"({_another_text(value)!r})" if "\n" in old else repr(_another_text(value))
        # Older ones do not say where in the text it stands; a quote belongs to the next of several texts in a row.
        if sys.version_info < (3, 12) or '"' in old:
            return None
        return _another_text(old)
    return None


def _another_text(text: str) -> str:
    """The next version; an x in the middle of a sentence, since tests look for parts of it, else at the end."""
    if _VERSION.fullmatch(text):
        head, _dot, last = text.rpartition(".")
        return f"{head}.{int(last) + 1}"
    inside = [place for place in range(1, len(text)) if text[place - 1].isalpha() and text[place].isalpha()]
    place = min(inside, key=lambda each: abs(each - len(text) // 2)) if " " in text and inside else len(text)
    return f"{text[:place]}x{text[place:]}"


def _decided(module: ast.Module) -> dict[ast.AST, tuple[str, ...]]:
    """Condition -> the texts that are said, or not, by it: below it; where it ends the function also after it, up to
    the next condition."""
    found: dict[ast.AST, tuple[str, ...]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.IfExp):
            found[node.test] = tuple(_texts([node.body, node.orelse]))
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if not isinstance(block, list):
                continue
            for number, each in enumerate(block):
                if isinstance(each, ast.If):
                    ends = isinstance(each.body[-1], ast.Return | ast.Raise | ast.Continue)
                    rest = list(takewhile(lambda later: not isinstance(later, ast.If), block[number + 1 :]))
                    rest = rest if ends else []
                    found[each.test] = tuple(_texts([*each.body, *each.orelse, *rest]))
    return found


def _texts(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value


def _idle(module: ast.Module) -> set[ast.AST]:
    """Docstrings, documentation of modules, annotations, what rules say to people: nothing is done by their values."""
    idle: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg in _FOR_PEOPLE:
            idle.update(ast.walk(node.value))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            idle.add(node.value)
        for name in ("annotation", "returns"):
            annotation = getattr(node, name, None)
            if isinstance(annotation, ast.AST):
                idle.update(ast.walk(annotation))
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id in {"EXAMPLES", "RETURN", "DOCUMENTATION"}
            for target in node.targets
        ):
            idle.update(ast.walk(node))
    return idle


def _is_local(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the node is in a function's body, rather than in its head or outside."""
    child = node
    for parent in _above(node, parents):
        if isinstance(parent, ast.FunctionDef) and child in parent.body:
            return True
        child = parent
    return False


def _above(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    parent = parents.get(node)
    while parent is not None:
        yield parent
        parent = parents.get(parent)


def _line_offsets(text: str) -> list[int]:
    offsets = [0]
    for line in text.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    return offsets


def phrases_in(path: str, text: str, words: Iterable[object]) -> Iterator[Mutant]:
    """What tests look for in a page for people: each text of several words, or a long one, that stands there once, and
    its change."""
    for phrase in words:
        if not isinstance(phrase, str) or (len(phrase.split()) < 2 and len(phrase) < _TELLING):
            continue
        found = list(re.finditer(r"\s+".join(re.escape(word) for word in phrase.split()), text))
        if len(found) == 1:
            start, old = len(text[: found[0].start()].encode()), found[0][0]
            line = text.count("\n", 0, found[0].start()) + 1
            middle = len(old) // 2
            yield Mutant(
                path, line, start, start + len(old.encode()), f"{old[:middle]}x{old[middle:]}", phrase, False, old
            )


def _plain(path: str, text: str) -> Iterator[Mutant]:
    """Numbers, switches and words of a text file, comments left out."""
    mark = next((mark for ending, mark in _COMMENTS.items() if path.endswith(ending)), None)
    for number, (line, offset) in enumerate(zip(text.splitlines(), _line_offsets(text), strict=False), start=1):
        if _PROSE.match(line):
            continue
        code = line if mark is None else re.split(rf"(?:^|\s){re.escape(mark)}", line, maxsplit=1)[0]
        for match in _TEXT_VALUE.finditer(code):
            old = match[0]
            if match["number"]:
                head, last = re.fullmatch(r"(.*?)(\d+)", old).groups()  # type: ignore[union-attr]
                new, value = f"{head}{int(last) + 1}", old if head else int(old)
            elif match["bool"]:
                new, value = _not(old), None
            else:
                new, value = f"{old}x", old
            start = offset + len(code[: match.start()].encode())
            yield Mutant(path, number, start, start + len(old.encode()), new, value, False, old)


def _not(word: str) -> str:
    return word.replace("true", "false") if "true" in word else word.replace("false", "true")
