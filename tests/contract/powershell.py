"""The .ps1 files under a real PowerShell: a program on this machine, or a Windows machine of an inventory.

Modules run as Ansible runs them: its own bootstrap and wrapper, its own Ansible.Basic (README.md).
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tests.contract.case import Tree
from tests.contract.implementations import Found, Link, Place, ReadOnly, content
from tests.contract.place_script import script
from tests.contract.provides import HERE, HOST, LINUX, WINDOWS, WINE
from tests.contract.resident import PowerShellError, Resident

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "ansible_collections.winkube.node.plugins.modules"
TIMEOUT_S = 300
"""For one start of PowerShell; under Wine the first one of a prefix takes a minute."""
TRUSTED = "@('S-1-5-18', 'S-1-5-32-544')"
"""Whose folders the scripts take for the node's own."""


def payload(module: str, arguments: Mapping[str, Any], check_mode: bool) -> tuple[str, bytes]:
    """(script for -EncodedCommand, stdin) as ansible-core sends a module. Its private API, used only here."""
    from ansible.executor.powershell.module_manifest import _create_powershell_wrapper, _get_powershell_script

    path = ROOT / "plugins" / "modules" / f"{module}.ps1"
    data = _create_powershell_wrapper(
        name=f"{COLLECTION}.{module}",
        module_data=path.read_bytes(),
        module_path=str(path),
        module_args={**arguments, "_ansible_check_mode": check_mode, "_ansible_verbosity": 3},
        environment={},
        async_timeout=0,
        become_plugin=None,
        substyle="powershell",
        task_vars={},
        profile="legacy",
    )
    return _get_powershell_script("bootstrap_wrapper.ps1").decode(), data


def trusting(stdin: bytes, sid: str) -> bytes:
    """What is sent, with one more owner whose folders are the node's own: Wine cannot give a folder another owner than
    its user. Ansible packs scripts as base64 in JSON."""

    def widened(match: re.Match[bytes]) -> bytes:
        try:
            script = base64.b64decode(match[1], validate=True).decode()
        except ValueError:
            return match[0]
        return b'"' + base64.b64encode(script.replace(TRUSTED, f"{TRUSTED[:-1]}, '{sid}')").encode()) + b'"'

    return re.sub(rb'"([A-Za-z0-9+/]{200,}={0,2})"', widened, stdin)


def last_json(text: str) -> dict[str, Any]:
    """The JSON object that a module prints, behind whatever else was printed."""
    start = text.find("{")
    if start < 0:
        raise PowerShellError(f"no JSON in the output: {text[-2000:]!r}")
    found, _ = json.JSONDecoder().raw_decode(text[start:])
    if not isinstance(found, dict):
        raise PowerShellError(f"no JSON object in the output: {text[-2000:]!r}")
    return found


