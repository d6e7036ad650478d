"""What the .ps1 files can be asked for, read out of their syntax: ops, wait kinds, queries, answers, arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from tests.unit.powershell.source import HNS, MODULES, RUNNER, SHARED, Command, Function, commands, read, text, walk

READERS = {"Get-NodeArgument", "Get-NodeArgumentList"}


@dataclass(frozen=True)
class Branches:
    """Each op, wait kind and query with the arguments that are read for it; the words of an answer."""

    ops: dict[str, frozenset[str]]
    waits: dict[str, frozenset[str]]
    queries: dict[str, frozenset[str]]
    kinds: frozenset[str]
    answers: frozenset[str]
    outcomes: frozenset[str]


def branches() -> Branches:
    """All of them, from the files as they are."""
    sources = [read(path) for path in (*SHARED, *RUNNER, *HNS)]
    functions = {function.name: function for source in sources for function in source.functions}
    apply = next(read(path) for path in MODULES if path.name == "node_apply.ps1")
    ops = {name: _arguments(node, "Arguments", functions) for name, node in cases_of(functions["Invoke-NodeOp"])}
    waits = {name: _arguments(node, "Arguments", functions) for name, node in cases_of(functions["Test-NodeWaited"])}
    shared = {"Test-NodeWaited", "Get-NodeWaitSubject"}
    waits["service"] |= _arguments(functions["Invoke-NodeOpWait"].node, "Arguments", functions, leave=shared)
    queries = {name: _arguments(node, "Query", functions) for name, node in cases_of(functions["Read-NodeAnswer"])}
    for name, clause in clauses_of(read(HNS[-1]).root):
        # What HNS needs comes in a text of its own: the clauses of Invoke-NodeOp and the others only hand on to it.
        words, title = (waits, "hns_network") if name == "wait" else (queries if name in queries else ops, name)
        words[title] |= _arguments(clause, "Arguments", functions)
    whole = "\n".join(text(source.root) for source in [*sources, apply])
    return Branches(
        {name: names for name, names in ops.items() if name != "wait"},
        waits,
        queries,
        frozenset(re.findall(r"\$kind -ceq '(\w+)'", text(apply.root))) & {"submit", "acknowledge", "follow"}
        | {"follow"},
        frozenset(re.findall(r"answer(?:'\])? = '(\w+)'", text(apply.root))) - {"follow"},
        frozenset(re.findall(r"(?:-Outcome|outcome =) '(\w+)'", whole)),
    )


def cases_of(function: Function) -> list[tuple[str, Node]]:
    """The clauses of the first switch in a function: (word, clause); `default` is none."""
    return clauses_of(function.node)


def clauses_of(root: Node) -> list[tuple[str, Node]]:
    """The clauses of all switches below a node."""
    clauses = [node for node in walk(root) if node.type == "switch_clause"]
    named = [(re.match(r"'(\w+)'", text(clause)), clause) for clause in clauses]
    return [(match[1], clause) for match, clause in named if match]


def _arguments(
    node: Node, map_name: str, functions: dict[str, Function], leave: set[str] | frozenset[str] = frozenset()
) -> frozenset[str]:
    """The keys that are read of `$<map_name>` in a node, and in the functions that it hands the map to."""
    found: set[str] = set(re.findall(rf"\${map_name}\['(\w+)'\]", text(node)))
    for command in commands(node):
        given = dict(_given(command))
        if command.name in READERS and given.get("Map") == f"${map_name}":
            found |= set(re.findall(r"^'(\w+)'$", given.get("Name", "")))
        elif (
            command.name in functions
            and command.name not in leave
            and given.get(map_name) in {f"${map_name}", "$arguments"}
        ):
            found |= _arguments(functions[command.name].node, map_name, functions, leave)
    return frozenset(found)


def _given(command: Command) -> Iterator[tuple[str, str]]:
    """Parameter -> the text of its argument."""
    elements = next((child for child in command.node.children if child.type == "command_elements"), None)
    name = ""
    for child in elements.children if elements is not None else []:
        if child.type == "command_parameter":
            name = text(child).lstrip("-")
        elif child.type != "command_argument_sep" and name:
            yield name, text(child)
            name = ""
