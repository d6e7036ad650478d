"""The lab's simulated node as an implementation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from tests.contract.case import Tree
from tests.contract.implementations import CONTRACT_KEY, Found, Link, Place, ReadOnly, content
from tests.contract.provides import SIMULATED
from tests.lab.machine.builds import build
from tests.lab.machine.drive import LONG
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.registry import Value
from tests.lab.server import modules
from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode
from tests.lab.twin.submit import with_hns
from tests.lab.twin.task import POWERSHELL, command

ROOT = "C:\\contract\\root"
STATE = "C:\\contract\\state"
SDDL = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
NSSM, PROGRAM = "C:\\contract\\nssm.exe", "C:\\contract\\program.exe"
RUNNER = "the twin needs no text"


class Simulated:
    """A new simulated node for each case. `web` is `127.0.0.1:PORT` of the server that stands for `{web}`."""

    name = "simulated"
    provides = SIMULATED

    def __init__(
        self,
        web: str,
        root: str = ROOT,
        state: str = STATE,
        hosts: Mapping[str, str] | None = None,
        *,
        six: str | None = None,
        framework: bool = True,
    ) -> None:
        self._hosts = {"web": web, **({"web6": six} if six else {}), **(hosts or {})}
        self._framework = framework
        self._node: SimulatedNode | None = None
        self._root = root
        self._state = state
        self._place = Place(root, state)

    @property
    def node(self) -> SimulatedNode:
        if self._node is None:
            raise RuntimeError("prepare comes first")
        return self._node

    def make(self, hosts: Mapping[str, str]) -> SimulatedNode:
        """The machine of a case."""
        return LabNode("contract", hosts=hosts)

    def prepare(self, tree: Tree) -> Place:
        self._node = self.make(self._hosts)
        self.node.framework = self._framework
        self.node.drive.add_volume("D:", 10**9)
        self.node.drive.add_volume("E:", 10**9, reparse=True)
        self.node.drive.mkdir("C:\\contract")
        self.node.drive.write(NSSM, build("nssm", "2.24", resource="2.24.0.0"))
        self.node.drive.write(PROGRAM, build("worker", "1"))
        words = {"nssm": NSSM, "program": PROGRAM}
        words |= {"web": "http://web", "web_host": "web", "web_port": "80", "web6_host": "web6", "web6_port": "80"}
        self._place = Place(
            self._root,
            self._state,
            {**words, "powershell": POWERSHELL, "drive": "D:\\contract", "mounted": "E:\\contract"},
        )
        self.node.drive.mkdir(self._root)
        for name, value in tree.files.items():
            path = LONG + self._root + "\\" + name.rstrip("/").replace("/", "\\")
            found = content(value, self._place)
            self.node.drive.mkdir(self.node.drive.parent(path))
            if found is None:
                self.node.drive.mkdir(path)
            elif isinstance(found, Link):
                self.node.drive.link(path, found.target)
            else:
                self.node.drive.write(path, found)
                self.node.drive.set_read_only(path, isinstance(found, ReadOnly))
        for key, values in tree.registry.items():
            self.node.registry.create(_key(key))
            for value_name, item in values.items():
                self.node.registry.set(_key(key), value_name, item["type"], _data(item))
        return self._place

    def run(self, module: str, arguments: Mapping[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
        # At the console: what cuts connections does not end the case.
        session = self.node.open_console()
        return run_module(self.node, session, module, dict(arguments), check_mode)

    def call(self, module: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A module with these arguments, as they are, as the lab's server runs it for Ansible."""
        sent = {**arguments, "_ansible_check_mode": False, "_ansible_verbosity": 3}
        return modules.answer(self.node, self.node.open_console(), f"winkube.node.{module}", sent)

    def put(self, files: Mapping[str, bytes]) -> None:
        drive = self.node.drive
        if not drive.exists(self._state):
            drive.mkdir(self._state)
            drive.set_sddl(self._state, SDDL)
        for name, data in files.items():
            path = self._state + "\\" + name.replace("/", "\\")
            drive.mkdir(drive.parent(path))
            drive.write(path, data)

    def start(self) -> None:
        self.node.run(POWERSHELL, command(self._state))

    def observe(self) -> Found:
        return Found(self._files(LONG + self._root), self._registry())

    def observe_state(self) -> Mapping[str, bytes]:
        files = self._files(self._state) if self.node.drive.exists(self._state) else {}
        return {name: data for name, data in files.items() if isinstance(data, bytes)}

    def runner(self) -> Mapping[str, str]:
        return {"text": RUNNER, "sha256": hashlib.sha256(RUNNER.encode()).hexdigest(), **with_hns({})}

    def _files(self, folder: str, prefix: str = "") -> dict[str, bytes | Link | None]:
        drive = self.node.drive
        found: dict[str, bytes | Link | None] = {}
        for name in drive.listdir(folder) if drive.is_dir(folder) else []:
            path = f"{folder}\\{name}"
            kind = drive.kind(path)
            if kind == "directory":
                found[f"{prefix}{name}/"] = None
                found |= self._files(path, f"{prefix}{name}/")
            elif kind == "link":
                found[prefix + name] = Link(drive.target(path))
            else:
                found[prefix + name] = drive.read(path)
        return found

    def _registry(self) -> dict[str, dict[str, Any]]:
        registry = self.node.registry
        if not registry.exists(CONTRACT_KEY):
            return {}
        found: dict[str, dict[str, Any]] = {}
        waiting = [(CONTRACT_KEY, "")]
        while waiting:
            path, name = waiting.pop()
            values = {value.name: _shown(value) for value in registry.values(path)}
            keys = registry.keys(path)
            if name:
                found[name] = values
            waiting += [(f"{path}\\{key}", f"{name}\\{key}".lstrip("\\")) for key in keys]
        return found


def _key(name: str) -> str:
    return f"{CONTRACT_KEY}\\{name}"


def _data(item: Mapping[str, Any]) -> Any:
    value = item["value"]
    if item["type"] == "binary":
        return bytes.fromhex(value)
    return int(value) if item["type"] in {"dword", "qword"} else value


def _shown(value: Value) -> dict[str, Any]:
    data: Any = value.data
    if isinstance(data, bytes):
        data = data.hex()
    elif value.type == "qword":
        data = str(data)
    elif isinstance(data, tuple):
        data = list(data)
    return {"type": value.type, "value": data}
