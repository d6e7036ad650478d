"""containerd.exe, judged by transcripts.

Version, config, its own registration as a service, and the daemon.

Sources: containerd cmd/containerd/command/{main.go,service_windows.go}: the configuration is read before anything
else, also by
`--register-service`; a file that cannot be read ends a service before it has answered the SCM, and before the log is
open.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from tests.lab.machine.builds import identify
from tests.lab.machine.commandline import go_escape
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Completed, Run, text
from tests.lab.machine.service_config import FailureActions
from tests.lab.programs.containerd_config import CRI, CRI_RUNTIME, ConfigError, Loaded, default_text, dump_text, load

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

_VALUES = {"config", "c", "log-level", "l", "address", "a", "root", "state", "service-name", "log-file"}
_SWITCHES = {"register-service", "unregister-service", "run-service", "version", "v", "help", "h"}
_LONG = {"c": "config", "l": "log-level", "a": "address", "v": "version", "h": "help"}
LEVELS = {"", "trace", "debug", "info", "warn", "warning", "error", "fatal", "panic"}
SNAPSHOTTER = "io.containerd.snapshotter.v1.windows"
RECOVERY = FailureActions(86400, (("restart", 15000), ("restart", 15000), ("none", 0)))


class UsageError(Exception):
    """A flag that containerd does not know."""


def parse(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Flags (by long name) and the command that follows them."""
    flags: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).lstrip("-").partition("=")
        long = _LONG.get(name, name)
        if name in _SWITCHES:
            flags[long] = "true"
        elif name in _VALUES:
            if not equals and not rest:
                raise UsageError(f"flag needs an argument: -{name}")
            flags[long] = value if equals else rest.pop(0)
        else:
            raise UsageError(f"flag provided but not defined: -{name}")
    return flags, rest


def version_of(node: SimulatedNode, path: str) -> str:
    found = identify(node.drive.read(path))
    assert found is not None
    return found.version


def revision(version: str) -> str:
    return hashlib.sha1(f"simulated containerd {version}".encode()).hexdigest()


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    version = version_of(node, argv[0])
    try:
        flags, command = parse(argv[1:])
    except UsageError as error:
        return text(1, f"Incorrect Usage: {error}\n\nNAME:\n   containerd\n", f"containerd: {error}\n")
    if "version" in flags:
        package = "github.com/containerd/containerd" + ("" if version.startswith("1.") else "/v2")
        return text(0, f"containerd {package} v{version} {revision(version)}\n")
    if "help" in flags:
        return text(0, "NAME:\n   containerd - high performance container runtime (simulated)\n")
    if command:
        return _config_command(node, version, flags, command)
    return (yield from _default_action(node, version, flags, argv, caller))


def _config_command(node: SimulatedNode, version: str, flags: dict[str, str], command: list[str]) -> Completed:
    if command[:2] == ["config", "default"]:
        return text(0, default_text(version))
    if command[:2] == ["config", "dump"]:
        try:
            return text(0, dump_text(node, version, flags.get("config")))
        except ConfigError as error:
            return text(1, "", f"containerd: {error}\n")
    return text(1, "", f"containerd: the lab does not simulate the command {' '.join(command)}\n")


def _default_action(node: SimulatedNode, version: str, flags: dict[str, str], argv: list[str], caller: Caller) -> Run:
    try:
        loaded = prepare(node, version, flags)
    except ConfigError as error:
        return text(1, "", f"containerd: {error}\n")
    if "register-service" in flags or "unregister-service" in flags:
        return _registration(node, flags, argv, caller)
    yield from daemon(node, version, loaded, caller, caller.log, stopping=lambda: False)
    return text(0)


def prepare(node: SimulatedNode, version: str, flags: dict[str, str]) -> Loaded:
    """Reads the configuration and makes root and state. ConfigError."""
    loaded = load(node, version, flags.get("config"))
    if flags.get("log-level", "").lower() not in LEVELS:
        raise ConfigError(f"not a valid logrus Level: {flags['log-level']!r}")
    changes = {name: flags[name] for name in ("root", "state", "address") if flags.get(name)}
    if changes:
        loaded = Loaded(**{**loaded.__dict__, **changes})
    for folder in (loaded.root, loaded.state):
        try:
            node.drive.mkdir(folder, "S-1-5-32-544")
        except WinError as error:
            raise ConfigError(f"mkdir {folder}: {error.text}") from error
    return loaded


def _make_folders(node: SimulatedNode, loaded: Loaded, conf_dir: str) -> None:
    """What plugins make when they are loaded: the snapshotter's folder, and the one that CRI's watches.

    Sources: containerd plugins/snapshots/windows/common.go, newBaseSnapshotter; internal/cri/server/cni_conf_syncer.go,
    newCNINetConfSyncer.
    """
    folders = {SNAPSHOTTER: f"{loaded.root}\\{SNAPSHOTTER}\\snapshots", CRI: conf_dir}
    for plugin, folder in folders.items():
        if plugin not in loaded.disabled:
            with contextlib.suppress(WinError):
                node.drive.mkdir(folder)


