"""Answers a command line of SSH or WinRM: an Ansible payload, one of a few plain commands, or a refusal by name."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.lab.machine import image
from tests.lab.machine.errors import NotSimulated, WinError
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Reply, Session
from tests.lab.server import modules
from tests.lab.server.ledger import Ledger
from tests.lab.server.payload import (
    MODULE_WRAPPER,
    EncodedCommand,
    Payload,
    PayloadError,
    own_lines,
    parse_command,
    parse_payload,
)
from tests.lab.server.recordings import Recording, objection

# CreateProcess takes no longer command line, and sshd passes all of it to the shell. Source: Microsoft, CreateProcessW.
COMMAND_LINE_LIMIT = 32767
SYSTEM_HOME = "C:\\Windows\\system32\\config\\systemprofile"
# 2.19 without pipelining. Source: ansible-core 2.19.14 plugins/shell/powershell.py, build_module_command.
_FILE_PAYLOAD = re.compile(r"^type .+ \| PowerShell .*-EncodedCommand ", re.IGNORECASE | re.DOTALL)
# How Ansible removes its own temporary folder. Source: ansible-core 2.21.5 plugins/shell/powershell.py, remove.
_REMOVE = re.compile(r"^Remove-Item (?:'(?P<quoted>(?:[^']|'')+)'|(?P<bare>[^' ]+)) -Force(?: -Recurse)?;?$")


@dataclass(frozen=True)
class Request:
    """One request: a command line, and stdin where the command reads it."""

    node: SimulatedNode
    session: Session
    command: str
    stdin: bytes = b""


def reads_stdin(command: str) -> bool:
    """Does the command read stdin to its end? Ansible leaves stdin open where it sends nothing."""
    encoded = parse_command(command)
    return encoded is not None and not encoded.rest and "$input" in encoded.script.lower()


def respond(request: Request, ledger: Ledger, recordings: tuple[Recording, ...]) -> Reply:
    """Answer a request. Raises what the twin raises: SessionKilled, PowerLost."""
    if len(request.command) > COMMAND_LINE_LIMIT:
        return _error(f"The command line has {len(request.command)} characters; Windows takes {COMMAND_LINE_LIMIT}.", 1)
    ledger.log(request.node.name, request.command)
    try:
        encoded = parse_command(request.command)
        if encoded is None and _FILE_PAYLOAD.match(request.command):
            return _not_pipelined(request)
        if encoded is None:
            ledger.command(request.node.name, request.command)
            return _plain(request)
        return _encoded(request, encoded, ledger, recordings)
    except NotSimulated as error:
        return _error(f"The simulated node {request.node.name}: {error}", 1)


def _encoded(request: Request, encoded: EncodedCommand, ledger: Ledger, recordings: tuple[Recording, ...]) -> Reply:
    ledger.log(request.node.name, encoded.script)
    if encoded.rest:
        return _not_pipelined(request)
    try:
        payload = parse_payload(encoded, request.stdin)
    except PayloadError as error:
        if not request.stdin:
            return _script(request, own_lines(encoded.script), ledger)
        ledger.command(request.node.name, f"-EncodedCommand {encoded.script.strip():.200}")
        unknown = objection(error.digests, "", recordings)
        return _module_failure(unknown or f"The lab cannot read this payload: {error}.")
    reason = objection(payload.digests, payload.core_version, recordings)
    if reason is not None:
        return _module_failure(reason)
    return _payload(request, payload, ledger)


def _payload(request: Request, payload: Payload, ledger: Ledger) -> Reply:
    ledger.log(request.node.name, *payload.blocks)
    if payload.around:
        return _module_failure(
            f"The simulated node {request.node.name} runs no {', '.join(payload.around)}: "
            "become and async are not simulated."
        )
    if payload.wrapper != MODULE_WRAPPER:
        ledger.command(request.node.name, payload.wrapper)
        return _own_script(request, payload)
    if not payload.params.get("ForModule"):
        script = payload.params.get("Script")
        return _module_failure(f"The simulated node {request.node.name} does not run the script {script}.")
    ledger.module(request.node.name, payload.module)
    result = modules.answer(
        request.node, request.session, payload.module, payload.arguments, payload.params.get("Environment")
    )
    return _module_result(result)


def _not_pipelined(request: Request) -> Reply:
    return _module_failure(
        f"The simulated node {request.node.name} answers pipelined payloads only; this one lies in a file on the node "
        "(ANSIBLE_KEEP_REMOTE_FILES, or a connection without pipelining). Unset it for the lab."
    )


def _script(request: Request, lines: list[str], ledger: Ledger) -> Reply:
    """A script with nothing on stdin: what the winrm plugin makes of a plain command, and how Ansible cleans up."""
    first = lines[0] if lines else ""
    plain = len(lines) == 1 and first.lower().removesuffix(".exe") in PLAIN
    ledger.command(request.node.name, first if plain else f"-EncodedCommand {first:.200}")
    if plain:
        return _plain(replace(request, command=first))
    remove = _REMOVE.match(first) if len(lines) == 1 else None
    if remove is None:
        return _error(
            f"The simulated node {request.node.name} does not run PowerShell scripts; it begins: {first:.120}", 1
        )
    path = (remove["bare"] or remove["quoted"].replace("''", "'")).removesuffix("\\.")
    with request.node.lock:
        if request.node.drive.exists(path):
            request.node.drive.delete_tree(path)
    return Reply()


def _own_script(request: Request, payload: Payload) -> Reply:
    """The scripts that Ansible runs beside modules."""
    user = request.session.user
    home = SYSTEM_HOME if user == "SYSTEM" else f"C:\\Users\\{user}"
    if payload.wrapper == "powershell_mkdtemp.ps1":
        temporary = "C:\\Windows\\TEMP" if user == "SYSTEM" else f"{home}\\AppData\\Local\\Temp"
        folder = str(payload.params["Directory"]).replace("%TEMP%", temporary)
        path = f"{folder}\\{payload.params['Name']}"
        with request.node.lock:
            request.node.drive.mkdir(path)
        return _text(path)
    if payload.wrapper == "powershell_expand_user.ps1":
        path = str(payload.params["Path"])
        return _text(home + path[1:] if path == "~" or path.startswith("~\\") else path)
    if payload.wrapper in ("winrm_put_file.ps1", "psrp_put_file.ps1"):
        return _put_file(request, str(payload.params["Path"]), payload.data)
    if payload.wrapper == "winrm_fetch_file.ps1":
        return _fetch_file(request, payload)
    if payload.wrapper == "psrp_fetch_file.ps1":
        return _fetch_whole_file(request, payload)
    raise NotSimulated(f"{payload.wrapper} of ansible-core is not simulated.")


def _put_file(request: Request, path: str, lines: bytes) -> Reply:
    """Lines of base64 on stdin become the file; its SHA-1 goes back."""
    try:
        content = b"".join(base64.b64decode(line, validate=True) for line in lines.split())
        with request.node.lock:
            request.node.drive.write(path, content)
    except (binascii.Error, WinError) as error:
        return _error(f"{path}: {error}", 1)
    return _text(json.dumps({"sha1": hashlib.sha1(content, usedforsecurity=False).hexdigest()}))


def _fetch_file(request: Request, payload: Payload) -> Reply:
    """One piece of a file as base64; nothing at its end, `[DIR]` for a folder."""
    path, size, offset = str(payload.params["Path"]), payload.params["BufferSize"], payload.params["Offset"]
    with request.node.lock:
        kind = request.node.drive.kind(path)
        if kind == "directory":
            return _text("[DIR]")
        if kind is None:
            return _error(f"{path} does not exist", 1)
        piece = request.node.drive.read(path)[offset : offset + size]
    return _text(base64.b64encode(piece).decode()) if piece else Reply()


def _fetch_whole_file(request: Request, payload: Payload) -> Reply:
    """`[FILE]` and its pieces as base64, a line each; `[DIR]` for a folder."""
    path, size = str(payload.params["Path"]), payload.params["BufferSize"]
    with request.node.lock:
        kind = request.node.drive.kind(path)
        if kind == "directory":
            return _text("[DIR]")
        if kind is None:
            return _error(f"{path} does not exist", 1)
        content = request.node.drive.read(path)
    pieces = (content[begin : begin + size] for begin in range(0, len(content), size))
    return _text("\r\n".join(["[FILE]", *(base64.b64encode(piece).decode() for piece in pieces)]))


PLAIN: dict[str, Callable[[Request], str]] = {
    "hostname": lambda request: image.computer_name(request.node.registry),
    "whoami": lambda request: f"{request.node.name}\\{request.session.user}".lower(),
}


def _plain(request: Request) -> Reply:
    command = request.command.strip()
    answer = PLAIN.get(command.lower().removesuffix(".exe"))
    if answer is not None:
        return _text(answer(request))
    known = ", ".join(sorted(PLAIN))
    return _error(
        f"The simulated node {request.node.name} has no shell: it answers Ansible's modules and the commands {known}, "
        f"not: {command:.120}",
        1,
    )


def interactive(node: SimulatedNode) -> Reply:
    """The answer to a request for a shell."""
    return _error(
        f"{node.name} is a simulated Windows node; it has no interactive shell. "
        f"Look at it with: python -m tests.lab show {node.name}",
        1,
    )


def _text(line: str) -> Reply:
    return Reply(stdout=line.encode() + b"\r\n")


def _error(sentence: str, status: int) -> Reply:
    return Reply(stderr=sentence.encode() + b"\r\n", exit_status=status)


def _module_failure(sentence: str) -> Reply:
    return _module_result(modules.failure(sentence))


def _module_result(result: dict[str, object]) -> Reply:
    status = 1 if result.get("failed") else 0
    return Reply(stdout=json.dumps(result, ensure_ascii=False).encode() + b"\r\n", exit_status=status)
