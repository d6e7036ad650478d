"""csi-proxy.exe, judged by kubernetes-csi/csi-proxy 10bd8800 cmd/csi-proxy/main.go.

Its command line by Go's flag package, and the pipes that it makes.

Sources: kubernetes-csi/csi-proxy cmd/csi-proxy/main.go, client/api, docs page kubernetes-csi.github.io/docs/csi-proxy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.builds import build, tar_gz
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.daemon import unanswering

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

PIPES = (
    "csi-proxy-disk-v1",
    "csi-proxy-filesystem-v1",
    "csi-proxy-iscsi-v1alpha1",
    "csi-proxy-smb-v1",
    "csi-proxy-system-v1alpha1",
    "csi-proxy-volume-v1",
)
_BOOLEAN = {"windows-service", "logtostderr", "alsologtostderr", "version"}
_TEXT = {"kubelet-path", "log_file", "log_dir", "v", "metrics-bind-address"}


class UsageError(Exception):
    """What Go's flag package says; the program ends with 2."""


def parse(argv: list[str]) -> dict[str, str]:
    """`-name=value`, `-name value` (not for booleans), one dash or two."""
    found: dict[str, str] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            break
        name, equals, value = word.lstrip("-").partition("=")
        if name not in _BOOLEAN | _TEXT:
            raise UsageError(f"flag provided but not defined: -{name}")
        if name in _TEXT and not equals:
            if not words:
                raise UsageError(f"flag needs an argument: -{name}")
            value = words.pop(0)
        found[name] = value if equals or name in _TEXT else "true"
    return found


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    try:
        flags = parse(argv[1:])
    except UsageError as error:
        return text(2, "", f"{error}\n")
    if flags.get("windows-service") == "true":
        return text(2, "", "panic: The service process could not connect to the service controller.\n")
    caller.log("Starting CSI-Proxy Server ...")
    yield 0.4
    _listen(node, caller)
    while True:
        yield None


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    """RUNNING comes before the first pipe."""
    try:
        flags = parse(argv[1:])
    except UsageError:
        return 2
    if flags.get("windows-service") != "true":
        return (yield from unanswering())
    host.report("running")
    log = flags.get("log_file", "")
    if log and flags.get("logtostderr") == "false":
        try:
            node.drive.write(log, b"", append=True, owner="S-1-5-18")
        except WinError:
            return 2  # klog's exit when it cannot open its file; a line for which there is no room is lost
        with contextlib.suppress(WinError):
            node.drive.write(log, b"Starting CSI-Proxy Server ...\n", append=True, owner="S-1-5-18")
    silent = node.faults.take_service(host.name, "no_pipe") is not None
    yield 0.8
    if not silent:
        _listen(node, caller)
    return (yield from host.until_asked_to_stop(0.3, lambda: node.pipes.close_of(caller.process.pid)))


def _listen(node: SimulatedNode, caller: Caller) -> None:
    for pipe in PIPES:
        node.pipes.create(f"\\\\.\\pipe\\{pipe}", caller.process.pid)


PROGRAMS = {"csi-proxy": (main, serve)}


def release(version: str) -> tuple[str, bytes]:
    """An archive as its users make it; the project publishes none."""
    return f"csi-proxy-v{version}.tar.gz", tar_gz({"bin/csi-proxy.exe": build("csi-proxy", version)})
