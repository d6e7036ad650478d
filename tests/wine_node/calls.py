"""What Ansible asked of the node: one line for each remote call."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.server.payload import EncodedCommand, PayloadError, parse_payload

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins" / "modules"


@dataclass
class Call:
    """One exec of SSH. chapter: of the story. module: of ours by its short name, else Ansible's own; sha256: of the
    script as it was sent, `is_ours`: whether that is the file of this tree. program, pid: the process of Wine that
    executed it."""

    chapter: str = ""
    module: str = ""
    sha256: str = ""
    is_ours: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)
    program: str = ""
    pid: int = 0
    exit: int | None = None
    seconds: float = 0.0
    answer: str = ""
    error: str = ""

    def line(self) -> str:
        return json.dumps(asdict(self))

    def answered(self) -> dict[str, Any]:
        """What a module of ours has answered; nothing of others, or where the session was cut."""
        start = self.answer.find("{")
        if not self.is_ours or start < 0:
            return {}
        found, _ = json.JSONDecoder().raw_decode(self.answer[start:])
        return dict(found)

    def batch(self) -> tuple[str, dict[str, Any]] | None:
        """Id and batch, if it brought one."""
        packed = str(self.arguments.get("batch") or "")
        batch = json.loads(gzip.decompress(base64.b64decode(packed))).get("batch") if packed else None
        return (batch["id"], batch) if batch else None


def described(command: EncodedCommand | None, stdin: bytes) -> Call:
    """What a command line and its input are; a plain command has no module."""
    if command is None:
        return Call()
    try:
        payload = parse_payload(command, stdin)
    except PayloadError:
        return Call(sha256=hashlib.sha256(command.script.encode()).hexdigest())
    name = payload.module
    call = Call(module=name or payload.wrapper, arguments=payload.arguments)
    own = PLUGINS / f"{name.rpartition('.')[2]}.ps1"
    if name.startswith("winkube.node.") and own.is_file():
        text = own.read_text(encoding="utf-8")
        sent = next((block for block in payload.blocks if block == text), None)
        call.is_ours = sent is not None
        call.sha256 = hashlib.sha256((sent or "").encode()).hexdigest()
    else:
        wrapper = base64.b64encode("".join(payload.blocks).encode())
        call.sha256 = hashlib.sha256(wrapper).hexdigest()
    return call
