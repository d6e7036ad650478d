"""Who may write to a folder, told from its SDDL."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import security

DRIVE_ROOT = (
    "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464G:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    "(A;OICI;0x1200a9;;;BU)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)"
)
r"""The default access of C:\ on Windows Server: Authenticated Users may make folders and change their content."""


def test_authenticated_users_may_write_below_a_drives_root() -> None:
    assert security.strangers_who_write(DRIVE_ROOT) == ("AU",)
    assert security.foreign_owner(DRIVE_ROOT) is None


@pytest.mark.parametrize("sddl", [security.ADMINS_ONLY, security.ADMINS_WRITE])
def test_ours_let_nobody_else_write(sddl: str) -> None:
    assert security.strangers_who_write(sddl) == ()
    assert security.foreign_owner(sddl) is None


def test_readers() -> None:
    assert security.readers(security.ADMINS_ONLY) == ("SY", "BA")
    assert security.readers(security.ADMINS_WRITE) == ("SY", "BA", "BU")


@pytest.mark.parametrize(
    ("ace", "writes"),
    [
        ("(A;OICI;FA;;;BU)", True),
        ("(A;OICI;0x1301bf;;;BU)", True),  # Modify
        ("(A;OICI;0x1200a9;;;BU)", False),  # Read and execute
        ("(A;OICI;FR;;;WD)", False),
        ("(A;CI;DC;;;BU)", True),
        ("(A;CI;CC;;;BU)", False),  # FILE_READ_DATA
        ("(D;OICI;FA;;;BU)", False),  # a denial gives nothing
        ("(A;OICIIO;FA;;;CO)", False),  # CREATOR OWNER: applies to what a user with write access makes
        ("(A;OICI;FA;;;S-1-5-21-1-2-3-500)", True),
    ],
)
def test_which_entries_let_write(ace: str, writes: bool) -> None:
    assert bool(security.strangers_who_write(f"O:BAG:BAD:{ace}")) is writes


def test_a_user_who_made_the_folder_first_owns_it() -> None:
    assert security.foreign_owner("O:S-1-5-21-1-2-3-1001G:BUD:(A;OICI;FA;;;SY)") == "S-1-5-21-1-2-3-1001"
