"""Reads what Ansible sends when it runs a PowerShell module: the command line and the manifest on stdin.

Ansible starts `powershell ... -EncodedCommand <base64 of UTF-16>`; the decoded script is its bootstrap wrapper. On
stdin comes one JSON document (exec_wrapper and its parameters), a line of four NUL characters, and a second JSON
document: the scripts, and the actions that use them. From 2.22 the second one is base64 of gzip where that is shorter.

Source: ansible-core 2.19.14, 2.21.5 and 2.22.0rc1, executor/powershell/module_manifest.py (`_get_bootstrap_input`,
`_create_powershell_wrapper`, `_bootstrap_powershell_script`) and plugins/shell/powershell.py.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEPARATOR = b"\n\0\0\0\0\n"
BOOTSTRAP = "bootstrap_wrapper.ps1"
MODULE_WRAPPER = "module_wrapper.ps1"
# 2.19 sends some of its scripts through ShellModule._encode_script, which adds these two lines around them.
_STRICT = "Set-StrictMode -Version Latest"
_KEEP_EXIT_CODE = re.compile(r"^If \(-not \$\?\) \{ If \(Get-Variable LASTEXITCODE .*\}$")
_ENCODED = re.compile(
    r"""^\s*(?:&\s+)?['"]?(?P<program>(?:[A-Za-z]:\\[^'"]*\\)?(?:powershell|pwsh)(?:\.exe)?)['"]?\s"""
    r"""(?P<options>.*?)-EncodedCommand\s+['"]?(?P<script>[A-Za-z0-9+/=]+)['"]?(?P<rest>.*)$""",
    re.IGNORECASE | re.DOTALL,
)
_SCRIPT_NAME = re.compile(r"\.(ps1|psm1|cs)$")
_COLLECTION_MODULE = re.compile(r"^ansible_collections\.(\w+)\.(\w+)\.plugins\.modules\.(\w+)$")


