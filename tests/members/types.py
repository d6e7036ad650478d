"""Which type of .NET an expression of a script has, as far as the text says so.

A cast, a parameter's type, New-Object, what a member of .NET or a function of ours returns: each gives a type. Where
several are possible (a variable that is given two things), all of them count; what is not known is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from tests.members.members import Member, Members, apart, generic, returned
from tests.unit.powershell.source import Command, Function, Source, commands, enclosing, only, text, walk

Types = frozenset[str | None]
UNKNOWN: Types = frozenset({None})
COM = "a COM object"
CIM = "Microsoft.Management.Infrastructure.CimInstance"
ADAPTED = "a PSObject"
"""An object whose members PowerShell makes up: of a CIM class, a registry key, a cmdlet for people."""
NOT_OF_NET = frozenset({COM, CIM, ADAPTED, "System.Management.Automation.PSObject"})

ACCELERATORS = {
    "adsi": "System.DirectoryServices.DirectoryEntry",
    "array": "System.Array",
    "bigint": "System.Numerics.BigInteger",
    "bool": "System.Boolean",
    "byte": "System.Byte",
    "char": "System.Char",
    "cmdletbinding": "System.Management.Automation.CmdletBindingAttribute",
    "cultureinfo": "System.Globalization.CultureInfo",
    "datetime": "System.DateTime",
    "decimal": "System.Decimal",
    "double": "System.Double",
    "float": "System.Single",
    "guid": "System.Guid",
    "hashtable": "System.Collections.Hashtable",
    "int": "System.Int32",
    "int16": "System.Int16",
    "int32": "System.Int32",
    "int64": "System.Int64",
    "ipaddress": "System.Net.IPAddress",
    "long": "System.Int64",
    "nullstring": "System.Management.Automation.Language.NullString",
    "object": "System.Object",
    "ordered": "System.Collections.Specialized.OrderedDictionary",
    "parameter": "System.Management.Automation.ParameterAttribute",
    "powershell": "System.Management.Automation.PowerShell",
    "pscustomobject": "System.Management.Automation.PSObject",
    "psobject": "System.Management.Automation.PSObject",
    "ref": "System.Management.Automation.PSReference",
    "regex": "System.Text.RegularExpressions.Regex",
    "runspacefactory": "System.Management.Automation.Runspaces.RunspaceFactory",
    "sbyte": "System.SByte",
    "scriptblock": "System.Management.Automation.ScriptBlock",
    "single": "System.Single",
    "string": "System.String",
    "switch": "System.Management.Automation.SwitchParameter",
    "timespan": "System.TimeSpan",
    "type": "System.Type",
    "uint16": "System.UInt16",
    "uint32": "System.UInt32",
    "uint64": "System.UInt64",
    "uri": "System.Uri",
    "validatenotnullorempty": "System.Management.Automation.ValidateNotNullOrEmptyAttribute",
    "validaterange": "System.Management.Automation.ValidateRangeAttribute",
    "validateset": "System.Management.Automation.ValidateSetAttribute",
    "version": "System.Version",
    "void": "System.Void",
    "xml": "System.Xml.XmlDocument",
}
"""5.1's names for types. Source: learn.microsoft.com, about_Type_Accelerators. short, uint, ulong
and ushort are 7's."""
_VARIABLES = {
    "true": "System.Boolean",
    "false": "System.Boolean",
    "pid": "System.Int32",
    "psversiontable": "System.Collections.Hashtable",
    "pscmdlet": "System.Management.Automation.PSCmdlet",
    "myinvocation": "System.Management.Automation.InvocationInfo",
    "matches": "System.Collections.Hashtable",
    "complex_args": "System.Collections.IDictionary",
}
_VALUES = {"psversion": "System.Version"}
"""What $PSVersionTable has: PowerShell takes a key of a Hashtable for a property."""
_ADAPTS = re.compile(
    r"^(Get|New|Set|Start|Add|Resolve)-"
    r"(Cim|Net|Dns|Item|VM|Windows|WSMan|Self|ChildItem|Acl|Service|Process|Date)",
    re.IGNORECASE,
)
_TYPED = {
    "Get-Service": "System.ServiceProcess.ServiceController",
    "Get-Date": "System.DateTime",
    "Get-Acl": ADAPTED,
    "Join-Path": "System.String",
    "Split-Path": "System.String",
    "Test-Path": "System.Boolean",
    "ConvertTo-Json": "System.String",
    "New-SelfSignedCertificate": "System.Security.Cryptography.X509Certificates.X509Certificate2",
    "Start-Process": "System.Diagnostics.Process",
    "ConvertFrom-Json": ADAPTED,
    "Invoke-CimMethod": ADAPTED,
}
_KNOWN_BY_NAME = {
    "count": "System.Int32",
    "elapsed": "System.TimeSpan",
    "elapsedmilliseconds": "System.Int64",
    "totalseconds": "System.Double",
    "totalmilliseconds": "System.Double",
    "totaldays": "System.Double",
}
"""What a property gives whatever it is asked of: of lists, of Stopwatch and of TimeSpan."""
_ALSO = {
    "System.Globalization.CultureInfo": {"System.IFormatProvider"},
    "System.Text.UTF8Encoding": {"System.Text.Encoding"},
}
"""Interfaces, which the table does not say."""
_TEXT = ("-f", "-replace", "-creplace", "-ireplace", "-join")
_NUMBERS = ("System.Byte", "System.Int32", "System.Int64", "System.Double", "System.Decimal")


