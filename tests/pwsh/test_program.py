"""Which PowerShell is taken, walked with scripts of ours that stand for it; one that is broken is never left out."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.pwsh import __main__ as lane
from tests.pwsh import program

SAYS = "#!/bin/sh\necho 7.6.9\n"
NEEDS_NO_ICU = (
    '#!/bin/sh\nif [ -z "$DOTNET_SYSTEM_GLOBALIZATION_INVARIANT" ]; then echo no ICU >&2; exit 134; fi\necho 7.6.9\n'
)
DIES = "#!/bin/sh\necho it does not work >&2\nexit 127\n"


def script(path: Path, text: str = SAYS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def archive(folder: Path, version: str = "7.6.9", text: str = SAYS, platform: str = "linux") -> Path:
    name = "pwsh" if platform == "linux" else "pwsh.exe"
    script(folder / "made" / platform / name, text)
    path = folder / f"powershell-{version}-{platform}-x64.tar.xz"
    with tarfile.open(path, "w:xz") as opened:
        opened.add(folder / "made" / platform, platform)
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINKUBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_one_that_is_named_then_the_machines_then_the_archives(tmp_path: Path, cache: Path) -> None:
    named, installed = script(tmp_path / "named" / "pwsh"), script(tmp_path / "bin" / "pwsh")
    archive(tmp_path, "7.6.9")
    newest = archive(tmp_path, "7.6.10")
    environ = {"WINKUBE_LAB_PWSH": str(named), "PATH": str(installed.parent), "WINKUBE_PWSH_ARCHIVES": str(tmp_path)}
    found = program.find("linux", environ)
    assert found == program.PowerShell("linux", named, "7.6.9", "WINKUBE_LAB_PWSH")
    del environ["WINKUBE_LAB_PWSH"]
    assert program.find("linux", environ) == program.PowerShell("linux", installed, "7.6.9", "PATH")
    environ["PATH"] = str(tmp_path)
    unpacked = cache / "powershell-7.6.10-linux-x64" / "linux" / "pwsh"
    assert program.find("linux", environ) == program.PowerShell("linux", unpacked, "7.6.9", str(newest))
    newest.write_text("not looked at again")
    assert program.find("linux", environ) is not None
    assert program.find("linux", {"PATH": str(tmp_path), "WINKUBE_PWSH_ARCHIVES": str(cache)}) is None


def test_one_for_windows_is_a_folder(tmp_path: Path, cache: Path) -> None:
    archive(tmp_path, platform="windows")
    found = program.find("windows", {"WINKUBE_PWSH_ARCHIVES": str(tmp_path)})
    assert found is not None and found.path == cache / "powershell-7.6.9-windows-x64" / "windows"
    assert found.version == "7.6.9"
    with pytest.raises(program.LaneError, match=r"WINKUBE_LAB_PWSH_WINDOWS\) has no pwsh\.exe"):
        program.find("windows", {"WINKUBE_LAB_PWSH_WINDOWS": str(tmp_path)})


def test_a_machine_without_libicu_is_no_reason_to_go_without(tmp_path: Path) -> None:
    path = script(tmp_path / "pwsh", NEEDS_NO_ICU)
    found = program.find("linux", {"WINKUBE_LAB_PWSH": str(path)})
    assert found is not None and found.environment == {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}


def test_one_that_is_there_and_cannot_be_used_is_an_error(tmp_path: Path, cache: Path) -> None:
    found = archive(tmp_path, text=DIES)
    environ = {"PATH": "", "WINKUBE_PWSH_ARCHIVES": str(tmp_path)}
    with pytest.raises(program.LaneError, match=r"cannot be started \(exit code 127\): it does not work"):
        program.find("linux", environ)
    found.rename(tmp_path / "powershell-7.7.0-linux-x64.tar.xz").write_bytes(found.name.encode())
    with pytest.raises(program.LaneError, match=r"powershell-7\.7\.0-linux-x64\.tar\.xz cannot be unpacked"):
        program.find("linux", environ)
    assert not (cache / "powershell-7.7.0-linux-x64").exists(), "a folder of that name is whole"
    with pytest.raises(program.LaneError, match="cannot be started"):
        program.find("linux", {"WINKUBE_LAB_PWSH": str(tmp_path / "none")})


def test_without_one_the_lane_is_left_out_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (*program.VARIABLES.values(), program.HOST):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("WINKUBE_PWSH_ARCHIVES", str(tmp_path))
    assert program.missing() == "a run of its own: make pwsh"
    assert lane.main([]) == 0
    assert "lane pwsh: left out: no PowerShell for Linux" in capsys.readouterr().out
    archive(tmp_path, text=DIES)
    assert lane.main([]) == 1
    assert "cannot be started" in capsys.readouterr().out
