"""The way to a PowerShell for Windows on Wine, walked with a program of ours that stands for pwsh.exe."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contract.powershell import Local
from tests.contract.resident import PowerShellError
from tests.wine import pwsh

FAKE = """package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

func main() {
	// As PowerShell does, it says nothing without a console whose output buffer can be asked for its size.
	// What is started from this side without the launcher cannot open CONIN$; with CREATE_NEW_CONSOLE both can be
	// opened, and there is no buffer.
	_, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, second := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil || second != nil || os.Getenv("SILENT") != "" {
		return
	}
	var info [22]byte
	ask := syscall.NewLazyDLL("kernel32.dll").NewProc("GetConsoleScreenBufferInfo")
	if there, _, _ := ask.Call(out.Fd(), uintptr(unsafe.Pointer(&info[0]))); there == 0 {
		return
	}
	given, _ := io.ReadAll(os.Stdin)
	if err := os.WriteFile("C:\\\\uml\u00e4ut", nil, 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%d arguments, %d bytes, %q\\n", len(os.Args)-1, len(given), os.Args[len(os.Args)-1])
	os.Exit(7)
}
"""


@pytest.mark.lane("wine")
def test_streams_arguments_and_exit_code_pass_through_the_launcher(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("lane wine: go is not on PATH")
    source, folder, work = tmp_path / "source", tmp_path / "folder", tmp_path / "work"
    for each in (source, folder, work):
        each.mkdir()
    (source / "main.go").write_text(FAKE, encoding="utf-8")
    (source / "go.mod").write_text("module winkube.invalid/fake\n\ngo 1.21\n", encoding="utf-8")
    environment = {**os.environ, "GOOS": "windows", "GOARCH": "amd64", "CGO_ENABLED": "0", "GOWORK": "off"}
    command = ["go", "build", "-buildvcs=false", "-o", str(folder / "pwsh.exe"), "."]
    subprocess.run(command, cwd=source, env=environment, check=True, timeout=pwsh.BUILD_S)
    with pwsh.started(folder, work) as program:
        line = [str(program), "-NoProfile", "a b \u00e4"]
        done = subprocess.run(line, input=b"12345", capture_output=True, timeout=120, check=False)
        assert (done.returncode, done.stdout.decode().strip()) == (7, '2 arguments, 5 bytes, "a b \u00e4"')
        assert (work / "prefix" / "drive_c" / "uml\u00e4ut").exists()
        text = program.read_text(encoding="utf-8")
        program.write_text(text.replace("exec env -i", "exec env -i SILENT=1"), encoding="utf-8")
        with pytest.raises(PowerShellError, match=r"said nothing \(exit code 0\)"), Local.started(str(program), "x:1"):
            pass
    assert "mscoree" not in pwsh.OVERRIDES


def test_what_the_lane_lacks_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pwsh.LaneError, match=r"there is no pwsh\.exe in it"), pwsh.started(tmp_path, tmp_path):
        pass
    with pytest.raises(pwsh.LaneError, match=r"has the locale C\.utf8"):
        pwsh.with_locale(tmp_path / "root", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pwsh.LaneError, match="go is not on PATH"):
        pwsh.build(tmp_path)


def test_the_locale_comes_from_this_machine_once(tmp_path: Path) -> None:
    (tmp_path / "machine" / pwsh.LOCALE).mkdir(parents=True)
    for _ in range(2):
        pwsh.with_locale(tmp_path / "root", tmp_path / "machine")
    assert (tmp_path / "root" / pwsh.LOCALE).is_dir()
