"""Commands as each shell reads them."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.base_images import has_program
from ansible_collections.winkube.node.plugins.plugin_utils.lint.commands import scripts

CALLS = [
    (["cmd", "/c", "a.exe && b.exe | c.exe"], [["a.exe"], ["b.exe"], ["c.exe"]]),
    (["cmd.exe", "/S", "/C", "echo a; b > NUL"], [["echo", "a;", "b"]]),
    (["cmd", "/c", "C:\\Program Files\\a.exe", "x"], [["C:\\Program Files\\a.exe", "x"]]),
    (["cmd", "/c", "a.exe >b(1).txt c"], [["a.exe", "c"]]),
    (["cmd", "/c", "C:\\a.exe x ^& y (z)"], [["C:\\a.exe", "x", "&", "y", "(z)"]]),
    (
        ["cmd", "/c", "if exist C:\\x (a.exe) else (b.exe y)"],
        [["if", "exist", "C:\\x"], ["a.exe"], ["else"], ["b.exe", "y"]],
    ),
    (["powershell", "-NoProfile", "-Command", "a; b | c"], [["a"], ["b"], ["c"]]),
    (["powershell.exe", "Write-Host 'a; b' # c; d"], [["Write-Host", "a; b"]]),
    (["powershell", "-ExecutionPolicy", "Bypass", "-c", 'a "b && c"'], [["a", "b && c"]]),
    (["powershell", "-File", "a.ps1", ";", "b"], []),
    (["pwsh", "a.ps1"], []),
    (["cmd", "/c", "powershell -Command a; b"], [["powershell", "-Command", "a;", "b"], ["a"], ["b"]]),
    (["a.exe", "x && y"], []),
]


@pytest.mark.parametrize(("words", "calls"), CALLS)
def test_calls_of_a_shell(words: list[str], calls: list[list[str]]) -> None:
    found = [list(call.words) for script in list(scripts(words))[1:] for call in script.calls]
    assert found == calls


@pytest.mark.parametrize(
    ("image", "program", "there"),
    [
        ("mcr.microsoft.com/windows/nanoserver:ltsc2022", "powershell", False),
        ("mcr.microsoft.com/windows/servercore:ltsc2022", "powershell", True),
        ("mcr.microsoft.com/powershell:lts-nanoserver-ltsc2022", "pwsh", True),
        ("mcr.microsoft.com/windows/servercore/iis", "servicemonitor", True),
        ("mcr.microsoft.com/windows/servercore:ltsc2022", "cat", False),
        ("registry.example.com/web:1", "cat", None),
    ],
)
def test_what_a_base_image_has(image: str, program: str, there: bool | None) -> None:
    assert has_program(image, program) is there
