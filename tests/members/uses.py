"""Every type and member of .NET that a script names, with the type that it is asked of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from tests.members.types import NOT_OF_NET, Program, Types, arguments, called, made, member_name
from tests.unit.powershell.source import Source, enclosing, text, walk

MADE_UP = frozenset({"psobject", "psbase", "pstypenames"})
"""Members that PowerShell gives every object."""
FOR_SEVEN = re.compile(r"\$PSVersionTable\.PSVersion\.Major -(ge 6|lt 6)")


@dataclass(frozen=True)
class Use:
    """`kind`: type, static, instance, new. `count`: of arguments, None of what is no call. `types`: of each argument.
    `seven`: it stands where only PowerShell 7 comes."""

    at: str
    kind: str
    receiver: Types
    name: str
    count: int | None
    types: tuple[Types, ...]
    seven: bool
    node: Node

    def __str__(self) -> str:
        shown = "/".join(sorted(each or "?" for each in self.receiver))
        call = "" if self.count is None else f" with {self.count} arguments"
        return f"{self.at}: [{shown}]{'::' if self.kind == 'static' else '.' if self.name else ''}{self.name}{call}"


def uses(program: Program, source: Source) -> Iterator[Use]:
    """In the order of the text."""
    later = of_seven(program)
    for node in walk(source.root):
        if node.type not in {"type_literal", "command", "member_access", "invokation_expression"}:
            continue
        seven = for_seven(node) or _function_around(node) in later
        at = source.at(node)
        if node.type == "type_literal" and node.parent is not None and node.parent.type != "attribute_name":
            yield Use(at, "type", frozenset({program.named(text(node))}), "", None, (), seven, node)
        elif node.type == "command" and text(node).startswith("New-Object"):
            kind, given = made(node)
            if kind and kind not in NOT_OF_NET and given is not None:
                scope = program.scope(node)
                types = tuple(scope.types(each) for each in given)
                yield Use(at, "new", frozenset({program.named(kind)}), "new", len(given), types, seven, node)
        elif node.type in {"member_access", "invokation_expression"}:
            name = member_name(node)
            if name == "" or name.startswith(("$", "'", '"')) or name.lower() in MADE_UP:
                continue
            if text(node.children[0]).lower() == "$psversiontable":
                continue  # A key of a Hashtable.
            scope = program.scope(node)
            given = arguments(node)
            count = len(given) if called(node) is not None else None
            types = tuple(scope.types(each) for each in given)
            if node.children[0].type == "type_literal":
                receiver: Types = frozenset({program.named(text(node.children[0]))})
                kind = "new" if name.lower() == "new" else "static"
                yield Use(at, kind, receiver, name, count, types, seven, node)
            else:
                yield Use(at, "instance", scope.types(node.children[0]), name, count, types, seven, node)


def for_seven(node: Node) -> bool:
    """Whether a node stands in a branch that Windows PowerShell does not take."""
    above = enclosing(node, {"if_statement"})
    while above is not None:
        condition = next((child for child in above.named_children if child.type == "pipeline"), None)
        found = FOR_SEVEN.search(text(condition)) if condition is not None else None
        if found is not None:
            branch = "statement_block" if found[1] == "ge 6" else "else_clause"
            if any(
                child.type == branch and child.start_byte <= node.start_byte < child.end_byte
                for child in above.named_children
            ):
                return True
        above = enclosing(above, {"if_statement"})
    return False


def of_seven(program: Program) -> frozenset[str]:
    """The functions that are called from such branches alone."""
    found: set[str] = set()
    while True:
        more = {
            name
            for name, function in program.functions.items()
            if name not in found
            and (calls := [call for call in program.calls.get(name, []) if not _inside(call.node, function.node)])
            and all(for_seven(call.node) or _function_around(call.node) in found for call in calls)
        }
        if not more:
            return frozenset(found)
        found |= more


def _inside(node: Node, other: Node) -> bool:
    around = enclosing(node, {"function_statement"})
    return around is not None and around.id == other.id


def _function_around(node: Node) -> str:
    around = enclosing(node, {"function_statement"})
    return next((text(child) for child in around.children if child.type == "function_name"), "") if around else ""
