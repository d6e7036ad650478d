# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate for a node's answers: each part of a reading, and the answer to a batch, has the fields, types and sizes of
docs/protocol.md, sections 1 and 2, or it is refused with the field's path. What was not asked for is left out.

A new op of the probe gets a shape in PARTS. Messages, output and file content are never refused: they are cut where
they are too long, and escaped where they are printed (engine/printable.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..engine.answer import Answer, Blocked, Busy, Failure, Recovered, Result, Stale, as_message
from ..engine.gate import (
    At,
    Base64,
    Either,
    Fields,
    Flag,
    Free,
    Listing,
    Maybe,
    Number,
    Only,
    Record,
    Shape,
    Table,
    Text,
    Unexpected,
)
from ..engine.reading import Query

MEGA = 1024 * 1024
ANSWERS = ("accepted", "stale", "busy", "blocked", "refused")
OUTCOMES = ("done", "undone", "undo_failed", "interrupted", "running", "unknown")
ENDED = ("done", "undone", "undo_failed")
RECOVERED = {
    "done": "finished batch {id}, which an earlier run had begun",
    "undone": "rolled back batch {id}, which an earlier run had begun: what ran before that runs again",
    "undo_failed": "could not roll back batch {id}, which an earlier run had begun",
}


def _one_of(*words: str) -> Text:
    return Text(32, re.compile("|".join(map(re.escape, words))), f"one of {', '.join(words)}")


ID = Text(32, re.compile(r"[0-9a-f]{32}"), "the id of a batch, 32 hexadecimal digits")
WORD = Text(1024, re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]*"), "a text of one line")
LINE = Text(32 * 1024, re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*"), "a text of one line")
"""A command line, a path, an access list, a variable: at most 32,767 characters on Windows."""
FILE_NAME = Text(32 * 1024, what="a name")
"""Of an entry in a folder; the code that writes it to a disk or a terminal looks at its characters."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TIME = Text(40, _TIME, "a UTC time as 2026-11-29T12:00:00Z")
SHA256 = Text(64, re.compile(r"[0-9a-f]{64}"), "a sha256, 64 hexadecimal digits")
BYTES = Number(0, 2**63 - 1, "a number of bytes")
NUMBER = Number(0, 2**32 - 1)
CODE = Number(-(2**31), 2**32 - 1, "an exit code")
VALUE = Either((Text(MEGA), Number(0, 2**64 - 1), Listing(Text(MEGA))), "a text, a number or a list of texts")
_TYPES = ("string", "expand_string", "multi_string", "dword", "qword", "binary")
REGISTRY_VALUE = Only({"type": _one_of(*_TYPES)}, value=VALUE)
ADDRESSES = Listing(Only({"address": WORD, "prefix": Number(0, 128)}))
FAILED = Only({"error": Free(4096)})

_ACTIONS = Listing(Listing(Either((WORD, NUMBER), "a word or a number")))
SERVICE = Only(
    {
        "name": WORD,
        "display_name": WORD,
        "image_path": LINE,
        "start": NUMBER,
        "delayed": Flag(),
        "type": NUMBER,
        "account": WORD,
        "depends_on": Listing(WORD),
        "environment": Listing(LINE),
        "state": WORD,
        "pid": NUMBER,
        "exit_code": CODE,
        "service_exit_code": CODE,
        "deleting": Flag(),
        "failure": Maybe(Only({"reset_s": NUMBER, "actions": _ACTIONS, "non_crash": Flag()})),
        "nssm": Maybe(Table(VALUE)),
    },
    exists=Flag(),
)
_ABSENT = Only({"exists": Flag()})


def _if_there(shape: Shape) -> Shape:
    """The shape of a thing that exists, else only that it does not."""

    def check(value: object, path: str) -> dict[str, Any]:
        found = _ABSENT(value, path)
        return dict(shape(value, path)) if found["exists"] else found

    return check


_OS: dict[str, Shape] = {
    "product": WORD,
    "build": NUMBER,
    "revision": NUMBER,
    "installation_type": WORD,
    "architecture": WORD,
}
SYSTEM = Only(
    {
        "machine": WORD,
        "boot_id": WORD,
        "computer_name": WORD,
        "os": Only(_OS),
        "elevated": Flag(),
        "user_sid": WORD,
        "clock": TIME,
        "powershell": WORD,
        "reboot_pending": Flag(),
        "free_bytes": Table(BYTES),
        "machine_path": Listing(LINE),
    }
)
FILE = Only(
    {"exists": Flag(), "kind": _one_of("file", "directory", "link"), "size": BYTES, "written": TIME},
    sha256=SHA256,
    version=Maybe(WORD),
    content=Maybe(Base64(2 * MEGA)),
    head=Base64(2 * MEGA),
    tail=Base64(2 * MEGA),
    sddl=LINE,
    entries=Listing(FILE_NAME),
    inside=Table(LINE, key=FILE_NAME),
    holders=Listing(NUMBER),
)
REGISTRY = Only(
    {"exists": Flag()},
    values=Table(REGISTRY_VALUE),
    keys=Listing(WORD),
    type=_one_of(*_TYPES),
    value=VALUE,
    fingerprint=LINE,
    tree=Table(Table(REGISTRY_VALUE), key=LINE),
)
ADAPTER = Only(
    {
        "name": WORD,
        "description": WORD,
        "index": NUMBER,
        "mac": WORD,
        "up": Flag(),
        "dhcp": Maybe(Flag()),
        "mtu": CODE,
        "ipv4": ADDRESSES,
        "ipv6": ADDRESSES,
        "gateways": Listing(WORD),
        "dns": Listing(WORD),
    }
)
_HNS_LIST = Either((Text(16 * MEGA), FAILED), "HNS's answer as a text")
HNS = Only({"available": Flag()}, networks=_HNS_LIST, endpoints=_HNS_LIST, policylists=_HNS_LIST, namespaces=_HNS_LIST)

PARTS: Mapping[str, Shape] = {
    "system": SYSTEM,
    "services": Listing(SERVICE),
    "service": _if_there(SERVICE),
    "file": _if_there(FILE),
    "registry": REGISTRY,
    "pipe": _ABSENT,
    "processes": Listing(Only({"pid": NUMBER, "name": WORD}, path=Maybe(LINE), started=WORD)),
    "http": Only({"status": Number(0, 999)}, body=Free(4096), error=Free(4096)),
    "task": Only({"exists": Flag()}, enabled=Flag(), state=WORD),
    "volumes": Table(Only({"free": BYTES, "size": BYTES})),
    "adapters": Listing(ADAPTER),
    "hns": HNS,
    "certificate": Only(
        {"exists": Flag()}, subject=LINE, issuer=LINE, not_before=TIME, not_after=TIME, thumbprint=WORD
    ),
    "encryption": Only({"state": _one_of("on", "off", "unknown")}),
    "on_path": Listing(Only({"path": LINE}, sha256=SHA256)),
}
"""By op of the probe."""


def _anything(value: object, path: str) -> object:
    return value


_FAILURE = Record(
    Failure,
    n=At("n", Number(-1), -1),
    op=At("op", WORD, ""),
    message=At("message", Free(), ""),
    undo=At("undo", Listing(as_message), ()),
)
_RESULT = Record(
    Result,
    n=At("n", Number()),
    op=At("op", WORD),
    ok=At("ok", Flag()),
    exit_code=At("exit_code", CODE, None),
    stdout=At("stdout", Free(MEGA), ""),
    stderr=At("stderr", Free(MEGA), ""),
)
_STALE = Record(Stale, key=At("key", LINE), found=At("found", _anything, None), expect=At("expect", _anything, None))
_BUSY = Record(
    Busy,
    id=At("id", WORD),
    controller=At("controller", WORD),
    since=At("since", WORD),
    error=At("error", Free(8192), ""),
)
_BLOCKED = Record(
    Blocked,
    id=At("id", Text(32, re.compile(r"([0-9a-f]{32})?"), ID.what)),
    component=At("component", WORD, ""),
    message=At("error", as_message, ""),
)
ANSWER = Record(
    Answer,
    answer=At("answer", _one_of(*ANSWERS)),
    batch=At("batch", ID, ""),
    outcome=At("outcome", _one_of(*OUTCOMES), ""),
    error=At("error", _FAILURE, Failure()),
    results=At("results", Listing(_RESULT), ()),
    state=At("state", Fields(), {}),
    reason=At("reason", Free(8192), ""),
    stale=At("stale", Listing(_STALE), ()),
    busy=At("busy", _BUSY, None),
    blocked=At("blocked", _BLOCKED, None),
)
_NEEDED: Mapping[str, Mapping[str, str]] = {
    "accepted": {"outcome": f"one of {', '.join(OUTCOMES)}", "results": "a list", "state": "an object"},
    "stale": {"stale": "a list"},
    "busy": {"busy": "an object"},
    "blocked": {"blocked": "an object"},
    "refused": {},
}
"""By answer the fields that it has to have, and what each is."""
_RECOVERED = Record(Recovered, id=At("id", ID), outcome=At("outcome", _one_of(*RECOVERED)))


def check_parts(parts: object, queries: Sequence[Query], path: str = "parts", *, whole: bool = True) -> dict[str, Any]:
    """The answers to these queries; with `whole` each has one. Unexpected."""
    found = Fields()(parts, path)
    checked: dict[str, Any] = {}
    # Of two queries with one key the node's last answer counts.
    for query in {each.key: each for each in queries}.values():
        place = f"{path}.{query.key}"
        if query.key in found:
            checked[query.key] = _check_part(query, found[query.key], place)
        elif whole:
            raise Unexpected(place, "missing", "an answer")
    return checked


def _check_part(query: Query, value: object, path: str) -> Any:
    if isinstance(value, Mapping) and set(value) == {"error"}:
        return FAILED(value, path)
    found = PARTS[query.op](value, path)
    if isinstance(found, dict):
        for name in _list_asked(query, found):
            if name not in found:
                raise Unexpected(f"{path}.{name}", "missing", "what was asked for")
    return found


def _list_asked(query: Query, found: Mapping[str, Any]) -> Sequence[str]:
    """The fields that the answer has because the query asks for them."""
    asked = dict(query.args)
    if found.get("exists") is False and query.op != "registry":
        return ()
    match query.op:
        case "file":
            of_kind = {"file": _OF_FILE, "directory": _OF_FOLDER}.get(str(found.get("kind")), _OF_LINK)
            return [name for name, argument in of_kind.items() if asked.get(argument)]
        case "registry" if "name" in asked and found["exists"]:
            return ("fingerprint" if asked.get("fingerprint") else "value",)
        case "hns":
            return asked["objects"] if found["available"] else ()
        case "certificate":
            return ("subject", "issuer", "not_before", "not_after", "thumbprint")
        case "task":
            return ("enabled", "state")
    return ()


_OF_LINK = {"sddl": "sddl"}
_OF_FOLDER = {**_OF_LINK, "entries": "entries", "inside": "inside"}
_OF_FILE = {
    **_OF_LINK,
    **{name: name for name in ("sha256", "version", "head", "tail", "holders")},
    "content": "content_limit",
}
"""Field of an answer -> the argument that asks for it."""


def check_answer(answer: Mapping[str, Any], batch_id: str, queries: Sequence[Query] = ()) -> Answer:
    """The answer to the batch `batch_id`, which asks these queries afterwards. Unexpected."""
    found = ANSWER(answer, "")
    for name, what in _NEEDED[found.answer].items():
        if answer.get(name) is None:
            raise Unexpected(name, "missing", what)
    if found.batch not in {"", batch_id}:
        raise Unexpected("batch", f"'{found.batch}'", f"the id that was sent, {batch_id}")
    found = replace(found, batch=batch_id)
    if answer.get("state") is None:
        return found
    return replace(found, state=check_parts(found.state, queries, "state", whole=found.outcome in ENDED))


def check_recovered(value: object) -> Recovered:
    """What the node did about an earlier batch. Unexpected."""
    return _RECOVERED(value, "recovered")
