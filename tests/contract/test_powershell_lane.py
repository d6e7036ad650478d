"""The way to a real PowerShell, walked with programs that stand for `pwsh` and `ansible`: command lines, what is sent,
what becomes of an answer, of silence and of a failure. What PowerShell itself does is for lane pwsh."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.case import Case, Tree, load_cases
from tests.contract.check import failures
from tests.contract.implementations import Link
from tests.contract.powershell import Local, OnHost
from tests.contract.resident import PowerShellError

# Keeps what it is given; makes and looks at trees as the script of the tests would; answers modules with a file's text.
FAKE = r"""#!@PYTHON@
import base64, gzip, json, re, shutil, sys
from pathlib import Path
folder = Path("@FOLDER@")
text = base64.b64decode(sys.argv[sys.argv.index("-EncodedCommand") + 1]).decode("utf-16-le")

def note(stdin):
    with (folder / "calls").open("a") as calls:
        calls.write(json.dumps({"argv": sys.argv[1:], "text": text, "stdin": stdin}) + "\n")

def files(root):
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            yield {"path": name, "kind": "link", "data": ""}
        elif path.is_dir():
            yield {"path": name, "kind": "directory", "data": ""}
        else:
            yield {"path": name, "kind": "file", "data": base64.b64encode(path.read_bytes()).decode()}

def said(stdin):
    # What the one that stays answers a script.
    if "OSVersion" in stdin:
        return "@SYSTEM@\n7.5.0\n/opt/pwsh"
    if "WindowsIdentity" in stdin:
        return "S-1-5-21-1-2-3-1000"
    packed = re.search(r"FromBase64String\('([^']+)'\)", stdin)[1]
    request = json.loads(gzip.decompress(base64.b64decode(packed)))
    root = Path(request["root"])
    if request["verb"] in {"prepare", "remove"}:
        shutil.rmtree(root, ignore_errors=True)
    if request["verb"] != "remove":
        root.mkdir(parents=True, exist_ok=True)
    for file in request.get("files", []):
        path = root / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if file["kind"] == "directory":
            path.mkdir()
        elif file["kind"] == "link":
            path.symlink_to(file["data"])
        elif "text" in file:
            path.write_bytes(file["text"].encode())
        else:
            path.write_bytes(base64.b64decode(file["data"]))
    return "WARNING: a word before the answer\n" + json.dumps({"files": list(files(root)), "registry": {}})

if "WriteLine('ready')" not in text:
    note(sys.stdin.buffer.read().decode())
    sys.stdout.write((folder / "answer").read_text())
    sys.stderr.write((folder / "complaint").read_text())
    sys.exit(3)
if (folder / "silent").exists():
    sys.stderr.write("no console")
    sys.exit(0)
print("ready", flush=True)
for line in sys.stdin:
    stdin = base64.b64decode(line).decode()
    note(stdin)
    if "fails" in stdin:
        print("-" + base64.b64encode(b"it failed at line 1").decode(), flush=True)
    else:
        print("+" + base64.b64encode(said(stdin).encode()).decode(), flush=True)
"""

ANSIBLE = r"""#!@PYTHON@
import json, os, sys
from pathlib import Path
folder = Path("@FOLDER@")
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps({"argv": sys.argv[1:], "collections": os.environ["ANSIBLE_COLLECTIONS_PATH"]}) + "\n")
sys.stdout.write((folder / "answer").read_text())
"""


def program(folder: Path, name: str, text: str, **words: str) -> Path:
    """A program of the test's own, with its answer and its complaint empty."""
    for word, value in {"PYTHON": sys.executable, "FOLDER": str(folder), **words}.items():
        text = text.replace(f"@{word}@", value)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    for file in ("answer", "complaint"):
        (folder / file).write_text("")
    return path


