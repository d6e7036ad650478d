"""The controller's own server gives a build's parts to requests with the token, and the node assembles the build
from them."""

from __future__ import annotations

import hashlib
import random
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.cache import PushCache
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.progress import Progress
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.push import Base, Ready, prepare
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.serve import (
    REACH_S,
    Offer,
    ServeError,
    address_towards,
    ports_of,
    serve,
    serve_files,
)

from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op

STAGING = "C:\\ProgramData\\winkube\\staging"
KUBELET = "C:\\k\\kubelet.exe"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def get(url: str, token: str | None) -> tuple[int, bytes]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_only_what_is_offered_and_only_with_the_token(tmp_path: Path) -> None:
    part, secret = tmp_path / "part", tmp_path / "secret"
    part.write_bytes(b"a part")
    secret.write_bytes(b"not for you")
    with serve({"x.000": part}, "127.0.0.1") as served:
        url = served.url("x.000")
        assert url == f"http://127.0.0.1:{served.port}/x.000"
        right = served.token.reveal()
        assert right not in url and len(right) >= 32
        for token in (None, "", "x" * len(right), right[:-1]):
            assert get(url, token) == (403, b"")
        assert get(served.url("secret"), right)[0] == 404
        assert get(served.url("../secret"), right)[0] == 404
        assert served.sent == {}
        assert get(url, right) == (200, b"a part")
        assert served.sent == {"x.000": 6}
    with pytest.raises(urllib.error.URLError, match="refused"):
        get(url, right)


def test_each_server_has_a_token_of_its_own(tmp_path: Path) -> None:
    with serve({}, "127.0.0.1") as one, serve({}, "127.0.0.1") as other:
        assert one.token != other.token


def test_it_listens_where_the_node_reaches_the_controller(tmp_path: Path) -> None:
    assert address_towards("127.0.0.1") == "127.0.0.1"
    with pytest.raises(ServeError, match="give pull_address"):
        address_towards("no-such-host.invalid")
    with serve({}, "127.0.0.1") as served, pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", served.port), timeout=2)
    # An address that is not this machine's, as behind address translation.
    with serve({}, "192.0.2.1") as served:
        assert served.url("x") == f"http://192.0.2.1:{served.port}/x"
        socket.create_connection(("127.0.0.2", served.port), timeout=2).close()


@pytest.mark.parametrize(
    ("text", "ports"), [("", range(1)), ("8800", range(8800, 8801)), ("8800 - 8899", range(8800, 8900))]
)
def test_ports(text: str, ports: range) -> None:
    assert ports_of(text) == ports


@pytest.mark.parametrize("text", ["x", "0", "8899-8800", "70000", "1-70000", "1-2-3"])
def test_what_is_no_range_of_ports(text: str) -> None:
    with pytest.raises(ServeError, match=f"pull_ports: '{text}' is neither a port nor"):
        ports_of(text)


def test_the_first_free_port_of_the_range_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServeError, match=f"cannot listen on port {port} "),
            serve({}, "127.0.0.1", range(port, port + 1)),
        ):
            pass
        with serve({}, "127.0.0.1", range(port, port + 20)) as served:
            found = served.port
            assert port < found < port + 20
            socket.create_connection(("127.0.0.1", found), timeout=2).close()
        with serve({}, "127.0.0.1", range(found, found + 1)) as served:
            assert served.port == found, "a port that was used a moment ago"


