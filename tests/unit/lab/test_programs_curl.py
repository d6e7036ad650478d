"""The lab's curl.exe: one GET, through a proxy that its environment names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.lab.machine.program import Caller, Completed
from tests.lab.programs import curl
from tests.lab.twin.node import LabNode


class Server(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(401)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"no")

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    made = HTTPServer(("127.0.0.1", 0), type("Asked", (Server,), {"asked": asked}))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{made.server_port}", asked
    finally:
        made.shutdown()
        made.server_close()


def run(address: str, *arguments: str, **environment: str) -> Completed:
    node = LabNode("win1", hosts={"registry.example.com": address, "proxy.example.com:3128": address})
    node.boot()
    caller = Caller(next(iter(node.processes.all())), "SYSTEM", True, environment=environment)
    program = curl.main(node, ["curl.exe", *arguments], b"", caller)
    while True:
        try:
            next(program)
        except StopIteration as end:
            found: Completed = end.value
            return found


def test_any_answer_is_one(server: tuple[str, list[str]]) -> None:
    address, asked = server
    found = run(address, "--silent", "--max-time", "5", "http://registry.example.com/v2/")
    assert (found.exit_code, found.stdout) == (0, b"no")
    assert asked == ["/v2/"]
    assert run(address, "--output", "NUL", "http://registry.example.com/v2/").stdout == b""


def test_a_proxy_of_the_environment_is_asked_for_the_whole_address(server: tuple[str, list[str]]) -> None:
    address, asked = server
    found = run(address, "http://elsewhere.example.com/v2/", http_proxy="http://u:p@proxy.example.com:3128/")
    assert found.exit_code == 0
    assert asked == ["http://elsewhere.example.com/v2/"]


@pytest.mark.parametrize(
    ("url", "proxy", "code", "said"),
    [
        ("http://elsewhere.example.com/", "", 6, b"Could not resolve host: elsewhere.example.com"),
        ("http://registry.example.com/", "http://nowhere.example.com:3128/", 5, b"Could not resolve proxy: nowhere"),
        ("--upload-file", "", 2, b"the lab does not simulate it"),
    ],
)
def test_how_it_fails(server: tuple[str, list[str]], url: str, proxy: str, code: int, said: bytes) -> None:
    environment = {"http_proxy": proxy} if proxy else {}
    found = run(server[0], url, **environment)
    assert found.exit_code == code
    assert said in found.stderr
