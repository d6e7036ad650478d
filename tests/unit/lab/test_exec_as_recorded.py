"""The lab's exec says, frame by frame, what a real API server and kubelet were recorded to say."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.exec_talk import Asked, asked, talk
from tests.lab.cluster.api import Request, Response
from tests.lab.cluster.pki import Authority, Identity
from tests.lab.cluster.server import HttpsServer
from tests.lab.cluster.websocket import STDERR, STDOUT, Channels, protocols

(RECORD,) = (Path(__file__).parents[2] / "fixtures" / "exec").glob("*.json")
RECORDED: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))["conversations"]


def run(words: tuple[str, ...], channels: Channels) -> bool:
    """What tests/real/exec_server/main.go runs."""
    code: int | None = 0
    why = ""
    match words[0]:
        case "say":
            channels.say(STDOUT, words[1].encode())
            channels.say(STDERR, words[2].encode())
        case "big":
            channels.say(STDOUT, b"x" * int(words[1]))
        case "exit":
            code = int(words[1])
        case "fail":
            code, why = None, f"error executing command in container: {words[1]}"
        case "head":
            channels.say(STDOUT, next(channels.stdin())[: int(words[1])])
        case "cat":
            channels.say(STDOUT, b"".join(channels.stdin()))
    channels.end(code, why)
    return True


def answer(request: Request) -> Response:
    return Response(101, b"", program=lambda channels: run(request.words, channels))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, str]]:
    """Whether it knows v5 -> where it is."""
    folder, authority = tmp_path_factory.mktemp("exec"), Authority()
    own = authority.issue(Identity("kube-apiserver", (), (), ("127.0.0.1",)), ("server auth",))
    files = {"crt": own.certificate, "key": own.key, "ca": authority.pem}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    crt, key, ca = (folder / name for name in files)
    made = {
        new: HttpsServer(answer, crt, key, ca, protocols("1.37.1" if new else "1.29.3"), lambda: 0.0)
        for new in (True, False)
    }
    for server in made.values():
        server.start()
    yield {new: f"wss://127.0.0.1:{server.port}/" for new, server in made.items()}
    for server in made.values():
        server.stop()


@pytest.mark.parametrize(
    "one", asked(), ids=lambda one: f"{one.words[0]}-{one.stdin}-{len(one.offered)}-{one.translate}"
)
def test_it_says_what_was_recorded(servers: dict[bool, str], one: Asked) -> None:
    about = {"words": list(one.words), "stdin": one.stdin, "offered": list(one.offered), "translate": one.translate}
    (recorded,) = [each["answer"] for each in RECORDED if {key: each[key] for key in about} == about]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    assert talk(servers[one.translate], one, tls) == recorded


def test_the_record_has_all_ways_and_ends() -> None:
    ends = {json.dumps(each["answer"].get("status") or each["answer"]["refused"]) for each in RECORDED}
    assert len(RECORDED) > 30 and len(ends) >= 7
    assert {each["answer"].get("protocol") for each in RECORDED} == {"v5.channel.k8s.io", "v4.channel.k8s.io", None}
