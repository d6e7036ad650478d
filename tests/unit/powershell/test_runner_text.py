"""What is sent to a node: whole, parseable, what it needs and no more, the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import script_argv
from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import runner_sha256, runner_text

from tests.quality.powershell_programs import parts
from tests.unit.powershell.source import FILES, PROGRAMS, RUNNER, SHARED, Source, commands, read, snippet, text, walk


def test_the_first_statement_of_the_runner_is_param() -> None:
    first = next(line for line in runner_text().splitlines() if line and not line.startswith("#"))
    assert first == "param([string]$StateDir = '')"
    assert runner_text().endswith("Invoke-NodeRunner -StateDir $StateDir\n")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_program_has_each_function_once_and_no_comment_but_its_head(path: Path) -> None:
    source = read(path)
    defined = [function.name for function in source.functions]
    assert len(defined) == len(set(defined))
    comments = [text(node) for node in walk(source.root) if node.type == "comment"]
    assert [each for each in comments if not source.data.decode().partition("\n\nparam")[0].count(each)][:1] == []
    assert len(comments) <= 6


def test_what_expires_comes_before_the_scheduler_is_asked() -> None:
    """Where that does not answer, the port stayed open."""
    source = read(next(path for path in RUNNER if path.name == "90_main.ps1"))
    order = [command.name for command in source.commands]
    assert order.index("Invoke-NodeExpiry") < order.index("Set-NodeRunnerTask")


def test_the_state_folder_is_looked_at_again_under_the_lock() -> None:
    apply = next(path for path in FILES if path.name == "node_apply.ps1")
    submit = next(function for function in read(apply).functions if function.name == "Submit-NodeBatch")
    order = [command.name for command in commands(submit.node)]
    assert order[0] == "Protect-NodeState", "before anything in it is believed"
    locked = order[order.index("Enter-NodeLock") :]
    assert locked.index("Get-NodeStateRefusal") < locked.index("Save-NodeRunner")


def test_who_runs_a_task_is_compared_by_sid() -> None:
    source = read(next(path for path in FILES if path.name == "task.ps1"))
    trusted = next(function for function in source.functions if function.name == "Test-NodeRunnerTask")
    assert "UserId>" not in text(trusted.node)
    assert "Test-NodeSystemAccount" in {command.name for command in commands(trusted.node)}


def test_a_folder_is_removed_within_one_budget_and_the_deadline() -> None:
    source = read(next(path for path in RUNNER if path.name == "20_files.ps1"))
    tree = next(function for function in source.functions if function.name == "Remove-NodeTree")
    assert {"Run", "Budget"} <= set(tree.parameters)
    called = [command for command in commands(tree.node) if command.name.startswith("Remove-Node")]
    assert all("Budget" in command.parameters for command in called)
    assert "Get-NodeTimeLeft" in {command.name for command in commands(tree.node)}


def test_the_program_of_a_pod_writes_beside_the_file_and_waits_for_its_input_with_a_limit() -> None:
    source = read(next(path for path in FILES if path.name == "host_process.ps1"))
    write = next(function for function in source.functions if function.name == "Write-NodeFileFrom")
    assert "Move-NodeFileIn" in {command.name for command in commands(write.node)}
    assert "FileStream($fresh," in text(write.node) and "FileStream($Path," not in text(write.node)
    assert not re.search(rb"\$Source\.Read(Byte)?\(", source.data, re.IGNORECASE), "blocks for ever"


def test_what_starts_it_is_understood_and_says_a_sentence() -> None:
    start = base64.b64decode(script_argv(9)[-1]).decode("utf-16-le")
    assert snippet(start).errors() == [] and ".Read(" not in start
    assert "[System.Console]::Error.WriteLine" in start and len(" ".join(script_argv(99999))) < 8000


def test_every_function_of_a_piece_is_sent_by_some_program() -> None:
    sent = {function.name for path in PROGRAMS for function in read(path).functions}
    assert {function.name for path in FILES for function in read(path).functions} == sent


def test_what_a_program_does_not_reach_is_left_out() -> None:
    """The probe reads; what writes journals and makes tasks would be a third of it."""
    probe = {function.name for function in read(PROGRAMS[1]).functions}
    assert "Read-NodeQueryList" in probe
    assert probe.isdisjoint({"Register-NodeRunnerTask", "Enter-NodeLock", "New-NodeFolder"})
    runner = {function.name for function in Source("runner.ps1", runner_text().encode()).functions}
    assert runner >= {function.name for path in RUNNER for function in read(path).functions}
    assert not runner >= {function.name for path in SHARED for function in read(path).functions}


def test_sha256_is_of_the_bytes_that_are_sent() -> None:
    assert runner_sha256() == hashlib.sha256(runner_text().encode("utf-8")).hexdigest()
    assert runner_text().isascii() and "\r" not in runner_text()


@pytest.mark.parametrize(
    ("script", "sent"),
    [
        ("$x = 1 # why\n$y = 2\n", "$x = 1 # why\n$y = 2\n"),
        ("$x = 1\n    # why\n    # more\n$y = 2\n", "$x = 1\n$y = 2\n"),
        ("<#\nwhy\n#>\n$y = '# no comment'\n", "$y = '# no comment'\n"),
        ("$x = @'\n# text\n\n    # more\n'@\n", "$x = @'\n# text\n\n    # more\n'@\n"),
        (
            "if ($x) {\n    if ($y) {\n        $z = 'a\n    b'\n    }\n}\n",
            "if ($x) {\nif ($y) {\n$z = 'a\n    b'\n}\n}\n",
        ),
        ("if ($x) {\n    # why\n    $y = 1\n}\n", "if ($x) {\n$y = 1\n}\n"),
        ('$x = @"\n<a>\n    <b>$y</b>\n</a>\n"@\n', '$x = @"\n<a>\n    <b>$y</b>\n</a>\n"@\n'),
        ('$x = "a\n    $y\n    b"\n', '$x = "a\n    $y\n    b"\n'),
    ],
)
def test_comments_and_blanks_alone_are_left_out(script: str, sent: str) -> None:
    """A line of a text that begins like a comment must stay."""
    assert "".join(part.text for part in parts(snippet(script))) == sent


@pytest.mark.parametrize("script", ['$x = "a $(1)\n# b"\n', '$x = "a $(1) # b"\n'])
def test_what_the_grammar_takes_for_a_comment_inside_a_text_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match="sample:1: not understood"):
        list(parts(snippet(script)))
