"""What of a checklist for Windows PowerShell 5.1 and PowerShell 7 a parser can see.

Each rule yields findings: `file:line: sentence`. The sentence says what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from tests.unit.powershell.cmdlets import parameters_of_5_1
from tests.unit.powershell.secrets import secrets_stay_away_from_cmdlets
from tests.unit.powershell.source import Source, commands, enclosing, only, text, variables, walk

Rule = Callable[[Source], Iterator[str]]

USED = frozenset(
    {
        *("Add-Type", "ConvertTo-Json", "Get-CimInstance", "Get-DnsClient", "Get-NetIPAddress", "Get-NetIPInterface"),
        *("Get-NetRoute", "Invoke-CimMethod", "New-Object", "Select-Object", "Set-CimInstance", "Set-DnsClient"),
        *("Set-NetIPInterface", "Set-StrictMode", "Sort-Object", "Where-Object"),
    }
)
"""All cmdlets that run on a node: every one is there on 5.1 and 7, in a session without profile, and none takes a path.
Their parameters: cmdlets.py."""

VOID_METHODS = frozenset(
    {
        *("Close", "Connect", "CopyTo", "Delete", "DeleteSubKeyTree", "DeleteValue", "Dispose", "Emit"),
        *("FreeCoTaskMem", "FreeHGlobal", "SetImplementationFlags", "WriteIntPtr"),
        *("Flush", "Insert", "Kill", "Move", "Refresh", "Replace", "Restart", "SetAccessControl", "SetAttributes"),
        *("SetSecurityDescriptorSddlForm", "SetValue", "Sleep", "Sort", "Write", "WriteLine"),
        *("AddRange", "RegisterProvider", "WriteAllBytes"),
    }
)
"""Methods that return nothing and may stand alone. Any other would put its value into the function's output."""

AROUND = {"sub_expression", "array_expression", "statement_block", "function_statement"}
RESERVED = frozenset(
    {
        *(
            "args",
            "error",
            "event",
            "executioncontext",
            "false",
            "foreach",
            "home",
            "host",
            "input",
            "iswindows",
            "matches",
        ),
        *("myinvocation", "pid", "profile", "psitem", "pwd", "sender", "shellid", "switch", "this"),
    }
)
DANGEROUS = ("$?", "$LASTEXITCODE")
SCOPES = frozenset({"env", "global", "local", "script", "private", "using"})
PS7_PARAMETERS = frozenset({"ashashtable", "parallel", "asbytestream", "nonewwindow"})
THROWING = ("Entries", "AvailableFreeSpace", "TotalFreeSpace", "TotalSize", "DriveFormat")
"""Properties of ZipArchive and DriveInfo that read the disk."""
BARE_LIST = re.compile(r"^return\s+[^,].*\.ToArray\(\)$", re.IGNORECASE | re.DOTALL)
INVARIANT = (
    b"[System.Threading.Thread]::CurrentThread.CurrentCulture = [System.Globalization.CultureInfo]::InvariantCulture"
)
NULL_OPERATORS = re.compile(r"^-[ci]?(eq|ne)$", re.IGNORECASE)


def understood(source: Source) -> Iterator[str]:
    """The grammar knows no PowerShell 7 operators, so that `??`, `?.` and `a ? b : c` are errors too."""
    yield from source.errors()


def plain_text(source: Source) -> Iterator[str]:
    """Windows PowerShell reads a file without BOM in the machine's code page."""
    for number, line in enumerate(source.data.split(b"\n"), 1):
        if b"\r" in line or b"\t" in line:
            yield f"{source.name}:{number}: a carriage return or a tab; LF and blanks are wanted"
        if any(byte > 126 for byte in line):
            yield f"{source.name}:{number}: not ASCII"
        if line != line.rstrip():
            yield f"{source.name}:{number}: blanks at the end of the line"
        if len(line) > 160:
            yield f"{source.name}:{number}: longer than 160 characters"


def strict_mode(source: Source) -> Iterator[str]:
    """A program sets it at its begin, for all pieces."""
    if "/shared/" in source.name or (
        {"runner", "hns"} & set(source.name.split("/")) and not source.name.endswith(("00_head.ps1", "call.ps1"))
    ):
        return
    if b"\nSet-StrictMode -Version 2.0\n" not in source.data:
        yield f"{source.name}:1: Set-StrictMode -Version 2.0 is missing"


def no_operators(source: Source) -> Iterator[str]:
    """`&` and `.` run what a string says; `&&` and `||` are PowerShell 7."""
    for node in walk(source.root):
        if node.type == "command_invokation_operator":
            yield f"{source.at(node)}: {text(node)} runs a text; programs are run by Invoke-NodeProgram"
        if node.type == "pipeline_chain_tail":
            yield f"{source.at(node)}: {text(node)} is PowerShell 7"
        if node.type == "redirection":
            yield f"{source.at(node)}: {text(node)} redirects; 5.1 writes UTF-16 and makes errors of stderr"


