"""registry_set, registry_remove, run and wait."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from tests.lab.machine import commandline
from tests.lab.machine.errors import WinError
from tests.lab.machine.language import CODE_PAGES
from tests.lab.machine.network import NetworkError
from tests.lab.machine.processes import Process
from tests.lab.machine.program import Completed
from tests.lab.machine.registry import TYPES, Data
from tests.lab.twin import dotnet, ops_machine
from tests.lab.twin.holders import holders
from tests.lab.twin.ops_transfer import USER_AGENT
from tests.lab.twin.work import OUTPUT_HALF, Args, OpError, OpRun, Work, is_wide, shortened

SPECIFIC = 1066
"""ERROR_SERVICE_SPECIFIC_ERROR: the service has given a code of its own."""
CRASHED = 1067
"""ERROR_PROCESS_ABORTED: its process ended and it had not said that it stops. Then its failure actions count."""
RESTART_S = 5.0
"""How long after its delay a restart is waited for."""
SHOWN = 400
ENCODINGS = {"oem": "cp437", "utf-8": "utf-8", "utf-16": "utf-16-le"}


def _machine_key(args: Args) -> str:
    """The key of `path` as the registry has it; only the machine's own part is written."""
    path = str(args["path"])
    found = re.fullmatch(r"(?:HKLM:?|HKEY_LOCAL_MACHINE)\\(.+?)\\*", path, re.IGNORECASE)
    if found is None:
        raise OpError(f"{path} is not below HKLM; nothing else is written.", path=path)
    return f"HKLM\\{found[1]}"


