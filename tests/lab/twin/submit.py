"""Envelopes as a controller sends them, for tests that need no Ansible."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import uuid
from typing import TYPE_CHECKING, Any

from tests.lab.twin.modules import run_module

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.session import Session

STATE_DIR = "C:\\ProgramData\\winkube"
RUNNER = "# the runner's text does not matter to the twin\n"
Document = dict[str, Any]


def op(kind: str, /, undo: list[Document] | None = None, secrets: list[str] | None = None, **args: Any) -> Document:
    """An op of a batch, without its index. `source_path=` stands for the argument `from`, which Python does not
    allow.
    """
    arguments = {"from" if key == "source_path" else key: value for key, value in args.items()}
    return {"op": kind, "args": arguments, "undo": undo or [], **({"secrets": secrets} if secrets else {})}


def wait(what: str, timeout_s: float, /, **args: Any) -> Document:
    """The op `wait`, whose argument `for` Python does not allow as a name."""
    return {"op": "wait", "args": {"for": what, "timeout_s": timeout_s, **args}, "undo": []}


def content(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def envelope(
    ops: list[Document] | None = None,
    *,
    kind: str = "submit",
    batch_id: str | None = None,
    mode: str = "task",
    gate: list[Document] | None = None,
    pre: list[Document] | None = None,
    state: list[Document] | None = None,
    deadline_s: float = 900,
    follow_s: float = 900,
    controller: str = "test",
    runner_text: str | None = RUNNER,
) -> Document:
    identity = batch_id or uuid.uuid4().hex
    runner: Document = {"mode": mode, "sha256": hashlib.sha256(RUNNER.encode()).hexdigest()}
    if runner_text is not None:
        runner["text"] = runner_text
    document: Document = {
        "schema": 1,
        "kind": kind,
        "id": identity,
        "state_dir": STATE_DIR,
        "controller": controller,
        "follow_s": follow_s,
        "runner": runner,
        "state": state or [],
    }
    if ops is not None:
        document["batch"] = {
            "schema": 1,
            "id": identity,
            "component": "test",
            "deadline_s": deadline_s,
            "pre": pre or [],
            "ops": [{"n": number, **item} for number, item in enumerate(ops)],
            "gate": gate or [],
            "state_dir": STATE_DIR,
        }
    return document


def with_hns(sent: Document) -> Document:
    """With the field `hns`, as the text that calls HNS travels."""
    return {**sent, "hns": "# the twin needs no text\n"}


def apply(node: SimulatedNode, session: Session, document: Document, check_mode: bool = False) -> Document:
    """node_apply with this envelope, and what it may need for HNS."""
    document = with_hns(document)
    packed = base64.b64encode(gzip.compress(json.dumps(document).encode())).decode()
    return run_module(node, session, "node_apply", {"batch": packed}, check_mode)


def probe(node: SimulatedNode, session: Session, *queries: Document, state_dir: str = STATE_DIR) -> Document:
    """node_probe with these queries (`key` added where it is missing: the query's index); the parts."""
    keyed = [{"key": str(number), **query} for number, query in enumerate(queries)]
    request = json.dumps(with_hns({"schema": 1, "state_dir": state_dir, "queries": keyed}))
    parts: Document = run_module(node, session, "node_probe", {"request": request})["parts"]
    return parts