def known_commands(source: Source) -> Iterator[str]:
    """Only cmdlets from the list above and functions of ours: no aliases, no programs, no Start-Process .."""
    for command in source.commands:
        if command.name not in USED and not re.match(r"^[A-Z][A-Za-z]+-Node[A-Z][A-Za-z]*$", command.name):
            yield f"{source.at(command.node)}: {command.name or text(command.node)} is not a cmdlet that is used"
        for parameter in command.parameters:
            if parameter.lower() in PS7_PARAMETERS:
                yield f"{source.at(command.node)}: -{parameter} is not in Windows PowerShell 5.1"


def json_depth(source: Source) -> Iterator[str]:
    """The default depth of 2 loses data in silence."""
    for command in source.commands:
        if command.name == "ConvertTo-Json" and not {"Depth", "Compress", "InputObject"} <= set(command.parameters):
            yield f"{source.at(command.node)}: ConvertTo-Json without -InputObject, -Depth and -Compress"


def named_parameters(source: Source) -> Iterator[str]:
    """Functions of ours are called with named parameters only."""
    for command in source.commands:
        if "-Node" not in command.name:
            continue
        elements = next((child for child in command.node.children if child.type == "command_elements"), None)
        previous = ""
        for child in elements.children if elements is not None else []:
            if child.type == "command_argument_sep":
                continue
            if (
                child.type != "command_parameter"
                and previous != "command_parameter"
                and not text(child).startswith("@")
            ):
                yield f"{source.at(child)}: {text(child)[:40]} is handed to {command.name} without a name"
            previous = child.type


def null_on_the_left(source: Source) -> Iterator[str]:
    """`$list -eq $null` filters the list instead of comparing."""
    for node in walk(source.root):
        if node.type == "comparison_expression" and node.child_count == 3:
            operator = node.children[1]
            if NULL_OPERATORS.match(text(operator)) and text(only(node.children[2])).lower() == "$null":
                yield f"{source.at(node)}: {text(node)[:60]}: $null belongs on the left"


def no_exit_and_no_last_status(source: Source) -> Iterator[str]:
    """`exit` ends Ansible's wrapper; $? and $LASTEXITCODE speak of whatever ran last."""
    for node in walk(source.root):
        if node.type == "flow_control_statement" and text(node).lower().startswith("exit"):
            yield f"{source.at(node)}: exit; use return or throw"
        if node.type == "variable" and text(node).upper() in DANGEROUS:
            yield f"{source.at(node)}: {text(node)}; use the process's ExitCode"


def nothing_leaks(source: Source) -> Iterator[str]:
    """An expression that nobody takes becomes output of its function."""
    for node in walk(source.root):
        if (
            node.type != "pipeline"
            or node.parent is None
            or node.parent.type not in {"statement_list", "statement_block"}
        ):
            continue
        around = enclosing(node, AROUND | {"script_block_expression"})
        if around is not None and around.type in {"sub_expression", "array_expression"}:
            continue
        if around is not None and around.type == "script_block_expression" and _is_filter(around):
            continue
        inner = only(node)
        if inner.type in {"command", "assignment_expression", "post_increment_expression", "pre_increment_expression"}:
            continue
        if any(child.type == "command" for child in node.children[0].children if node.children):
            continue
        if inner.type == "invokation_expression":
            name = next((text(child) for child in inner.children if child.type == "member_name"), "")
            if name in VOID_METHODS:
                continue
        yield f"{source.at(node)}: {text(node)[:60]}: nobody takes its value; write $null = in front"


def lists_come_back_as_lists(source: Source) -> Iterator[str]:
    """Returned without the comma, a list of one entry becomes that entry and an empty list nothing."""
    for node in walk(source.root):
        if node.type == "flow_control_statement" and BARE_LIST.match(text(node)):
            yield f"{source.at(node)}: {text(node)[:60]}: return , .. keeps the list"


def no_drive_variables(source: Source) -> Iterator[str]:
    """In "$name: text" PowerShell reads `name:` as a scope or drive."""
    for node in walk(source.root):
        if node.type in {"expandable_string_literal", "expandable_here_string_literal"}:
            for found in re.finditer(r"(?<!`)\$([A-Za-z_]\w*):(?!:)", text(node)):
                if found[1].lower() not in SCOPES:
                    yield f"{source.at(node)}: ${found[1]}: in a string; write ${{{found[1]}}}:"


