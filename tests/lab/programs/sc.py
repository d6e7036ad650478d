r"""sc.exe, judged by transcripts.

The exit code is the Win32 error, the text `[SC] <Call> FAILED <n>:`, a blank line, the message.

An option and its value are two arguments (`binPath=`, `C:\x.exe`); anything else is a usage error, 1639.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from tests.lab.machine.descriptor import encode
from tests.lab.machine.errors import MESSAGES, WinError
from tests.lab.machine.program import Caller, Completed, Run, crlf, text
from tests.lab.machine.service_config import FailureActions, key_of
from tests.lab.machine.services import STATE_NUMBERS

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_STARTS = {"boot": 0, "system": 1, "auto": 2, "demand": 3, "disabled": 4, "delayed-auto": 2}
_START_NAMES = {0: "BOOT_START", 1: "SYSTEM_START", 2: "AUTO_START", 3: "DEMAND_START", 4: "DISABLED"}
_TYPES = {"own": 0x10, "share": 0x20, "kernel": 1, "filesys": 2}
_CONFIG_OPTIONS = {
    "type=",
    "start=",
    "error=",
    "binpath=",
    "group=",
    "tag=",
    "depend=",
    "obj=",
    "displayname=",
    "password=",
}


class UsageError(Exception):
    """The arguments are not what sc.exe wants."""


def failed(call: str, code: int) -> Completed:
    return text(code, crlf(f"[SC] {call} FAILED {code}:", "", MESSAGES.get(code, f"Error {code}."), ""))


def options(arguments: list[str], known: set[str]) -> dict[str, str]:
    """Pairs of `name=` and value. UsageError for anything else: `binPath=x` without a blank too."""
    result: dict[str, str] = {}
    for index in range(0, len(arguments), 2):
        name = arguments[index].lower()
        if name not in known or index + 1 >= len(arguments):
            raise UsageError
        result[name] = arguments[index + 1]
    return result


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.05
    arguments = argv[1:]
    if arguments and arguments[0].startswith("\\\\"):
        arguments = arguments[1:]
    verb = arguments[0].lower() if arguments else ""
    if verb == "start" and len(arguments) >= 2:
        return (yield from _start(node, arguments[1], caller))
    command = _COMMANDS.get(verb)
    if command is None:
        return _usage("")
    if not caller.elevated and verb not in {"query", "queryex", "qc"}:
        return failed("OpenSCManager", 5)
    try:
        return command(node, arguments[1:])
    except (UsageError, IndexError):
        return _usage(verb)


def _usage(verb: str) -> Completed:
    shown = (
        f"sc <server> {verb} [service name] ..."
        if verb
        else "sc <server> [command] [service name] <option1> <option2>..."
    )
    return text(
        1639,
        crlf(
            "DESCRIPTION:",
            "        SC is a command line program used for",
            "        communicating with the Service Control Manager and services.",
            "USAGE:",
            f"        {shown}",
            "",
        ),
    )


def _number(table: dict[str, int], value: str) -> int:
    if value.lower() not in table:
        raise UsageError
    return table[value.lower()]


def _create(node: SimulatedNode, arguments: list[str]) -> Completed:
    name = arguments[0]
    given = options(arguments[1:], _CONFIG_OPTIONS)
    if "binpath=" not in given:
        raise UsageError
    start = given.get("start=", "demand")
    try:
        node.services.create(
            name,
            given["binpath="],
            start=_number(_STARTS, start),
            kind=_number(_TYPES, given.get("type=", "own")),
            display_name=given.get("displayname="),
            account=given.get("obj=", "LocalSystem"),
            depends_on=_depends(given.get("depend=", "")),
            delayed=start.lower() == "delayed-auto",
        )
    except WinError as error:
        return failed("CreateService", error.code)
    return text(0, crlf("[SC] CreateService SUCCESS"))


def _depends(value: str) -> list[str]:
    return [item for item in value.split("/") if item]


def _config(node: SimulatedNode, arguments: list[str]) -> Completed:
    name = arguments[0]
    given = options(arguments[1:], _CONFIG_OPTIONS)
    if not node.services.exists(name):
        return failed("OpenService", 1060)
    values: list[tuple[str, str, str | int | list[str]]] = []
    if "binpath=" in given:
        values.append(("ImagePath", "expand_string", given["binpath="]))
    if "start=" in given:
        values.append(("Start", "dword", _number(_STARTS, given["start="])))
        values.append(("DelayedAutostart", "dword", int(given["start="].lower() == "delayed-auto")))
    if "type=" in given:
        values.append(("Type", "dword", _number(_TYPES, given["type="])))
    if "displayname=" in given:
        values.append(("DisplayName", "string", given["displayname="]))
    if "obj=" in given:
        values.append(("ObjectName", "string", given["obj="]))
    if "depend=" in given:
        values.append(("DependOnService", "multi_string", _depends(given["depend="])))
    return _change(node, "ChangeServiceConfig", name, values)


def _change(
    node: SimulatedNode, call: str, name: str, values: list[tuple[str, str, str | int | list[str]]]
) -> Completed:
    try:
        for value, kind, data in values:
            node.services.change(name, value, kind, data)
    except WinError as error:
        return failed("OpenService" if error.code == 1060 else call, error.code)
    return text(0, crlf(f"[SC] {call} SUCCESS"))


def _failure(node: SimulatedNode, arguments: list[str]) -> Completed:
    name = arguments[0]
    given = options(arguments[1:], {"reset=", "actions=", "reboot=", "command="})
    if ("reset=" in given) != ("actions=" in given):
        raise UsageError
    if not node.services.exists(name):
        return failed("OpenService", 1060)
    parts = given.get("actions=", "").split("/")
    if len(parts) % 2:
        parts = [*parts, ""] if parts != [""] else []
    actions = []
    for kind, delay in zip(parts[::2], parts[1::2], strict=True):
        if kind.lower() not in {"restart", "run", "reboot", ""} or (delay and not delay.isdigit()):
            raise UsageError
        actions.append((kind.lower() or "none", int(delay or 0)))
    reset = given.get("reset=", "0")
    if reset.upper() != "INFINITE" and not reset.isdigit():
        raise UsageError
    seconds = 0xFFFFFFFF if reset.upper() == "INFINITE" else int(reset)
    try:
        node.services.set_failure(name, FailureActions(seconds, tuple(actions)))
    except WinError as error:
        return failed("ChangeServiceConfig2", error.code)
    return text(0, crlf("[SC] ChangeServiceConfig2 SUCCESS"))


def _failureflag(node: SimulatedNode, arguments: list[str]) -> Completed:
    if len(arguments) < 2 or arguments[1] not in {"0", "1"}:
        raise UsageError
    values: list[tuple[str, str, str | int | list[str]]] = [
        ("FailureActionsOnNonCrashFailures", "dword", int(arguments[1]))
    ]
    return _change(node, "ChangeServiceConfig2", arguments[0], values)


def _sdset(node: SimulatedNode, arguments: list[str]) -> Completed:
    """The service control manager takes it at once, and keeps it in the key Security."""
    try:
        descriptor = encode(arguments[1])
    except ValueError:
        return failed("ConvertStringSecurityDescriptorToSecurityDescriptor", 87)
    if not node.services.exists(arguments[0]):
        return failed("OpenService", 1060)
    node.registry.set(f"{key_of(arguments[0])}\\Security", "Security", "binary", descriptor)
    return text(0, crlf("[SC] SetServiceObjectSecurity SUCCESS"))


def _description(node: SimulatedNode, arguments: list[str]) -> Completed:
    return _change(
        node, "ChangeServiceConfig2", arguments[0], [("Description", "string", arguments[1] if arguments[1:] else "")]
    )


def _start(node: SimulatedNode, name: str, caller: Caller) -> Generator[float | None, None, Completed]:
    if not caller.elevated:
        return failed("StartService: OpenService", 5)
    if not node.services.exists(name):
        return failed("StartService: OpenService", 1060)
    try:
        yield from node.services.start(name)
    except WinError as error:
        return failed("StartService", error.code)
    return text(0, status(node, name, extended=True))


def _stop(node: SimulatedNode, arguments: list[str]) -> Completed:
    name = arguments[0]
    if not node.services.exists(name):
        return failed("OpenService", 1060)
    try:
        node.services.stop(name)
    except WinError as error:
        return failed("ControlService", error.code)
    return text(0, status(node, name))


def _delete(node: SimulatedNode, arguments: list[str]) -> Completed:
    if not node.services.exists(arguments[0]):
        return failed("OpenService", 1060)
    try:
        node.services.delete(arguments[0])
    except WinError as error:
        return failed("DeleteService", error.code)
    return text(0, crlf("[SC] DeleteService SUCCESS"))


def status(node: SimulatedNode, name: str, extended: bool = False) -> str:
    """What sc.exe prints about a service's state."""
    config, runtime = node.services.config(name), node.services.runtime(name)
    kind = {0x10: "WIN32_OWN_PROCESS", 0x20: "WIN32_SHARE_PROCESS"}.get(config.type, "")
    before = runtime.host is not None and runtime.host.accepts_preshutdown
    accepts = (
        f"STOPPABLE, NOT_PAUSABLE, ACCEPTS_{'PRESHUTDOWN' if before else 'SHUTDOWN'}"
        if runtime.state == "running"
        else ("NOT_STOPPABLE, NOT_PAUSABLE, IGNORES_SHUTDOWN")
    )
    lines = [
        "",
        f"SERVICE_NAME: {config.name} ",
        f"        TYPE               : {config.type:x}  {kind}  ",
        f"        STATE              : {STATE_NUMBERS[runtime.state]}  {runtime.state.upper()} ",
        f"                                ({accepts})",
        f"        WIN32_EXIT_CODE    : {runtime.exit_code}  (0x{runtime.exit_code:x})",
        f"        SERVICE_EXIT_CODE  : {runtime.service_exit_code}  (0x{runtime.service_exit_code:x})",
        "        CHECKPOINT         : 0x0",
        "        WAIT_HINT          : 0x0",
    ]
    if extended:
        lines += [f"        PID                : {runtime.pid}", "        FLAGS              : "]
    return crlf(*lines)


