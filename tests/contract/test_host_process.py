"""powershell/host_process.ps1 under a real PowerShell: what runs in the pod of the connection host_process.

The program that it starts is that PowerShell itself. The simulated machine's own answer is tested in
tests/integration/test_host_process.py.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import script, script_argv

TIME_S = 60


@dataclass(frozen=True)
class Done:
    code: int
    stdout: bytes
    stderr: bytes


Order = Callable[..., Done]


@pytest.fixture
def order() -> Order:
    """Has the script do something; its input stays open, as with an API server that cannot close it."""
    program = os.environ.get("WINKUBE_LAB_PWSH")
    if not program:
        pytest.skip("lane pwsh: WINKUBE_LAB_PWSH is not set")

    def run(verb: str, first: object, second: str = "", data: bytes = b"", count: int | None = None) -> Done:
        text = script()
        argv = [
            str(program),
            *(word for word in script_argv(len(text))[1:] if word not in {"-ExecutionPolicy", "Unrestricted"}),
        ]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            size = len(data) if count is None else count
            process.stdin.write(text + f"{verb}\t{size}\t{first}\t{second}\n".encode() + data)
            process.stdin.flush()
            if size > len(data):
                process.stdin.close()
            code = process.wait(TIME_S)
            return Done(code, process.stdout.read(), process.stderr.read())

    return run


def test_a_file_is_written_and_read_byte_by_byte(order: Order, tmp_path: Path) -> None:
    data, path = bytes(range(256)) * 1000 + b"\xef\xbb\xbf\r\n", tmp_path / "f\u00e4 1.bin"
    put = order("put", path, data=data)
    assert (put.code, put.stdout.strip(), put.stderr) == (0, hashlib.sha256(data).hexdigest().encode(), b"")
    assert path.read_bytes() == data
    fetched = order("fetch", path)
    assert (fetched.code, fetched.stdout) == (0, data)
    shorter = order("put", path, data=b"x")
    assert shorter.code == 0 and path.read_bytes() == b"x", "what was longer is not left behind it"


def test_a_program_gets_its_input_and_the_end_of_it(order: Order) -> None:
    program = os.environ["WINKUBE_LAB_PWSH"]
    script = "$text = [Console]::In.ReadToEnd(); [Console]::Out.Write($text); [Console]::Error.Write('e'); exit 7"
    done = order("run", program, f'-NoProfile -NonInteractive -InputFormat None -Command "{script}"', b"one\ntwo")
    assert (done.code, done.stdout, done.stderr) == (7, b"one\ntwo", b"e")


def test_a_program_that_does_not_want_its_input(order: Order) -> None:
    program = os.environ["WINKUBE_LAB_PWSH"]
    done = order("run", program, '-NoProfile -NonInteractive -InputFormat None -Command "exit 3"', b"x" * 1_000_000)
    assert done.code == 3


def test_a_program_whose_input_is_cut_does_not_take_it_for_all_of_it(order: Order, tmp_path: Path) -> None:
    program, mark = os.environ["WINKUBE_LAB_PWSH"], tmp_path / "mark"
    command = f"$null = [Console]::In.ReadToEnd(); [IO.File]::WriteAllText('{mark}', 'x')"
    done = order("run", program, f'-NoProfile -NonInteractive -InputFormat None -Command "{command}"', b"x", 5)
    assert done.code == 1 and done.stderr.strip() == b"Standard input ended 4 bytes too early."
    assert not mark.exists()


@pytest.mark.parametrize(
    ("verb", "first", "said"),
    [
        ("fetch", "/nowhere/at/all", "at/all"),
        ("put", "/nowhere/at/all", "at/all"),
        ("put", "/nowhere/\u00e4/all", "\u00e4/all"),
        ("run", "/nowhere/program", ""),
        ("dance", "x", "There is nothing called 'dance' here."),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_exit_code_1(order: Order, verb: str, first: str, said: str) -> None:
    done = order(verb, first)
    assert done.code == 1 and done.stdout == b""
    assert said in done.stderr.decode() and done.stderr.strip()
