"""What the scripts use of .NET, judged by a table of members: is it there, with so many arguments, and is it loaded.

`make members` judges by all of .NET Framework 4.7.2, and keeps what is used; `make lint` by what was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from tests.members.choices import CHOICES
from tests.members.members import LOADED, Member, Members, generic
from tests.members.types import NOT_OF_NET, Program, assignable
from tests.members.uses import FOR_SEVEN, Use, for_seven, uses
from tests.unit.powershell.source import Source, commands, enclosing, text

COUNTED = frozenset({"count", "length"})
"""What PowerShell gives a list under both names, and every single thing."""
_BRANCHES = {
    *("if_statement", "for_statement", "foreach_statement", "while_statement", "switch_statement"),
    *("catch_clause", "script_block_expression", "function_statement"),
}


@dataclass(frozen=True)
class Judged:
    """A use with the members that it may mean; `named`: what it is asked of is not known, they are found by name."""

    use: Use
    means: tuple[Member, ...]
    named: bool = False


def judged(program: Program, among: Members | None = None) -> Iterator[Judged]:
    """Every use of a program but those of PowerShell's own objects. `among`: where a member is looked for by its name
    alone, the program's table if none."""
    table = among or program.members
    for source in program.sources:
        for use in uses(program, source):
            if not {each.removesuffix("[]") for each in use.receiver if each is not None} & NOT_OF_NET:
                yield _judged(program, table, use)


def findings(program: Program, lacks: str, among: Members | None = None) -> Iterator[str]:
    """What a program uses and may not, each as a sentence. `lacks`: what is said of a member that the table does not
    have."""
    for source in program.sources:
        yield from source.errors()
    for each in judged(program, among):
        if not each.means and not each.use.seven:
            yield f"{each.use}: {lacks}"
    yield from not_loaded(program)
    for use, both, more in choices(program):
        if not any(choice.is_of(use, both, more) for choice in CHOICES):
            mine = " or ".join(f"{member.name}({', '.join(member.parameters)})" for member in more)
            yield (
                f"{use}: PowerShell 7 may take {mine}, which Windows PowerShell does not have; give each argument the "
                f"type of {both[0].name}({', '.join(both[0].parameters)}), or add it to CHOICES with a case"
            )


def _judged(program: Program, table: Members, use: Use) -> Judged:
    known = sorted(each for each in use.receiver if each is not None)
    if use.kind == "type":
        types = [
            found
            for one in known
            for part in _parts(one)
            if (found := program.members.type(part)) is not None and (use.seven or "5.1" in found.versions)
        ]
        whole = len(types) == sum(len(_parts(one)) for one in known)
        return Judged(use, tuple(types) if whole else ())
    if use.kind == "instance" and use.name.lower() in COUNTED and any(one.endswith("[]") for one in known):
        return Judged(use, tuple(program.members.find("System.Array", "Length")))
    means = tuple(member for one in known for member in _callable(program.members, one, use))
    if means and None not in use.receiver:
        return Judged(use, means)
    if use.kind != "instance":
        return Judged(use, means)
    # Of a base class, what one that is derived from it has; of nobody knows what, what anything has.
    by_name = tuple(
        member
        for member in table.named(use.name)
        if _fits(member, use) and (None in use.receiver or not known or _derived(table, member.type, known))
    )
    return Judged(use, means or by_name, named=not means)


def _callable(members: Members, of: str, use: Use) -> list[Member]:
    if use.kind == "new" and of.endswith("[]"):
        return members.find("System.Array", "Length")  # A list of so many.
    found = [member for member in members.find(of, use.name) if _fits(member, use)]
    if use.kind == "new" and not found and use.count == 0 and (known := members.type(of)) is not None:
        return [known] if known.how == "struct" else []
    return found


def _fits(member: Member, use: Use) -> bool:
    if not use.seven and "5.1" not in member.versions:
        return False
    if use.kind == "static" and member.how != "static":
        return False
    if use.kind == "instance" and member.how == "static":
        return False
    if use.count is None:
        return member.kind in {"property", "field", "event"}
    if member.kind in {"method", "new"}:
        return member.takes(use.count)
    # Its getter, by name.
    return use.name.lower().startswith("get_") and use.count == 0


def _derived(table: Members, of: str, known: Sequence[str]) -> bool:
    return bool(set(table.line(of)) & set(known))