@dataclass
class Program:
    """Texts that are sent together: their functions know each other by name."""

    members: Members
    sources: Sequence[Source]
    functions: dict[str, Function] = field(default_factory=dict)
    calls: dict[str, list[Command]] = field(default_factory=dict)
    _scopes: dict[int, Scope] = field(default_factory=dict)
    _returns: dict[str, Types] = field(default_factory=dict)
    _parameters: dict[tuple[str, str], Types] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.sources:
            for function in source.functions:
                self.functions.setdefault(function.name, function)
            for command in source.commands:
                self.calls.setdefault(command.name, []).append(command)

    def named(self, name: str) -> str:
        """`int` -> System.Int32, `IO.File` -> System.IO.File, as the source writes it where there is no such type."""
        written = name.strip().strip("'\"")
        if written.startswith("["):
            written = written[1:-1].strip()
        if written.endswith("[]"):
            return f"{self.named(written[:-2])}[]"
        if found := re.match(r"^([\w.+]+)\[(.+)\]$", written):
            inside = [self.named(each) for each in apart(found[2])]
            return f"{self.named(f'{found[1]}`{len(inside)}')}[{','.join(inside)}]"
        if written.lower() in ACCELERATORS:
            return ACCELERATORS[written.lower()]
        for whole in (written, f"System.{written}"):
            if (known := self.members.type(whole)) is not None:
                return known.type
        return written

    def scope(self, node: Node) -> Scope:
        """The function around a node, or the text outside of all."""
        around = enclosing(node, {"function_statement"})
        while around is None and node.parent is not None:
            node = node.parent
        around = around or node
        return self._scopes.setdefault(around.id, Scope(self, around))

    def returns(self, name: str) -> Types:
        """What a function of ours gives."""
        if name not in self._returns:
            self._returns[name] = frozenset()  # While it is looked up: it may call itself.
            function = self.functions[name]
            found: set[str | None] = set()
            for node in walk(function.node):
                if node.type == "flow_control_statement" and text(node).lower().startswith("return"):
                    for given in node.named_children:
                        found |= self.scope(node).types(given)
            self._returns[name] = frozenset(found)
        return self._returns[name]

    def given(self, function: str, parameter: str) -> Types:
        """What the calls of a function hand to a parameter."""
        key = (function, parameter)
        if key not in self._parameters:
            self._parameters[key] = frozenset()
            found: set[str | None] = set()
            for command in self.calls.get(function, []):
                scope = self.scope(command.node)
                if command.splats:
                    found.add(None)
                for name, value in handed(command.node):
                    if name.lower() == parameter:
                        found |= scope.types(value)
            self._parameters[key] = frozenset(found or {None})
        return self._parameters[key]

    def resolved(self, receiver: Types, name: str) -> list[tuple[str, Member]]:
        """(type, member) of every member of this name that a receiver may have."""
        return [(of, member) for of in receiver if of is not None for member in self.members.find(of, name)]


