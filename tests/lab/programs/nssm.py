"""nssm.exe 2.24, judged by transcripts.

A command, and the service that keeps a console program running. Redirected output is UTF-16LE.

Sources: nssm 2.24 service.cpp (control_service, await_service_control_response); requirements M-10 to M-15, measured
with 2.24.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from tests.lab.machine.builds import identify
from tests.lab.machine.errors import MESSAGES, WinError
from tests.lab.machine.program import Caller, Completed, Run
from tests.lab.machine.registry import Data
from tests.lab.machine.service_config import key_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

SUCCESS = "The operation completed successfully."
_STARTS = {"SERVICE_AUTO_START": 2, "SERVICE_DELAYED_AUTO_START": 2, "SERVICE_DEMAND_START": 3, "SERVICE_DISABLED": 4}
_NUMBERS = {
    "AppThrottle",
    "AppRestartDelay",
    "AppStopMethodSkip",
    "AppStopMethodConsole",
    "AppStopMethodWindow",
    "AppStopMethodThreads",
    "AppRotateFiles",
    "AppRotateOnline",
    "AppRotateSeconds",
    "AppRotateBytes",
    "AppNoConsole",
    "AppAffinity",
    "AppPriority",
    "AppStdinShareMode",
    "AppStdoutShareMode",
    "AppStderrShareMode",
    "AppStdinCreationDisposition",
    "AppStdoutCreationDisposition",
    "AppStderrCreationDisposition",
    "AppStdinFlagsAndAttributes",
    "AppStdoutFlagsAndAttributes",
    "AppStderrFlagsAndAttributes",
    "AppKillProcessTree",
}
_DEFAULTS = {
    "AppThrottle": 1500,
    "AppStopMethodConsole": 1500,
    "AppStopMethodWindow": 1500,
    "AppStopMethodThreads": 1500,
    "AppStdinCreationDisposition": 3,
    "AppStdoutCreationDisposition": 4,
    "AppStderrCreationDisposition": 4,
}
"""Set to its default, a number is taken out of the registry; those whose default is 0 are written. Measured on Wine."""
_STRINGS = {"Application", "AppParameters", "AppDirectory", "AppStdin", "AppStdout", "AppStderr"}
_LISTS = {"AppEnvironment", "AppEnvironmentExtra"}
_NATIVE = {
    "Description",
    "DisplayName",
    "ImagePath",
    "Start",
    "DependOnService",
    "DependOnGroup",
    "ObjectName",
    "Type",
    "Name",
}
_ALL = {name.lower(): name for name in _NUMBERS | _STRINGS | _LISTS | _NATIVE | {"AppExit"}}


def _say(exit_code: int, stdout: str = "", stderr: str = "") -> Completed:
    out, err = (f"{item}\r\n".encode("utf-16-le") if item else b"" for item in (stdout, stderr))
    return Completed(exit_code, out, err)


def _missing() -> Completed:
    return _say(3, "", f"Can't open service!\r\nOpenService(): {MESSAGES[1060]}\r\n")


def parameters(name: str) -> str:
    return f"{key_of(name)}\\Parameters"


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    """A build after 2.24, such as 2.24-101-g897c7ad, prints bytes into a pipe. Source: tests/recorded/transcripts
    (nssm-*, of the real programs); nssm's utf8.cpp, setup_utf8."""
    done = yield from _command(node, argv, stdin, caller)
    own = identify(node.drive.read(argv[0])) if node.drive.is_file(argv[0]) else None
    if own is None or "-" not in own.version:
        return done
    out, err = (data.decode("utf-16-le").encode() for data in (done.stdout, done.stderr))
    return Completed(done.exit_code, out, err)


