"""Answers one SSH exec request: an Ansible payload, one of a few plain commands, or a refusal that names what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.lab.machine import image
from tests.lab.machine.errors import NotSimulated
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.server import modules
from tests.lab.server.ledger import Ledger
from tests.lab.server.payload import (
    MODULE_WRAPPER,
    EncodedCommand,
    Payload,
    PayloadError,
    parse_command,
    parse_payload,
)
from tests.lab.server.recordings import Recording, objection

# CreateProcess takes no longer command line, and sshd passes all of it to the shell. Source: Microsoft, CreateProcessW.
COMMAND_LINE_LIMIT = 32767
# 2.19 without pipelining. Source: ansible-core 2.19.14 plugins/shell/powershell.py, build_module_command.
_FILE_PAYLOAD = re.compile(r"^type .+ \| PowerShell .*-EncodedCommand ", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Reply:
    """What comes back on the channel."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_status: int = 0


@dataclass(frozen=True)
class Request:
    """One exec request: a command line, and stdin where the command reads it."""

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
    if encoded.rest:
        return _not_pipelined(request)
    try:
        payload = parse_payload(encoded, request.stdin)
    except PayloadError as error:
        ledger.command(request.node.name, f"-EncodedCommand {encoded.script.strip():.200}")
        if not request.stdin:
            first = next((line.strip() for line in encoded.script.splitlines() if line.strip()), "")
            return _error(
                f"The simulated node {request.node.name} does not run PowerShell scripts; it begins: {first:.120}", 1
            )
        unknown = objection(error.digests, "", recordings)
        return _module_failure(unknown or f"The lab cannot read this payload: {error}.")
    reason = objection(payload.digests, payload.core_version, recordings)
    if reason is not None:
        return _module_failure(reason)
    return _payload(request, payload, ledger)


def _payload(request: Request, payload: Payload, ledger: Ledger) -> Reply:
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
    result = modules.answer(request.node, request.session, payload.module, payload.arguments)
    return _module_result(result)


def _not_pipelined(request: Request) -> Reply:
    return _module_failure(
        f"The simulated node {request.node.name} answers pipelined payloads only; this one lies in a file on the node "
        "(ANSIBLE_KEEP_REMOTE_FILES, or a connection without pipelining). Unset it for the lab."
    )


def _own_script(request: Request, payload: Payload) -> Reply:
    """The two scripts that Ansible runs beside modules."""
    home = f"C:\\Users\\{request.session.user}"
    if payload.wrapper == "powershell_mkdtemp.ps1":
        folder = str(payload.params["Directory"]).replace("%TEMP%", home + "\\AppData\\Local\\Temp")
        path = f"{folder}\\{payload.params['Name']}"
        with request.node.lock:
            request.node.drive.mkdir(path)
        return _text(path)
    if payload.wrapper == "powershell_expand_user.ps1":
        path = str(payload.params["Path"])
        return _text(home + path[1:] if path == "~" or path.startswith("~\\") else path)
    raise NotSimulated(f"{payload.wrapper} of ansible-core is not simulated.")


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
