"""PowerShell sources as syntax trees, and what the checks ask of them. The grammar is tree-sitter-powershell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).resolve().parents[3]
COMMAND_NAMES = {"command_name", "command_name_expr"}
_PARSER = Parser(Language(tree_sitter_powershell.language()))

FOLDER = ROOT / "powershell"
MODULES = [FOLDER / "node_apply.ps1", FOLDER / "node_probe.ps1"]
SHARED = sorted((FOLDER / "shared").glob("*.ps1"))
RUNNER = sorted((FOLDER / "runner").glob("*.ps1"))
HNS_READ = [FOLDER / "hns" / "call.ps1", FOLDER / "hns" / "read.ps1"]
HNS = [FOLDER / "hns" / "call.ps1", FOLDER / "hns" / "change.ps1"]
HOST_PROCESS = FOLDER / "host_process.ps1"
FILES = [*MODULES, *SHARED, *RUNNER, *HNS, HNS_READ[1], HOST_PROCESS]
PROGRAMS = [
    *(ROOT / "plugins" / "modules" / path.name for path in MODULES),
    *(
        ROOT / "plugins" / "plugin_utils" / "node" / name
        for name in ("runner.ps1", "hns.ps1", "hns_read.ps1", "host_process.ps1")
    ),
]
"""What `make generate` makes of them: what is sent."""


@dataclass(frozen=True)
class Function:
    """A function of a source: its name, its parameters (name -> whether it has a default), its node."""

    name: str
    parameters: dict[str, bool]
    node: Node


@dataclass(frozen=True)
class Command:
    """A call of a cmdlet or function: name, names of its parameters (without `-`), whether it splats."""

    name: str
    parameters: tuple[str, ...]
    splats: bool
    node: Node


@dataclass(frozen=True)
class Source:
    """One PowerShell text; `name` is how a finding names it."""

    name: str
    data: bytes

    @cached_property
    def root(self) -> Node:
        return _PARSER.parse(self.data).root_node

    @cached_property
    def functions(self) -> list[Function]:
        return [_function(node) for node in walk(self.root) if node.type == "function_statement"]

    @cached_property
    def commands(self) -> list[Command]:
        return list(commands(self.root))

    def errors(self) -> list[str]:
        """Where the grammar does not understand the text."""
        wrong = [node for node in walk(self.root) if node.type == "ERROR" or node.is_missing]
        return [f"{self.at(node)}: not understood: {text(node)[:60]!r}" for node in wrong]

    def at(self, node: Node) -> str:
        return f"{self.name}:{node.start_point.row + 1}"


def read(path: Path) -> Source:
    return Source(path.relative_to(ROOT).as_posix(), path.read_bytes())


def snippet(script: str) -> Source:
    return Source("sample", script.encode())


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.children))


def text(node: Node) -> str:
    return (node.text or b"").decode()


def variables(node: Node) -> Iterator[tuple[str, Node]]:
    """Every variable below the node, lower case, without `$`, `@`, braces and scope prefix `script:`."""
    for found in walk(node):
        if found.type == "variable":
            yield text(found).lstrip("$@").strip("{}").lower(), found


def commands(node: Node) -> Iterator[Command]:
    for found in walk(node):
        if found.type != "command":
            continue
        name = next((text(child) for child in found.children if child.type in COMMAND_NAMES), "")
        elements = next((child for child in found.children if child.type == "command_elements"), None)
        inside = elements.children if elements is not None else []
        parameters = tuple(text(child).lstrip("-").rstrip(":") for child in inside if child.type == "command_parameter")
        splats = any(text(child)[:1] == "@" and text(child)[1:2].isalpha() for child in inside)
        yield Command(name, parameters, splats, found)


def enclosing(node: Node, types: set[str]) -> Node | None:
    """The nearest node above that is of one of these types."""
    above = node.parent
    while above is not None and above.type not in types:
        above = above.parent
    return above


def only(node: Node) -> Node:
    """The node inside chains of nodes with one child (the grammar's levels of precedence)."""
    while node.named_child_count == 1 and node.child_count == 1:
        node = node.children[0]
    return node


def _function(node: Node) -> Function:
    name = next(text(child) for child in node.children if child.type == "function_name")
    block = next((child for child in node.children if child.type == "script_block"), None)
    parameters: dict[str, bool] = {}
    head = next((child for child in block.children if child.type == "param_block"), None) if block is not None else None
    for found in walk(head) if head is not None else ():
        if found.type == "script_parameter":
            variable = next(child for child in found.children if child.type == "variable")
            has_default = any(child.type == "script_parameter_default" for child in found.children)
            parameters[text(variable).lstrip("$")] = has_default
    return Function(name, parameters, node)