class PayloadError(Exception):
    """The bytes are not what Ansible's wrapper expects; the text says what was found instead.

    digests: those of the scripts of Ansible that could be read all the same.
    """

    def __init__(self, text: str, digests: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.digests = digests or {}


@dataclass(frozen=True)
class EncodedCommand:
    """A decoded `powershell -EncodedCommand`: the script and what followed it on the command line."""

    program: str
    script: str
    rest: str = ""


@dataclass(frozen=True)
class Payload:
    """One request of Ansible to its wrapper.

    `wrapper` is the script of the last action (`module_wrapper.ps1`, `powershell_mkdtemp.ps1`, ...), `params` its
    parameters; `around` names the actions before it (become, async). `digests` maps each script of Ansible itself to
    its digest. `data` is what followed on stdin for the script itself. `blocks` are all scripts, as PowerShell compiles
    them.
    """

    wrapper: str
    params: Mapping[str, Any]
    around: tuple[str, ...]
    digests: Mapping[str, str]
    data: bytes = b""
    blocks: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Full name of the module, `namespace.collection.name`, or "" when this is no module."""
        script = str(self.params.get("Script", ""))
        name = script.removesuffix(".ps1")
        match = _COLLECTION_MODULE.match(name)
        if match:
            return ".".join(match.groups())
        return name.removeprefix("ansible.modules.").removeprefix("ansible.legacy.")

    @property
    def arguments(self) -> dict[str, Any]:
        """The module's arguments with Ansible's own `_ansible_*` ones."""
        if "ArgumentJSON" in self.params:  # from 2.22
            return _json_object(str(self.params["ArgumentJSON"]).encode(), "ArgumentJSON")
        for variable in self.params.get("Variables", ()):
            if variable.get("Name") == "complex_args":
                value = variable.get("Value")
                return dict(value) if isinstance(value, dict) else {}
        return {}

    @property
    def core_version(self) -> str:
        """The version of ansible-core that the payload names, or "" (only modules carry it)."""
        return str(self.arguments.get("_ansible_version", ""))


def script_digest(text: str) -> str:
    """SHA-256 (hex) of a script, its lines stripped and the empty ones left out.

    Ansible 2.19 strips the bootstrap wrapper's lines before it sends it, 2.21 does not: the digest is the same.
    """
    lines = [line.strip() for line in text.splitlines()]
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()


def bootstrap_digest(script: str) -> str:
    """Digest of the script of a command line, without the strict mode and exit code lines that 2.19 adds."""
    return script_digest("\n".join(own_lines(script)))


def own_lines(script: str) -> list[str]:
    """The lines of a command line's script that are not empty, without those that 2.19 adds."""
    lines = [line.strip() for line in script.splitlines() if line.strip()]
    if lines and lines[0] == _STRICT:
        lines = lines[1:]
    if lines and _KEEP_EXIT_CODE.match(lines[-1]):
        lines = lines[:-1]
    return lines


def parse_command(command: str) -> EncodedCommand | None:
    """The decoded script of a `powershell -EncodedCommand` command line, or None for any other command."""
    match = _ENCODED.match(command)
    if not match:
        return None
    try:
        script = base64.b64decode(match["script"], validate=True).decode("utf-16-le")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return EncodedCommand(program=match["program"], script=script, rest=match["rest"].strip())


def parse_payload(command: EncodedCommand, stdin: bytes) -> Payload:
    """Put command line and stdin together.

    Raises `PayloadError` with a sentence when either does not have the form that Ansible's wrapper reads.
    """
    digests = {BOOTSTRAP: bootstrap_digest(command.script)}
    try:
        return _parse(stdin, digests)
    except PayloadError as error:
        raise PayloadError(str(error), digests) from error


def _parse(stdin: bytes, digests: dict[str, str]) -> Payload:
    """Adds to `digests` as it goes, so that they are known when it fails on the way."""
    head, separator, tail = stdin.partition(SEPARATOR)
    if not separator:
        raise PayloadError(f"the line of four NUL characters is missing in {len(stdin)} bytes of stdin")
    start = _json_object(head, "the first document")
    for key, kind in (("name", str), ("script", str), ("params", dict)):
        if not isinstance(start.get(key), kind):
            raise PayloadError(f"the first document has no {key!r} of type {kind.__name__}")
    digests[f"{start['name']}.ps1"] = script_digest(start["script"])
    # _bootstrap_powershell_script ends the manifest with another separator when data for the script follows.
    tail, _, data = tail.partition(SEPARATOR)
    manifest = _json_object(_decompressed(tail) if start["params"].get("DecompressInput") else tail, "the manifest")
    scripts, actions = manifest.get("scripts"), manifest.get("actions")
    if not isinstance(scripts, dict) or not isinstance(actions, list) or not actions:
        raise PayloadError("the manifest has no 'scripts' object or no 'actions' list")
    for action in actions:
        if (
            not isinstance(action, dict)
            or action.get("name") not in scripts
            or not isinstance(action.get("params"), dict)
        ):
            raise PayloadError(f"the action {action!r:.80} names no script of the manifest")
    last = actions[-1]
    for name, info in scripts.items():
        if is_ansibles_own(name, last["params"]):
            digests[name] = _decoded_digest(name, info)
    return Payload(
        wrapper=last["name"],
        params=last["params"],
        around=tuple(action["name"] for action in actions[:-1]),
        digests=digests,
        data=data,
        blocks=(start["script"], *(base64.b64decode(info["script"]).decode("utf-8-sig") for info in scripts.values())),
    )


def is_ansibles_own(name: str, params: Mapping[str, Any]) -> bool:
    """Is this script part of ansible-core: no module, nothing out of a collection, no list of signatures?"""
    return (
        name != params.get("Script") and not name.startswith("ansible_collections.") and bool(_SCRIPT_NAME.search(name))
    )


def _json_object(data: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise PayloadError(f"{what} on stdin is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise PayloadError(f"{what} on stdin is no JSON object")
    return value


def _decompressed(data: bytes) -> bytes:
    try:
        return gzip.decompress(base64.b64decode(data, validate=True))
    except (binascii.Error, OSError, EOFError, zlib.error) as error:
        raise PayloadError(f"the manifest on stdin is no base64 of gzip ({error})") from error


def _decoded_digest(name: str, info: Any) -> str:
    try:
        return script_digest(base64.b64decode(info["script"]).decode("utf-8-sig"))
    except (TypeError, KeyError, ValueError) as error:
        raise PayloadError(f"the script {name} of the manifest cannot be decoded ({error})") from error
