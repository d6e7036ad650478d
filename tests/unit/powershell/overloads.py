"""Overloaded .NET methods: which one PowerShell takes is decided by the arguments' types while the script runs.

`[Math]::Max(0, $seconds)` is Max(Int32, Int32) for it, also where $seconds is a Double: 1.7 becomes 2, and 3e9 throws.
So where overloads differ in type, each argument's type has to be seen in the text: a cast, a literal, a parameter or
variable that has one. What is not seen is None, and a finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from tests.unit.powershell.source import Source, enclosing, only, text, walk

Types = Sequence[str | None]

_NAMES = {"long": "int64", "int32": "int", "float": "single", "boolean": "bool"}
_NUMBERS = ("byte", "int", "int64", "double")
_PROPERTIES = {
    "count": "int",
    "elapsedmilliseconds": "int64",
    "totalmilliseconds": "double",
    "totalseconds": "double",
    "totaldays": "double",
}
"""Of lists and of Stopwatch and TimeSpan. Length is a string's or array's (int) or a stream's (int64)."""
_METHODS = {
    "array.indexof": "int",
    "array.lastindexof": "int",
    "bitconverter.toint32": "int",
    "math.floor": "double",
    "math.pow": "double",
    "math.round": "double",
}
_LITERALS = {"decimal_integer_literal": "int", "hexadecimal_integer_literal": "int", "real_literal": "double"}


def overloads(source: Source) -> Iterator[str]:
    """Each argument of an overloaded method has a type that can be seen, and the overload is the one that is meant."""
    scopes: dict[int, _Scope] = {}
    for node in walk(source.root):
        if node.type != "invokation_expression":
            continue
        name, arguments = _call(node)
        wanted = _RULES.get(name) or _RULES.get("." + name.rpartition(".")[2])
        if wanted is None:
            continue
        around = enclosing(node, {"function_statement"}) or source.root
        scope = scopes.setdefault(around.id, _Scope(around))
        types = [scope.type_of(argument) for argument in arguments]
        if problem := wanted(types):
            yield f"{source.at(node)}: {text(node)[:80]}: {problem}; the types are {', '.join(map(str, types))}"


# -- what is wanted ------------------------------------------------------------------------------------------------


def _same_number(types: Types) -> str:
    return "" if len(set(types)) == 1 and types[0] in _NUMBERS else "cast all arguments to one type of number"


def _is(*wanted: str) -> Callable[[Types], str]:
    """The first arguments are of these types (`a|b`: one of them)."""

    def rule(types: Types) -> str:
        pairs = list(zip(wanted, types, strict=False))
        return "" if all(found in one.split("|") for one, found in pairs) else f"cast to {', '.join(wanted)}"

    return rule


def _not(*wrong: str) -> Callable[[Types], str]:
    """There is one overload of so many arguments: what is not seen may be right."""
    return lambda types: f"cast, it is not {' or '.join(wrong)}" if set(wrong) & set(types) else ""


def _element(types: Types) -> str:
    """A literal is an Int32: as an Object it equals no Byte."""
    array, value = types[0], types[1]
    return "" if value is not None and array in {None, f"{value}[]"} and value != "int" else "cast the value"


_LETTERS = "char[]|char|letter"
_SECONDS = _is("double|int")
_RULES: dict[str, Callable[[Types], str]] = {
    "math.max": _same_number,
    "math.min": _same_number,
    "math.abs": _is("int|int64|double"),
    "math.sign": _is("int|int64|double"),
    "math.round": _is("double", "int"),
    "math.floor": _is("double"),
    "math.ceiling": _is("double"),
    "math.truncate": _is("double"),
    "array.indexof": _element,
    "array.lastindexof": _element,
    "bitconverter.getbytes": _is("int|int64|uint16|uint32|uint64|double"),
    "bitconverter.tostring": _is("byte[]"),
    "convert.tobase64string": _not("string", "int"),
    "convert.tobyte": _is("string", "int"),
    "convert.toint32": _is("string", "int"),
    "convert.toint64": _is("string", "int"),
    "convert.tostring": _is("byte|int|int64", "int"),
    "timespan.fromseconds": _SECONDS,
    "timespan.frommilliseconds": _SECONDS,
    "thread.sleep": _is("int"),
    ".substring": _not("double", "string", "letter"),
    ".split": _is(_LETTERS),
    ".trim": _is(_LETTERS),
    ".trimend": _is(_LETTERS),
    ".trimstart": _is(_LETTERS, _LETTERS, _LETTERS, _LETTERS),
    ".waitforexit": _is("int"),
    ".wait": _is("int"),
    ".writebyte": _is("byte"),
}
"""`class.method` of a static call, `.method` of any other. Trim and Split take a text for its letters on .NET
Framework, as a whole on .NET. Wait and WaitForExit take a TimeSpan too on .NET."""


