"""What PowerShell's logs keep of a batch: no secret, with everything logged that can be (docs/endpoint-protection.md).

Each case that hides something runs once more under such a PowerShell.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.case import Case, Tree, all_cases
from tests.contract.check import encode, failures
from tests.contract.logged import EVENTS, LEAST, Logged, Written, forms
from tests.contract.provides import LINUX, WINE
from tests.contract.web import serve

SECRET = "Kanarienvogel-7f3"


def hidden(case: Case) -> list[str]:
    """What a case hides, of a length that can be searched for."""
    steps: Sequence[Any] = case.body.get("steps") or []
    texts = [*(case.body.get("hidden") or []), *(text for step in steps for text in step.get("hidden") or [])]
    return [text for text in dict.fromkeys(texts) if len(text) >= LEAST]


PLANTED = [
    case for case in all_cases() if hidden(case) and any(case.needs <= place - {"ipv6"} for place in (LINUX, WINE))
]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logged]:
    """Of the PowerShell that WINKUBE_LAB_PWSH names, else of that for Windows, on Wine."""
    folder = tmp_path_factory.mktemp("logged")
    program = os.environ.get("WINKUBE_LAB_PWSH")
    with (
        serve() as web,
        Logged.beside(program, web, folder)
        if program
        else Logged.on_wine(Path(os.environ["WINKUBE_LAB_PWSH_WINDOWS"]), web, folder) as on,
    ):
        yield on


def test_a_text_is_found_however_it_is_wrapped() -> None:
    written = Written()
    for before in ("", "a", "ab", "abc", "abcd"):
        for code in ("utf-8", "utf-16-le"):
            written.places = {"log": base64.b64encode(f"{before}{SECRET} and more".encode(code))}
            assert written.holding(SECRET) == ["log"], (before, code)
    written.places = {"log": SECRET[1:].encode() * 3, "other": SECRET.encode("utf-16-le")}
    assert written.holding(SECRET) == ["other"]
    assert all(len(form) >= LEAST for form in forms("abcdef"))


@pytest.mark.lane("pwsh")
def test_a_planted_secret_is_found_in_every_log(logged: Logged) -> None:
    """Else the other tests would find nothing whatever there is."""
    logged.written = Written()
    script = (
        "$x = [Console]::In.ReadToEnd()\n"
        "$null = @($x) | Where-Object { $_ -ne '' } | Sort-Object\n"
        "$null = [scriptblock]::Create(\"`$null = '$x'\").Invoke()\n"
        "try { [uri]\"http://ann:$($x)@host:no\" } catch { 'it did not end well' }\n"
        "$x\n"
    )
    logged.logged(script, SECRET.encode())
    assert set(logged.written.holding(SECRET)) == logged.channels
    logged.written = Written()
    logged.logged(
        "$x = New-Object System.Uri \"http://ann:$([Console]::In.ReadToEnd())@host/\"; 'done'", SECRET.encode()
    )
    assert ("modules" in logged.written.holding(SECRET)) == (logged.channels >= EVENTS)


@pytest.mark.lane("pwsh")
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case.id)
def test_no_log_has_what_a_case_hides(case: Case, logged: Logged) -> None:
    logged.written = Written()
    assert failures(case, logged) == []
    assert set(logged.written.places) >= {*logged.channels, "command line", "environment"}
    found = {text: places for text in hidden(case) if (places := logged.written.holding(text))}
    assert found == {}


@pytest.mark.lane("pwsh")
def test_a_program_is_started_without_the_secrets_of_the_batch(pwsh: str, logged: Logged, tmp_path: Path) -> None:
    """By its standard input alone: not in its environment or command line, nor in those of the PowerShell above it."""
    seen = tmp_path / "seen"
    dump = (
        f"cat /proc/self/environ /proc/$PPID/environ /proc/$$/cmdline /proc/$PPID/cmdline > {seen}; cat > {seen}.input"
    )
    args = {"program": "{shell}", "args": ["{shell_flag}", dump], "stdin": SECRET}
    body = {"op": "run", "args": args, "secrets": ["stdin"], "again": False, "hidden": [SECRET]}
    logged.written = Written()
    assert failures(Case("logs", "dump", "op", frozenset(), Tree(), body), logged) == []
    assert Path(f"{seen}.input").read_text(encoding="utf-8") == SECRET
    assert not any(form in seen.read_bytes() for form in forms(SECRET))
    assert b"PATH=" in seen.read_bytes() and logged.written.holding(SECRET) == []


@pytest.mark.lane("pwsh")
def test_what_the_logs_do_keep_is_what_the_page_says(logged: Logged) -> None:
    """An answer stands in a transcript whole, and Ansible's own wrapper hands a module's arguments to cmdlets."""
    place = logged.prepare(Tree({"secret.txt": SECRET}))
    path = f"{place.root}{place.root.removesuffix('root')[-1]}secret.txt"
    file = {"key": "confidential:it", "op": "file", "path": path, "content_limit": 1000}
    request = {"schema": 1, "state_dir": place.state, "queries": [file]}
    logged.written = Written()
    answer = logged.run("node_probe", {"request": json.dumps(request)})
    assert answer["parts"]["confidential:it"]["exists"]
    assert logged.written.holding(SECRET) == ["transcript"]
    logged.written = Written()
    batch = encode({"schema": 1, "kind": "follow", "id": "0" * 32, "state_dir": place.state})
    logged.run("node_apply", {"batch": batch})
    assert ("modules" in logged.written.holding(batch)) == (logged.channels >= EVENTS)
