"""The simulated drive behaves as NTFS does where it matters."""

from __future__ import annotations

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.clock import Clock
from tests.lab.machine.drive import Drive
from tests.lab.machine.errors import WinError
from tests.lab.machine.faults import Faults
from tests.lab.twin.node import LabNode


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def drive(clock: Clock, faults: Faults) -> Drive:
    return Drive(clock, faults, size=10_000)


def code(action: object, *args: object, **named: object) -> int:
    with pytest.raises(WinError) as caught:
        action(*args, **named)  # type: ignore[operator]
    return caught.value.code


def test_names_keep_their_case_and_ignore_it(drive: Drive) -> None:
    drive.mkdir("C:\\Program Files\\App")
    drive.write("c:\\program files\\APP\\Config.toml", b"x")
    assert drive.read("C:\\PROGRAM FILES\\app\\config.TOML") == b"x"
    assert drive.listdir("C:\\program files\\app") == ["Config.toml"]


def test_missing_files_and_folders_have_their_own_errors(drive: Drive) -> None:
    assert code(drive.read, "C:\\none.txt") == 2
    assert code(drive.read, "C:\\none\\none.txt") == 3
    assert code(drive.write, "C:\\none\\none.txt", b"") == 3
    assert code(drive.write, "D:\\x", b"") == 3


def test_a_running_program_can_be_renamed_but_not_written_or_deleted() -> None:
    node = LabNode("win1")
    node.drive.mkdir("C:\\k")
    node.drive.add_volume("D:", 1_000_000)
    node.drive.write("C:\\k\\w.exe", build("worker", "1"))
    process, _ = node.start_program("C:\\k\\w.exe", [])
    assert code(node.drive.write, "C:\\k\\w.exe", b"new") == 32
    assert code(node.drive.delete, "C:\\k\\w.exe") == 5
    assert code(node.drive.rename, "C:\\k\\w.exe", "D:\\w.exe") == 17
    assert code(node.drive.rename, "C:\\k", "C:\\k2") == 5
    node.drive.rename("C:\\k\\w.exe", "C:\\k\\w.old.exe")
    node.drive.write("C:\\k\\w.exe", build("worker", "2"))
    assert node.drive.holders("C:\\k\\w.old.exe") == [process.pid]
    assert node.drive.holders("C:\\k\\w.exe") == []
    node.processes.kill(process.pid)
    node.drive.delete("C:\\k\\w.old.exe")


def test_a_rename_onto_a_running_program_is_refused() -> None:
    node = LabNode("win1")
    node.drive.write("C:\\w.exe", build("worker", "1"))
    node.start_program("C:\\w.exe", [])
    node.drive.write("C:\\new", b"x")
    assert code(node.drive.rename, "C:\\new", "C:\\w.exe", replace=True) == 5


def test_a_full_disk_keeps_what_fitted(drive: Drive, faults: Faults) -> None:
    faults.disk_full_after = 4
    assert code(drive.write, "C:\\a", b"123456") == 112
    assert drive.read("C:\\a") == b"1234"
    assert drive.free("C:") == 0
    faults.disk_full_after = None
    assert drive.free("C:") == 10_000 - 4
    assert code(drive.write, "C:\\b", b"x" * 20_000) == 112


def test_a_scanner_holds_a_fresh_program_for_a_while(drive: Drive, faults: Faults, clock: Clock) -> None:
    faults.antivirus_s = 3
    drive.write("C:\\a.exe", b"MZ")
    assert code(drive.rename, "C:\\a.exe", "C:\\b.exe") == 32
    clock.advance(3.1)
    drive.rename("C:\\a.exe", "C:\\b.exe")
    assert drive.kind("C:\\b.exe") == "file"


def test_a_scanner_takes_a_program_when_its_writer_closes_it(drive: Drive, faults: Faults, clock: Clock) -> None:
    faults.antivirus_s = 3
    drive.write("C:\\a.exe", b"", closed=False)
    drive.write("C:\\a.exe", b"MZ", opened=True)
    assert code(drive.write, "C:\\a.exe", b"another writer") == 32
    clock.advance(3.1)
    assert drive.read("C:\\a.exe") == b"MZ"


def test_paths_of_260_characters_are_not_there_without_the_mark(drive: Drive) -> None:
    long = "C:\\" + "a" * 257
    assert code(drive.write, long, b"") == 3
    drive.write("C:\\" + "a" * 256, b"")
    drive.write(f"\\\\?\\{long}", b"x")
    assert drive.kind(long) is None
    assert code(drive.read, long) == code(drive.delete, long) == 3
    assert drive.read(f"\\\\?\\{long}") == b"x"
    drive.mkdir("\\\\?\\C:\\" + "d" * 200 + "\\" + "e" * 200)
    assert code(drive.mkdir, "C:\\" + "d" * 250) == 206


def test_a_file_that_is_read_only_is_neither_written_replaced_nor_deleted(drive: Drive) -> None:
    drive.write("C:\\a", b"x")
    drive.set_read_only("C:\\a", True)
    drive.write("C:\\b", b"y")
    assert code(drive.write, "C:\\a", b"z") == code(drive.delete, "C:\\a") == 5
    assert code(lambda: drive.rename("C:\\b", "C:\\a", replace=True)) == 5
    drive.rename("C:\\a", "C:\\c")
    assert drive.is_read_only("C:\\c")


def test_a_reparse_point_is_followed_inside_a_path_and_deleted_by_itself(drive: Drive) -> None:
    drive.mkdir("C:\\target")
    drive.write("C:\\target\\f", b"x")
    drive.mkdir("C:\\pods")
    drive.link("C:\\pods\\volume", "C:\\target")
    assert drive.kind("C:\\pods\\volume") == "link"
    assert drive.read("C:\\pods\\volume\\f") == b"x"
    drive.delete_tree("C:\\pods")
    assert drive.read("C:\\target\\f") == b"x"


def test_children_inherit_until_a_folder_is_protected(drive: Drive) -> None:
    drive.set_root_sddl("C:", "O:SYD:AI(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)")
    drive.mkdir("C:\\k\\sub")
    drive.write("C:\\k\\sub\\f", b"")
    assert drive.sddl("C:\\k\\sub\\f") == "O:BAD:AI(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)"
    drive.set_sddl("C:\\k", "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
    assert drive.sddl("C:\\k") == "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    assert drive.sddl("C:\\k\\sub\\f") == "O:BAD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)"


def test_what_was_not_flushed_is_zeros_after_a_loss_of_power(drive: Drive) -> None:
    drive.write("C:\\journal", b"one\n")
    drive.write("C:\\journal", b"two\n", append=True, flush=False)
    drive.write("C:\\fresh", b"abc", flush=False)
    drive.lose_power()
    assert drive.read("C:\\journal") == b"one\n\0\0\0\0"
    assert drive.read("C:\\fresh") == b"\0\0\0"
