"""The cmdlets that scripts use, each with the parameters of it that they use, as Windows PowerShell 5.1 has them.

Source of each: its page, https://learn.microsoft.com/powershell/module/MODULE/CMDLET, of 5.1 for PowerShell's own
modules (MicrosoftDocs/PowerShell-Docs 27138b21, reference/5.1) and of Windows Server 2019 for Windows' own
(MicrosoftDocs/windows-powershell-docs f113d6bd, docset/winserver2019-ps). What a cmdlet is handed by a table (`@call`)
counts, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tree_sitter import Node

from tests.unit.powershell.source import Command, Source, enclosing, text, walk

COMMON = frozenset({"Confirm", "ErrorAction", "Verbose", "WhatIf"})
"""Parameters that every cmdlet has, or every one that changes something. Source: about_CommonParameters of 5.1."""
MODULES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "CimCmdlets": {
        "Get-CimInstance": ("ClassName", "Filter", "Namespace", "OperationTimeoutSec", "Query"),
        "Invoke-CimMethod": ("Arguments", "InputObject", "MethodName", "OperationTimeoutSec"),
        "Set-CimInstance": ("InputObject", "OperationTimeoutSec", "Property"),
    },
    "DISM": {
        "Add-WindowsCapability": ("Name", "Online"),
    },
    "DnsClient": {
        "Get-DnsClient": ("InterfaceIndex",),
        "Set-DnsClient": (
            "ConnectionSpecificSuffix",
            "InterfaceIndex",
            "RegisterThisConnectionsAddress",
            "UseSuffixWhenRegistering",
        ),
    },
    "Microsoft.PowerShell.Core": {
        "ForEach-Object": (),
        "Set-StrictMode": ("Version",),
        "Where-Object": (),
    },
    "Microsoft.PowerShell.Management": {
        "Copy-Item": ("Destination", "Force", "LiteralPath"),
        "Get-ChildItem": ("Filter", "LiteralPath", "Path"),
        "Get-Content": ("LiteralPath", "Tail"),
        "Get-Item": ("Force", "LiteralPath", "Path"),
        "Get-ItemProperty": ("LiteralPath", "Name"),
        "Get-Service": ("Name",),
        "Join-Path": ("ChildPath", "Path"),
        "New-Item": ("Force", "ItemType", "Name", "Path"),
        "New-ItemProperty": ("Force", "LiteralPath", "Name", "PropertyType", "Value"),
        "Remove-Item": ("DeleteKey", "Force", "LiteralPath", "Path", "Recurse"),
        "Remove-ItemProperty": ("Force", "LiteralPath", "Name"),
        "Restart-Service": ("Name",),
        "Set-Item": ("Force", "Path", "Value"),
        "Set-Service": ("Name", "StartupType"),
        "Split-Path": ("Parent", "Path"),
        "Start-Process": ("ArgumentList", "FilePath", "PassThru"),
        "Start-Service": ("Name",),
        "Test-Path": ("LiteralPath", "PathType"),
    },
    "Microsoft.PowerShell.Security": {
        "Get-Acl": ("LiteralPath",),
    },
    "Microsoft.PowerShell.Utility": {
        "Add-Type": ("AssemblyName",),
        "ConvertTo-Json": ("Compress", "Depth", "InputObject"),
        "Get-Date": (),
        "New-Object": ("ComObject",),
        "Select-Object": ("First", "Skip"),
        "Sort-Object": ("Descending", "Property", "Unique"),
        "Start-Sleep": ("Milliseconds",),
        "Write-Output": (),
        "Write-Verbose": (),
        "Write-Warning": (),
    },
    "Microsoft.WSMan.Management": {
        "Remove-WSManInstance": ("ResourceURI", "SelectorSet"),
        "Set-WSManInstance": ("ResourceURI", "SelectorSet", "ValueSet"),
    },
    "NetSecurity": {
        "Get-NetFirewallAddressFilter": ("AssociatedNetFirewallRule",),
        "Get-NetFirewallPortFilter": ("AssociatedNetFirewallRule",),
        "Get-NetFirewallProfile": ("PolicyStore",),
        "Get-NetFirewallRule": ("Name",),
        "New-NetFirewallRule": (
            "Action",
            "Direction",
            "DisplayName",
            "Enabled",
            "LocalPort",
            "Name",
            "Profile",
            "Protocol",
            "RemoteAddress",
        ),
        "Set-NetFirewallRule": (
            "Action",
            "Direction",
            "Enabled",
            "LocalPort",
            "Name",
            "Profile",
            "Protocol",
            "RemoteAddress",
        ),
    },
    "NetTCPIP": {
        "Get-NetIPAddress": ("InterfaceIndex", "PolicyStore"),
        "Get-NetIPInterface": ("InterfaceIndex", "PolicyStore"),
        "Get-NetRoute": ("InterfaceIndex", "PolicyStore"),
        "Set-NetIPInterface": (
            "AddressFamily",
            "AutomaticMetric",
            "Dhcp",
            "InterfaceIndex",
            "InterfaceMetric",
            "NlMtuBytes",
        ),
    },
    "pki": {
        "New-SelfSignedCertificate": ("CertStoreLocation", "DnsName", "NotAfter"),
    },
}
"""Module -> cmdlet -> parameters."""
OF_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "New-Item": ("Address", "CertificateThumbprint", "Transport"),
}
"""What a provider adds, here that of the drive WSMan:. Source: about_WSMan_Provider of 5.1, "Dynamic parameters"."""
CMDLETS = {name: frozenset(known) for module in MODULES.values() for name, known in module.items()}


def parameters_of_5_1(source: Source) -> Iterator[str]:
    """Each parameter that a cmdlet is handed is one that 5.1 has, by a table above."""
    for command in source.commands:
        known = CMDLETS.get(command.name)
        if known is None:
            continue
        allowed = {name.lower() for name in (*known, *OF_PROVIDERS.get(command.name, ()), *COMMON)}
        for name in sorted({*command.parameters, *splatted(source, command)}):
            if name.lower() not in allowed:
                at = source.at(command.node)
                yield f"{at}: {command.name} -{name}: nobody has looked whether 5.1 has it; see cmdlets.py"


def splatted(source: Source, command: Command) -> Iterator[str]:
    """The parameters in the tables that a command is handed: what was put into each last, before it."""
    around = enclosing(command.node, {"function_statement"}) or source.root
    for name in {
        text(node)[1:].lower() for node in walk(command.node) if text(node).startswith("@") and node.type == "variable"
    }:
        found: list[str] = []
        for node in walk(around):
            if node.type != "assignment_expression" or node.start_byte > command.node.start_byte:
                continue
            left = text(node.children[0]).lower()
            if left == f"${name}":
                found = list(_keys(node))
            elif left.startswith(f"${name}['"):
                found.append(text(node.children[0])[len(name) + 3 : -2])
        yield from found


def _keys(node: Node) -> Iterator[str]:
    """Of the first table in a node, not of those in it."""
    table = next((each for each in walk(node) if each.type == "hash_literal_expression"), None)
    for entry in walk(table) if table is not None else ():
        if entry.type == "hash_entry" and enclosing(entry, {"hash_literal_expression"}) == table:
            yield text(entry.children[0])