@dataclass
class Scope:
    """A function, or what stands outside of all."""

    program: Program
    node: Node
    _known: dict[str, Types] = field(default_factory=dict)

    def types(self, node: Node) -> Types:
        """What an expression may be. Empty: $null, or nothing that is known yet."""
        node = only(node)
        kind = node.type
        if kind in {"decimal_integer_literal", "hexadecimal_integer_literal", "integer_literal"}:
            return frozenset({"System.Int32"})
        if kind == "real_literal":
            return frozenset({"System.Double"})
        if "string" in kind and kind != "string_expression":
            return frozenset({"System.String"})
        if kind == "generic_token":
            return frozenset({"System.String"})
        if kind in {"script_block_expression"}:
            return frozenset({"System.Management.Automation.ScriptBlock"})
        if kind == "hash_literal_expression":
            return frozenset({"System.Collections.Hashtable"})
        if kind == "array_expression":
            inside = self._elements(node)
            return frozenset({f"{each}[]" if each else "System.Object[]" for each in inside} or {"System.Object[]"})
        if kind in {"parenthesized_expression", "sub_expression", "statement_list", "pipeline", "pipeline_chain"}:
            return self._pipeline(node)
        if kind == "cast_expression":
            return frozenset({self.program.named(text(node.children[0]))})
        if kind == "type_literal":
            return frozenset({"System.Type"})
        if kind == "variable":
            return self.variable(text(node), node)
        if kind == "element_access":
            return self._element(node)
        if kind in {"member_access", "invokation_expression"}:
            return self._member(node)
        if kind == "command":
            return self._command(node)
        if kind == "expression_with_unary_operator":
            return self._unary(node)
        if kind in {"array_literal_expression"}:
            return self._listed(node)
        if kind == "assignment_expression":
            return self.types(node.children[-1])
        if node.child_count == 3 and kind.startswith(("additive", "multiplicative")):
            return self._calculated(text(node.children[1]), *(self.types(node.children[side]) for side in (0, 2)))
        if node.child_count == 3 and "comparison" in kind:
            return self._compared(text(node.children[1]).lower(), node)
        if node.child_count == 3 and "format" in kind:
            return frozenset({"System.String"})
        if node.child_count == 3 and kind.startswith("logical"):
            return frozenset({"System.Boolean"})
        if node.child_count == 3 and kind.startswith("bitwise"):
            return self.types(node.children[0])
        if node.child_count == 3 and kind.startswith("range"):
            return frozenset({"System.Int32[]"})
        return UNKNOWN

    def variable(self, written: str, at: Node) -> Types:
        name = written.lstrip("$@").strip("{}").lower()
        name = name.removeprefix("script:").removeprefix("global:")
        if name == "null":
            return frozenset()
        if name.startswith("env:"):
            return frozenset({"System.String"})
        if name == "_":
            return self._current(at)
        if name == "this":
            return frozenset({ADAPTED})
        if name in _VARIABLES:
            return frozenset({_VARIABLES[name]})
        if name not in self._known:
            self._known[name] = frozenset()  # While it is looked up: its own value may be in what it is given.
            self._known[name] = self._looked_up(name)
        return self._known[name]

    def _current(self, at: Node) -> Types:
        around = enclosing(at, {"catch_clause", "script_block_expression"})
        if around is not None and around.type == "catch_clause":
            return frozenset({"System.Management.Automation.ErrorRecord"})
        command = enclosing(at, {"command"})
        chain = enclosing(command, {"pipeline_chain"}) if command is not None else None
        if chain is None or chain.children[0].id == (command.id if command is not None else 0):
            return UNKNOWN
        return elements(self.types(chain.children[0])) or UNKNOWN

    @cached_property
    def _told(self) -> dict[str, list[Node]]:
        """Variable -> where the scope says something of it."""
        told: dict[str, list[Node]] = {}
        waiting = [self.node]
        while waiting:
            node = waiting.pop()
            if node.type == "function_statement" and node.id != self.node.id:
                continue
            waiting += reversed(node.children)
            if node.type in {"script_parameter", "foreach_statement"}:
                told.setdefault(_variable_in(node), []).append(node)
            elif node.type == "comparison_expression" and node.child_count == 3:
                if text(node.children[1]).lower() == "-is":
                    told.setdefault(_variable_in(node.children[0]), []).append(node)
            elif node.type == "assignment_expression":
                left = only(node.children[0])
                if left.type not in {"member_access", "element_access", "invokation_expression"}:
                    told.setdefault(_variable_in(left), []).append(node)
        return told

    def _looked_up(self, name: str) -> Types:
        if name not in self._told:
            # PowerShell looks in the scope of who calls, at last in the script's.
            outer = self.program.scope(self.node) if self.node.type == "function_statement" else None
            return outer.variable(name, self.node) if outer is not None else UNKNOWN
        found: set[str | None] = set()
        for node in self._told[name]:
            if node.type == "script_parameter":
                cast = next((self.program.named(text(each)) for each in walk(node) if each.type == "type_literal"), "")
                if cast not in {"", "System.Object"}:
                    return frozenset({cast})
                found |= self.program.given(_name_of(self.node), name)
            elif node.type == "foreach_statement":
                found |= elements(self.types(node.named_children[1])) or UNKNOWN
            elif node.type == "comparison_expression":
                # What is asked with -is may be so.
                if _variable_in(only(node.children[0])) == name:
                    found.add(self.program.named(text(only(node.children[2]))))
            else:
                left = only(node.children[0])
                cast = next((self.program.named(text(one)) for one in walk(left) if one.type == "type_literal"), "")
                if cast:
                    return frozenset({cast})
                found |= self.types(node.children[-1])
        return frozenset(found)

    def _pipeline(self, node: Node) -> Types:
        """The value of the last pipeline that is in it."""
        inner = [child for child in node.named_children if child.type not in {"comment"}]
        if node.type in {"pipeline", "pipeline_chain"} and len(inner) > 1:
            last = inner[-1]
            if last.type == "command":
                return self._command(last, self.types(inner[0]))
            return UNKNOWN
        if node.type == "statement_list" and len(inner) > 1:
            return UNKNOWN
        return self.types(inner[0]) if inner else frozenset()

    def _elements(self, node: Node) -> Types:
        found: set[str | None] = set()
        for child in node.named_children:
            for each in self.types(child):
                found.add(each[:-2] if each is not None and each.endswith("[]") else each)
        return frozenset(found) if len(found) == 1 else frozenset()

    def _listed(self, node: Node) -> Types:
        if text(node.children[0]) == ",":
            inner = self.types(node.children[-1])
            # `return , $list.ToArray()` gives the list itself.
            return inner if enclosing(node, {"flow_control_statement", "function_statement"}) is not None else UNKNOWN
        return frozenset({"System.Object[]"})

    def _element(self, node: Node) -> Types:
        receiver = self.types(node.children[0])
        if "." in text(node) and text(node.children[0]).lower() == "$psversiontable":
            return frozenset({"System.Version"})
        found: set[str | None] = set()
        for each in receiver:
            if each == "System.String":
                found.add("System.Char")
            elif each is not None and each.endswith("[]"):
                found.add(None if each == "System.Object[]" else each[:-2])
            else:
                items = self.program.members.find(each, "Item") if each is not None else []
                gives = {returned(item, each or "") for item in items}
                found |= {None if one in {"System.Object", ""} else one for one in gives} or {None}
        return frozenset(found) or UNKNOWN

    def _member(self, node: Node) -> Types:
        name = member_name(node)
        if node.children[0].type == "type_literal":
            of = self.program.named(text(node.children[0]))
            if name.lower() == "new":
                return frozenset({of})
            among = self._chosen(node, [(of, one) for one in self.program.members.find(of, name)])
            found: set[str | None] = {_real(returned(one, of)) for _, one in among}
            return frozenset(found) or UNKNOWN
        receiver = self.types(node.children[0])
        if name.lower() in _VALUES and "System.Collections.Hashtable" in receiver:
            return frozenset({_VALUES[name.lower()]})
        if receiver & NOT_OF_NET:
            return frozenset({COM}) if COM in receiver else frozenset({ADAPTED})
        if receiver <= UNKNOWN and name.lower() in _KNOWN_BY_NAME:
            return frozenset({_KNOWN_BY_NAME[name.lower()]})
        if not receiver:
            return receiver
        fitting = self._chosen(node, self.program.resolved(receiver, name))
        return frozenset({_real(returned(member, of)) for of, member in fitting}) or UNKNOWN

    def _chosen(self, node: Node, fitting: list[tuple[str, Member]]) -> list[tuple[str, Member]]:
        """The overloads that a call may mean."""
        if called(node) is None:
            return fitting
        given = [self.types(each) for each in arguments(node)]
        fitting = [pair for pair in fitting if pair[1].takes(len(given))] or fitting
        fitting = [pair for pair in fitting if assignable(self.program.members, pair[1], given)] or fitting
        return [pair for pair in fitting if "5.1" in pair[1].versions] or fitting

    def _command(self, node: Node, came: Types = frozenset()) -> Types:
        command = next(commands(node), None)
        name = command.name if command is not None else ""
        if name == "New-Object":
            kind, _ = made(node)
            return frozenset({COM if kind == COM else self.program.named(kind)}) if kind else UNKNOWN
        if name in {"Where-Object", "Sort-Object", "Select-Object"}:
            inner = elements(came) or UNKNOWN
            return frozenset(each if each is None else f"{each}[]" for each in inner)
        if name in self.program.functions:
            return self.program.returns(name)
        if name in _TYPED:
            return frozenset({_TYPED[name]})
        return frozenset({ADAPTED}) if _ADAPTS.match(name) else UNKNOWN

    def _unary(self, node: Node) -> Types:
        operator = text(node.children[0]).lower()
        if node.children[0].type == "cast_expression":
            return self.types(node.children[0])
        if operator in {"-not", "!"}:
            return frozenset({"System.Boolean"})
        if operator == "-join":
            return frozenset({"System.String"})
        if operator == ",":
            return self.types(node.children[-1])
        return self.types(node.children[-1]) if operator in {"+", "-"} else UNKNOWN

    def _calculated(self, operator: str, left: Types, right: Types) -> Types:
        if operator == "+" and left and left <= {"System.String"}:
            return left
        if operator == "*" and left and left <= {"System.String"}:
            return left
        if operator == "-" and left and left <= {"System.DateTime", "System.DateTimeOffset"} and left == right:
            return frozenset({"System.TimeSpan"})
        both = left | right
        numbers = [each for each in both if each in _NUMBERS]
        if operator == "+" and left and all(each is not None and each.endswith("[]") for each in left):
            return frozenset({"System.Object[]"})
        if len(numbers) != len(both) or not numbers:
            return UNKNOWN
        if operator == "/" and "System.Double" not in both:
            return UNKNOWN
        return frozenset({max(*numbers, "System.Int32", key=_NUMBERS.index)})

    def _compared(self, operator: str, node: Node) -> Types:
        if operator in _TEXT:
            return frozenset({"System.String"})
        if operator in {"-split", "-csplit"}:
            return frozenset({"System.String[]"})
        if operator == "-as":
            return frozenset({self.program.named(text(only(node.children[2])))})
        return frozenset({"System.Boolean"})


