"""Every .ps1 keeps to the rules of `rules.py`, and every rule can find what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.powershell import names, rules
from tests.unit.powershell.cmdlets import parameters_of_5_1
from tests.unit.powershell.overloads import overloads
from tests.unit.powershell.rules import RULES, Rule
from tests.unit.powershell.secrets import secrets_stay_away_from_cmdlets
from tests.unit.powershell.source import FILES, FOLDER, PROGRAMS, Source, commands, read, snippet

pytestmark = pytest.mark.slow

LICENCE = (
    "# Copyright (c) 2026, The winkube.node authors\n"
    "# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)\n"
    "# SPDX-License-Identifier: GPL-3.0-or-later\n"
)

# rule -> (what it must find, what it must let pass)
SAMPLES: dict[Rule, tuple[list[str], list[str]]] = {
    rules.understood: (
        ["$x = $a ?? 1", "$a?.Name", "$t = $q ? 1 : 2", "if ($a {"],
        ["$x = 1", "if ($null -eq $a) { $x = 1 }"],
    ),
    rules.framework_knows_it: (
        [
            "$client = New-Object System.Net.Sockets.TcpClient",
            "$handler.UseProxy = $false\n$handler.Proxy = $web\n$handler.UseProxy = $true",
        ],
        [
            "$client = New-Object System.Net.Sockets.TcpClient($address.AddressFamily)",
            "$handler.UseProxy = $false\n$handler.UseProxy = $true\n$handler.Proxy = $web",
        ],
    ),
    rules.no_swallowed_exceptions: (
        ["foreach ($e in $zip.Entries) { $x = $e }", "$free = [int64]$drive.AvailableFreeSpace"],
        ["foreach ($e in $zip.get_Entries()) { $x = $e }", "# $zip.Entries is null", "$cache['Entries'] = 1"],
    ),
    overloads: (
        [
            "$x = [double][System.Math]::Max(0, (Get-NodeUptime) - $uptime)",
            "$x = [System.Math]::Max(0, ([System.DateTimeOffset]::UtcNow - $since).TotalSeconds)",
            "$x = [System.Math]::Min([int64]$Count, $stream.Length)",
            "$x = [System.Math]::Round($seconds, 1)",
            "function Get-NodeA { param([double]$S)\n$x = [System.Math]::Max(1, $S) }",
            "$i = 1\n$i += 0.5\n$x = [System.Math]::Max(1, $i)",
            "[byte[]]$b = $y\n$x = [System.Array]::IndexOf($b, 32)",
            "$x = [System.BitConverter]::GetBytes($number)",
            "$x = [System.Convert]::ToString($byte, 2)",
            "$x = [System.Convert]::ToBase64String('abc')",
            "$x = $text.Substring($watch.Elapsed.TotalSeconds)",
            "$x = $text.Split('ab')",
            "$x = $text.Trim('ab')",
            "[System.Threading.Thread]::Sleep($pause)",
        ],
        [
            "$x = [System.Math]::Max([double]0, [double](Get-NodeUptime) - $uptime)",
            "$x = [System.Math]::Max(0, [System.Math]::Min(8, [int]$y))",
            "function Get-NodeA { param([double]$S)\n$S = $S * 2\n$x = [System.Math]::Max([double]1, $S) }",
            "$p = [double]$y\n$p = $p + 15\n$x = [System.Math]::Round($p, 1)",
            "[byte[]]$b = $y\n$x = [System.Array]::IndexOf($b, [byte]32)",
            "$x = $text.Substring($cut + 1)",
            "$x = $text.Split([char[]]@([char]10), $options)",
            "$x = $text.TrimEnd('\\')",
            "[System.Threading.Thread]::Sleep(250)",
        ],
    ),
    rules.plain_text: (
        ["$x = 1\r\n", "\t$x = 1", "$x = '\u00e9'", "$x = 1 ", "$x = '" + "a" * 160 + "'"],
        ["$x = 1\n"],
    ),
    rules.tables_have_no_language: (
        ["$t = @{}", "$x = @{ a = 1; b = @{} }", "$answer['tree'] = @{}"],
        ["$t = New-NodeMap", "$x = Get-NodeA -Map $y -Default @{}"],
    ),
    rules.no_language: (["if ('I' -match '[a-z]') { $x = 1 }"], [rules.INVARIANT.decode()]),
    rules.strict_mode: (["$x = 1\n"], ["# a\nSet-StrictMode -Version 2.0\n"]),
    rules.no_operators: (
        [
            "& $program 'a'",
            ". $file",
            "Get-NodeA && Get-NodeB",
            "Get-NodeA || Get-NodeB",
            "Get-NodeA > out.txt",
            "Get-NodeA 2>&1",
        ],
        ["$null = $block.Invoke()", "Get-NodeA -Path $x"],
    ),
    rules.known_commands: (
        [
            "Invoke-Expression $text",
            "iex $text",
            "Start-Process sc.exe",
            "Invoke-WebRequest $url",
            "Expand-Archive -Path a",
            "Write-Host 'x'",
            "Write-Error 'x'",
            "Get-WmiObject Win32_Service",
            "Start-Service x",
            "Stop-Service x",
            "Restart-Service x",
            "Get-Content -Path x",
            "Set-Content -LiteralPath x -Encoding utf8",
            "sc.exe query",
            "ConvertFrom-Json -AsHashtable",
            "Get-NodeA -Parallel 3",
        ],
        ["Get-NodeFileKind -Path $x", "$x = New-Object System.Text.StringBuilder"],
    ),
    rules.json_depth: (
        [
            "$x = ConvertTo-Json $y",
            "$x = ConvertTo-Json -InputObject $y -Compress",
            "$x = ConvertTo-Json -InputObject $y -Depth 9",
        ],
        ["$x = ConvertTo-Json -InputObject $y -Depth 20 -Compress"],
    ),
    rules.named_parameters: (
        ["Get-NodeFileKind $path", "Set-NodeSddl -Path $p $s"],
        ["Get-NodeFileKind -Path $path", "Get-NodeA @call"],
    ),
    rules.null_on_the_left: (["if ($x -eq $null) { $y = 1 }", "$z = $x -ne $null"], ["if ($null -eq $x) { $y = 1 }"]),
    rules.no_exit_and_no_last_status: (
        ["exit 1", "if ($?) { $x = 1 }", "$x = $LASTEXITCODE"],
        ["return 1", "throw 'no'"],
    ),
    rules.nothing_leaks: (
        ["$list.Add(1)", "$x", "'text'", "[System.IO.Directory]::CreateDirectory($x)", "function F { $h.Remove('a') }"],
        [
            "$null = $list.Add(1)",
            "$i++",
            "$stream.Dispose()",
            '$x = "a $($y.Count)"',
            "$o = $l | Where-Object { $_ -ne '' }",
        ],
    ),
    rules.lists_come_back_as_lists: (
        ["function F { return $list.ToArray() }"],
        ["function F { return , $list.ToArray() }"],
    ),
    rules.no_drive_variables: (
        ['throw "$path: gone"'],
        ['throw "${path}: gone"', 'throw "$($path): gone"', '$x = "$env:TEMP"'],
    ),
    rules.catches_keep_their_error: (
        ["try { $x = 1 } catch { throw }"],
        ["try { $x = 1 } catch { $f = $_; throw $f }"],
    ),
    rules.no_reserved_names: (
        [
            "$host = 'a'",
            "foreach ($input in $x) { $y = $input }",
            "function Get-NodeA {\nparam([string]$Host)\n$x = $Host }",
            "$matches = 1",
        ],
        ["$x = $PSVersionTable", "$computer = 'a'", "$found['host'] = 1"],
    ),
    rules.no_compilation: (["Add-Type -TypeDefinition $code"], ["Add-Type -AssemblyName System.Net.Http"]),
    rules.no_large_number_is_an_argument: (
        ["$x = [System.Numerics.BigInteger]::Add($a, $b)", "$x = [bigint]::Add($a, $b)"],
        ["$a = New-Object System.Numerics.BigInteger(, $bytes)", "$x = $a + $b"],
    ),
    secrets_stay_away_from_cmdlets: (
        [
            "function Get-NodeA {\nparam([string[]]$Secrets)\n$x = @($Secrets | Where-Object { $_ -ne '' })\n}",
            "function Get-NodeA {\nparam([string]$Proxy)\n$x = New-Object System.Net.WebProxy($Proxy)\n}",
            "function Get-NodeA {\nparam([string]$Url)\n$x = [uri]$Url\n}",
            'function Get-NodeA {\nparam([string]$Url)\nthrow "${Url}: no"\n}',
            "function Get-NodeA {\nparam([object]$Arguments)\n$x = [int]$Arguments['value']\n}",
            "function Get-NodeA {\nparam([object]$Arguments)\n"
            "$x = Get-NodeArgument -Map $Arguments -Name 'stdin'\n$y = $x.Trim()\n$z = Sort-Object -InputObject $y\n}",
            "function Get-NodeA {\nparam([hashtable]$Run)\n$x = $Run['secrets'] | Sort-Object\n}",
            "function Get-NodeA {\nparam([string]$Url)\n$x = $Url.Split('/')\nforeach ($y in $x) {\n"
            "$z = New-Object System.Uri($y)\n}\n}",
        ],
        [
            'function Get-NodeA {\nparam([string]$Url)\n$shown = Hide-NodeText -Text $Url\nthrow "${shown}: no"\n}',
            "function Get-NodeA {\nparam([string]$Url)\n$x = [string]$Url\n$y = New-Object 'byte[]' $x.Length\n}",
            "function Get-NodeA {\nparam([string[]]$Secrets)\n$x = Hide-NodeB -Text $Secrets\n"
            "foreach ($y in $Secrets) {\n$z = Get-NodeC -Name $y\n}\n}",
            "function Get-NodeA {\nparam([object]$Arguments)\n$x = [int]$Arguments['timeout_s']\n}",
        ],
    ),
    parameters_of_5_1: (
        [
            "$x = ConvertTo-Json -InputObject $a -Depth 9 -Compress -EscapeHandling 'Default'",
            "$call = @{ ClassName = 'a'; Shallow = $true }\n$x = Get-CimInstance @call",
            "$call = @{ ClassName = 'a' }\n$call['Shallow'] = $true\n$x = Get-CimInstance @call",
        ],
        [
            "$x = ConvertTo-Json -InputObject $a -Depth 9 -Compress",
            "$call = @{ InputObject = $a; Arguments = @{ Name = 'b' } }\n$x = Invoke-CimMethod @call -ErrorAction Stop",
        ],
    ),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_file_keeps_to_every_rule(path: Path) -> None:
    source = read(path)
    assert [finding for rule in (*RULES, overloads) for finding in rule(source)] == []


@pytest.mark.parametrize("rule", (*RULES, overloads), ids=lambda rule: rule.__name__)
def test_rule_finds_and_lets_pass(rule: Rule) -> None:
    bad, good = SAMPLES[rule]
    for script in bad:
        assert list(rule(snippet(script))), f"{rule.__name__} does not find {script!r}"
    for script in good:
        assert list(rule(snippet(script))) == [], f"{rule.__name__} is wrong about {script!r}"


def test_files_are_there_and_begin_as_they_should() -> None:
    assert {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.ps1")} == {
        path.relative_to(FOLDER).as_posix() for path in FILES
    }
    for path in FILES:
        assert read(path).data.decode().startswith(LICENCE), path.name
        assert read(path).data.endswith(b"\n")


WHOLES = [read(path) for path in PROGRAMS]


@pytest.mark.parametrize("source", WHOLES, ids=lambda source: source.name)
def test_every_name_exists(source: Source) -> None:
    """Functions, their parameters and variables: strict mode finds these only when the line is reached. The text
    for HNS runs inside the runner."""
    runner = next(each for each in WHOLES if each.name.endswith("runner.ps1"))
    known = {function.name: function for function in runner.functions} if "/hns" in source.name else {}
    assert source.errors() == []
    assert list(names.unknown_functions(source, known)) == []
    assert list(names.unknown_variables(source)) == []
    assert list(names.used_before_defined(source)) == []
    assert list(names.leaked_results(source, known)) == []


@pytest.mark.parametrize("module", [each for each in WHOLES if "/modules/" in each.name], ids=lambda each: each.name)
def test_a_query_of_hns_finds_in_a_module_what_it_calls(module: Source) -> None:
    source = next(each for each in WHOLES if each.name.endswith("/hns_read.ps1"))
    own = {function.name: function for function in source.functions}
    waiting = ["Read-NodeHns"]
    asked: set[str] = set()
    while waiting:
        called = {command.name for command in commands(own[waiting.pop()].node) if "-Node" in command.name}
        waiting += [name for name in called - asked if name in own]
        asked |= called
    assert asked - set(own) <= {function.name for function in module.functions}


def test_nothing_is_unused() -> None:
    assert list(names.unused(read(path) for path in FILES)) == []


@pytest.mark.parametrize(
    ("check", "script"),
    [
        ("functions", "Get-NodeNothing -Path 1"),
        ("functions", "function Get-NodeA { \nparam([string]$Path)\n$null = $Path }\nGet-NodeA -Paht 1"),
        ("functions", "function Get-NodeA { \nparam([string]$Path)\n$null = $Path }\nGet-NodeA"),
        ("variables", "function Get-NodeA { $x = $y }"),
        ("variables", "$x = $y"),
        ("order", "Get-NodeA\nfunction Get-NodeA { $x = 1 }"),
        ("leaks", "function Get-NodeA { return 1 }\nfunction Get-NodeB { Get-NodeA }"),
    ],
)
def test_name_checks_can_fail(check: str, script: str) -> None:
    source = snippet(script)
    checks = {
        "functions": lambda: names.unknown_functions(source, {}),
        "variables": lambda: names.unknown_variables(source),
        "order": lambda: names.used_before_defined(source),
        "leaks": lambda: names.leaked_results(source, {}),
    }
    assert list(checks[check]())


def test_unused_can_be_found() -> None:
    assert list(names.unused([snippet("function Get-NodeA { $x = 1 }")]))