def cni_places(loaded: Loaded) -> tuple[str, list[str]]:
    """Where CNI configurations and plugins are looked for, from whichever table of the CRI plugin has it."""
    found: dict[str, object] = {
        "bin_dir": "C:\\Program Files\\containerd\\cni\\bin",
        "conf_dir": "C:\\Program Files\\containerd\\cni\\conf",
    }
    for name in (CRI, CRI_RUNTIME):
        table = loaded.tables.get(name)
        if isinstance(table, dict) and isinstance(table.get("cni"), dict):
            found |= table["cni"]
    several = found.get("bin_dirs")
    folders = several if isinstance(several, list) and several else [found["bin_dir"]]
    return str(found["conf_dir"]).replace("/", "\\"), [str(folder).replace("/", "\\") for folder in folders]


def _registration(node: SimulatedNode, flags: dict[str, str], argv: list[str], caller: Caller) -> Completed:
    name = flags.get("service-name") or "containerd"
    if "register-service" in flags and "unregister-service" in flags:
        return _fatal(node, "--register-service and --unregister-service cannot be used together: invalid argument")
    if not caller.elevated:
        return _fatal(node, "Access is denied.")
    try:
        if "unregister-service" in flags:
            node.services.delete(name)
            return text(0)
        arguments = ["--run-service", *(item for item in argv[1:] if item != "--register-service")]
        line = " ".join(go_escape(item) for item in [argv[0], *arguments])
        node.services.create(name, line, start=2, display_name="Containerd")
        node.services.change(name, "Description", "string", "Container runtime")
        node.services.set_failure(name, RECOVERY)
    except WinError as error:
        return _fatal(node, error.text)
    return text(0)


def _fatal(node: SimulatedNode, message: str) -> Completed:
    return text(1, "", f'time="{node.clock.iso()}" level=fatal msg="{message}"\n')


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    yield 0.1
    version = version_of(node, argv[0])
    try:
        flags, _ = parse(argv[1:])
        loaded = prepare(node, version, flags)
    except (UsageError, ConfigError):
        return 1
    if "run-service" not in flags:
        while True:
            yield None
    panic, log = f"{loaded.root}\\panic.log", flags.get("log-file")

    def write_log(line: str) -> None:
        """Without room a line is lost: logrus' `Entry.write` tells stderr and goes on."""
        if log:
            with contextlib.suppress(WinError):
                node.drive.write(log, f"{line}\n".encode(), append=True, owner="S-1-5-18")

    try:
        node.drive.write(panic, b"", owner="S-1-5-18")
        if log:
            node.drive.write(log, b"", append=True, owner="S-1-5-18")
        write_log(f'time="{node.clock.iso()}" level=info msg="starting containerd (simulated)" version=v{version}')
    except WinError:
        return 1
    host.report("running")
    pipe = node.faults.take_service(host.name, "no_pipe") is None
    yield from daemon(node, version, loaded, caller, write_log, lambda: host.stop_requested, pipe)
    slow = node.faults.take_service(host.name, "slow_stop")
    yield slow.seconds if slow else 1.2
    if node.drive.is_file(panic) and not node.drive.read(panic):
        node.drive.delete(panic)
    node.pipes.close_of(caller.process.pid)
    host.stopped()
    yield 0.4
    return 0


def daemon(
    node: SimulatedNode,
    version: str,
    loaded: Loaded,
    caller: Caller,
    log: Callable[[str], None],
    stopping: Callable[[], bool],
    with_pipe: bool = True,
) -> Generator[float | None, None, None]:
    """Runs until it is to stop; the pipe comes after a while."""
    delay = node.faults.pipe_delay_s
    ready = node.clock.now() + (1.0 + node.random.random() * 5 if delay is None else delay)
    while node.clock.now() < ready:
        yield ready - node.clock.now()
        if stopping():
            return
    if with_pipe:
        conf_dir, bin_dirs = cni_places(loaded)
        caller.process.facts.update(version=version, cri="no" if CRI in loaded.disabled else "yes")
        caller.process.facts.update(cni_conf_dir=conf_dir, cni_bin_dirs=";".join(bin_dirs))
        _make_folders(node, loaded, conf_dir)
        node.pipes.create(loaded.address, caller.process.pid)
        node.pipes.create(f"{loaded.address}.ttrpc", caller.process.pid)
        _, _, port = loaded.tcp_address.rpartition(":")
        if port.isdigit():
            node.network.listen(int(port), caller.process.pid, lambda path: (415, b""))
        for address in (f"{loaded.address}.ttrpc", loaded.address, *([loaded.tcp_address] if port.isdigit() else [])):
            log(f'time="{node.clock.iso()}" level=info msg=serving... address={json.dumps(address)}')
        log(f'time="{node.clock.iso()}" level=info msg="containerd successfully booted (simulated)"')
    while not stopping():
        yield None
