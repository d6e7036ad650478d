"""What a call says where a policy constrains PowerShell, and what works there (docs/endpoint-protection.md)."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.app_control import (
    ANSIBLE,
    NO_LIST_OF_ANSIBLE,
    NO_LIST_OF_OURS,
    NOTHING_SIGNED,
    OURS,
    Refusal,
    call,
    constrained,
    run,
)
from tests.contract.powershell import ROOT

QUERY = {"key": "it", "op": "file", "path": str(ROOT / "galaxy.yml")}
ARGUMENTS = {
    "node_probe": {"request": json.dumps({"schema": 1, "state_dir": "", "queries": [QUERY]})},
    "node_apply": {"batch": "{}"},
}
SIGNED = {
    "nothing": (None, NOTHING_SIGNED),
    "the-wrapper": ((), NO_LIST_OF_ANSIBLE),
    "ansible": (ANSIBLE, NO_LIST_OF_OURS),
}


@pytest.mark.lane("pwsh")
@pytest.mark.parametrize("module", ARGUMENTS)
@pytest.mark.parametrize(("signed", "refusal"), SIGNED.values(), ids=SIGNED.keys())
def test_a_call_is_refused_in_the_words_that_are_known(
    module: str, signed: Sequence[Path] | None, refusal: Refusal, pwsh: str, tmp_path: Path
) -> None:
    answer = call(pwsh, tmp_path, module, ARGUMENTS[module], signed)
    wanted = refusal.answer()
    assert answer["failed"] is True and answer["msg"] == wanted["msg"]
    for place in ("exception", "module_stderr"):
        assert wanted.get(place, "").strip() in answer.get(place, "")
    assert answer.get("module_stdout", "") == ""


@pytest.mark.lane("pwsh")
def test_with_signed_lists_a_module_runs_as_anywhere(pwsh: str, tmp_path: Path) -> None:
    """So what Ansible sends of a module is the file, byte for byte, whose hash a list has."""
    answer: dict[str, Any] = call(pwsh, tmp_path, "node_probe", ARGUMENTS["node_probe"], [*ANSIBLE, *OURS])
    assert not answer.get("failed"), answer
    assert answer["parts"]["it"]["exists"] is True


@pytest.mark.lane("pwsh")
def test_the_tasks_command_does_nothing_and_leaves_no_word(pwsh: str, tmp_path: Path) -> None:
    (tmp_path / "runner.ps1").write_text("'ran'")
    command = run(pwsh, tmp_path, f". '{ROOT}/powershell/shared/task.ps1'\nGet-NodeTaskCommand -StateDir '{tmp_path}'")
    script = base64.b64decode(command.stdout).decode("utf-16-le")
    free = run(pwsh, tmp_path, script)
    assert (free.returncode, free.stdout.strip()) == (0, b"ran")
    (tmp_path / "runner-starts.log").unlink()
    held = run(pwsh, tmp_path, constrained(script))
    assert (held.returncode, held.stdout) == (1, b"")
    assert not (tmp_path / "runner-starts.log").exists() and not (tmp_path / "runner-error.txt").exists()


@pytest.mark.lane("pwsh")
def test_what_a_trusted_script_makes_a_block_of_is_not_constrained(pwsh: str, tmp_path: Path) -> None:
    """As node_apply does with the runner's text, in the mode inline, and both modules with HNS's."""
    mode = "$ExecutionContext.SessionState.LanguageMode"
    text = f"$trusted = {{ & ([scriptblock]::Create('{mode}')) }}\n" + constrained(f"{mode}\n& $trusted\n{mode}")
    done = run(pwsh, tmp_path, text)
    assert done.stdout.decode().split() == ["ConstrainedLanguage", "FullLanguage", "ConstrainedLanguage"], done.stderr
