"""PowerShell texts as the linter reads them: what they run, and what makes PowerShell run nothing of them.

Lane pwsh compares it with PowerShell's own parser (tests/unit/powershell/test_parser_of_the_linter.py).
"""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.powershell import read

from .test_shell_texts import found, powershell, probe, said

HERE = "@'\nit's { \n'@"


def ran(text: str, seven: bool = False) -> list[list[str]]:
    commands, refusal = read(text, seven)
    assert refusal is None, refusal
    return [list(each.words) for each in commands]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a 'b c'; d -E:$f, g | h", [["a", "'b c'"], ["d", "-E:", "$f", "g"], ["h"]]),
        ("$x = a b; $x.c(1)", [["a", "b"], ["$x.c(1)"]]),
        ("a (b c) { d }", [["b", "c"], ["a", "(b c)", "{ d }"], ["d"]]),
        ('a "$(b c)" $(d)', [["b", "c"], ["d"], ["a", '"$(b c)"', "$(d)"]]),
        ("if (a) { b } else { c; exit 1 }", [["a"], ["b"], ["c"], ["exit", "1"]]),
        ("@{ a = b c; d = 5 }.a", [["b", "c"], ["5"], ["@{ a = b c; d = 5 }.a"]]),
        ("& 'a b' c; . d", [["'a b'", "c"], ["d"]]),
        ("a --% b | c", [["a", "--%", "b"], ["c"]]),
        (f"$t = {HERE}\na", [[HERE], ["a"]]),
        ("function f { a } ; f", [["a"], ["f"]]),
        ("a # b\n<# c\n d #> e `\n f", [["a"], ["e", "f"]]),
    ],
)
def test_commands_in_the_order_in_which_they_end(text: str, commands: list[list[str]]) -> None:
    assert ran(text) == commands


@pytest.mark.parametrize(
    ("text", "value", "what"),
    [
        ("a 'b", "'b", "PowerShell finds no end of the string"),
        ('a "b$(c "d")', '"b$(c "d")', "PowerShell finds no end of the string"),
        ("a; if (b) { c\nd", "{ c", "PowerShell finds no } for it"),
        ("a (b", "(b", "PowerShell finds no ) for it"),
        ("a }", "}", "there is nothing that } closes: PowerShell does not expect it"),
        ("if a { b }", "if a { b }", "after if PowerShell wants a ("),
        ("while (a) b", "b", "after a loop's head PowerShell wants a {"),
        ("try { a }; b", "try { a }; b", "there is no catch and no finally for it"),
        ('a "$b: c"', '$b: c"', "PowerShell takes $b: for a drive; write ${b}:"),
        ("a < b", "< b", "PowerShell has no <"),
        ("a 1>&2", "1>&2", "PowerShell has no 1>&2"),
        ("a | | b", "| | b", "PowerShell wants a command after |"),
        ("a | $b", "| $b", "PowerShell pipes into commands alone"),
        ("a b, -c d", "-c d", ""),
        ("@{ a = 1, b = 2 }", ", b = 2 }", "PowerShell wants a value after ,"),
        ("$x = @'b'@", "@'b'@", "behind its first two letters a text over lines begins on the next one"),
        ("$x = @'\na\n '@", "'@", "blanks stand before '@"),
        ("'a' = 5", "'a' = 5", "PowerShell assigns nothing to it"),
        ("'a b.exe' -c", "-c", "PowerShell does not expect it here"),
        ("a <# b", "<# b", "PowerShell finds no end of the comment"),
        ("$x = ", "the end of the script", "PowerShell expects something more at the end"),
        ("switch (a) { b }", "}", "after a value of switch PowerShell wants a {"),
        ("foreach (a in b) { }", "a in b) { }", "after foreach ( PowerShell wants a variable"),
    ],
)
def test_what_makes_powershell_run_nothing(text: str, value: str, what: str) -> None:
    for seven in (True, False):
        refusal = read(text, seven)[1]
        if what:
            assert refusal and refusal.value == value and refusal.what.startswith(what)
            assert "runs nothing of the script" in refusal.what
        else:
            # A word with a dash is a value after a comma.
            assert refusal is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a && b", "&&"),
        ("a || b", "||"),
        ("a &", "& behind a command"),
        ("$a ?? 5", "??"),
        ("$a ??= 5", "??="),
        ("$a ? 1 : 2", "? :"),
        ("${a}?.b", "?."),
        ("a\n| b", "line that begins with |"),
        ("function f { clean { a } }", "clean"),
    ],
)
def test_what_only_powershell_7_reads(text: str, value: str) -> None:
    assert read(text, seven=True)[1] is None
    refusal = read(text, seven=False)[1]
    assert refusal and refusal.what == f"Windows PowerShell 5.1 has no {value}, and runs nothing of the script"


def test_the_image_decides_which_powershell_reads_it() -> None:
    """It is the program's name: an image with both has both."""
    text = "Get-Date && Start-Sleep 5"
    assert said({"command": ["powershell", "-Command", text]}) == ["foreign-shell-syntax"]
    image = "mcr.microsoft.com/powershell:lts-nanoserver-ltsc2022"
    assert said({"command": ["pwsh", "-Command", text], "image": image}) == []


def test_brackets_within_brackets_end_somewhere() -> None:
    for opening in ("(", "$(", "@{a=", "{", "!", ",", "[a]", "-", "if (1) {", "$a=", "1?", "1?1:", "$a=throw "):
        read(opening * 5000, seven=False)
    for opening, closing in (
        ("(", ")"),
        ("$(", ")"),
        ("{", "}"),
        ("[a[", "]]"),
        ("@(", ")"),
        ("if (1) {", "}"),
        ('"$(', ')"'),
    ):
        for depth in (25, 2000):
            assert read(opening * depth + "1" + closing * depth, seven=False)[1] is None


def test_the_finding_says_where_and_why() -> None:
    (one,) = found(powershell('Start-Sleep 5; Write-Host "$host: up"'))
    assert one.rule == "foreign-shell-syntax"
    assert one.message.startswith('$host: up": PowerShell takes $host: for a drive; write ${host}:, and runs nothing')


def test_the_kubelet_halves_dollars_but_those_of_hooks() -> None:
    text = "while ($$true) { Start-Sleep 5 }"
    assert said(powershell(text)) == []
    assert said(probe("powershell", "-Command", "if ($$false) { exit 1 }")) == []
    assert said(powershell("$$(Get-Date) | Out-Host; Start-Sleep 5")) == []
    hook = {"lifecycle": {"postStart": {"exec": {"command": ["powershell", "-Command", "while ($$a) { b }"]}}}}
    assert said(hook) == ["foreign-shell-syntax"]


def test_what_is_assigned_runs_too() -> None:
    assert said(powershell("$p = Start-Process a.exe")) == ["ends-at-once"]
    assert said(powershell("$p = Start-Process a.exe -PassThru; $p.WaitForExit()")) == []
