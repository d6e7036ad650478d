"""The drive of a machine made of Wine (tests/windows/machine/drive.py) keeps the contract; this needs no Wine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contract.case import Case, all_cases
from tests.contract.check import failures
from tests.contract.simulated import Simulated
from tests.contract.web import serve
from tests.lab.machine.errors import WinError
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.windows.machine.drive import Disk, WineDrive


class OnDisk(LabNode):
    """A simulated node whose drive C: is a folder."""

    drive_type = WineDrive
    drive: WineDrive

    def __init__(self, folder: Path, hosts: Mapping[str, str] | None = None) -> None:
        super().__init__("contract", hosts=hosts)
        self.held: dict[int, set[int]] = {}
        folder.mkdir(exist_ok=True)
        disk = Disk({}, lambda inode: self.held.get(inode, set()), self.clock.utc(0).timestamp())
        self.drive.use(folder, disk)


class DiskImplementation(Simulated):
    name = "drive on a disk"
    # Junctions are not made on the disk; services are started as in the lab.
    provides = Simulated.provides - {"links"}

    def __init__(self, web: str, folder: Path) -> None:
        super().__init__(web)
        self._folder = folder
        self._machines = 0

    def make(self, hosts: Mapping[str, str]) -> SimulatedNode:
        self._machines += 1
        return OnDisk(self._folder / str(self._machines), hosts)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with serve() as address:
        yield address


FILE_OPS = {"write", "restore", "move", "remove", "mkdir", "unpack", "assemble", "record", "fetch"}
HELD = "write-a-file-that-its-reader-keeps-open-stays-as-it-was"
"""Linux replaces a file that somebody reads: locks of files that are merely open are not kept on a disk."""
CASES = [
    case
    for case in all_cases()
    if case.needs <= DiskImplementation.provides and case.file in FILE_OPS and case.id != HELD
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_contract_of_files(case: Case, web: str, tmp_path: Path) -> None:
    wrong = failures(case, DiskImplementation(web, tmp_path))
    assert not wrong, "\n".join(wrong)


def test_a_program_that_runs_is_renamed_but_neither_written_nor_deleted(tmp_path: Path) -> None:
    node = OnDisk(tmp_path)
    path, other = r"C:\k\x.exe", r"C:\K\X.EXE.old"
    node.drive.mkdir(r"C:\k")
    node.drive.write(path, b"MZ")
    node.held[(tmp_path / "k" / "x.exe").stat().st_ino] = {4711}
    with pytest.raises(WinError) as written:
        node.drive.write(path, b"new")
    with pytest.raises(WinError) as deleted:
        node.drive.delete(path)
    assert (written.value.code, deleted.value.code) == (32, 5)
    node.drive.rename(path, other)
    assert node.drive.holders(other) == [4711]
    node.drive.write(path, b"new")
    assert (tmp_path / "k" / "x.exe").read_bytes() == b"new"


def test_letters_do_not_matter_and_access_lists_stay_with_the_file(tmp_path: Path) -> None:
    node = OnDisk(tmp_path)
    node.drive.mkdir(r"C:\Program Files\Some")
    node.drive.write(r"C:\PROGRAM FILES\some\a.txt", b"a")
    node.drive.set_sddl(r"C:\Program Files\Some\a.txt", "O:BAG:BAD:PAI(A;;FA;;;SY)")
    node.drive.rename(r"c:\program files\some\A.TXT", r"C:\b.txt")
    assert node.drive.sddl(r"C:\b.txt").endswith("D:PAI(A;;FA;;;SY)")
    assert (tmp_path / "b.txt").read_bytes() == b"a"
    assert (tmp_path / "Program Files" / "Some").is_dir()
    assert node.drive.is_file(r"C:\Windows\System32\sc.exe") and not (tmp_path / "Windows").exists()
