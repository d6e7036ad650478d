"""windows_exporter.exe, judged by prometheus-community/windows_exporter v0.31.8 cmd/windows_exporter/main.go.

Flags by kingpin, /health and /metrics on its port, and the event log as a service.

Source: prometheus-community/windows_exporter v0.31.8 cmd/windows_exporter/main.go and 0_service.go. What it measures is
not simulated.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.builds import build
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.daemon import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

_FLAGS = {
    *("config.file", "web.listen-address", "telemetry.path", "collectors.enabled", "collectors.disabled"),
    *("scrape.timeout-margin", "process.priority", "process.memory-limit", "log.file", "log.level", "log.format"),
}
_COLLECTORS = {
    *("[defaults]", "container", "cpu", "hns", "logical_disk", "memory", "net", "os", "physical_disk", "process"),
    *("service", "system", "tcp"),
}


class UsageError(Exception):
    """What kingpin says; the program ends with 1."""


def parse(argv: list[str]) -> dict[str, str]:
    """`--name=value` or `--name value`."""
    found: dict[str, str] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in _FLAGS | {"version"}:
            raise UsageError(f"unknown long flag '{word.partition('=')[0]}', try --help")
        if name != "version" and not equals:
            if not words:
                raise UsageError(f"expected argument for flag '--{name}', try --help")
            value = words.pop(0)
        found[name] = value
    return found


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    try:
        flags = parse(argv[1:])
    except UsageError as error:
        return text(1, "", f"windows_exporter.exe: error: {error}\n")
    if "version" in flags:
        return text(0, f"windows_exporter, version {version_of(node, argv[0])} (branch: HEAD, revision: simulated)\n")
    problem = _listen(node, flags, caller)
    if problem:
        return text(1, "", f"{problem}\n")
    caller.log(f'level=INFO msg="Enabled collectors: {flags.get("collectors.enabled", "[defaults]")}"')
    while True:
        yield None


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    """RUNNING comes before anything else; an error of a flag ends the service after it."""
    host.report("running")
    yield 0.3
    try:
        flags = parse(argv[1:])
    except UsageError:
        return 1
    if _listen(node, flags, caller):
        return 1
    return (yield from host.until_asked_to_stop(0.2, lambda: node.network.close_of(caller.process.pid)))


def _listen(node: SimulatedNode, flags: dict[str, str], caller: Caller) -> str:
    """Serve; or why not."""
    for collector in flags.get("collectors.enabled", "[defaults]").split(","):
        if collector not in _COLLECTORS:
            return f'level=ERROR msg="couldn\'t enable collectors" err="unknown collector {collector}"'
    port = int(flags.get("web.listen-address", ":9182").rpartition(":")[2])
    node.network.listen(port, caller.process.pid, _answer)
    return ""


def _answer(path: str) -> tuple[int, bytes]:
    if path == "/health":
        return 200, b'{"status":"ok"}'
    if path == "/metrics":
        return 200, b"# HELP windows_exporter_build_info simulated\n"
    return 404, b"404 page not found"


PROGRAMS = {"windows_exporter": (main, serve)}


def release(version: str) -> tuple[str, bytes]:
    """The program alone."""
    return f"windows_exporter-{version}-amd64.exe", build("windows_exporter", version)
