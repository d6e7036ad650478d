"""powershell/host_process.ps1 under a real PowerShell: what runs in the pod of the connection host_process.

The program that it starts is that PowerShell itself. The simulated machine's own answer is tested in
tests/integration/test_host_process.py.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.host_process import pod
from ansible_collections.winkube.node.plugins.plugin_utils.host_process.access import script, script_argv

TIME_S = 60


@dataclass(frozen=True)
class Done:
    code: int
    stdout: bytes
    stderr: bytes


Order = Callable[..., Done]


@pytest.fixture
def order(pwsh: str) -> Order:
    """Has the script do something; its input stays open, as with an API server that cannot close it."""

    def run(verb: str, first: object, second: str = "", data: bytes = b"", count: int | None = None) -> Done:
        text = script()
        argv = [
            pwsh,
            *(word for word in script_argv(len(text))[1:] if word not in {"-ExecutionPolicy", "Unrestricted"}),
        ]
        size = len(data) if count is None else count
        given = text + f"{verb}\t{size}\t{first}\t{second}\n".encode() + data
        return converse(argv, given, cut=size > len(data))

    return run


def converse(argv: Sequence[str], given: bytes, *, cut: bool) -> Done:
    """Gives a program its input, which stays open if it is not cut, and reads both outputs meanwhile: a pipe that is
    full would stop the program. One that ends without having read everything may."""
    with (
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        ThreadPoolExecutor(3) as pool,
    ):
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        stdin = process.stdin

        def feed() -> None:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(given)
                stdin.flush()
                if cut:
                    stdin.close()

        try:
            fed, said, failed = pool.submit(feed), pool.submit(process.stdout.read), pool.submit(process.stderr.read)
            code = process.wait(TIME_S)
            fed.result(TIME_S)
            return Done(code, said.result(TIME_S), failed.result(TIME_S))
        finally:
            process.kill()
            with contextlib.suppress(BrokenPipeError):
                stdin.close()


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (
            "import sys; sys.stdout.write('x' * 262144); sys.stderr.write('y' * 262144)",
            Done(0, b"x" * 262144, b"y" * 262144),
        ),
        ("raise SystemExit(3)", Done(3, b"", b"")),
        ("import sys; sys.exit(len(sys.stdin.buffer.read(5)))", Done(5, b"", b"")),
    ],
    ids=["writes-more-than-a-pipe-holds", "reads-nothing", "reads-a-part"],
)
def test_the_lane_waits_for_no_program_that_waits_for_it(program: str, wanted: Done) -> None:
    assert converse([sys.executable, "-c", program], b"x" * 1_000_000, cut=False) == wanted


def test_the_lane_cuts_the_input() -> None:
    program = "import sys; sys.exit(len(sys.stdin.buffer.read()))"
    assert converse([sys.executable, "-c", program], b"x" * 7, cut=True).code == 7


@pytest.mark.lane("pwsh")
def test_a_file_whose_input_is_cut_stays_as_it_was(order: Order, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    done = order("put", path, data=b"x" * 500_000, count=1_000_000)
    assert done.code == 1 and done.stderr.strip() == b"Standard input ended 500000 bytes too early."
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.lane("pwsh")
@pytest.mark.parametrize(("cut", "said"), [(True, b"ended before the script"), (False, b"stayed open for 120 s")])
def test_a_script_that_is_cut_is_a_sentence(pwsh: str, cut: bool, said: bytes) -> None:
    text = script()
    *words, encoded = (word for word in script_argv(len(text))[1:] if word not in {"-ExecutionPolicy", "Unrestricted"})
    start = base64.b64decode(encoded).decode("utf-16-le").replace("Wait(120000)", "Wait(2000)")
    argv = [pwsh, *words, base64.b64encode(start.encode("utf-16-le")).decode()]
    done = converse(argv, text[: len(text) // 2], cut=cut)
    assert done.code == 1 and said in done.stderr and b"CLIXML" not in done.stderr


@pytest.mark.lane("pwsh")
def test_a_file_is_written_and_read_byte_by_byte(order: Order, tmp_path: Path) -> None:
    data, path = bytes(range(256)) * 1000 + b"\xef\xbb\xbf\r\n", tmp_path / "f\u00e4 1.bin"
    put = order("put", path, data=data)
    assert (put.code, put.stdout.strip(), put.stderr) == (0, hashlib.sha256(data).hexdigest().encode(), b"")
    assert path.read_bytes() == data
    fetched = order("fetch", path)
    assert (fetched.code, fetched.stdout) == (0, data)
    shorter = order("put", path, data=b"x")
    assert shorter.code == 0 and path.read_bytes() == b"x", "what was longer is not left behind it"


@pytest.mark.lane("pwsh")
def test_a_program_gets_its_input_and_the_end_of_it(order: Order, pwsh: str) -> None:
    script = "$text = [Console]::In.ReadToEnd(); [Console]::Out.Write($text); [Console]::Error.Write('e'); exit 7"
    done = order("run", pwsh, f'-NoProfile -NonInteractive -InputFormat None -Command "{script}"', b"one\ntwo")
    assert (done.code, done.stdout, done.stderr) == (7, b"one\ntwo", b"e")


@pytest.mark.lane("pwsh")
def test_a_program_that_does_not_want_its_input(order: Order, pwsh: str) -> None:
    done = order("run", pwsh, '-NoProfile -NonInteractive -InputFormat None -Command "exit 3"', b"x" * 1_000_000)
    assert done.code == 3


@pytest.mark.lane("pwsh")
def test_a_program_whose_input_is_cut_does_not_take_it_for_all_of_it(order: Order, pwsh: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = f"$null = [Console]::In.ReadToEnd(); [IO.File]::WriteAllText('{mark}', 'x')"
    done = order("run", pwsh, f'-NoProfile -NonInteractive -InputFormat None -Command "{command}"', b"x", 5)
    assert done.code == 1 and done.stderr.strip() == b"Standard input ended 4 bytes too early."
    assert not mark.exists()


@pytest.mark.lane("pwsh")
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


@pytest.mark.lane("pwsh")
def test_a_pod_without_a_sign_of_life_ends_and_with_one_it_stays(pwsh: str, tmp_path: Path) -> None:
    """Each sign of life is a program of its own, as the run starts it."""
    words = [pwsh, "-NoLogo", "-NoProfile", "-NonInteractive"]
    environment = {**os.environ, "CONTAINER_SANDBOX_MOUNT_POINT": f"{tmp_path}/"}
    began = time.monotonic()
    with subprocess.Popen([*words, "-Command", pod.waiting(12)], env=environment) as waits:
        try:
            for _time in range(4):
                time.sleep(5)
                encoded = base64.b64encode(pod.RENEWING.encode("utf-16-le")).decode()
                subprocess.run([*words, "-EncodedCommand", encoded], env=environment, check=True, timeout=TIME_S)
                assert waits.poll() is None, "it was given a sign of life"
            assert [file.name for file in tmp_path.iterdir()] == ["winkube-alive"]
            assert waits.wait(TIME_S) == 0 and time.monotonic() - began > 20 + 12 - 2
        finally:
            waits.kill()


@pytest.mark.lane("pwsh")
def test_a_pod_whose_volume_is_unknown_ends_too(pwsh: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "CONTAINER_SANDBOX_MOUNT_POINT"}
    words = [pwsh, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", pod.waiting(3)]
    subprocess.run(words, env=environment, check=False, timeout=TIME_S, capture_output=True)
