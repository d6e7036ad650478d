"""Whether every name that a PowerShell file uses exists: functions, parameters, variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tree_sitter import Node

from tests.unit.powershell.source import Function, Source, enclosing, text, variables, walk

AUTOMATIC = frozenset(
    {
        "null",
        "true",
        "false",
        "_",
        "args",
        "psversiontable",
        "erroractionpreference",
        "progresspreference",
        "complex_args",
    }
)


def unknown_functions(source: Source, known: Mapping[str, Function]) -> Iterator[str]:
    """Calls of functions that are neither the file's own nor in `known`, with wrong parameters, or too few."""
    functions = {**known, **_by_name(source)}
    for command in source.commands:
        if "-Node" not in command.name:
            continue
        function = functions.get(command.name)
        if function is None:
            yield f"{source.at(command.node)}: there is no function {command.name} here, nor in a file that is required"
            continue
        for parameter in command.parameters:
            if parameter not in function.parameters:
                yield f"{source.at(command.node)}: {command.name} has no parameter -{parameter}"
        missing = {name for name, has_default in function.parameters.items() if not has_default} - set(
            command.parameters
        )
        if missing and not command.splats:
            yield f"{source.at(command.node)}: {command.name} is called without -{', -'.join(sorted(missing))}"


def unknown_variables(source: Source) -> Iterator[str]:
    """Variables that are read in a function but set nowhere in it: strict mode throws on them, once reached."""
    top = _assigned(source.root)
    inside = {function.node.id: _known_in(function) for function in source.functions}
    for name, node in variables(source.root):
        around = enclosing(node, {"function_statement"})
        if name in AUTOMATIC:
            continue
        if around is None:
            if name not in top:
                yield f"{source.at(node)}: ${name} is set nowhere"
            continue
        if name not in inside[around.id]:
            function = next(item for item in source.functions if item.node == around)
            yield f"{source.at(node)}: ${name} is set nowhere in {function.name}"


def used_before_defined(source: Source) -> Iterator[str]:
    """Functions that the script itself (not a function of it) calls above their definition."""
    places = {function.name: function.node.start_byte for function in source.functions}
    for command in source.commands:
        defined = places.get(command.name)
        if (
            defined is not None
            and enclosing(command.node, {"function_statement"}) is None
            and command.node.start_byte < defined
        ):
            yield f"{source.at(command.node)}: {command.name} is called above its definition"


def leaked_results(source: Source, known: Mapping[str, Function]) -> Iterator[str]:
    """Calls of functions that return something, whose value nobody takes."""
    functions = {**known, **_by_name(source)}
    for command in source.commands:
        function = functions.get(command.name)
        if function is None or not returns_value(function):
            continue
        pipeline = enclosing(command.node, {"pipeline"})
        if (
            pipeline is None
            or pipeline.parent is None
            or pipeline.parent.type not in {"statement_list", "statement_block"}
        ):
            continue
        around = enclosing(
            pipeline,
            {"sub_expression", "array_expression", "parenthesized_expression", "statement_block", "function_statement"},
        )
        if around is not None and around.type not in {"statement_block", "function_statement"}:
            continue
        yield f"{source.at(command.node)}: nobody takes what {command.name} returns; write $null = in front"


def returns_value(function: Function) -> bool:
    """Whether any `return` of the function itself (not of a block in it) has a value."""
    for node in walk(function.node):
        if node.type == "flow_control_statement" and re.match(r"return\s+\S", text(node), re.IGNORECASE):
            around = enclosing(node, {"function_statement", "script_block_expression"})
            if around is not None and around.type == "function_statement":
                return True
    return False


def unused(sources: Iterable[Source]) -> Iterator[str]:
    """Functions that no file calls."""
    everything = list(sources)
    called = {command.name for source in everything for command in source.commands}
    for source in everything:
        for function in source.functions:
            if function.name not in called:
                yield f"{source.at(function.node)}: nobody calls {function.name}"


def _by_name(source: Source) -> dict[str, Function]:
    return {function.name: function for function in source.functions}


def _known_in(function: Function) -> set[str]:
    return {parameter.lower() for parameter in function.parameters} | _assigned(function.node)


def _assigned(node: Node) -> set[str]:
    """Variables that are set somewhere below the node: by `=`, by `foreach`, as parameter."""
    names: set[str] = set()
    for found in walk(node):
        if found.type == "left_assignment_expression":
            first = next(iter(variables(found)), None)
            if first is not None:
                names.add(first[0])
        elif found.type in {"foreach_statement", "script_parameter"}:
            names.add(next(iter(variables(found)))[0])
    return names