def catches_keep_their_error(source: Source) -> Iterator[str]:
    """`throw` alone throws what was caught last, which a call in between may have changed."""
    for node in walk(source.root):
        if node.type == "flow_control_statement" and text(node).strip() == "throw":
            yield f"{source.at(node)}: throw alone; keep $_ in a variable first and throw that"


def no_reserved_names(source: Source) -> Iterator[str]:
    """$host, $input and the like belong to PowerShell: some cannot be set, others it sets itself in between."""
    for node in walk(source.root):
        if node.type in {"left_assignment_expression", "foreach_statement", "script_parameter"}:
            name, place = next(iter(variables(node)), ("", node))
            if name in RESERVED:
                yield f"{source.at(place)}: ${name} is a variable of PowerShell's own; call it something else"


def no_compilation(source: Source) -> Iterator[str]:
    """Add-Type only loads assemblies: compiling C# takes seconds on each call."""
    for command in commands(source.root):
        if command.name == "Add-Type" and command.parameters != ("AssemblyName",):
            yield f"{source.at(command.node)}: Add-Type with anything but -AssemblyName"


def no_large_number_is_an_argument(source: Source) -> Iterator[str]:
    """PowerShell 7.3 and later report the arguments of methods to AMSI, a BigInteger in decimal digits: minutes."""
    for number, line in enumerate(source.data.decode("ascii", "replace").splitlines(), 1):
        if re.search(r"\[(System\.Numerics\.BigInteger|bigint)\]::", line, re.IGNORECASE):
            yield f"{source.name}:{number}: a method of BigInteger; use the operator, whose operands are not reported"


def no_swallowed_exceptions(source: Source) -> Iterator[str]:
    """PowerShell turns the exception of a property into null: a damaged zip had no entries, a lost drive no room.

    Source: PowerShell Binders.cs, PSGetMemberBinder. Its getter, called as a method, throws.
    """
    for number, line in enumerate(source.data.decode("ascii", "replace").splitlines(), 1):
        if not line.lstrip().startswith("#") and (found := re.search(rf"\$\w+\.({'|'.join(THROWING)})\b", line)):
            yield f"{source.name}:{number}: .{found[1]} may throw, which nobody sees; write .get_{found[1]}()"


def framework_knows_it(source: Source) -> Iterator[str]:
    """What works on .NET and not on .NET Framework. Source: referencesource, System Net/Sockets/TCPClient.cs (without a
    family IPv4 alone), HttpClientHandler.cs (a proxy is refused while UseProxy is false)."""
    uses = ""
    for number, line in enumerate(source.data.decode("ascii", "replace").splitlines(), 1):
        code = line.strip()
        if re.search(r"New-Object System\.Net\.Sockets\.TcpClient(?!\()", code):
            yield f"{source.name}:{number}: a TcpClient without a family is IPv4 only; give it the address's"
        if found := re.match(r"\$\w+\.UseProxy = (\$\w+)$", code):
            uses = found[1]
        if re.match(r"\$\w+\.Proxy = ", code) and uses != "$true":
            yield f"{source.name}:{number}: a proxy is set while UseProxy is false; set that first"


def tables_have_no_language(source: Source) -> Iterator[str]:
    """Windows PowerShell compares the keys of @{} by the language of who runs it: a table that is filled with what a
    machine has is New-NodeMap's. One that names its keys itself may be a literal, and an empty one an argument."""
    for node in walk(source.root):
        if node.type != "hash_literal_expression" or not re.fullmatch(r"@\{\s*\}", text(node)):
            continue
        around = enclosing(node, {"command_elements", "assignment_expression", "hash_literal_expression"})
        if around is None or around.type != "command_elements":
            yield f"{source.at(node)}: @{{}}; use New-NodeMap"


def no_language(source: Source) -> Iterator[str]:
    """-match reads letters by the language of the thread: in Turkish 'I' is no letter of [a-z]."""
    first = ("00_head.ps1", "node_apply.ps1", "node_probe.ps1", "host_process.ps1", "sample")
    if source.name.endswith(first) and INVARIANT not in source.data:
        yield f"{source.name}:1: the thread's culture is not set to the invariant one"


RULES: tuple[Rule, ...] = (
    tables_have_no_language,
    no_language,
    framework_knows_it,
    no_swallowed_exceptions,
    understood,
    plain_text,
    strict_mode,
    no_operators,
    known_commands,
    json_depth,
    named_parameters,
    null_on_the_left,
    no_exit_and_no_last_status,
    nothing_leaks,
    lists_come_back_as_lists,
    no_drive_variables,
    catches_keep_their_error,
    no_reserved_names,
    no_compilation,
    no_large_number_is_an_argument,
    parameters_of_5_1,
    secrets_stay_away_from_cmdlets,
)


def _is_filter(block: Node) -> bool:
    command = enclosing(block, {"command"})
    return command is not None and text(command).startswith("Where-Object")
