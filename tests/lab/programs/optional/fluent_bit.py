r"""fluent-bit.exe, judged by fluent/fluent-bit v5.1.1 src/win32/winsvc.c.

Its command line, its YAML, the files that it keeps, its health check, and how it is a service.

Source: fluent/fluent-bit v5.1.1 src/fluent-bit.c (flb_main), src/win32/winsvc.c, src/flb_config_map.c,
plugins/in_tail/tail_config.c, plugins/in_winevtlog/winevtlog.c, src/http_server/api/v1/health.c. What it sends is not
simulated.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import yaml

from tests.lab.machine.builds import build, zip_of
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs.daemon import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

_WITH_VALUE = {"config", "log_file", "http_listen", "http_port", "flush", "workdir", "storage_path"}
_ALONE = {"version", "dry-run", "quiet", "verbose", "http_server"}
_PLUGINS: dict[str, dict[str, set[str]]] = {
    "inputs": {
        "tail": {*("path", "path_key", "db", "skip_long_lines", "refresh_interval", "read_from_head", "parser")},
        "winevtlog": {"channels", "db", "ignore_missing_channels", "interval_sec", "event_query", "use_ansi"},
    },
    "filters": {"record_modifier": {"record", "remove_key"}},
    "outputs": {
        "http": {"host", "port", "uri", "format", "tls", "tls.verify", "http_user", "http_passwd", "header"},
        "forward": {"host", "port", "shared_key", "tls"},
        "stdout": {"format"},
        "null": set(),
    },
}
_SHARED = {"name", "match", "tag", "alias"}


class FailureError(Exception):
    """It ends with 1, after this line."""


def _flags(argv: list[str]) -> dict[str, str]:
    """`--name=value` or `--name value`, as getopt_long has it."""
    found: dict[str, str] = {}
    words = list(argv)
    while words:
        name, equals, value = words.pop(0).removeprefix("--").partition("=")
        if name not in _WITH_VALUE | _ALONE:
            raise FailureError(f"fluent-bit: unrecognized option '--{name}'")
        if name in _WITH_VALUE and not equals:
            if not words:
                raise FailureError(f"fluent-bit: option '--{name}' requires an argument")
            value = words.pop(0)
        found[name] = value
    return found


def _configured(node: SimulatedNode, flags: dict[str, str]) -> dict[str, Any]:
    try:
        content = node.drive.read(flags.get("config", ""))
    except WinError as error:
        raise FailureError(f"[config] could not open configuration file {flags.get('config')}: {error.text}") from error
    try:
        found = yaml.load(content, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise FailureError(f"[config] YAML error found in file: {error}") from error
    for kind, known in _PLUGINS.items():
        for each in (found.get("pipeline") or {}).get(kind) or ():
            _check(kind, known, each)
    for each in (found.get("pipeline") or {}).get("inputs") or ():
        for end in ("", "-shm", "-wal") if "db" in each else ():
            try:
                node.drive.write(each["db"] + end, b"", append=True, owner="S-1-5-18")
            except WinError as error:
                raise FailureError(f"[sqldb] cannot open database {each['db']}: {error.text}") from error
    return dict(found)


def _check(kind: str, known: dict[str, set[str]], each: dict[str, Any]) -> None:
    name = str(each.get("name", ""))
    if name not in known:
        raise FailureError(f"[config] section '{name}' tried to instance a plugin name that doesn't exist")
    if unknown := sorted(set(each) - known[name] - _SHARED):
        raise FailureError(f"[config] {name}: unknown configuration property '{unknown[0]}'")
    if name == "tail" and not each.get("path"):
        raise FailureError("[input:tail:tail.0] no input 'path' was given")


def _start(node: SimulatedNode, argv: list[str], caller: Caller) -> None:
    """The engine with all that listens; or why not."""
    flags = _flags(argv)
    service = _configured(node, flags).get("service") or {}
    _log(node, flags, caller, "[ info] [engine] started")
    if service.get("http_server") == "on" or "http_server" in flags:
        port = int(flags.get("http_port") or service.get("http_port") or 2020)
        healthy = (200, b"ok\n") if service.get("health_check") == "on" else (404, b"")
        node.network.listen(port, caller.process.pid, lambda path: healthy if path == "/api/v1/health" else (404, b""))


def _log(node: SimulatedNode, flags: dict[str, str], caller: Caller, line: str) -> None:
    stamp = node.clock.utc().strftime("%Y/%m/%d %H:%M:%S")
    if "log_file" in flags:
        node.drive.write(flags["log_file"], f"[{stamp}] {line}\n".encode(), append=True, owner="S-1-5-18")
    else:
        caller.log(f"[{stamp}] {line}")


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    try:
        if "version" in _flags(argv[1:]):
            return text(0, f"Fluent Bit v{version_of(node, argv[0])}\nGit commit: simulated\n")
        _start(node, argv[1:], caller)
    except FailureError as error:
        return text(1, "", f"[error] {error}\n")
    while True:
        yield None


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    """RUNNING comes when the engine starts; a wrong configuration ends the process before."""
    host.report("start_pending")
    yield 0.4
    try:
        _start(node, argv[1:], caller)
    except FailureError as error:
        caller.log(f"[error] {error}")
        return 1
    host.report("running")
    return (yield from host.until_asked_to_stop(0.2, lambda: node.network.close_of(caller.process.pid)))


PROGRAMS = {"fluent-bit": (main, serve)}
WANTED = {"winkube_fluent_bit_outputs": [{"name": "http", "match": "*", "host": "10.7.0.1", "port": 9880}]}


def release(version: str) -> tuple[str, bytes]:
    """The publisher's archive: all below one folder. Source: CMakeLists.txt, CPACK_PACKAGE_FILE_NAME."""
    folder = f"fluent-bit-{version}-win64"
    files = {"bin/fluent-bit.exe": build("fluent-bit", version), "bin/fluent-bit.dll": b"MZ", "conf/parsers.conf": b""}
    return f"{folder}.zip", zip_of({f"{folder}/{name}": data for name, data in files.items()})
