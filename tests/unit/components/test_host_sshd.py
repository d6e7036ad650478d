"""Whether sshd would start again: by SID, by release, and with the lines that mend it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import sshd
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key

SSH, LOGS = r"C:\ProgramData\ssh", r"C:\ProgramData\ssh\logs"
CLOSED = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;AU)"
SOMEBODY = "S-1-5-21-1-2-3-1001"
OPENED = f"O:BAG:SYD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICI;FA;;;{SOMEBODY})"


def look(logs: str, version: str = "9.5.0.1", ssh: str = CLOSED, **service: Any) -> sshd.Sshd | None:
    image = r"C:\Windows\System32\OpenSSH\sshd.exe"
    parts: dict[str, Any] = {
        "services": True,
        service_key("sshd"): {"name": "sshd", "start": 2, "image_path": image, **service},
        file_key(image): {"exists": True, "version": version},
        file_key(SSH): {"exists": True, "kind": "directory", "sddl": ssh},
        file_key(LOGS): {"exists": True, "kind": "directory", "sddl": logs} if logs else {"exists": False},
    }
    return sshd.look(Reading(parts=parts))


@pytest.mark.parametrize(
    ("logs", "version", "ends"),
    [
        (CLOSED, "9.5.0.1", None),
        ("", "9.5.0.1", None),
        (OPENED, "9.5.0.1", True),
        (OPENED, "9.4.0.0", True),
        (OPENED, "8.1.0.1", None),
        (OPENED, "10.0.0.0", False),
        (OPENED, "", True),
    ],
)
def test_it_ends_by_its_release_where_others_may_write(logs: str, version: str, ends: bool | None) -> None:
    found = look(logs, version)
    assert (found.ends if found else None) is ends


@pytest.mark.parametrize(
    ("logs", "command"),
    [
        (OPENED, rf"icacls.exe {LOGS} /inheritance:d /remove:g *{SOMEBODY}"),
        (CLOSED.replace("0x1200a9;;;AU", "0x1301bf;;;AU"), rf"icacls.exe {LOGS} /inheritance:d /remove:g *S-1-5-11"),
        (CLOSED.replace("O:BA", f"O:{SOMEBODY}"), rf"icacls.exe {LOGS} /setowner *S-1-5-32-544"),
        (CLOSED + "(A;OICIIO;GA;;;CO)", rf"icacls.exe {LOGS} /inheritance:d /remove:g *S-1-3-0"),
    ],
    ids=["a named administrator", "ordinary users", "its owner", "creators"],
)
def test_the_command_names_sids(logs: str, command: str) -> None:
    found = look(logs)
    assert found is not None and [each.commands for each in found.folders] == [(command,)]
    assert command in found.sentence and "error 1067" in found.sentence


def test_no_sshd_and_one_that_is_disabled_are_no_trouble() -> None:
    assert sshd.look(Reading(parts={"services": True})) is None
    assert look(OPENED, start=4) is None
    assert sshd.look(Reading()) is None


@pytest.mark.parametrize("image", [r'"C:\Program Files\OpenSSH\sshd.exe" -d', r"C:\Program Files\OpenSSH\sshd.exe"])
def test_the_program_of_the_msi_is_asked_where_the_service_runs_it(image: str) -> None:
    found = look(OPENED, "8.1.0.1", image_path=image)
    assert found is not None and found.ends and found.version == "of an unknown release"
