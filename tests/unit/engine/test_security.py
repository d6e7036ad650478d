"""Who may write to a folder or read a file, told from its SDDL."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import security

from .descriptors import CLOSED, INSTALLER, OPEN, OPEN_ELSEWHERE, USER, WRITTEN

DRIVE_ROOT = (
    f"O:{INSTALLER}G:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)"
)
r"""The default access of C:\ on Windows Server: Authenticated Users may make folders and change their content."""


def test_authenticated_users_may_write_below_a_drives_root() -> None:
    found = security.judge(DRIVE_ROOT)
    assert found == security.Access("", ("AU",), ("BU", "AU"))


@pytest.mark.parametrize("sddl", [security.ADMINS_ONLY, security.ADMINS_ONLY_FILE, security.ADMINS_WRITE])
def test_ours_let_nobody_else_write(sddl: str) -> None:
    assert security.judge(sddl).writers == ()
    assert security.complain(sddl) == ""


def test_readers() -> None:
    assert security.judge(security.ADMINS_ONLY) == security.Access()
    assert security.judge(security.ADMINS_WRITE).readers == ("BU",)


@pytest.mark.parametrize(
    ("ace", "writes"),
    [
        ("(A;OICI;FA;;;BU)", True),
        ("(A;OICI;0x1301bf;;;BU)", True),  # Modify
        ("(A;OICI;0x1200a9;;;BU)", False),  # Read and execute
        ("(A;OICI;0x001200A9;;;BU)", False),
        ("(A;OICI;1179817;;;BU)", False),
        ("(A;OICI;FRFX;;;WD)", False),
        ("(A;OICI;GR;;;WD)", False),
        ("(A;CI;DC;;;BU)", True),
        ("(A;CI;CC;;;BU)", False),  # FILE_READ_DATA
        ("(A;CI;CCSWWPLORC;;;BU)", False),  # Read and execute, a bit each
        ("(A;CI;RP;;;BU)", True),  # FILE_WRITE_EA
        ("(A;OICI;FA;;;" + INSTALLER + ")", False),
        ("(D;OICI;FA;;;BU)", False),  # a denial gives nothing
        ("(A;OICIIO;FA;;;CO)", False),  # CREATOR OWNER: applies to what a user with write access makes
        ("(A;OICI;FA;;;S-1-5-21-1-2-3-500)", True),
    ],
)
def test_which_entries_let_write(ace: str, writes: bool) -> None:
    assert bool(security.judge(f"O:BAG:BAD:{ace}").writers) is writes


def test_a_user_who_made_the_folder_first_owns_it() -> None:
    assert security.judge(f"O:{USER}G:BUD:(A;OICI;FA;;;SY)").owner == USER


@pytest.mark.parametrize(("sddl", "why"), (OPEN | OPEN_ELSEWHERE).values(), ids=OPEN | OPEN_ELSEWHERE)
def test_what_is_not_administrators_alone_is_told(sddl: str, why: str) -> None:
    said = security.complain(sddl, private=True)
    assert said.startswith(why)
    assert len(said) < 200


@pytest.mark.parametrize("sddl", [sddl for sddl, _ in OPEN_ELSEWHERE.values()], ids=OPEN_ELSEWHERE)
def test_what_is_not_understood_counts_as_writing(sddl: str) -> None:
    assert security.complain(sddl)


@pytest.mark.parametrize("sddl", CLOSED.values(), ids=CLOSED)
def test_what_is_administrators_alone_is_left(sddl: str) -> None:
    assert security.complain(sddl, private=True) == ""


@pytest.mark.parametrize(("bits", "printed"), WRITTEN.items(), ids=WRITTEN.values())
def test_a_right_is_judged_by_its_bits_however_windows_prints_it(bits: int, printed: str) -> None:
    found = [security.judge(f"O:BAD:P(A;;{right};;;BU)") for right in (printed, f"0x{bits:x}", f"0{bits:o}", str(bits))]
    if bits == 0x2000000:  # no right of a file
        assert all(each.writers for each in found)
    else:
        assert len(set(found)) == 1
        assert found[0].readers == ("BU",)
        assert bool(found[0].writers) is bool(bits & 0x500D0156)


def test_where_nothing_was_read_nothing_is_said() -> None:
    assert security.complain(None, private=True) == ""