class Bench:
    """A node that calls the controller `controller`."""

    def __init__(self, folder: Path) -> None:
        self.node = LabNode("win1")
        self.node.drive.mkdir(STAGING)
        self.node.drive.mkdir("C:\\k")
        self.cache = PushCache(folder / "cache")
        self.source = folder / "kubelet.exe"
        self.lines: list[Progress] = []

    def ready(self, stack: ExitStack, data: bytes, base: bytes | None = None) -> Ready:
        self.source.write_bytes(data)
        known = None if base is None else Base(KUBELET, sha(base))
        return stack.enter_context(prepare(self.source, sha(data), len(data), known, STAGING, self.cache))

    def fetch(self, offer: Offer) -> list[str]:
        """What the node does, and what it says where it fails."""
        self.node.network.hosts[f"controller:{offer.served.port}"] = f"127.0.0.1:{offer.served.port}"
        answers = [execute_op(self.node, op.op, op.wire()["args"]) for op in offer.fetches("kubelet", 60)]
        return [str(answer["failed"]) for answer in answers if "failed" in answer]


def build(seed: int, size: int) -> bytes:
    return b"MZ" + random.Random(seed).randbytes(size)


@pytest.mark.row("PV-07", "PV-14")
def test_the_node_fetches_the_parts_and_makes_the_build_of_them(tmp_path: Path) -> None:
    bench, old = Bench(tmp_path), build(1, 17_000_000)
    with ExitStack() as stack:
        first = bench.ready(stack, old)
        offer = stack.enter_context(serve_files({"kubelet": first}, "controller", ports_of(""), bench.lines.append))
        assert bench.fetch(offer) == []
        pushed = offer.build_result("kubelet")
    assert (pushed.how, len(pushed.parts)) == ("whole", 3)
    assert [(line.part, line.parts) for line in bench.lines] == [(1, 3), (2, 3), (3, 3)]
    assert pushed.bytes_sent == bench.lines[-1].sent == bench.lines[-1].total > len(old)
    assert pushed.op is not None
    execute_op(bench.node, "assemble", pushed.op["args"])
    assert bench.node.drive.read(first.staged) == old
    bench.node.drive.rename(first.staged, KUBELET)

    new = old[:1000] + b"a new function" + old[1000:]
    with ExitStack() as stack:
        second = bench.ready(stack, new, old)
        offer = stack.enter_context(serve_files({"kubelet": second}, "controller", ports_of(""), bench.lines.append))
        assert bench.fetch(offer) == []
        pushed = offer.build_result("kubelet")
    assert (pushed.how, pushed.bytes_sent < 100_000) == ("delta", True)
    assert pushed.op is not None
    execute_op(bench.node, "assemble", pushed.op["args"])
    assert bench.node.drive.read(second.staged) == new


def test_the_token_is_a_secret_of_the_batch_and_each_part_is_checked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with ExitStack() as stack:
        ready = bench.ready(stack, build(2, 1000))
        offer = stack.enter_context(serve_files({"kubelet": ready}, "controller", ports_of(""), bench.lines.append))
        reach, fetch = offer.fetches("kubelet", 60)
        token = offer.served.token
        assert (reach.op, reach.args["for"], reach.args["timeout_s"]) == ("wait", "tcp", REACH_S)
        assert fetch.secrets == ("headers",)
        assert fetch.args["headers"] == {"Authorization": Secret(f"Bearer {token.reveal()}")}
        assert not any(token.reveal() in repr(value) for value in fetch.args.values())
        assert fetch.args["sha256"] == sha(ready.files[0].read_bytes())
        ready.files[0].write_bytes(b"another build, put there after it was looked at")
        bench.node.network.hosts[f"controller:{offer.served.port}"] = f"127.0.0.1:{offer.served.port}"
        said = str(execute_op(bench.node, fetch.op, fetch.wire()["args"])["failed"])
    assert "wanted sha256" in said
    assert bench.node.drive.listdir(STAGING) == []


def test_a_node_that_cannot_reach_the_controller_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with ExitStack() as stack:
        ready = bench.ready(stack, build(3, 1000))
        offer = stack.enter_context(serve_files({"kubelet": ready}, "elsewhere", ports_of(""), bench.lines.append))
        reach, *_rest = offer.fetches("kubelet", 60)
        said = str(execute_op(bench.node, reach.op, dict(reach.args))["failed"])
    assert "elsewhere" in said