def elements(types: Types) -> Types:
    """What one of a list is."""
    found: set[str | None] = set()
    for each in types:
        if each is None:
            found.add(None)
        elif each.endswith("[]"):
            found.add(None if each == "System.Object[]" else each[:-2])
        elif generic(each).endswith(("List`1", "IEnumerable`1", "Collection`1")):
            found.add(each[each.find("[") + 1 : -1])
        elif each in {"System.Collections.IDictionaryEnumerator"}:
            found.add("System.Collections.DictionaryEntry")
        elif each in {"System.Collections.ArrayList", "System.Collections.ICollection", "System.Object"}:
            found.add(None)
        elif each in NOT_OF_NET:
            found.add(each)
        elif each.endswith("Collection"):
            found.add(_COLLECTED.get(each))
        else:
            found.add(each)
    return frozenset(found)


_COLLECTED = {
    "System.Security.Cryptography.X509Certificates.X509Certificate2Collection": (
        "System.Security.Cryptography.X509Certificates.X509Certificate2"
    ),
    **{
        f"System.Net.NetworkInformation.{one}Collection": f"System.Net.NetworkInformation.{one}"
        for one in ("UnicastIPAddressInformation", "GatewayIPAddressInformation", "IPAddressInformation")
    },
    "System.Net.NetworkInformation.IPAddressCollection": "System.Net.IPAddress",
}


