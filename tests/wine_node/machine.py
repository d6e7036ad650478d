r"""The machine: a prefix of Wine 10 with PowerShell for Windows, and the lab's Windows beside it for the stand-ins.

Everything that Ansible sends is executed by PowerShell on Wine and sees Wine's own drive, registry, service manager,
processes and pipes. What Wine lacks of Windows stands in as a program, a DLL or a cmdlet (standins.py); those ask the
lab's machine, whose services, drive and processes are Wine's, too (tests/windows/machine).

Wine gives every file of its user one owner, whose SID is a constant of wineserver. A copy of wineserver has SYSTEM's
there (`as_system`): so Ansible's session is SYSTEM's, and folders that the scripts make are owned as on Windows.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Main, Serve
from tests.lab.machine.registry import SERVICES, Key
from tests.lab.programs.catalogue import PROGRAMS
from tests.windows.hns import library
from tests.windows.machine import witness
from tests.windows.machine.node import WineNode
from tests.wine import chroot, pwsh
from tests.wine.prefix import Prefix

HOME = r"C:\pwsh"
POWERSHELL = r"C:\windows\system32\WindowsPowerShell\v1.0\powershell.exe"
"""Where Windows has it; the launcher of tests/wine lies there."""
SYSTEM32 = r"C:\Windows\System32"
PROGRAMS_OF_WINDOWS = ("sc", "netsh", "icacls", "dism", "schtasks", "wevtutil", "shutdown", "hcsdiag")
"""Those that program/main.go stands in for."""
STAND_INS = r"C:\windows\winkube-standins.txt"
"""Where the stand-ins find the node's process."""
SCHEDULE = r"C:\windows\system32\winkube-schedule.dll"
SCHEDULE_CLASS = r"SOFTWARE\Classes\CLSID\{0F87369F-A4E5-4CFC-BD3E-73E6154572DD}\InprocServer32"
SCHEDULE_LIBRARIES = ("ws2_32", "ole32", "oleaut32", "uuid")
HERE = Path(__file__).parent
MODULES = r"C:\Program Files\PowerShell\Modules"
"""In PSModulePath before PowerShell's own."""
LOCAL_USER = bytes([1, 5, 0, 0, 0, 0, 0, 5]) + struct.pack("<5I", 21, 0, 0, 0, 1000)
CONTAINERS = ("vmcompute", "hns")
"""Services that the feature Containers brings."""
SERVICE = r"C:\windows\system32\spoolsv.exe"
"""A service of Wine's that does nothing, under their names: so the scripts find them, and ask the DLLs."""
LIVE = (3, 4)
"""SERVICE_STOP_PENDING, SERVICE_RUNNING."""
SYSTEM = (bytes([1, 1, 0, 0, 0, 0, 0, 5]) + struct.pack("<I", 18)).ljust(len(LOCAL_USER), b"\0")


def as_system(server: bytes) -> bytes:
    """A wineserver whose user is SYSTEM (S-1-5-18), not S-1-5-21-0-0-0-1000. ValueError for another build."""
    if server.count(LOCAL_USER) != 1:
        raise ValueError(f"wineserver has the SID of its user {server.count(LOCAL_USER)} times, once is expected")
    return server.replace(LOCAL_USER, SYSTEM)


class Machine(WineNode):
    """What the stand-ins ask. Its programs are Windows' own; PowerShell is none of them."""

    programs: ClassVar[Mapping[str, tuple[Main, Serve | None]]] = PROGRAMS

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._mine: set[int] = set()
        """Processes of the service manager's, at the last look."""
        self._gone: set[int] = set()
        """Those that had gone by then, though a service says that it lives by them."""
        super().__init__(*arguments, **settings)

    def is_real(self, path: str) -> bool:
        """What the scheduler starts is PowerShell on Wine."""
        return path.lower() == POWERSHELL.lower() or super().is_real(path)

    def note_ended(self) -> None:
        """A service whose process has ended without a word is stopped: Windows' service manager waits for the process,
        Wine's goes on to say STOP_PENDING or RUNNING. Not one that starts, whose process Wine's manager waits for.

        The manager itself is asked only when one of its processes has gone, and at the next look again.
        """
        running = {one["pid"]: one for one in self.witness.ask("processes")}
        manager = next((pid for pid, one in running.items() if one["name"].lower() == "services.exe"), 0)
        mine = {pid for pid, one in running.items() if one["parent"] == manager}
        before, gone = self._gone, self._mine - mine
        self._mine, self._gone = mine, set()
        for one in self.witness.ask("services") if before or gone else ():
            if one["pid"] in running or one["state"] not in LIVE:
                continue
            if one["pid"] in before:
                self.witness.ask("ended", name=one["name"])
            elif one["pid"] in gone:
                self._gone.add(one["pid"])


