"""Where secrets are in the scripts, and that none of them comes to where PowerShell's logs keep what they see.

Module logging (event 4103) writes down what a cmdlet is handed, also by a pipeline; a transcript the error of a
conversion, which quotes the value, and what is thrown, also where it is caught. Methods and our own functions are in
neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tests.unit.powershell.source import Function, Source, commands, only, text, walk

NAMES = frozenset(
    {"content", "credential", "headers", "known", "password", "proxy", "secret", "secrets", "stdin", "url", "userinfo"}
)
"""What a parameter is called, or the argument of an op, that may be a secret. `known`: the list of all of a batch."""
OF_OPS = NAMES | {"args", "environment", "source", "value"}
"""And what is one among an op's arguments alone, which the ops hand about as $Arguments."""
HARMLESS = frozenset({"authority", "count", "isfile", "length", "localpath", "scheme", "statuscode"})
"""Members of a secret, or of what was made with one, that tell nothing of it."""
QUIET = frozenset({"[string]", "[object]", "[object[]]", "[string[]]", "[byte[]]", "[bool]", "[char[]]", "[ref]"})
"""Conversions that quote nothing, since they cannot fail for a text."""
_READ = re.compile(r"-Map \$Arguments\b.* -Name '(\w+)'|-Name '(\w+)'.* -Map \$Arguments\b", re.IGNORECASE)


def secrets_stay_away_from_cmdlets(source: Source) -> Iterator[str]:
    """No cmdlet, pipeline, conversion or exception gets what may be secret."""
    for function in source.functions:
        tainted = _tainted(function)
        for node in walk(function.node):
            if node.type == "command":
                yield from _commands(source, node, tainted)
            elif node.type == "pipeline_chain" and len(node.named_children) > 1:
                if _holds(node.named_children[0], tainted):
                    yield f"{source.at(node)}: {text(node)[:60]}: a pipeline gets what may be secret; use a loop"
            elif node.type == "cast_expression" and text(node.children[0]).lower() not in QUIET:
                if _is(node.children[-1], tainted):
                    yield f"{source.at(node)}: {text(node)[:60]}: its error would quote what may be secret; TryParse"
            elif node.type == "flow_control_statement" and _throws(node, tainted):
                yield f"{source.at(node)}: {text(node)[:60]}: a transcript keeps what is thrown; hide it first"


def _throws(node: Node, tainted: frozenset[str]) -> bool:
    return text(node).lower().startswith("throw") and _holds(node, tainted)


def _commands(source: Source, node: Node, tainted: frozenset[str]) -> Iterator[str]:
    command = next(commands(node))
    # A dictionary's text is the name of its type: ConvertTo-Json is handed nothing else.
    if "-Node" in command.name or command.name == "ConvertTo-Json":
        return
    if any(_holds(child, tainted) for child in node.named_children if child.type == "command_elements"):
        yield f"{source.at(node)}: {text(node)[:60]}: a cmdlet gets what may be secret; use a method"


def _tainted(function: Function) -> frozenset[str]:
    """The variables of a function that may hold a secret: parameters by their names, and what is made of one."""
    found = {name.lower() for name in function.parameters} & NAMES
    while True:
        more = set(found)
        for node in walk(function.node):
            if node.type == "assignment_expression":
                left = only(node.children[0])
                if left.type == "variable" and _makes(node.children[-1], frozenset(found)):
                    more.add(text(left).lstrip("$").lower())
            elif node.type == "foreach_statement" and _makes(node.named_children[1], frozenset(found)):
                more.add(text(node.named_children[0]).lstrip("$").lower())
        more.discard("null")
        if more == found:
            return frozenset(found)
        found = more


def _makes(node: Node, tainted: frozenset[str]) -> bool:
    """Whether a value has a secret in it: not what hides one, asks of one or counts one."""
    written = text(node)
    if written.startswith("Hide-Node") or re.match(r"^\(?\[(bool|int|int64)\]", written):
        return False
    inner = only(node)
    while inner.type in {"pipeline", "pipeline_chain"} and inner.named_child_count == 1:
        inner = only(inner.named_children[0])
    if (
        "comparison" in inner.type
        and inner.child_count == 3
        and re.match(r"-[ci]?(eq|ne|match)", text(inner.children[1]))
    ):
        return False
    found = _READ.search(written)
    return _holds(node, tainted) or bool(found and (found[1] or found[2]).lower() in OF_OPS)


def _holds(node: Node, tainted: frozenset[str]) -> bool:
    """Whether a secret stands in it; in a text too, but not in a block that is run for each, nor in what hides it."""
    if node.type in {"script_block_expression"} or (node.type == "command" and text(node).startswith("Hide-Node")):
        return False
    if _is(node, tainted):
        above = node.parent
        counts = above is not None and above.type == "member_access" and text(above.children[-1]).lower() in HARMLESS
        return not counts
    return any(_holds(child, tainted) for child in node.children)


def _is(node: Node, tainted: frozenset[str]) -> bool:
    inner = only(node)
    if inner.type in {"variable", "braced_variable"}:
        return text(inner).lstrip("$").strip("{}").lower() in tainted
    if inner.type == "element_access":
        found = re.match(r"^\$(\w+)\['(\w+)'\]$", text(inner))
        if found is None:
            return False
        return found[2].lower() == "secrets" or (found[1].lower() == "arguments" and found[2].lower() in OF_OPS)
    if inner.type == "member_access":
        return text(inner.children[-1]).lower() in {"userinfo", "password"}
    return False