def registry_set(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, name, kind = _machine_key(args), str(args["name"]), str(args["type"])
    if kind not in TYPES:
        raise OpError(f"{path}\\{name}: there is no registry type {kind!r}; there are {', '.join(TYPES)}.")
    value = args["value"]
    registry = work.node.registry
    try:
        data: Data = value
        if kind == "binary":
            data = bytes.fromhex(str(value))
        elif kind in {"dword", "qword"}:
            data = int(value)
        elif kind == "multi_string":
            data = [str(item) for item in value]
        there = registry.value(path, name)
        if there is not None and (there.type, there.data) == (kind, data):
            return {"changed": False}
        work.seam("setting")
        registry.set(path, name, kind, data)
    except (ValueError, TypeError) as error:
        raise OpError(f"{path}\\{name}: {value!r} is no value of type {kind}.") from error
    return {"changed": True}


def registry_remove(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, name = _machine_key(args), args.get("name")
    work.seam("removing")
    if name is None and path.count("\\") == 1 and work.node.registry.exists(path):
        raise OpError(f"{path} is a root of the registry; it is not removed.", path=path)
    if name is None:
        return {"changed": work.node.registry.delete_key(path)}
    return {"changed": work.node.registry.delete_value(path, str(name))}


def execute(work: Work, args: Args, timeout: float) -> Generator[float | None, None, Completed]:
    """Runs a program to its end. OpError when it cannot be started, or does not end in time (it is then killed)."""
    program = str(args["program"])
    environment = _environment(work, args.get("env") or {})
    try:
        process, result = work.node.start_program(
            program,
            [str(item) for item in args["args"]],
            stdin=str(args.get("stdin") or "").encode(),
            parent=work.process.pid,
            user=work.process.user,
            elevated=work.process.elevated,
            cwd=str(args.get("cwd") or "C:\\Windows\\System32"),
            environment=environment,
        )
    except WinError as error:
        raise OpError(f"{program} could not be started: {error.text} ({error.code})", code=error.code) from error
    work.seam("started")
    if not (yield from work.node.processes.wait(process, timeout)):
        work.node.processes.kill_tree(process.pid)
        raise OpError(f"{command_text(work, args)} did not end within {timeout:g} s and was killed.", timeout_s=timeout)
    return result[0] if result else Completed(process.exit_code or 0)


def _environment(work: Work, env: dict[str, Any]) -> dict[str, str]:
    """What the program gets; of this process's own names that differ in case alone the first stays."""
    seen: dict[str, str] = {}
    for name in map(str, env):
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise OpError(f"The environment names {name} and {other}, which are one variable on Windows: name it once.")
    if not env:
        return {}
    first: dict[str, str] = {}
    for name in work.node.environment:
        first.setdefault(name.lower(), name)
    work.node.environment = {name: work.node.environment[name] for name in first.values()}
    return dotnet.process_environment(work.node, {str(name): str(value) for name, value in env.items()})


def command_text(work: Work, args: Args) -> str:
    """The program and its arguments as one line, for a sentence, without the secrets."""
    line = commandline.join([str(args["program"]), *(work.mask(str(item)) for item in args.get("args") or [])])
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."


def accepts(args: Args, code: int) -> bool:
    """Whether an op takes this exit code, which is written signed or unsigned; `any` takes each."""
    accepted = args.get("ok_exit") or [0]
    return "any" in accepted or code in accepted or code % 2**32 in {int(each) % 2**32 for each in accepted}


def _codes(args: Args) -> str:
    return "exit code " + " or ".join(str(code) for code in args.get("ok_exit") or [0])


def _ended(code: int, stdout: str, stderr: str) -> str:
    said = (stderr.strip() or stdout.strip())[-2000:]
    return f"ended with exit code {code}" + (f": {said}" if said else " and printed nothing")


def outputs(work: Work, completed: Completed, encoding: str) -> tuple[str, str]:
    """Both as text, the secrets masked before the middle of a long one is left out."""
    if encoding != "oem" and encoding not in ENCODINGS:
        raise OpError(f"There is no encoding {encoding!r}; there are {', '.join(ENCODINGS)}.")

    def text(data: bytes) -> str:
        codec = codec_of(work, data, encoding)
        masked = work.mask(data.decode(codec, "replace"))
        kept = shortened(masked.encode(codec, "replace") if len(data) > 2 * OUTPUT_HALF else b"") or data
        return work.mask(kept.decode(codec, "replace").removeprefix("\ufeff"))

    return text(completed.stdout), text(completed.stderr)


def codec_of(work: Work, data: bytes, encoding: str) -> str:
    """The codec of what a program printed: nssm 2.24 prints UTF-16 into a pipe, builds after it bytes."""
    if encoding == "utf-16" and is_wide(data):
        return ENCODINGS[encoding]
    if encoding == "utf-8":
        return ENCODINGS[encoding]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return CODE_PAGES[work.node.language]
    return "utf-8"


def run(work: Work, args: Args) -> OpRun:
    yield 0.01
    timeout = work.time_left(float(args.get("timeout_s") or 60))
    completed = yield from execute(work, args, timeout)
    stdout, stderr = outputs(work, completed, str(args.get("encoding") or "oem"))
    result = {"exit_code": completed.exit_code, "stdout": work.mask(stdout), "stderr": work.mask(stderr)}
    if not accepts(args, completed.exit_code):
        ended = _ended(completed.exit_code, stdout, stderr)
        raise OpError(f"{command_text(work, args)} was to end with {_codes(args)}, but {ended}", **result)
    return {"changed": True, **result}


WAITS = (
    *("service", "pipe", "http", "run", "file_free", "process_gone", "file", "tcp", "tcp_closed", "adapter"),
    "hns_network",
)
Seen = Callable[[], tuple[bool, str]]
"""Whether it is so, and what was seen."""


def wait(work: Work, args: Args) -> OpRun:
    kind = str(args["for"])
    work.seam("waiting")
    if kind == "run":
        return (yield from _wait_run(work, args))
    check = _checks(work, args).get(kind)
    if check is None:
        raise OpError(f"There is nothing called {kind!r} to wait for; there are {', '.join(WAITS)}.")
    stable = float(args.get("stable_s") or 0) if kind == "service" else 0.0
    clock = work.node.clock
    began = clock.now()
    end = began + work.time_left(float(args["timeout_s"]))
    since: float | None = None
    ends = _Ends()
    while True:
        so, seen = check()
        strict = bool(args.get("ends_with_program"))
        over = _service_end(work, args, ends) if args.get("ends_with") and (strict or not so) else None
        if so and not (over is not None and over[0]):
            since = clock.now() if since is None else since
            if clock.now() - since >= stable:
                return {"changed": False}
        else:
            since = None
        if clock.now() >= end or (over is not None and over[0]):
            seconds = round(min(float(args["timeout_s"]), clock.now() - began), 1)
            told = f"{_missed(args)} within {seconds:g} s: {seen}{over[1] if over else ''}.{_log_end(work, args)}"
            raise OpError(told)
        yield min(_pause(args, ends), max(0.01, end - clock.now()))


def _pause(args: Args, ends: _Ends) -> float:
    """Shorter until the program has been seen: one that ends at once is to be seen while it lives."""
    pause = float(args.get("interval_ms") or 500) / 1000
    return min(0.1, pause) if args.get("ends_with_program") and not ends.processes else pause


def _missed(args: Args) -> str:
    kind = str(args["for"])
    if kind == "service":
        stable = args.get("stable_s")
        became = f"stay {args['state']} for {stable} s" if stable else f"become {args['state']}"
        return f"The service {args['name']} did not {became}"
    if kind == "pipe":
        return f"The pipe {args['name']} did not appear"
    if kind == "http":
        return f"{args['url']} did not answer {args.get('status') or 200}"
    if kind == "file_free":
        return f"{args['path']} did not become free for writing"
    if kind == "file" and args.get("version"):
        return f"The file {args['path']} did not have version {args['version']}"
    if kind == "file":
        return f"The file {args['path']} did not appear, or stayed empty,"
    if kind == "tcp":
        return f"{args['host']} did not take connections on TCP port {args['port']}"
    if kind == "tcp_closed":
        return f"{args['host']} did not stop taking connections on TCP port {args['port']}"
    if kind == "adapter":
        return f"The adapter {args['name']} did not come up with {args.get('address') or 'an IPv4 address'}"
    if kind == "hns_network":
        with_address = " with a management address" if args.get("management_ip") else ""
        return f"The HNS network {args['name']} did not appear{with_address}"
    return f"The processes of {args['path']} did not end"


def _checks(work: Work, args: Args) -> dict[str, Seen]:
    node = work.node

    def service() -> tuple[bool, str]:
        state = node.services.state(str(args["name"]))
        return state == args["state"], f"it is {state}"

    def pipe() -> tuple[bool, str]:
        there = node.pipes.exists(str(args["name"]))
        return there, "it is there" if there else "it is not there"

    def http() -> tuple[bool, str]:
        try:
            status = node.network.get(str(args["url"]), 2.0, {"User-Agent": USER_AGENT}).status
        except NetworkError as error:
            return False, f"there is no answer: {error}"
        return status == int(args.get("status") or 200), f"it answers {status}"

    def file_free() -> tuple[bool, str]:
        path = str(args["path"])
        if node.drive.kind(path) is None:
            return True, "it does not exist"
        entry = node.drive.entry(path)
        locked = node.faults.locked.get(node.drive.normal(path).lower(), 0.0) > node.clock.now()
        held = sorted(entry.images | set(entry.handles))
        return not (held or locked), f"it is held by {', '.join(f'process {pid}' for pid in held) or 'a scanner'}"

    def process_gone() -> tuple[bool, str]:
        found = holders(node, str(args["path"]))
        return not found, f"there are the processes {', '.join(map(str, found))}"

    return {
        "service": service,
        "pipe": pipe,
        "http": http,
        "file_free": file_free,
        "process_gone": process_gone,
        "file": lambda: ops_machine.file_there(work, args),
        "tcp": lambda: ops_machine.tcp(work, args),
        "tcp_closed": lambda: ops_machine.tcp_closed(work, args),
        "adapter": lambda: ops_machine.adapter_there(work, args),
        "hns_network": lambda: ops_machine.network_there(work, args),
    }


def _wait_run(work: Work, args: Args) -> OpRun:
    clock = work.node.clock
    began = clock.now()
    end = began + work.time_left(float(args["timeout_s"]))
    encoding = str(args.get("encoding") or "oem")
    ends = _Ends()
    while True:
        seen: dict[str, Any] = {}
        try:
            completed = yield from execute(work, args, max(0.1, end - clock.now()))
            stdout, stderr = outputs(work, completed, encoding)
            seen = {"exit_code": completed.exit_code, "stdout": work.mask(stdout), "stderr": work.mask(stderr)}
            so = accepts(args, completed.exit_code)
            said = f"it {_ended(completed.exit_code, stdout, stderr)}"
        except OpError as error:
            so, said = False, str(error)
        strict = bool(args.get("ends_with_program"))
        over = _service_end(work, args, ends) if args.get("ends_with") and (strict or not so) else None
        if so and not (over is not None and over[0]):
            return {"changed": False, **seen}
        if clock.now() >= end or (over is not None and over[0]):
            seconds = round(min(float(args["timeout_s"]), clock.now() - began), 1)
            told = f"{command_text(work, args)} did not end with {_codes(args)} within {seconds:g} s: {said}"
            raise OpError(f"{told}{over[1] if over else ''}." + _log_end(work, args), **seen)
        yield min(_pause(args, ends), max(0.01, end - clock.now()))


@dataclass
class _Ends:
    """Of a service that a wait ends with: when it stopped, how often, and the processes of its program."""

    since: float | None = None
    times: int = 0
    processes: list[Process] = field(default_factory=list)


def _service_end(work: Work, args: Args, seen: _Ends) -> tuple[bool, str] | None:
    """How the service of `ends_with` has ended, and whether for good: one that the service control manager is about to
    start again is waited for once, unless its program is named. None while it lives."""
    name, services = str(args["ends_with"]), work.node.services
    state, program = services.state(name), str(args.get("ends_with_program") or "")
    if program:
        if not seen.processes:
            table = work.node.processes
            seen.processes += [process for pid in holders(work.node, program) if (process := table.get(pid))]
        gone = bool(seen.processes) and not any(process.alive for process in seen.processes)
        if gone or state == "paused":
            file = program.rpartition("\\")[2]
            ended = f"; {file} has ended, its exit code {seen.processes[-1].exit_code}" if gone else ""
            return True, ended if args["for"] == "service" else f"; the service {name} is {state}{ended}"
    if state not in {"stopped", "absent"}:
        seen.since = None
        return None
    if seen.since is None:
        seen.since, seen.times = work.node.clock.now(), seen.times + 1
    told = "" if args["for"] == "service" else f"; the service {name} is {state}"
    if state == "absent":
        return True, told
    runtime, config = services.runtime(name), services.config(name)
    failed = runtime.exit_code == CRASHED or (runtime.exit_code != 0 and config.non_crash)
    code = runtime.service_exit_code if runtime.exit_code == SPECIFIC else runtime.exit_code
    over = True
    if config.failure is not None and seen.times == 1 and failed and not program:
        delays = [delay / 1000 for kind, delay in config.failure.actions if kind == "restart"]
        over = not delays or work.node.clock.now() - seen.since >= max(delays) + RESTART_S
    return over, f"{told}, its exit code {code}"


def _log_end(work: Work, args: Args) -> str:
    path, drive = str(args.get("log") or ""), work.node.drive
    if not path or not drive.is_file(path):
        return ""
    data = drive.read(path)[-4096:]
    if len(data) == 4096 and not is_wide(data):
        # What is left of a character of UTF-8 that was cut.
        data = data[next((at for at in range(3) if data[at] & 0xC0 != 0x80), 3) :]
    text = data.decode(codec_of(work, data, "utf-16"), "replace").lstrip("\ufeff\ufffd")
    text = work.mask(work.mask_end(text))
    lines = [line.strip() for line in text.split("\n") if line.strip()][-5:]
    return f" The last lines of {path}: {' | '.join(lines)}" if lines else ""