def calls(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


def case(folder: Path, entry: Mapping[str, Any]) -> Case:
    cases = folder / "cases"
    cases.mkdir(exist_ok=True)
    (cases / "x.yml").write_text(yaml.safe_dump({"about": "x", "cases": [entry]}))
    return load_cases(cases)[0]


def test_a_case_goes_to_a_powershell_on_linux_and_back(tmp_path: Path) -> None:
    fake = program(tmp_path, "pwsh", FAKE, SYSTEM="Unix")
    (tmp_path / "answer").write_text('{"changed": false, "parts": {"it": {"exists": true, "size": 1}}}\n')
    asked = {
        "name": "q",
        "query": {"op": "file", "path": "{root}\\d\\a"},
        "before": {"files": {"d/": None, "d/a": "x"}},
    }
    with Local.started(str(fake), "127.0.0.1:8") as local:
        assert local.name == "PowerShell 7.5.0 (Linux)"
        assert local.provides == {"shell", "web", "linux", "links", "letter-case"}
        assert failures(case(tmp_path, {**asked, "value": {"size": 1}}), local) == []
        assert failures(case(tmp_path, {**asked, "value": {"size": 2}}), local) == ["value.size: wanted 2, found 1"]
        root = local.prepare(Tree({})).root
    assert all(call["argv"][:3] == ["-NoProfile", "-NonInteractive", "-EncodedCommand"] for call in calls(tmp_path))
    (sent, *_) = [call["stdin"] for call in calls(tmp_path) if "WriteLine('ready')" not in call["text"]]
    assert "winkube.node.plugins.modules.node_probe" in sent
    assert f"{root}/d/a" in sent
    assert not Path(root).exists()


def test_a_tree_on_linux_is_made_and_found_again(tmp_path: Path) -> None:
    fake = program(tmp_path, "pwsh", FAKE, SYSTEM="Unix")
    with Local.started(str(fake), "127.0.0.1:8") as local:
        local.prepare(Tree({"d/": None, "d/f": {"base64": base64.b64encode(b"\0\xff").decode()}, "l": {"link": "d"}}))
        assert local.observe().files == {"d/": None, "d/f": b"\0\xff", "l": Link()}


def test_windows_on_wine_has_its_files_on_its_own_drive(tmp_path: Path) -> None:
    fake = program(tmp_path, "pwsh", FAKE, SYSTEM="Win32NT")
    (tmp_path / "answer").write_text("{}")
    with Local.started(str(fake), "127.0.0.1:8") as local:
        assert local.name == "PowerShell 7.5.0 (Windows)"
        assert local.provides == {"shell", "web", "windows", "registry", "mounted", "drive"}
        assert re.fullmatch(r"C:\\winkube-contract-\w+\\root", local._place.root)
        assert local._place.words["shell"] == "C:\\Windows\\System32\\cmd.exe"
        assert local._place.words["mounted"].startswith("Z:\\")
        local.run("node_apply", {"batch": "x"})
    *_, sent, removed = calls(tmp_path)
    packed = re.search(r"FromBase64String\('([^']+)'\)", removed["stdin"])
    assert packed and json.loads(gzip.decompress(base64.b64decode(packed[1])))["verb"] == "remove"
    texts = [
        base64.b64decode(item).decode("utf-8", "replace")
        for item in re.findall(r'"([A-Za-z0-9+/=]{200,})"', sent["stdin"])
    ]
    widened = [line for text in texts for line in text.splitlines() if "@('S-1-5-18'" in line]
    assert len(widened) == 2
    assert all("'S-1-5-32-544', 'S-1-5-21-1-2-3-1000')" in line for line in widened)


def test_a_start_that_does_not_end_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = program(tmp_path, "pwsh", FAKE, SYSTEM="Unix")
    with Local.started(str(fake), "127.0.0.1:8") as local:
        monkeypatch.setattr("tests.contract.powershell.TIMEOUT_S", 0.001)
        with pytest.raises(PowerShellError, match=r"pwsh had not ended after 0\.001 s and was ended"):
            local.run("node_probe", {"request": "{}"})


def test_silence_is_told_with_exit_code_and_complaint(tmp_path: Path) -> None:
    fake = program(tmp_path, "pwsh", FAKE, SYSTEM="Unix")
    (tmp_path / "complaint").write_text("Cannot find type [Ansible.Basic].")
    with (
        Local.started(str(fake), "127.0.0.1:8") as local,
        pytest.raises(PowerShellError, match=r"exit code 3.*Cannot find type"),
    ):
        local.run("node_probe", {"request": "{}"})


def test_the_one_that_stays_says_what_it_cannot_do(tmp_path: Path) -> None:
    fake = program(tmp_path, "pwsh", FAKE, SYSTEM="Unix")
    (tmp_path / "answer").write_text("{}")
    with Local.started(str(fake), "127.0.0.1:8") as local:
        with pytest.raises(PowerShellError, match=r"of the tests' own failed: it failed at line 1"):
            local.execute("fails")
        assert local.execute("OSVersion").startswith("Unix"), "it goes on"
        assert local.starts == [], "no module has run in it"
        local.start()
        assert len(local.starts) == 1, "a runner is a process of its own"
    (tmp_path / "silent").touch()
    with (
        pytest.raises(PowerShellError, match=r"pwsh said nothing \(exit code 0\): no console"),
        Local.started(str(fake), "127.0.0.1:8"),
    ):
        pass


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(PowerShellError, match="WINKUBE_LAB_PWSH names /no/pwsh"), Local.started("/no/pwsh", "x:1"):
        pass


def test_a_host_is_asked_by_the_ansible_beside_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "ansible", ANSIBLE)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("WINKUBE_TEST_INVENTORY", "inventory.yml")
    (tmp_path / "answer").write_text('win1 | SUCCESS => {\n "changed": false,\n "parts": {}\n}\n')
    with OnHost.reached("win1") as host:
        assert host.run("node_probe", {"request": "{}"}, check_mode=True)["parts"] == {}
        (tmp_path / "answer").write_text('win1 | CHANGED => {"output": ["{\\"files\\": [],", "\\"registry\\": {}}"]}')
        assert host.observe().files == {}
    probe, observe = calls(tmp_path)
    assert probe["argv"] == [
        "win1",
        "-m",
        "winkube.node.node_probe",
        "-a",
        '{"request": "{}"}',
        "--check",
        "-i",
        "inventory.yml",
    ]
    assert observe["argv"][:3] == ["win1", "-m", "ansible.windows.win_powershell"]
    assert str(Path(sys.prefix) / "collections") in probe["collections"].split(os.pathsep)


def test_a_host_that_ansible_does_not_know_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "ansible", ANSIBLE)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "answer").write_text("[WARNING]: Could not match supplied host pattern, ignoring: win9\n")
    with OnHost.reached("win9") as host, pytest.raises(PowerShellError, match=r"ansible win9.*Could not match"):
        host.run("node_probe", {"request": "{}"})
