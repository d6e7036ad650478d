"""What the contract cannot ask of the twin: programs that only the lab has, a full disk, races of two calls."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.twin import dotnet
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.lab.twin.submit import apply, envelope, op

WORKER = "C:\\k\\w.exe"
DIR = op("mkdir", path="C:\\d", undo=[op("remove", path="C:\\d", only_if_empty=True)])


class Page(BaseHTTPRequestHandler):
    """One file."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"MZ content")

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    httpd = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir("C:\\k")
    node.drive.write(WORKER, build("worker", "1"))
    return node


@pytest.fixture
def session(node: SimulatedNode) -> Session:
    return node.open_session()


def do(node: SimulatedNode, kind: str, /, **args: Any) -> dict[str, Any]:
    arguments = {"from" if key == "source_path" else key: value for key, value in args.items()}
    return execute_op(node, kind, arguments)


def run_worker(node: SimulatedNode, *arguments: str, **more: Any) -> dict[str, Any]:
    return do(node, "run", program=WORKER, args=list(arguments), **more)


def test_a_fetch_on_a_full_disk_fails_with_112_and_leaves_nothing(server: str) -> None:
    node = LabNode("win1", hosts={"xyz": server})
    before = node.dump()
    node.faults.disk_full_after = 4
    good = hashlib.sha256(b"MZ content").hexdigest()
    result = do(node, "fetch", url="http://xyz/good.bin", path="C:\\g", sha256=good)
    assert "There is not enough space on the disk. (112)" in result["failed"]
    assert node.dump() == before


def test_a_held_file_is_tried_for_five_seconds(node: SimulatedNode) -> None:
    node.faults.lock("C:\\k\\w.exe", node.clock.now() + 3)
    assert do(node, "move", source_path="C:\\k\\w.exe", to="C:\\k\\v.exe")["changed"]
    process, _ = node.start_program("C:\\k\\v.exe", [])
    started = node.clock.now()
    assert "Access is denied. (5)" in do(node, "remove", path="C:\\k\\v.exe")["failed"]
    assert 5 <= node.clock.now() - started < 6
    assert do(node, "remove", path="C:\\k\\v.exe", in_use_ok=True)["left"] is True
    node.processes.kill(process.pid)
    assert "left" not in do(node, "remove", path="C:\\k\\v.exe", in_use_ok=True)


def test_run(node: SimulatedNode) -> None:
    result = run_worker(node, "--run", "1", "--args", "a b", 'c"d', "")
    assert result["exit_code"] == 0 and result["stdout"].split("\n")[3:] == ["a b", 'c"d', ""]
    assert run_worker(node, "--run", "0", "--echo", stdin="hello")["stdout"] == "hello"
    assert run_worker(node, "--run", "0", "--env", "NAME", env={"NAME": "win1"})["stdout"] == "win1"
    assert run_worker(node, "--run", "0", "--exit", "3", ok_exit=[0, 3])["exit_code"] == 3
    failed = run_worker(node, "--run", "0", "--exit", "3", "--stderr", "because")
    told = "C:\\k\\w.exe --run 0 --exit 3 --stderr because was to end with exit code 0, but ended with exit code 3"
    assert failed["failed"] == f"{told}: because"
    assert failed["data"]["exit_code"] == 3


def test_path_beside_path_in_the_environment(node: SimulatedNode) -> None:
    node.environment |= {"Twin": "one", "TWIN": "two"}
    with pytest.raises(dotnet.InvalidOperationError):
        dotnet.process_environment(node, {"NAME": "x"})
    assert run_worker(node, "--run", "0", "--env", "TWIN", env={"NAME": "x"})["stdout"] == ""
    assert run_worker(node, "--run", "0", "--env", "Twin", env={"NAME": "x"})["stdout"] == "one"
    refused = run_worker(node, env={"Path": "a", "PATH": "b"})["failed"]
    assert "names PATH and Path, which are one variable" in refused


def test_a_program_that_takes_too_long_is_killed(node: SimulatedNode) -> None:
    assert "did not end within 5 s and was killed" in run_worker(node, timeout_s=5)["failed"]
    assert node.processes.named(["w.exe"]) == []


def test_a_program_that_is_not_there(node: SimulatedNode) -> None:
    result = do(node, "run", program="C:\\nowhere\\ctr.exe", args=[])
    assert "C:\\nowhere\\ctr.exe could not be started: The system cannot find the" in result["failed"]
    assert result["data"]["code"] in {2, 3}


def test_long_output_keeps_its_first_and_last_32_kb(node: SimulatedNode) -> None:
    text = "a" * 40_000 + "b" * 60_000
    out = run_worker(node, "--run", "0", "--print", text)["stdout"]
    assert out == "a" * 32768 + f"\n... {100_000 - 65536} bytes left out ...\n" + "b" * 32768


def test_a_batch_that_arrives_twice_at_once_is_done_once(
    node: SimulatedNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that was taken for lost is made again, and overtakes the first one before that has the lock."""
    document = envelope(
        [DIR], pre=[{"key": "k", "query": {"op": "file", "path": "C:\\d"}, "expect": {"exists": False}}]
    )
    passed = node.moment
    overtaking: list[object] = []

    def moment(phase: str, step: int, *rest: str) -> None:
        if (phase, step) == ("submit", 0) and not overtaking:
            overtaking.append(True)
            overtaking.append(apply(node, node.open_session(), document)["outcome"])
        passed(phase, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(node, "moment", moment)
    assert apply(node, session, document)["outcome"] == "done"
    assert overtaking == [True, "done"] and node.counters.batches == 1
    assert apply(node, session, envelope(kind="follow", batch_id="f" * 32))["outcome"] == "unknown"


def test_a_hung_second_instance_is_never_started(node: SimulatedNode, session: Session) -> None:
    document = envelope([op("run", program=WORKER, args=["--run", "200"], timeout_s=205)], follow_s=1)
    apply(node, session, document)
    runners = [p.pid for p in node.processes.named(["powershell.exe"])]
    node.clock.advance(150)
    assert [p.pid for p in node.processes.named(["powershell.exe"])] == runners