def show_windows(node: Machine) -> None:
    """Wine's registry gets what the lab's image of a Windows Server has and Wine has not; of services the two of
    containers."""

    def copy(key: Key, path: str) -> None:
        for value in key.values.values():
            data = value.data.hex() if isinstance(value.data, bytes) else value.data
            node.witness.ask("set", path=path, name=value.name, type=value.type, data=data)
        for below in key.keys.values():
            inner = f"{path}\\{below.name}"
            if not f"HKLM\\{inner}".upper().startswith(SERVICES.upper()):
                copy(below, inner)

    services = SERVICES.removeprefix("HKLM\\")
    for name in CONTAINERS:
        node.witness.ask("create", name=name, binary=SERVICE, start=3, display=name)
        found = node.registry.key(f"{SERVICES}\\{name}")
        for value in found.values.values() if found else ():
            if value.name != "ImagePath" and not isinstance(value.data, bytes):
                path = f"{services}\\{name}"
                node.witness.ask("set", path=path, name=value.name, type=value.type, data=value.data)
        node.witness.ask("start", name=name)
    node.witness.ask("set", path=SCHEDULE_CLASS, name="", type="string", data=SCHEDULE)
    for hive in ("SOFTWARE", "SYSTEM"):
        found = node.registry._find(f"HKLM\\{hive}")
        if found is not None:
            copy(found, hive)


@contextmanager
def running(work: Path, folder: Path, hns_port: int, **settings: Any) -> Iterator[tuple[Machine, Prefix]]:
    """The machine, on a new prefix in `work`; `folder` has PowerShell for Windows."""
    place = work / "prefix"
    place.mkdir()
    server = place / "own-wineserver"
    server.write_bytes(as_system((chroot.root() / chroot.WINESERVER.lstrip("/")).read_bytes()))
    server.chmod(0o755)
    pwsh.with_locale(chroot.root())
    environment = {
        "WINEDLLOVERRIDES": pwsh.OVERRIDES,
        "LANG": "C.utf8",
        "LC_ALL": "C.utf8",
        "WINESERVER": f"{chroot.WORK}/own-wineserver",
        "POWERSHELL_TELEMETRY_OPTOUT": "1",
        "WINKUBE_HNS_PORT": str(hns_port),
    }
    launcher = pwsh.build(work)
    with Prefix(place, environment) as prefix:
        shutil.copytree(folder, prefix.path(HOME))
        prefix.place(launcher, POWERSHELL)
        stand_in = pwsh.build(work, HERE / "program")
        for name in PROGRAMS_OF_WINDOWS:
            prefix.place(stand_in, f"C:\\windows\\system32\\{name}.exe")
        # Else Wine takes its own program of that name. Not before: the prefix asks Wine's sc.exe whether it is up.
        own = ",".join(f"{name}.exe" for name in PROGRAMS_OF_WINDOWS)
        prefix.environment["WINEDLLOVERRIDES"] = f"{own}=n;{pwsh.OVERRIDES}"
        for module in (HERE / "modules").glob("*/*.psm1"):
            prefix.place(module, f"{MODULES}\\{module.stem}\\{module.name}")
        prefix.place(library.build(HERE / "schedule" / "schedule.c", SCHEDULE_LIBRARIES), SCHEDULE)
        library.place(prefix)
        node = Machine("win1", prefix, witness.build(), **settings)
        try:
            yield node, prefix
        finally:
            with suppress(WinError, subprocess.SubprocessError, RuntimeError):
                node.close()
