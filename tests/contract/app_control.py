"""A node whose policy constrains PowerShell, as AppLocker and App Control do: what it answers, by what is signed.

PowerShell for Linux knows no such policy. What stands for it: a session that sets its language mode to
ConstrainedLanguage, and Ansible's wrapper with one line changed, so that it takes the machine for locked down, and with
the hashes that signed lists would have brought. Not shown by that: what Windows itself decides of a signature, Windows
PowerShell 5.1, and what other options of a policy forbid. Seen with PowerShell 7.6.9 and ansible-core 2.21.5.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible.executor.powershell

from tests.contract.powershell import ROOT, TIMEOUT_S, command_line, payload

CONSTRAIN = "$ExecutionContext.SessionState.LanguageMode = 'ConstrainedLanguage'\n"
ANSIBLE = tuple(sorted(Path(ansible.executor.powershell.__path__[0]).glob("*.ps1")))
"""What a list for ansible.builtin has of what is sent with our modules."""
OURS = tuple(sorted((ROOT / "plugins" / "modules").glob("*.ps1")))
"""What a list for this collection has."""
_END = b"\n\0\0\0\0\n"
_LOCKED_DOWN = re.compile(r"(?<=\$Script:AnsibleShouldConstrain = )if .+?\n    else \{.+?\n    \}", re.DOTALL)
_LIST_MADE = "$Script:AnsibleWrapperWarnings = "


@dataclass(frozen=True)
class Refusal:
    """A sentence in English and PowerShell's or Ansible's id of it, which is the same in every language. Without an id
    it came on standard error, and nothing else."""

    said: str
    id: str = ""

    def answer(self) -> dict[str, Any]:
        """What Ansible makes of it."""
        if self.id:
            return {"failed": True, "msg": self.said, "exception": f"+ FullyQualifiedErrorId : {self.id}\n"}
        failed = "Module result deserialization failed. See stdout/stderr for the returned output."
        return {"failed": True, "msg": failed, "module_stdout": "", "module_stderr": self.said}


NOTHING_SIGNED = Refusal("Cannot create type. Only core types are supported in this language mode.")
"""Ansible's wrapper fails at the first thing that it makes."""
NO_LIST_OF_ANSIBLE = Refusal(
    "failure during exec_wrapper: Provided script for 'module_wrapper.ps1' is not trusted to run.",
    "ScriptNotTrusted,Get-AnsibleScript",
)
"""Its wrapper is signed, but there is no signed list of the scripts that it takes over from there."""
NO_LIST_OF_OURS = Refusal(
    "Unhandled exception while executing module: Cannot set property. Property setting is supported only on core types "
    "in this language mode.",
    "PropertySetterNotSupportedInConstrainedLanguage",
)
"""Ansible runs the module constrained, which fails at the first thing that it sets."""


def constrained(text: str) -> str:
    """A script whose parts run in Constrained Language Mode, as what comes encoded does on such a node."""
    return f"{CONSTRAIN}$input | & {{\n{text}\n}}"


def locked_down(stdin: bytes, signed: Iterable[Path]) -> bytes:
    """What is sent, for a machine that is locked down, where the wrapper is signed and signed lists have these."""
    head, _, rest = stdin.partition(_END)
    bootstrap = json.loads(head)
    wrapper, once = _LOCKED_DOWN.subn("$true", bootstrap["script"])
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest().upper() for path in signed]
    added = "".join(f"$null = $Script:AnsibleTrustedHashList.Add('{each}')\n    " for each in hashes)
    if once != 1 or wrapper.count(_LIST_MADE) != 1:
        raise LookupError("ansible-core's exec_wrapper.ps1 has changed: look for what it asks of the policy now")
    bootstrap["script"] = wrapper.replace(_LIST_MADE, added + _LIST_MADE)
    return json.dumps(bootstrap).encode() + _END + rest


def call(
    program: str, folder: Path, module: str, arguments: Mapping[str, Any], signed: Iterable[Path] | None
) -> dict[str, Any]:
    """What Ansible makes of what a module answers; `signed`: what lists have, None if not even the wrapper is."""
    from ansible._internal._powershell._clixml import replace_stderr_clixml

    text, stdin = payload(module, arguments, check_mode=False)
    if signed is None:
        done = run(program, folder, constrained(text), stdin)
    else:
        done = run(program, folder, text, locked_down(stdin, signed))
    if b"{" in done.stdout:
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found
    return {
        **Refusal("").answer(),
        "module_stdout": done.stdout.decode(),
        "module_stderr": replace_stderr_clixml(done.stderr).decode(),
    }


def run(program: str, folder: Path, text: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """`folder` is where it may write what it needs for a while."""
    return subprocess.run(
        command_line(program, text),
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "TEMP": str(folder), "TMPDIR": str(folder), "NO_COLOR": "1"},
    )