def assignable(members: Members, member: Member, given: Sequence[Types]) -> bool:
    """Whether each argument is of its parameter's type or of one that is derived from it: PowerShell has to convert
    nothing, and takes no other overload for which it would."""
    wanted = list(member.parameters)
    if wanted and wanted[-1].startswith("params "):
        last = wanted.pop().removeprefix("params ")
        rest = given[len(wanted) :]
        if not (len(rest) == 1 and rest[0] == {last}) and not all(one == {last[:-2]} for one in rest):
            return False
        given = given[: len(wanted)]
    return all(
        all(each is not None and _is_a(members, each, one) for each in types)
        for one, types in zip(wanted, given, strict=False)
    )


def _is_a(members: Members, given: str, wanted: str) -> bool:
    if wanted.startswith("ref "):
        return given == "System.Management.Automation.PSReference"
    wanted = wanted.removeprefix("optional ")
    if wanted == "System.Object":
        return False  # Anything is one: an overload that is nearer may be taken.
    return (
        given == wanted or wanted in _ALSO.get(given, set()) or (given[-2:] != "[]" and wanted in members.line(given))
    )


def member_name(node: Node) -> str:
    """Of a member access or an invocation; empty where it is an expression."""
    return next((text(child) for child in node.children if child.type == "member_name"), "")


