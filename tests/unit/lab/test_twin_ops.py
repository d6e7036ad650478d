"""Each op of the twin by itself: what it does, that a second time does nothing, what it refuses."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.lab.machine.builds import build, tar_gz
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin import dotnet
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.lab.twin.submit import content

PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/good.bin": (200, {}, b"MZ content"),
    "/html": (200, {"Content-Type": "text/html"}, b"<html>proxy login</html>"),
    "/moved": (302, {"Location": "http://xyz/good.bin"}, b""),
    "/short": (200, {"Content-Length": "100"}, b"only this"),
}
GOOD = hashlib.sha256(b"MZ content").hexdigest()


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, headers, body = PAGES.get(self.path, (404, {}, b"not here"))
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    httpd = HTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def node(server: str) -> SimulatedNode:
    node = LabNode("win1", hosts={"xyz": server})
    node.drive.mkdir("C:\\k")
    return node


def do(node: SimulatedNode, kind: str, /, **args: Any) -> dict[str, Any]:
    arguments = {"from" if key == "source_path" else key: value for key, value in args.items()}
    return execute_op(node, kind, arguments)


def twice(node: SimulatedNode, kind: str, /, **args: Any) -> dict[str, Any]:
    """The op done twice: the second time changes nothing, on the drive and in the registry."""
    first = do(node, kind, **args)
    assert first.get("changed") is True, first
    before = node.dump()
    second = do(node, kind, **args)
    assert second.get("changed") is False, second
    assert node.dump() == before
    return first


ADMIN_ONLY = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"


def test_mkdir(node: SimulatedNode) -> None:
    twice(node, "mkdir", path="C:\\a\\b\\c", sddl=ADMIN_ONLY)
    assert node.drive.sddl("C:\\a\\b\\c") == "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    assert "PAI" not in node.drive.sddl("C:\\a\\b")
    node.drive.write("C:\\f", b"")
    node.drive.link("C:\\l", "C:\\k")
    for path in ("C:\\f", "C:\\f\\x", "C:\\l", "C:\\l\\x"):
        assert "not a folder" in do(node, "mkdir", path=path)["failed"]


def test_write_keeps_the_access_list_and_the_first_backup(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\c.toml", b"one")
    node.drive.set_sddl("C:\\k\\c.toml", "O:SYD:PAI(A;;FA;;;SY)")
    twice(node, "write", path="C:\\k\\c.toml", content=content("two"), backup="C:\\b\\c.toml")
    assert node.drive.read("C:\\b\\c.toml") == b"one"
    assert node.drive.sddl("C:\\k\\c.toml") == node.drive.sddl("C:\\b\\c.toml") == "O:SYD:PAI(A;;FA;;;SY)"
    twice(node, "write", path="C:\\k\\c.toml", content=content("three"), backup="C:\\b\\c.toml")
    assert node.drive.read("C:\\b\\c.toml") == b"one"
    assert node.drive.listdir("C:\\k") == ["c.toml"]


def test_write_sets_the_access_list_of_equal_content(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\c", b"same")
    file_id = node.drive.stat("C:\\k\\c").file_id
    twice(node, "write", path="C:\\k\\c", content=content("same"), sddl="O:BAD:PAI(A;;FA;;;BA)")
    assert node.drive.stat("C:\\k\\c").file_id == file_id


def test_restore_puts_the_backup_back_once(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\c", b"one")
    before = node.drive.sddl("C:\\k\\c")
    do(node, "write", path="C:\\k\\c", content=content("two"), backup="C:\\Windows\\Temp\\c")
    twice(node, "restore", path="C:\\k\\c", backup="C:\\Windows\\Temp\\c")
    assert node.drive.read("C:\\k\\c") == b"one"
    assert node.drive.sddl("C:\\k\\c") == before
    assert not node.drive.exists("C:\\Windows\\Temp\\c")


def test_fetch(node: SimulatedNode) -> None:
    twice(node, "fetch", url="http://xyz/good.bin", path="C:\\k\\g", sha256=GOOD, magic=["4d5a"])
    assert node.drive.read("C:\\k\\g") == b"MZ content"
    asked = len(node.network.requests)
    do(node, "fetch", url="http://xyz/good.bin", path="C:\\k\\g", sha256=GOOD)
    assert len(node.network.requests) == asked
    assert do(node, "fetch", url="http://xyz/moved", path="C:\\k\\m", sha256=GOOD)["changed"]
    assert do(node, "fetch", url="file:///C:/k/g", path="C:\\k\\h", sha256=GOOD)["changed"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"url": "http://xyz/none"}, "wanted status 200, found 404"),
        (
            {"url": "http://xyz/html", "magic": ["1f8b", "504b"]},
            "begins with 1f8b or 504b, found 3c68746d6c3e7072 (an HTML",
        ),
        ({"url": "http://xyz/good.bin", "sha256": "0" * 64}, f"wanted sha256 {'0' * 64}, found {GOOD}"),
        ({"url": "http://xyz/good.bin", "max_bytes": 3}, "wanted at most 3 bytes, found 10"),
        ({"url": "http://xyz/short"}, "wanted 100 bytes, found 9"),
        ({"url": "http://nobody/x"}, "The remote name could not be resolved: 'nobody'"),
        ({"url": "file:///C:/nothing"}, "there is no file C:\\nothing"),
    ],
)
def test_a_fetch_that_fails_says_why_and_leaves_nothing(node: SimulatedNode, args: dict[str, Any], said: str) -> None:
    before = node.dump()
    result = do(node, "fetch", path="C:\\k\\g", **{"sha256": None, **args})
    assert said in result["failed"] and str(args["url"]) in result["failed"]
    assert node.dump() == before


def test_a_fetch_on_a_full_disk_fails_with_112_and_leaves_nothing(node: SimulatedNode) -> None:
    before = node.dump()
    node.faults.disk_full_after = 4
    result = do(node, "fetch", url="http://xyz/good.bin", path="C:\\k\\g", sha256=GOOD)
    assert "There is not enough space on the disk. (112)" in result["failed"]
    assert node.dump() == before


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return packed.getvalue()


@pytest.mark.parametrize("pack", [tar_gz, zipped])
def test_unpack(node: SimulatedNode, pack: Any) -> None:
    node.drive.write("C:\\a", pack({"bin/x.exe": b"X", "bin/y.exe": b"Y"}))
    members = [{"from": "bin/x.exe", "to": "x.exe"}, {"from": "bin/y.exe", "to": "sub/y.exe"}]
    twice(node, "unpack", archive="C:\\a", destination="C:\\k\\bin", members=members)
    assert node.drive.read("C:\\k\\bin\\sub\\y.exe") == b"Y"
    assert node.drive.listdir("C:\\k\\bin") == ["sub", "x.exe"]


@pytest.mark.parametrize(
    ("archive", "member", "said"),
    [
        (zipped({"a": b"", "../evil": b""}), {"from": "a", "to": "a"}, "'../evil' leads out"),
        (tar_gz({"a": b"", "C:/evil": b""}), {"from": "a", "to": "a"}, "leads out"),
        (tar_gz({"a": b"", "/evil": b""}), {"from": "a", "to": "a"}, "leads out"),
        (tar_gz({"a": b""}), {"from": "a", "to": "..\\a"}, "leads out of C:\\k"),
        (tar_gz({"a": b""}), {"from": "b", "to": "b"}, "has no member b; it has a"),
        (b"<html>", {"from": "a", "to": "a"}, "neither a zip nor a tar.gz"),
        (tar_gz({"a": b"x" * 5000})[:40], {"from": "a", "to": "a"}, "is damaged"),
    ],
)
def test_unpack_refuses(node: SimulatedNode, archive: bytes, member: dict[str, str], said: str) -> None:
    node.drive.write("C:\\a", archive)
    before = node.dump()
    result = do(node, "unpack", archive="C:\\a", destination="C:\\k", members=[member])
    assert said in result["failed"]
    assert node.dump() == before


def test_move_and_remove(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\a", b"1")
    twice(node, "move", source_path="C:\\k\\a", to="C:\\new\\b")
    node.drive.write("C:\\k\\a", b"2")
    assert "exists already" in do(node, "move", source_path="C:\\k\\a", to="C:\\new\\b")["failed"]
    assert "neither does" in do(node, "move", source_path="C:\\none", to="C:\\nor")["failed"]
    assert do(node, "remove", path="C:\\new", only_if_empty=True) == {"changed": False, "left": True}
    assert "recurse is not set" in do(node, "remove", path="C:\\new")["failed"]
    twice(node, "remove", path="C:\\new", recurse=True)


def test_remove_never_follows_a_reparse_point(node: SimulatedNode) -> None:
    node.drive.mkdir("C:\\pods")
    node.drive.link("C:\\pods\\v", "C:\\k")
    node.drive.write("C:\\k\\precious", b"")
    twice(node, "remove", path="C:\\pods", recurse=True)
    node.drive.link("C:\\v", "C:\\k")
    twice(node, "remove", path="C:\\v", recurse=True)
    assert node.drive.listdir("C:\\k") == ["precious"]


def test_a_held_file_is_tried_for_five_seconds(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\w.exe", build("worker", "1"))
    node.faults.lock("C:\\k\\w.exe", node.clock.now() + 3)
    assert do(node, "move", source_path="C:\\k\\w.exe", to="C:\\k\\v.exe")["changed"]
    process, _ = node.start_program("C:\\k\\v.exe", [])
    started = node.clock.now()
    assert "Access is denied. (5)" in do(node, "remove", path="C:\\k\\v.exe")["failed"]
    assert 5 <= node.clock.now() - started < 6
    assert do(node, "remove", path="C:\\k\\v.exe", in_use_ok=True)["left"] is True
    node.processes.kill(process.pid)
    assert "left" not in do(node, "remove", path="C:\\k\\v.exe", in_use_ok=True)


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("string", "x", "x"),
        ("expand_string", "%SystemRoot%", "%SystemRoot%"),
        ("multi_string", ["a", "b"], ["a", "b"]),
        ("dword", 4294967295, 4294967295),
        ("qword", "18446744073709551615", 18446744073709551615),
        ("binary", "80510100", bytes.fromhex("80510100")),
    ],
)
def test_registry_values(node: SimulatedNode, kind: str, value: Any, stored: Any) -> None:
    twice(node, "registry_set", path="HKLM\\SOFTWARE\\X", name="n", type=kind, value=value)
    assert node.registry.get("HKLM\\SOFTWARE\\X", "N") == stored
    twice(node, "registry_remove", path="HKLM\\SOFTWARE\\X", name="n")
    twice(node, "registry_remove", path="HKLM\\SOFTWARE\\X")
    assert not node.registry.exists("HKLM\\SOFTWARE\\X")


def test_a_registry_value_of_the_wrong_type_is_refused(node: SimulatedNode) -> None:
    result = do(node, "registry_set", path="HKLM\\SOFTWARE\\X", name="n", type="dword", value="many")
    assert "'many' is no value of type dword" in result["failed"]


def run_worker(node: SimulatedNode, *arguments: str, **more: Any) -> dict[str, Any]:
    node.drive.write("C:\\k\\w.exe", build("worker", "1"))
    return do(node, "run", program="C:\\k\\w.exe", args=list(arguments), **more)


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


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            {"for": "service", "name": "EventLog", "state": "stopped"},
            "did not become stopped within 3 s: it is running",
        ),
        ({"for": "service", "name": "nobody", "state": "running"}, "within 3 s: it is absent"),
        ({"for": "pipe", "name": "containerd-containerd"}, "it is not there"),
        ({"for": "http", "url": "http://127.0.0.1:10248/healthz"}, "actively refused it"),
        ({"for": "run", "program": "C:\\none.exe", "args": []}, "could not be started"),
        ({"for": "moon"}, "nothing called 'moon'"),
    ],
)
def test_wait_says_what_was_seen_instead(node: SimulatedNode, args: dict[str, Any], said: str) -> None:
    assert said in do(node, "wait", timeout_s=3, **args)["failed"]


def test_wait_for_what_comes(node: SimulatedNode) -> None:
    node.clock.call_later(2, lambda: node.pipes.create("x", 0))
    started = node.clock.now()
    assert "failed" not in do(node, "wait", **{"for": "pipe", "name": "x", "timeout_s": 10})
    assert 2 <= node.clock.now() - started <= 3
    assert "failed" not in do(node, "wait", **{"for": "service", "name": "no", "state": "absent", "timeout_s": 1})
    assert "failed" not in do(node, "wait", **{"for": "http", "url": "http://xyz/none", "status": 404, "timeout_s": 1})


def test_wait_for_a_program_to_let_go(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\w.exe", build("worker", "1"))
    for kind in ("file_free", "process_gone"):
        process, _ = node.start_program("C:\\k\\w.exe", ["--run", "5"])
        started = node.clock.now()
        assert str(process.pid) in do(node, "wait", **{"for": kind, "path": "C:\\k\\w.exe", "timeout_s": 1})["failed"]
        assert "failed" not in do(node, "wait", **{"for": kind, "path": "C:\\k\\w.exe", "timeout_s": 30})
        assert 4 < node.clock.now() - started < 6.5


def test_record(node: SimulatedNode) -> None:
    node.drive.write("C:\\k\\a", b"1")
    twice(node, "record", path="C:\\k\\r\\x.json", source={"url": "http://xyz/a"}, files=["C:\\k\\a"])
    files = [{"path": "C:\\k\\a", "sha256": hashlib.sha256(b"1").hexdigest()}]
    assert json.loads(node.drive.read("C:\\k\\r\\x.json")) == {
        "schema": 1,
        "source": {"url": "http://xyz/a"},
        "files": files,
    }


def test_an_unknown_op_and_a_missing_argument_are_named(node: SimulatedNode) -> None:
    assert "no op 'format'" in do(node, "format")["failed"]
    assert "needs 'path'" in do(node, "mkdir")["failed"]
