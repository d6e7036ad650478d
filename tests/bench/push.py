"""The developer's loop, measured: from the saved file to the service that works with it, on one simulated node."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.integration.lab import ROOT, Bench
from tests.integration.site import BINARY
from tests.integration.test_cri import containerd
from tests.lab.machine.builds import build
from tests.lab.server.host import NodeHost

BEFORE, PUSHES = "1.6.25", ("1.6.26", "1.6.27", "1.6.28")
PLACE = Path("bin", "containerd.exe")
COPY = f'mkdir -p bin && cp "../$(cat main.go).exe" {PLACE}'
GIVE_UP_S = 60
SECONDS, CALLS, FIRST_CALLS, BYTES = 10.0, 2, 3, 400_000
"""What is wanted of a push; the first one of a run reads the node."""


@dataclass(frozen=True)
class Push:
    """seconds: from the saved source to the service that works, a build included that only copies a file; calls: to the
    node; bytes: sent to it, whatever they are for."""

    seconds: float
    calls: int
    bytes: int


class PushFailed(Exception):  # noqa: N818 - reads as a sentence
    """A build that is good did not come to work."""


def missed(found: Sequence[Push]) -> list[str]:
    """A sentence for each target that is missed."""
    sentences = []
    for number, one in enumerate(found, 1):
        calls = CALLS if number > 1 else FIRST_CALLS
        if one.seconds > SECONDS:
            sentences.append(
                f"Push {number} worked {one.seconds} s after the source was saved, not within {SECONDS:g}."
            )
        if one.calls > calls:
            sentences.append(f"Push {number} took {one.calls} remote calls, not {calls}.")
        if one.bytes > BYTES and number > 1:
            sentences.append(f"Push {number} sent {one.bytes} bytes; at most {BYTES} is wanted.")
    return sentences


def pushes() -> list[Push]:
    """The first push of a watching playbook, and those after it."""
    with tempfile.TemporaryDirectory(prefix="wkp") as name:
        bench = Bench(Path(name), warm=False)
        try:
            return _pushes(bench)
        finally:
            bench.close()


def _pushes(bench: Bench) -> list[Push]:
    host = bench.node("win1")
    containerd(host, BEFORE)
    for version in PUSHES:
        bench.file(f"{version}.exe", "").write_bytes(build("containerd", version))
    source = bench.directory / "src" / "main.go"
    source.parent.mkdir()
    source.write_text(PUSHES[0], encoding="utf-8")
    variables = {
        "winkube_hosts": "windows",
        "winkube_build_name": "containerd",
        "winkube_build_dir": str(source.parent),
        "winkube_build_command": ["sh", "-c", COPY],
        "winkube_build_result": "bin",
        "winkube_watch": True,
        "winkube_watch_rounds": len(PUSHES),
    }
    extra = bench.file("push.json", json.dumps(variables))
    found: list[Push] = []
    editor = threading.Thread(target=_edit, args=(bench, host, source, found), daemon=True)
    bench.reset_ledger()
    editor.start()
    run = bench.ansible_playbook(ROOT / "playbooks" / "push.yml", "-e", f"@{extra}")
    editor.join(10)
    if run.rc != 0 or len(found) < len(PUSHES):
        raise PushFailed(str(run))
    return found


def _edit(bench: Bench, host: NodeHost, source: Path, found: list[Push]) -> None:
    """Save the next source as soon as the one before works."""
    calls = sent = 0
    for version in PUSHES:
        saved = time.monotonic()
        if found:
            source.write_text(version, encoding="utf-8")
        wanted, end = build("containerd", version), saved + GIVE_UP_S
        while not _works(host, wanted) or bench.calls() - calls < 2:
            if time.monotonic() > end:
                return
            time.sleep(0.02)
        account = bench.account()
        found.append(Push(round(time.monotonic() - saved, 1), account.remote_calls - calls, account.bytes_in - sent))
        calls, sent = account.remote_calls, account.bytes_in


def _works(host: NodeHost, wanted: bytes) -> bool:
    node = host.node
    return bool(
        host.in_turn(
            lambda: node.drive.read(BINARY) == wanted and node.services.runtime("containerd").state == "running"
        )
    )


if __name__ == "__main__":
    print(json.dumps([asdict(one) for one in pushes()], indent=1))