def arguments(node: Node) -> list[Node]:
    """Of a call."""
    listed = called(node)
    return _arguments(listed) if listed is not None else []


def called(node: Node) -> Node | None:
    """The arguments of a call, None of what is none. As a command's argument the grammar lets them stand behind it."""
    listed = next((child for child in node.children if child.type == "argument_list"), None)
    if listed is not None or node.type == "invokation_expression":
        return listed
    behind = node
    while behind.next_sibling is None and behind.parent is not None and behind.parent.type != "command_elements":
        behind = behind.parent
    sibling = behind.next_sibling
    return sibling if sibling is not None and sibling.type == "argument_list" else None


def made(node: Node) -> tuple[str, list[Node] | None]:
    """What a New-Object makes and with which arguments; None where their number cannot be seen."""
    container = next((child for child in node.children if child.type == "command_elements"), None)
    kind, given, parameter = "", [], ""
    for child in container.children if container is not None else []:
        if child.type == "command_argument_sep":
            continue
        if child.type == "command_parameter":
            parameter = text(child).lower()
        elif child.type == "argument_list":
            inside = _arguments(child)
            # `(, $bytes)` hands one argument that is a list.
            given += inside
        elif parameter == "-comobject":
            return COM, None
        elif parameter == "-property":
            continue
        elif kind == "":
            kind = text(child).strip("'\"")
        else:
            inner = only(child)
            if inner.type == "array_literal_expression" and text(inner.children[0]) != ",":
                given += inner.named_children
            elif inner.type == "parenthesized_expression":
                given += _listed_in(inner)
            else:
                given.append(inner)
    return kind, given


def handed(node: Node) -> Iterator[tuple[str, Node]]:
    """(parameter, value) of a command that names its parameters."""
    container = next((child for child in node.children if child.type == "command_elements"), None)
    parameter = ""
    for child in container.children if container is not None else []:
        if child.type == "command_argument_sep":
            continue
        if child.type == "command_parameter":
            parameter = text(child).lstrip("-").rstrip(":")
        elif parameter:
            yield parameter, child
            parameter = ""


def _arguments(listed: Node) -> list[Node]:
    held = next((child for child in listed.named_children if child.type == "argument_expression_list"), None)
    found: list[Node] = []
    for child in held.named_children if held is not None else ():
        if child.type == "argument_expression":
            found += _type_and_next(child)
    return found


def _type_and_next(argument: Node) -> list[Node]:
    """`[int], $x` as two arguments: the grammar takes it for a cast of `, $x`."""
    inner = only(argument)
    cast = inner.children[0] if inner.type == "expression_with_unary_operator" and inner.children else inner
    if cast.type == "cast_expression":
        operand = only(cast.children[-1])
        if operand.type == "expression_with_unary_operator" and text(operand.children[0]) == ",":
            return [cast.children[0], operand.children[-1]]
    return [argument]


def _listed_in(node: Node) -> list[Node]:
    found = next((each for each in walk(node) if each.type == "array_literal_expression"), None)
    return list(found.named_children) if found is not None else []


def _real(name: str) -> str | None:
    return None if name in {"System.Object", ""} else name


def _variable_in(node: Node) -> str:
    found = next((each for each in walk(node) if each.type == "variable"), None)
    return text(found).lstrip("$").strip("{}").lower().removeprefix("script:") if found is not None else ""


def _name_of(node: Node) -> str:
    return next((text(child) for child in node.children if child.type == "function_name"), "")
