"""What stands in for Windows where Wine has nothing, or a name alone. No script of the collection's is among it.

- Programs (`PROGRAMS`): program/main.go under each name asks here; the lab's program of that name answers, and works
  on Wine's service manager where the service is Wine's. Wine's own sc.exe has no config and no failure, and its netsh,
  icacls, dism, schtasks, wevtutil and shutdown do nothing.
- The commands of the modules CimCmdlets, NetTCPIP and DnsClient that the scripts call (modules/*, first in
  PSModulePath; PowerShell's CIM needs libmi): cim.py. Win32_Service has Wine's process ids and exit codes; a class that
  is not there is an error, as from a machine that does not know it.
- COM's Schedule.Service (schedule/schedule.c): the lab's scheduler, which starts PowerShell on Wine as SYSTEM.
- HNS's DLLs (tests/windows/hns): the lab's HNS.

Each question is counted by name: `sc`, `Win32_Service`, `Schedule.Service GetTask`.
"""

from __future__ import annotations

import base64
import json
import re
import socketserver
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from tests.lab.machine.errors import WinError
from tests.lab.machine.firewall import RULES
from tests.lab.machine.tasks import Task
from tests.wine_node.cim import Cim
from tests.wine_node.machine import SYSTEM32, Machine

DISP_E_MEMBERNOTFOUND = -2147352573
SCHEDULED = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
STATES = {"disabled": 1, "ready": 3, "running": 4}
"""TASK_STATE of the Task Scheduler's API."""


@dataclass(frozen=True)
class Folder:
    path: str


@dataclass(frozen=True)
class Registered:
    path: str


@dataclass(frozen=True)
class Definition:
    path: str


@dataclass(frozen=True)
class Principal:
    path: str


INTERFACES = {
    Folder: "ITaskFolder",
    Registered: "IRegisteredTask",
    Definition: "ITaskDefinition",
    Principal: "IPrincipal",
}