def _command(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.05
    verb, rest = (argv[1].lower() if argv[1:] else ""), argv[2:]
    known = {"install", "set", "get", "reset", "remove", "start", "stop", "restart", "status"}
    if verb not in known or not rest:
        return _say(
            1,
            "",
            "NSSM: The non-sucking service manager\r\nVersion 2.24 64-bit (simulated)\r\n"
            "Usage: nssm <option> [<args> ...]",
        )
    if not caller.elevated and verb not in {"get", "status"}:
        return _say(2, "", "Administrator access is needed to install a service.")
    name = rest[0]
    if verb == "install":
        return _install(node, argv[0], name, rest[1:])
    if not node.services.exists(name):
        return _missing()
    if verb == "status":
        return _say(0, f"SERVICE_{node.services.state(name).upper()}")
    if verb == "start":
        return (yield from _start(node, name))
    if verb == "stop":
        return (yield from _stop(node, name))
    if verb == "restart":
        stopped = yield from _stop(node, name)
        return (yield from _start(node, name)) if stopped.exit_code == 0 else stopped
    if verb == "remove":
        return _remove(node, name, rest[1:])
    return _setting(node, verb, name, rest[1:])


def _install(node: SimulatedNode, own: str, name: str, rest: list[str]) -> Completed:
    if not rest:
        return _say(1, "", "Usage: nssm install <servicename> <app> [<args> ...]")
    try:
        node.services.create(name, own if " " not in own else f'"{own}"', start=2)
    except WinError as error:
        return _say(5, "", f"Error creating service!\r\nCreateService(): {error.text}")
    key = parameters(name)
    node.registry.set(key, "Application", "expand_string", rest[0])
    node.registry.set(key, "AppParameters", "expand_string", " ".join(rest[1:]))
    node.registry.set(key, "AppDirectory", "expand_string", node.drive.parent(rest[0]) if rest[0][1:2] == ":" else "")
    node.registry.set(f"{key}\\AppExit", "", "string", "Restart")
    return _say(0, f'Service "{name}" installed successfully!')


def _remove(node: SimulatedNode, name: str, rest: list[str]) -> Completed:
    if rest != ["confirm"]:
        return _say(100, "", "To remove a service without confirmation: nssm remove <servicename> confirm")
    try:
        node.services.delete(name)
    except WinError as error:
        return _say(4, "", f"Error deleting service!\r\nDeleteService(): {error.text}")
    return _say(0, f'Service "{name}" removed successfully!')


# -- settings ----------------------------------------------------------------------------------------------------------


def _setting(node: SimulatedNode, verb: str, name: str, rest: list[str]) -> Completed:
    setting = _ALL.get(rest[0].lower()) if rest else None
    if setting is None:
        return _say(1, "", f'Invalid parameter "{rest[0] if rest else ""}".')
    key, values, spelled = parameters(name), rest[1:], setting
    if setting == "AppExit":
        if not values:
            return _say(1, "", 'Parameter "AppExit" requires a subparameter.')
        key, spelled, values = f"{key}\\AppExit", "" if values[0].lower() == "default" else values[0], values[1:]
    if verb == "get":
        return _get(node, name, setting, key, spelled)
    if verb == "reset":
        node.registry.delete_value(key, spelled)
        if setting == "AppExit" and not spelled:
            node.registry.set(key, "", "string", "Restart")
        return _reset(setting, name)
    if not values:
        return _say(1, "", f"Usage: nssm set <servicename> {setting} <value>")
    return _set(node, name, setting, key, spelled, values)


def _reset(setting: str, name: str) -> Completed:
    """What nssm also says when a setting is set to its default."""
    return _say(0, f'Reset parameter "{setting}" for service "{name}" to its default.')


def _get(node: SimulatedNode, name: str, setting: str, key: str, spelled: str) -> Completed:
    if setting == "Start":
        config = node.services.config(name)
        auto = "SERVICE_DELAYED_AUTO_START" if config.delayed else "SERVICE_AUTO_START"
        return _say(0, {2: auto, 3: "SERVICE_DEMAND_START", 4: "SERVICE_DISABLED"}.get(config.start, ""))
    where = key_of(name) if setting in _NATIVE else key
    value = node.registry.get(where, "DisplayName" if setting == "Name" else spelled)
    if value is None:
        return _say(0, str(_DEFAULTS.get(setting, 0)) if setting in _NUMBERS else "")
    return _say(0, "\r\n".join(value) if isinstance(value, list) else str(value))


def _set(node: SimulatedNode, name: str, setting: str, key: str, spelled: str, values: list[str]) -> Completed:
    joined = " ".join(values)
    try:
        if setting in _NATIVE:
            problem = _set_native(node, name, setting, values, joined)
            if problem:
                return _say(6, "", problem)
        elif setting == "AppExit":
            action = joined.capitalize()
            if action not in {"Restart", "Ignore", "Exit", "Suicide"}:
                return _say(6, "", f'Invalid exit action "{joined}".')
            node.registry.set(key, spelled, "string", action)
            if not spelled and action == "Restart":
                return _reset(setting, name)
        elif setting in _LISTS:
            lines = [line for value in values for line in value.replace("\r\n", "\n").split("\n") if line]
            node.registry.set(key, spelled, "multi_string", lines)
        elif setting in _NUMBERS:
            if not joined.isdigit():
                return _say(6, "", f'Error setting parameter "{setting}" for service "{name}"!')
            if int(joined) == _DEFAULTS.get(setting):
                node.registry.delete_value(key, spelled)
                return _reset(setting, name)
            node.registry.set(key, spelled, "dword", int(joined))
        else:
            node.registry.set(key, spelled, "expand_string", joined)
    except (WinError, ValueError) as error:
        return _say(6, "", f'Error setting parameter "{setting}" for service "{name}"!\r\n{error}')
    return _say(0, f'Set parameter "{setting}" for service "{name}".')


def _set_native(node: SimulatedNode, name: str, setting: str, values: list[str], joined: str) -> str | None:
    data: Data = joined
    kind = {"ImagePath": "expand_string", "DependOnService": "multi_string", "DependOnGroup": "multi_string"}.get(
        setting, "string"
    )
    if setting == "Start":
        if joined.upper() not in _STARTS:
            return f'Invalid startup type "{joined}".'
        node.services.change(name, "DelayedAutostart", "dword", int("DELAYED" in joined.upper()))
        kind, data = "dword", _STARTS[joined.upper()]
    elif setting == "Type":
        kind, data = "dword", 0x20 if joined.upper() == "SERVICE_INTERACTIVE_PROCESS" else 0x10
    elif setting == "ObjectName":
        data = values[0]
    elif kind == "multi_string":
        data = [item for item in values if item]
        missing = [item for item in data if setting == "DependOnService" and not node.services.exists(item)]
        if missing:
            return f"The service {missing[0]} does not exist."
    elif setting == "Name":
        return "The name of a service cannot be changed."
    node.services.change(name, setting, kind, data)
    return None


# -- control -----------------------------------------------------------------------------------------------------------


def _start(node: SimulatedNode, name: str) -> Generator[float | None, None, Completed]:
    try:
        yield from node.services.start(name)
    except WinError as error:
        return _say(1, "", f"{name}: START: {error.text}")
    return (yield from _await(node, name, "START", "running", {"start_pending", "stopped"}, "stopped"))


def _stop(node: SimulatedNode, name: str) -> Generator[float | None, None, Completed]:
    try:
        node.services.stop(name)
    except WinError as error:
        return _say(0 if error.code == 1062 else 1, "", f"{name}: STOP: {error.text}")
    return (yield from _await(node, name, "STOP", "stopped", {"stop_pending"}, "stop_pending"))


def _await(
    node: SimulatedNode, name: str, control: str, wanted: str, pending: set[str], initial: str
) -> Generator[float | None, None, Completed]:
    """Looks up to eleven times, 50 to 500 ms apart: 2.75 s in all."""
    tries = 0
    while True:
        state = node.services.state(name)
        if state == wanted:
            return _say(0, f"{name}: {control}: {SUCCESS}")
        tries += 1
        if state not in pending | {initial} or tries > 10:
            return _say(1, "", f"{name}: Unexpected status SERVICE_{state.upper()} in response to {control} control.")
        yield 0.05 * tries
