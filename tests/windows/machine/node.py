"""A node of the lab that is made of Wine.

Ansible reaches it as any node of the lab. The lab's Python twin carries out file and registry ops on Wine's drive and
registry; each program that is not Windows' own (nssm.exe, containerd.exe, ctr.exe, kubelet.exe) runs on Wine, its
services under Wine's service manager, its sockets and pipes are real.

Still the lab's: Windows itself. Its release, its own services (sshd, hns), scheduled tasks, adapters, HNS, and the
programs in C:\\Windows: of sc.exe the command line, in front of Wine's service manager (Wine's own sc.exe has no config
and no failure, and ends with 1 for every error); netsh, icacls, dism, schtasks, which on Wine do nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tests.lab.machine.builds import identify, machine_of
from tests.lab.machine.errors import WinError
from tests.lab.machine.network import Answer, Network, NetworkError
from tests.lab.machine.node import Foreign, SimulatedNode
from tests.lab.machine.processes import Body, Process
from tests.lab.machine.program import Completed
from tests.windows.machine.clock import WallClock
from tests.windows.machine.drive import Disk, WineDrive
from tests.windows.machine.processes import WinePipes, WineProcesses
from tests.windows.machine.registry import WineRegistry
from tests.windows.machine.services import WineServices
from tests.windows.machine.witness import Witness
from tests.wine.prefix import Prefix

POLL_S = 0.05
WITNESS = "C:\\winkube-witness.exe"


class WineNetwork(Network):
    """The machine's own ports are those of the computer that Wine runs on."""

    def _local(self, host: str, port: int, path: str) -> Answer:
        if port in self.listeners:
            return super()._local(host, port, path)
        return self._real(f"127.0.0.1:{port}", host, path, 2.0, {}, None)

    def connect(self, host: str, port: int, timeout: float = 2.0) -> None:
        if not self._is_local(host.lower(), port) or port in self.listeners:
            super().connect(host, port, timeout)
            return
        try:
            socket.create_connection(("127.0.0.1", port), timeout=timeout).close()
        except OSError as error:
            raise NetworkError(f"{host}:{port}: {error}") from error


class WineNode(SimulatedNode):
    """A machine on a prefix that is up. `close()` when it is not needed any more; services of it are stopped then.

    witness: the path of witness.exe on this computer. Other options as SimulatedNode's.
    """

    clock_type = WallClock
    drive_type = WineDrive
    registry_type = WineRegistry
    pipes_type = WinePipes
    network_type = WineNetwork
    processes_type = WineProcesses
    services_type = WineServices
    clock: WallClock
    drive: WineDrive
    registry: WineRegistry
    pipes: WinePipes
    processes: WineProcesses
    services: WineServices

    def __init__(self, name: str, prefix: Prefix, witness: Path, **options: Any) -> None:
        super().__init__(name, **options)
        self.prefix = prefix
        prefix.place(witness, WITNESS)
        self.witness = Witness(
            prefix.popen([WITNESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        )
        self._programs: dict[int, int] = {}
        self.clock.go_live()
        self.registry.use(self.witness)
        self.services.witness = self.pipes.witness = self.processes.witness = self.witness
        began = self.clock.utc(0).timestamp()
        self.drive.use(prefix.folder / "drive_c", Disk({}, self._holders, began))

    def close(self) -> None:
        """Stops what this machine runs on Wine."""
        for one in self.witness.ask("services"):
            if self.registry.is_wines(one["name"]) and one["state"] == 4 and one["name"] in self._foreign():
                with contextlib.suppress(WinError):
                    self.witness.ask("stop", name=one["name"])
        self.witness.end()

    def _foreign(self) -> list[str]:
        """Services whose program does not lie in Windows' own folder."""
        paths = {name: self.services.config(name).image_path.strip('"').lower() for name in self.services.names()}
        return [name for name, path in paths.items() if not path.startswith(("c:\\windows\\", "%system"))]

    # -- who runs which file -----------------------------------------------------------------------------------------

    def _holders(self, inode: int) -> set[int]:
        """Processes of Wine whose program is this file, under whatever name it lies now.

        Wine says the path under which a program was started; which file that was is noted when it is first seen.
        """
        running = {process.pid: process for process in self.processes.running()}
        self._programs = {pid: found for pid, found in self._programs.items() if pid in running}
        for pid, process in running.items():
            if pid not in self._programs:
                self._programs[pid] = self._inode(process.path)
        return {pid for pid, found in self._programs.items() if found == inode}

    def _inode(self, path: str) -> int:
        try:
            real = self.drive.real(path)
        except WinError:
            return 0
        return real.stat().st_ino if real is not None else 0

    # -- programs ----------------------------------------------------------------------------------------------------

    def is_real(self, path: str) -> bool:
        """Whether the file is a program for Wine. Errors as CreateProcess: 2, 3, 5, 193, 216."""
        real = self.drive.real(path)
        if real is None:
            return False
        data = self.drive.read(path)
        if identify(data) is not None:
            return False
        if machine_of(data) not in {"amd64", "386"}:
            raise WinError(193, path)
        return True

    def foreign(
        self,
        path: str,
        arguments: list[str],
        stdin: bytes,
        environment: Mapping[str, str] | None,
        result: list[Completed],
    ) -> Foreign | None:
        if not self.is_real(path):
            return None
        self.counters.add(self.counters.programs, path.rpartition("\\")[2].lower())
        # Files, not pipes: what the program leaves running inherits its output. They are closed when it has ended.
        streams = contextlib.ExitStack()
        given, out, error = (streams.enter_context(tempfile.TemporaryFile()) for _ in range(3))  # noqa: SIM115
        given.write(stdin)
        given.seek(0)
        running = self.prefix.popen([path, *arguments], environment, stdin=given, stdout=out, stderr=error)

        def body() -> Body:
            started = self.clock.now()
            while running.poll() is None:
                yield POLL_S
            self.registry.forget()
            seconds = self.clock.now() - started
            result.append(Completed(running.returncode, _written(out), _written(error), seconds))
            return int(running.returncode)

        def ended(_: Process) -> None:
            if running.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
                running.wait()
            streams.close()

        return Foreign(body(), ended)


def _written(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read()