class _PowerShell:
    """What both have in common: the tree is made and looked at by a small script of the tests' own."""

    name = "powershell"

    def __init__(self, root: str, state: str, words: Mapping[str, str], provides: frozenset[str]) -> None:
        self.provides = provides
        self.starts: list[float] = []
        """How long each process of a module or a runner took, in seconds; empty for a machine of an inventory."""
        self._place = Place(root, state, words)

    def execute(self, text: str) -> str:
        """Runs a script; what it prints."""
        raise NotImplementedError

    def run(self, module: str, arguments: Mapping[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
        raise NotImplementedError

    def prepare(self, tree: Tree) -> Place:
        found = {name: content(value, self._place) for name, value in tree.files.items()}
        self._ask("prepare", {"files": wire(found), "registry": tree.registry})
        return self._place

    def put(self, files: Mapping[str, bytes]) -> None:
        self._ask("put", {"files": wire(files)})

    def start(self) -> None:
        self._ask("start", {})

    def observe(self) -> Found:
        found = self._ask("observe", {})
        return Found(unwire(found["files"]), found["registry"])

    def observe_state(self) -> Mapping[str, bytes]:
        found = unwire(self._ask("state", {})["files"])
        return {name: data for name, data in found.items() if isinstance(data, bytes)}

    def runner(self) -> Mapping[str, str]:
        from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import (
            hns_text,
            runner_sha256,
            runner_text,
        )

        texts = {"hns": hns_text(), "hns_read": hns_text(reads=True)}
        return {"sha256": runner_sha256(), "text": runner_text(), **texts}

    def _ask(self, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
        return last_json(self.execute(self._request(verb, request)))

    def _request(self, verb: str, request: Mapping[str, Any]) -> str:
        """As a script."""
        whole = {"verb": verb, "root": self._place.root, "state": self._place.state, **request}
        return script(whole, registry="registry" in self.provides)


class Local(_PowerShell):
    """The PowerShell program that WINKUBE_LAB_PWSH names. On Wine its files are on drive C: of the prefix: drive Z:,
    this machine's own files, has other rules for names, attributes and access lists than Windows."""

    def __init__(self, program: str, folder: str, web: str, six: str | None, resident: Resident) -> None:
        self._program = program
        self._folder = folder
        self._resident = resident
        self._trusted = ""
        said = self.execute(
            "[Environment]::OSVersion.Platform; $PSVersionTable.PSVersion.ToString();"
            "[Diagnostics.Process]::GetCurrentProcess().MainModule.FileName"
        ).splitlines()
        windows = said[0].strip() == "Win32NT"
        self.name = f"PowerShell {said[1].strip()} ({'Windows' if windows else 'Linux'})"
        wine = windows and os.name != "nt"
        if wine:
            self._trusted = self.execute("[Security.Principal.WindowsIdentity]::GetCurrent().User.Value").strip()
        base = f"C:\\{Path(folder).name}" if wine else folder
        separator = "\\" if windows else "/"
        words = {
            "web": f"http://{web}",
            "web_host": web.partition(":")[0],
            "web_port": web.partition(":")[2],
            "web6_host": "[::1]",
            "web6_port": (six or "").rpartition(":")[2],
            "powershell": said[2].strip(),
            "shell": "C:\\Windows\\System32\\cmd.exe" if windows else "/bin/sh",
            "shell_flag": "/c" if windows else "-c",
        }
        provides = (WINE if wine else WINDOWS | HERE if windows else LINUX) - (set() if six else {"ipv6"})
        if wine:
            words |= {name: f"Z:{folder}/{name}".replace("/", "\\") for name in ("mounted", "drive")}
        super().__init__(f"{base}{separator}root", f"{base}{separator}state", words, frozenset(provides))

    @classmethod
    @contextmanager
    def started(cls, program: str, web: str, six: str | None = None) -> Iterator[Self]:
        """Checks that the program can be run, and cleans up behind it."""
        if shutil.which(program) is None:
            raise PowerShellError(f"WINKUBE_LAB_PWSH names {program}, which is no program that can be run")
        folder = tempfile.mkdtemp(prefix="winkube-contract-")
        try:
            with Resident(lambda text: command_line(program, text), TIMEOUT_S) as resident:
                local = cls(program, folder, web, six, resident)
                try:
                    yield local
                finally:
                    if local._trusted:
                        local._ask("remove", {})
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def execute(self, text: str) -> str:
        return self._resident.execute(text)

    def start(self) -> None:
        # By stdin: a command line is too short for it.
        self._start("& ([ScriptBlock]::Create([Console]::In.ReadToEnd()))", self._request("start", {}).encode())

    def run(self, module: str, arguments: Mapping[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
        text, stdin = payload(module, arguments, check_mode)
        return last_json(self._start(text, trusting(stdin, self._trusted) if self._trusted else stdin))

    def _start(self, text: str, stdin: bytes) -> str:
        began = time.monotonic()
        try:
            done = subprocess.run(
                command_line(self._program, text), input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode("utf-8", "replace") + (late.stderr or b"").decode("utf-8", "replace")
            sentence = f"{self._program} had not ended after {TIMEOUT_S} s and was ended; it had said: {said[-2000:]!r}"
            raise PowerShellError(sentence) from late
        finally:
            self.starts.append(time.monotonic() - began)
        out = done.stdout.decode("utf-8", "replace")
        if not out.strip():
            said = done.stderr.decode("utf-8", "replace")
            raise PowerShellError(f"{self._program} said nothing (exit code {done.returncode}): {said[-2000:]}")
        return out


def command_line(program: str, text: str) -> list[str]:
    """Of a PowerShell that runs a script."""
    encoded = base64.b64encode(text.encode("utf-16-le")).decode()
    return [program, "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded]


class OnHost(_PowerShell):
    """A Windows machine of an inventory, by the `ansible` command: what WINKUBE_TEST_HOST names.

    WINKUBE_TEST_INVENTORY is the inventory, if it is not that of ansible.cfg. What the cases leave is
    below C:\\winkube-contract, HKLM\\SOFTWARE\\winkube-contract and the task \\winkube\\runner.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self.name = f"the host {host}"
        base = "C:\\winkube-contract"
        windows_powershell = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
        words = {"powershell": windows_powershell, "shell": "C:\\Windows\\System32\\cmd.exe", "shell_flag": "/c"}
        super().__init__(f"{base}\\root", f"{base}\\state", words, HOST)

    @classmethod
    @contextmanager
    def reached(cls, host: str) -> Iterator[Self]:
        yield cls(host)

    def execute(self, text: str) -> str:
        answer = self._ansible("ansible.windows.win_powershell", {"script": text})
        if answer.get("failed") or answer.get("unreachable"):
            raise PowerShellError(f"{self._host}: {answer.get('msg')}")
        return "\n".join(str(line) for line in answer.get("output") or [])

    def run(self, module: str, arguments: Mapping[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
        return self._ansible(f"winkube.node.{module}", arguments, *(["--check"] if check_mode else []))

    def _ansible(self, module: str, arguments: Mapping[str, Any], *options: str) -> dict[str, Any]:
        inventory = os.environ.get("WINKUBE_TEST_INVENTORY")
        program = Path(sys.executable).with_name("ansible")
        command = [str(program), self._host, "-m", module, "-a", json.dumps(dict(arguments)), *options]
        command += ["-i", inventory] if inventory else []
        places = [os.environ.get("ANSIBLE_COLLECTIONS_PATH", ""), str(Path(sys.prefix) / "collections")]
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": ":".join(place for place in places if place),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.minimal",
        }
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment, cwd=ROOT
        )
        _, arrow, rest = done.stdout.partition("=> ")
        if not arrow:
            raise PowerShellError(f"ansible {self._host} -m {module}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return last_json(rest)


def wire(files: Mapping[str, bytes | Link | None]) -> list[dict[str, Any]]:
    """Files as the script takes them: a list of {path, kind, data}, in the order in which they are to be made."""
    wired: list[dict[str, Any]] = []
    for name, value in files.items():
        if value is None:
            wired.append({"path": name.rstrip("/"), "kind": "directory", "data": ""})
        elif isinstance(value, Link):
            wired.append({"path": name, "kind": "junction" if value.junction else "link", "data": value.target})
        else:
            read_only = {"read_only": True} if isinstance(value, ReadOnly) else {}
            wired.append({"path": name, "kind": "file", "data": base64.b64encode(value).decode(), **read_only})
    return wired


def unwire(files: list[dict[str, str]]) -> dict[str, bytes | Link | None]:
    found: dict[str, bytes | Link | None] = {}
    for item in files:
        if item["kind"] == "directory":
            found[item["path"] + "/"] = None
        elif item["kind"] == "link":
            found[item["path"]] = Link(item["data"])
        else:
            found[item["path"]] = base64.b64decode(item["data"])
    return found
