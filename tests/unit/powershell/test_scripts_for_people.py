"""playbooks/files/*.ps1, which people start on a machine: both PowerShells read them, in every code page.

Each keeps to rules of its own, since what goes wrong in there cuts the way in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import rules
from .cmdlets import parameters_of_5_1
from .source import ROOT, Source, enclosing, snippet, text

SCRIPTS = sorted((ROOT / "playbooks" / "files").glob("*.ps1"))
CHANGES = re.compile(
    r"^(Add|Copy|New|Remove|Restart|Set|Start)-"
    r"(WindowsCapability|Item|ItemProperty|NetFirewallRule|Process|SelfSignedCertificate|Service|WSManInstance)$"
)
ASKED = "Test-Allowed"


def changes_ask_first(source: Source) -> Iterator[str]:
    """-WhatIf changes nothing: each change stands behind `if (Test-Allowed ..)`."""
    for command in source.commands:
        if not CHANGES.match(command.name):
            continue
        above = enclosing(command.node, {"if_statement", "statement_block", "function_statement", "program"})
        asked = False
        while above is not None and not asked:
            before = text(above).encode()[: command.node.start_byte - above.start_byte].decode()
            asked = ASKED in before and (above.type == "if_statement" or f"-not ({ASKED}" in before)
            above = enclosing(above, {"if_statement", "statement_block", "function_statement"})
        if not asked:
            yield f"{source.at(command.node)}: {command.name} does not ask {ASKED} first"


def no_program_without_its_exit_code(source: Source) -> Iterator[str]:
    """`&` does not end a script when its program fails."""
    yield from (finding for finding in rules.no_operators(source) if " runs a text" in finding)
    lines = source.data.decode().splitlines()
    for number, line in enumerate(lines, 1):
        if "= Invoke-Program " in line and "['code'] -ne 0" not in "".join(lines[number : number + 1]):
            yield f"{source.name}:{number}: nobody looks at the exit code"


def addresses_are_never_empty(source: Source) -> Iterator[str]:
    """Set-NetFirewallRule takes a RemoteAddress of no elements for any address."""
    filtered = re.search(rb"^\$AllowFrom = @\(.*Where-Object", source.data, re.MULTILINE)
    if filtered and not re.match(
        rb"[^\n]*\nif \(\$AllowFrom\.Count -eq 0\) \{\n    throw ", source.data[filtered.start() :]
    ):
        yield f"{source.name}:1: AllowFrom may be empty and reaches the firewall's rule; throw"


def settings_of_winrm_may_be_refused(source: Source) -> Iterator[str]:
    """WSMan refuses them while a network is Public, and where a policy controls them: nothing else may fail for it."""
    for command in source.commands:
        if command.name == "Set-Item" and enclosing(command.node, {"try_statement"}) is None:
            yield f"{source.at(command.node)}: Set-Item outside of try"


def winrm_runs_before_its_drive_is_asked(source: Source) -> Iterator[str]:
    """The drive WSMan: starts the service, -WhatIf or not, and strict mode stops it (PowerShell/PowerShell#11742)."""
    script = source.data.decode()
    first = script.find("'WSMan:")
    looked = re.search(r"\nif \(\$WhatIfPreference -and .*'WinRM'\)\.Status -ne 'Running'", script[: max(first, 0)])
    if first >= 0 and not looked:
        yield f"{source.name}:1: WSMan: is asked while WinRM may be stopped"


def refusals_come_first(source: Source) -> Iterator[str]:
    """What may refuse stands before what cuts the way in."""
    order = [command.name for command in source.commands if enclosing(command.node, {"function_statement"}) is None]
    cuts = [place for place, name in enumerate(order) if re.match(r"Remove-(Listener|OwnCertificate|HostKey)$", name)]
    for name in ("Test-Sysprep", "Set-Answer"):
        if cuts and (name not in order or order.index(name) > cuts[0]):
            yield f"{source.name}:1: {name} does not come before {order[cuts[0]]}"


def no_registry_of_dotnet(source: Source) -> Iterator[str]:
    """The provider's cmdlets have stand-ins, so that PowerShell on any system runs the script."""
    for number, line in enumerate(source.data.decode().splitlines(), 1):
        if "[Microsoft.Win32.Registry" in line:
            yield f"{source.name}:{number}: the registry by .NET; use the provider's cmdlets"


def what_is_there_is_looked_at_whole(source: Source) -> Iterator[str]:
    """A rule of that name may be for another port or for what goes out; a volume may be encrypted, not protected."""
    for made, looked in (
        ("New-NetFirewallRule", ("Get-NetFirewallAddressFilter", "Get-NetFirewallPortFilter", ".Direction -eq")),
        ("ProtectionStatus", ("GetConversionStatus",)),
    ):
        script = source.data.decode()
        for word in looked if made in script else ():
            if word not in script:
                yield f"{source.name}:1: {made} without {word}"


OWN: dict[rules.Rule, tuple[str, str]] = {
    changes_ask_first: (
        "Set-Service -Name 'WinRM' -StartupType Automatic",
        "if (Test-Allowed -Target 'a' -Action 'b') {\n    Set-Service -Name 'WinRM' -StartupType Automatic\n}",
    ),
    no_program_without_its_exit_code: (
        "& $keygen '-l' '-f' $public.FullName",
        "$ended = Invoke-Program -Path $keygen\nif ($ended['code'] -ne 0) { throw 'no' }",
    ),
    addresses_are_never_empty: (
        "$AllowFrom = @($AllowFrom | Where-Object { $_ -ne '' })\nSet-NetFirewallRule -RemoteAddress $AllowFrom",
        "$AllowFrom = @($AllowFrom | Where-Object { $_ -ne '' })\nif ($AllowFrom.Count -eq 0) {\n    throw 'no'\n}",
    ),
    settings_of_winrm_may_be_refused: (
        "Set-Item -Path 'WSMan:\\localhost\\Service\\Auth\\Basic' -Value $false -Force",
        "try { Set-Item -Path $path -Value $false -Force } catch { $x = $_ }",
    ),
    winrm_runs_before_its_drive_is_asked: (
        "Get-ChildItem -Path 'WSMan:\\localhost\\Listener'",
        "$x = 1\nif ($WhatIfPreference -and (Get-Service -Name 'WinRM').Status -ne 'Running') {\n    exit 0\n}\n"
        "$y = Get-ChildItem -Path 'WSMan:\\localhost\\Listener'",
    ),
    refusals_come_first: ("Remove-Listener\nTest-Sysprep\nSet-Answer", "Test-Sysprep\nSet-Answer\nRemove-Listener"),
    what_is_there_is_looked_at_whole: (
        "if ([string]$volume.DriveLetter -eq $env:SystemDrive -and [int]$volume.ProtectionStatus -eq 1) { throw 'no' }",
        "$found = Invoke-CimMethod -MethodName 'GetConversionStatus'\n$on = $volume.ProtectionStatus",
    ),
    no_registry_of_dotnet: (
        "$key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($path, $true)",
        "$key = Get-Item -LiteralPath 'HKLM:\\SOFTWARE'",
    ),
}
"""Rule -> (the line that it was written for, the same without the fault)."""


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_is_plain_text_that_parses_in_strict_mode(path: Path) -> None:
    source = Source(str(path), path.read_bytes())
    found = [*rules.understood(source), *rules.plain_text(source), *rules.strict_mode(source)]
    assert found == []
    # Without it PowerShell takes a misspelt parameter for an argument of no name, and the script runs without it.
    assert "\n[CmdletBinding(SupportsShouldProcess = $true)]\nparam(" in path.read_text(encoding="ascii")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_keeps_to_the_rules_for_people(path: Path) -> None:
    source = Source(path.name, path.read_bytes())
    assert [finding for rule in (*OWN, parameters_of_5_1) for finding in rule(source)] == []


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.__name__)
def test_a_rule_finds_the_line_that_it_was_written_for(rule: rules.Rule) -> None:
    bad, good = OWN[rule]
    assert list(rule(snippet(bad))) and list(rule(snippet(good))) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_has_help_with_an_example_and_says_how_it_ends(path: Path) -> None:
    script = path.read_text(encoding="ascii")
    assert script.startswith("<#\n.SYNOPSIS\n") and f".EXAMPLE\n.\\{path.name} -" in script.split("#>")[0]
    assert "\nExit code 0: " in script.split("#>")[0] and script.endswith("    exit 2\n}\nexit 0\n")
    body = script.split("\nparam(\n")[1].split("\n)\n")[0]
    for name in re.findall(r"\$(\w+)", body):
        assert name == "true" or f".PARAMETER {name}\n" in script or name == "null"


def test_the_rules_see_these_scripts() -> None:
    assert len(SCRIPTS) >= 3
    broken = Source("x.ps1", b"Set-StrictMode -Version 2.0\nif ($a -eq 1 { }\n")
    assert list(rules.understood(broken)) and list(rules.strict_mode(Source("x.ps1", b"$a = 1\n")))