# -- which types can be seen ---------------------------------------------------------------------------------------


@dataclass
class _Scope:
    """A function, or what stands outside of all."""

    node: Node
    _known: dict[str, str | None] = field(default_factory=dict)

    def type_of(self, node: Node) -> str | None:
        """The type of an expression in lower case, None where it cannot be seen."""
        node = only(node)
        if node.type in _LITERALS:
            return _LITERALS[node.type]
        if node.type.endswith("string_literal") or node.type.endswith("string_characters"):
            return "letter" if len(text(node)) == 3 else "string"
        if node.type == "parenthesized_expression":
            return self.type_of(node.named_children[0])
        if node.type == "expression_with_unary_operator":
            return self.type_of(node.children[1]) if text(node.children[0]) in "+-" else None
        if node.type == "cast_expression":
            return _named(node.children[0])
        if node.type == "variable":
            return self._variable(text(node).lstrip("$").strip("{}").lower())
        if node.type.startswith(("additive_", "multiplicative_")) and node.child_count == 3:
            return self._calculated(text(node.children[1]), *(self.type_of(node.children[side]) for side in (0, 2)))
        if node.type == "member_access":
            return self._property(node)
        if node.type == "invokation_expression":
            name, arguments = _call(node)
            if name in {"math.max", "math.min", "math.abs"}:
                return self.type_of(arguments[0])
            return "string" if name.endswith((".substring", ".tostring")) else _METHODS.get(name)
        return None

    def _calculated(self, operator: str, left: str | None, right: str | None) -> str | None:
        if left == "double":
            return left  # Whatever it is calculated with, or PowerShell throws.
        if "?" in {left, right}:
            return "double" if "double" in {left, right} else "?"
        if left not in _NUMBERS or right not in _NUMBERS:
            return left if operator == "+" and left == "string" else None
        if "double" in {left, right}:
            return "double"
        return None if operator == "/" else max(left, right, "int", key=_NUMBERS.index)

    def _property(self, node: Node) -> str | None:
        name = text(node.children[-1]).lower()
        if name in {"directoryseparatorchar", "altdirectoryseparatorchar"}:
            return "char"
        if name == "length":
            of = self.type_of(node.children[0])
            return "int" if of == "string" or (of or "").endswith("[]") else None
        return _PROPERTIES.get(name)

    def _variable(self, name: str) -> str | None:
        if name not in self._known:
            self._known[name] = "?"  # While it is looked up: its own value may be in what it is given.
            self._known[name] = self._looked_up(name)
        return self._known[name]

    def _looked_up(self, name: str) -> str | None:
        found: set[str | None] = set()
        for node in walk(self.node):
            if node.type == "script_parameter" and _name_in(node) == name:
                return next((_named(each) for each in walk(node) if each.type == "type_literal"), None)
            if node.type == "foreach_statement" and _name_in(node) == name:
                return None
            if node.type != "assignment_expression":
                continue
            left = only(node.children[0])
            cast = next((_named(each) for each in walk(left) if each.type == "type_literal"), None)
            target = next((each for each in walk(left) if each.type == "variable"), None)
            if target is None or text(target).lstrip("$").lower() != name or left.type == "member_access":
                continue
            if cast is not None:
                return cast
            # $i += 1.5 makes a Double of an Int32.
            found.add(self.type_of(node.children[2]))
        found.discard("?")
        return found.pop() if len(found) == 1 else None


def _call(node: Node) -> tuple[str, list[Node]]:
    """(`math.max` or `.substring` in lower case, the arguments)."""
    name = next((text(child) for child in node.children if child.type == "member_name"), "").lower()
    kind = _named(node.children[0]) if node.children[0].type == "type_literal" else ""
    arguments = [found for found in walk(node) if found.type == "argument_expression" and _owner(found) == node.id]
    return f"{kind}.{name}", arguments


def _owner(argument: Node) -> int:
    above = enclosing(argument, {"invokation_expression"})
    return above.id if above is not None else 0


def _named(node: Node) -> str:
    """`[System.Math]` -> `math`, `[long]` -> `int64`, `[System.Byte[]]` -> `byte[]`."""
    name = re.sub(r"^\[(system\.)?(.*)\]$", r"\2", text(node).lower().replace(" ", ""))
    name = name.removeprefix("threading.")
    return _NAMES.get(name, name)


def _name_in(node: Node) -> str:
    found = next((each for each in walk(node) if each.type == "variable"), None)
    return text(found).lstrip("$").strip("{}").lower() if found is not None else ""