def _query(node: SimulatedNode, arguments: list[str]) -> Completed:
    if not arguments:
        running = [name for name in node.services.names() if node.services.state(name) == "running"]
        return text(0, "".join(status(node, name) for name in running))
    if not node.services.exists(arguments[0]):
        return failed("EnumQueryServicesStatus:OpenService", 1060)
    return text(0, status(node, arguments[0]))


def _queryex(node: SimulatedNode, arguments: list[str]) -> Completed:
    if not node.services.exists(arguments[0]):
        return failed("EnumQueryServicesStatus:OpenService", 1060)
    return text(0, status(node, arguments[0], extended=True))


def _qc(node: SimulatedNode, arguments: list[str]) -> Completed:
    if not node.services.exists(arguments[0]):
        return failed("OpenService", 1060)
    config = node.services.config(arguments[0])
    start = _START_NAMES[config.start] + ("  (DELAYED)" if config.delayed else "")
    depends = config.depends_on or ("",)
    return text(
        0,
        crlf(
            "[SC] QueryServiceConfig SUCCESS",
            "",
            f"SERVICE_NAME: {config.name}",
            f"        TYPE               : {config.type:x}  WIN32_OWN_PROCESS ",
            f"        START_TYPE         : {config.start}   {start}",
            "        ERROR_CONTROL      : 1   NORMAL",
            f"        BINARY_PATH_NAME   : {config.image_path}",
            "        LOAD_ORDER_GROUP   : ",
            "        TAG                : 0",
            f"        DISPLAY_NAME       : {config.display_name}",
            f"        DEPENDENCIES       : {depends[0]}",
            *(f"                           : {item}" for item in depends[1:]),
            f"        SERVICE_START_NAME : {config.account}",
        ),
    )


_COMMANDS: dict[str, Callable[[SimulatedNode, list[str]], Completed]] = {
    "create": _create,
    "config": _config,
    "failure": _failure,
    "failureflag": _failureflag,
    "description": _description,
    "sdset": _sdset,
    "stop": _stop,
    "delete": _delete,
    "query": _query,
    "queryex": _queryex,
    "qc": _qc,
}