class StandIns(socketserver.ThreadingTCPServer):
    """`calls` counts questions."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, node: Machine) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.node = node
        self.calls: Counter[str] = Counter()
        self.cim = Cim(node, self.count)
        self._objects: list[object] = [None]
        self._xml: dict[str, str] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def count(self, name: str) -> None:
        with self._lock:
            self.calls[name] += 1

    # -- programs --------------------------------------------------------------------------------------------------

    def program(self, name: str, arguments: list[str]) -> dict[str, Any]:
        self.count(name)
        if name == "netsh":
            with self.node.lock:
                arguments = [self.cim.named(argument) for argument in arguments]
        try:
            done = self.node.run(f"{SYSTEM32}\\{name}.exe", arguments)
            if name == "netsh":
                self._show_rules()
        except WinError as error:
            return {"exit": error.code, "output": "", "error": base64.b64encode(str(error).encode()).decode()}
        out, error_ = (base64.b64encode(data).decode() for data in (done.stdout, done.stderr))
        return {"exit": done.exit_code, "output": out, "error": error_}

    def _show_rules(self) -> None:
        """The firewall's rules, in Wine's registry too: they lie below a service that is the lab's."""
        key = self.node.registry.key(RULES)
        path = RULES.removeprefix("HKLM\\")
        with suppress(WinError):
            self.node.witness.ask("delete_key", path=path)
        for value in key.values.values() if key else ():
            self.node.witness.ask("set", path=path, name=value.name, type=value.type, data=value.data)

    # -- the scheduler -------------------------------------------------------------------------------------------

    def com(self, number: int, member: str, put: bool, arguments: list[Any]) -> str:
        """HRESULT, kind and value, a line each."""
        self.count(f"Schedule.Service {member}")
        try:
            with self.node.lock:
                found = self._member(self._objects[number], member.lower(), put, arguments)
        except WinError as error:
            return f"{(0x80070000 | error.code) - (1 << 32)}\nn\n\n"
        except KeyError:
            return f"{DISP_E_MEMBERNOTFOUND}\nn\n\n"
        return "0\n" + self._shown(found)

    def _shown(self, value: object) -> str:
        if value is None:
            return "n\n\n"
        if isinstance(value, bool):
            return f"b\n{int(value)}\n"
        if isinstance(value, int):
            return f"i\n{value}\n"
        if isinstance(value, str):
            escaped = value.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
            return f"s\n{escaped}\n"
        self._objects.append(value)
        return f"o\n{len(self._objects) - 1} {INTERFACES[type(value)]}\n"

    def _member(self, it: object, member: str, put: bool, arguments: list[Any]) -> object:
        tasks = self.node.tasks
        if it is None:
            service: dict[str, Callable[[], object]] = {
                "connect": lambda: None,
                "getfolder": lambda: self._folder(*arguments),
            }
            return service[member]()
        if isinstance(it, Folder):
            made: dict[str, Callable[[], object]] = {
                "path": lambda: it.path,
                "createfolder": lambda: Folder(f"{it.path.rstrip(chr(92))}\\{arguments[0]}"),
                "gettask": lambda: self._task(it, arguments[0]),
                "registertask": lambda: self._register(it, *arguments),
                "deletetask": lambda: tasks.delete(f"{it.path.rstrip(chr(92))}\\{arguments[0]}"),
            }
            return made[member]()
        if isinstance(it, Registered):
            task = tasks.get(it.path)
            if task is None:
                raise WinError(2, it.path)
            if put:
                {"enabled": lambda: tasks.enable(it.path, bool(arguments[0]))}[member]()
                return None
            read: dict[str, Callable[[], object]] = {
                "xml": lambda: self._xml.get(it.path.lower(), ""),
                "enabled": lambda: task.enabled,
                "state": lambda: STATES[task.state],
                "definition": lambda: Definition(it.path),
                "run": lambda: self._run(it),
            }
            return read[member]()
        if isinstance(it, Definition):
            return {"principal": Principal(it.path)}[member]
        # Windows gives back the account's name, not the SID that the definition was made with.
        return {"userid": "SYSTEM"}[member]

    def _folder(self, path: str) -> Folder:
        known = {"\\", *(f"{task.path.rpartition(chr(92))[0]}".lower() for task in self.node.tasks.all())}
        if path.lower() not in known:
            raise WinError(2, path)
        return Folder(path)

    def _task(self, folder: Folder, name: str) -> Registered:
        path = f"{folder.path.rstrip(chr(92))}\\{name}"
        if self.node.tasks.get(path) is None:
            raise WinError(2, path)
        return Registered(path)

    def _run(self, it: Registered) -> Registered:
        self.node.tasks.run(it.path)
        return it

    def _register(self, folder: Folder, name: str, xml: str, *_rest: object) -> Registered:
        path = f"{folder.path.rstrip(chr(92))}\\{name}"
        document = ElementTree.fromstring(xml)

        def text(where: str) -> str:
            return (document.findtext("/".join(f"{SCHEDULED}{each}" for each in where.split("/"))) or "").strip()

        repeat = re.fullmatch(r"PT(\d+)M", text("Triggers/TimeTrigger/Repetition/Interval"))
        limit = re.fullmatch(r"PT(\d+)H", text("Settings/ExecutionTimeLimit"))
        self.node.tasks.register(
            Task(
                path,
                text("Actions/Exec/Command"),
                text("Actions/Exec/Arguments").split(),
                at_boot=text("Triggers/BootTrigger/Enabled") == "true",
                repeat_s=60.0 * int(repeat[1]) if repeat else None,
                enabled=text("Settings/Enabled") == "true",
                time_limit_s=3600.0 * int(limit[1]) if limit else None,
            )
        )
        self._xml[path.lower()] = xml
        return Registered(path)


class _Connection(socketserver.StreamRequestHandler):
    server: StandIns

    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        if "com" in asked:
            said = self.server.com(asked["com"], asked["member"], asked["put"], asked["arguments"])
        elif "cim" in asked:
            said = json.dumps(self.server.cim.answer(asked["cim"]))
        else:
            said = json.dumps(self.server.program(asked["program"], asked["arguments"]))
        self.wfile.write(said.encode())
