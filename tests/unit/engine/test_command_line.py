"""Command lines compare as argument lists by CommandLineToArgvW's rules."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line

# line, arguments: the examples of Microsoft's page on parsing command-line arguments, and the documents' own
SPLITS = [
    (r'x "a b c" d e', ["x", "a b c", "d", "e"]),
    (r'x "ab\"c" "\\" d', ["x", 'ab"c', "\\", "d"]),
    (r'x a\\\b d"e f"g h', ["x", r"a\\\b", "de fg", "h"]),
    (r"x a\\\"b c d", ["x", r"a\"b", "c", "d"]),
    (r'x a\\\\"b c" d e', ["x", r"a\\b c", "d", "e"]),
    (r'x "a""b"', ["x", 'a"b']),
    (
        r'"C:\Program Files\containerd\bin\containerd.exe" --run-service',
        [r"C:\Program Files\containerd\bin\containerd.exe", "--run-service"],
    ),
    (
        'kubelet.exe --resolv-conf="" --enforce-node-allocatable=""',
        ["kubelet.exe", "--resolv-conf=", "--enforce-node-allocatable="],
    ),
    ('x ""', ["x", ""]),
    ("", []),
    ("x   ", ["x"]),
]


@pytest.mark.row("SV-14")
@pytest.mark.parametrize(("line", "arguments"), SPLITS)
def test_split(line: str, arguments: list[str]) -> None:
    assert command_line.split(line) == arguments


@pytest.mark.row("SV-04")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([r"C:\k\kubelet.exe", "--v=6"], r"C:\k\kubelet.exe --v=6"),
        (
            [r"C:\Program Files\k\k.exe", r"--log-dir=C:\Program Files\logs"],
            r'"C:\Program Files\k\k.exe" "--log-dir=C:\Program Files\logs"',
        ),
        (["x", 'say "hi"'], r'x "say \"hi\""'),
        (["x", "C:\\a b\\"], r'x "C:\a b\\"'),
        (["x", ""], 'x ""'),
    ],
)
def test_join_quotes_only_what_needs_it(arguments: list[str], line: str) -> None:
    assert command_line.join(arguments) == line
    assert command_line.split(line) == arguments


def test_join_and_split_are_inverse_for_awkward_arguments() -> None:
    pieces = ["", "a", "a b", 'q"q', "back\\", "two\\\\", '\\"', "tab\there", 'mix \\" of "all\\']
    for left in pieces:
        for right in pieces:
            assert command_line.split(command_line.join(["p.exe", left, right])) == ["p.exe", left, right]


@pytest.mark.row("SV-16")
def test_the_program_compares_without_case_the_arguments_with_it() -> None:
    assert command_line.is_same([r"c:\K\Kubelet.exe", "--v=6"], [r"C:\k\kubelet.EXE", "--v=6"])
    assert command_line.is_same(["c:/k/kubelet.exe"], [r"C:\k\kubelet.exe"])
    assert not command_line.is_same([r"C:\k\kubelet.exe", "--V=6"], [r"C:\k\kubelet.exe", "--v=6"])
    assert not command_line.is_same([r"C:\k\kubelet.exe", "--v=6"], [r"C:\k\kubelet.exe"])


def test_a_diff_has_one_argument_a_line() -> None:
    """Failed before: a changed kubelet flag was somewhere in two lines of a thousand characters."""
    assert command_line.list_arguments(r'"C:\a b\x.exe" --v=2 "" "c d"') == '\n  C:\\a b\\x.exe\n  --v=2\n  ""\n  c d'