def _parts(name: str) -> list[str]:
    """The types in a type: `List`1[System.String]` has two."""
    name = name.removesuffix("[]")
    inside = name[name.find("[") + 1 : -1] if "`" in name and name.endswith("]") else ""
    return [generic(name), *(part for one in inside.split(",") if one for part in _parts(one))]


# -- what Windows PowerShell has to load first ---------------------------------------------------------------------


def not_loaded(program: Program) -> Iterator[str]:
    """A type of an assembly that 5.1 does not have by itself, and a way to it without Add-Type."""
    told: set[tuple[str, str]] = set()
    for source in program.sources:
        for use in uses(program, source):
            if use.seven or use.kind == "instance":
                continue
            for of in use.receiver:
                known = program.members.type(of.removesuffix("[]")) if of is not None else None
                if known is None or known.assembly in LOADED or known.versions == "7":
                    continue
                if not _loads_before(program, source, use.node, known.assembly, frozenset()):
                    key = (use.at, known.type)
                    if key not in told:
                        told.add(key)
                        yield (
                            f"{use.at}: [{known.type}] is in {known.assembly}, which Windows PowerShell has not "
                            f"loaded: Add-Type -AssemblyName {known.assembly} on every way to it"
                        )


def _loads_before(program: Program, source: Source, node: Node, assembly: str, seen: frozenset[str]) -> bool:
    """Whether Add-Type of an assembly stands on every way to a node."""
    around = enclosing(node, {"function_statement"})
    name = next((text(child) for child in around.children if child.type == "function_name"), "") if around else ""
    inside = around if around is not None else source.root
    for command in commands(inside):
        if command.node.start_byte >= node.start_byte:
            break
        if enclosing(command.node, {"function_statement"}) != around:
            continue
        if not _sometimes(command.node, node) and (
            _loads(command.node, assembly) or _always_loads(program, command.name, assembly)
        ):
            return True
    if name in seen or not name:
        return False
    calls = [
        (each, command)
        for each in program.sources
        for command in each.commands
        if command.name == name and not _recursive(command.node, name)
    ]
    return bool(calls) and all(
        _loads_before(program, each, command.node, assembly, seen | {name}) for each, command in calls
    )


def _loads(node: Node, assembly: str) -> bool:
    written = text(node).split()
    return written[:2] == ["Add-Type", "-AssemblyName"] and assembly in written and not for_seven(node)


def _always_loads(program: Program, name: str, assembly: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function loads an assembly whatever else it does."""
    function = program.functions.get(name)
    if function is None or name in seen:
        return False
    return any(
        (_loads(command.node, assembly) or _always_loads(program, command.name, assembly, seen | {name}))
        and not _sometimes(command.node)
        for command in commands(function.node)
    )


def _sometimes(node: Node, other: Node | None = None) -> bool:
    """Whether a command stands in a branch, but that for 5.1, in a loop or a catch, and `other` outside of it."""
    above = enclosing(node, _BRANCHES)
    while above is not None and above.type != "function_statement":
        if other is not None and above.start_byte <= other.start_byte < above.end_byte:
            return False
        condition = next((child for child in above.named_children if child.type == "pipeline"), None)
        found = FOR_SEVEN.search(text(condition)) if condition is not None else None
        if above.type != "if_statement" or found is None or for_seven(node):
            return True
        above = enclosing(above, _BRANCHES)
    return False


def _recursive(node: Node, name: str) -> bool:
    around = enclosing(node, {"function_statement"})
    return around is not None and any(text(child) == name for child in around.children if child.type == "function_name")


# -- what PowerShell 7 may take instead ----------------------------------------------------------------------------


def choices(program: Program) -> Iterator[tuple[Use, tuple[Member, ...], tuple[Member, ...]]]:
    """(use, what .NET Framework has, what .NET has beside it) where the number of arguments leaves more to choose from
    and their types do not say that one is meant which both have."""
    for each in judged(program):
        use = each.use
        if each.named or use.seven or use.count is None or use.kind == "type":
            continue
        both = tuple(member for member in each.means if "5.1" in member.versions)
        more = tuple(
            member
            for one in sorted(each for each in use.receiver if each is not None)
            for member in program.members.find(one, use.name)
            if member.versions == "7" and member.takes(use.count) and member.kind in {"method", "new"}
        )
        if (
            both
            and more
            and (frozenset() in use.types or not any(assignable(program.members, member, use.types) for member in both))
        ):
            yield use, both, more
