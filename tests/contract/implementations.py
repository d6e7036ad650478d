"""What a case is run against, and the words that cases and implementations share."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.contract.archives import archive
from tests.contract.case import Tree

CONTRACT_KEY = "HKLM\\SOFTWARE\\winkube-contract"
_WORDS = (
    "root|state|drive|mounted|file_root|web|web_host|web_port|web6_host|web6_port"
    "|powershell|nssm|program|shell|shell_flag|sha256|base64|many"
)
_PLACE = re.compile(rf"\{{({_WORDS})(?::([^}}]*))?\}}")


@dataclass(frozen=True)
class Place:
    """Where a case runs: root and state folder as the node names them, and what the words in braces stand for."""

    root: str
    state: str
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def separator(self) -> str:
        return "\\" if "\\" in self.root else "/"

    def fill(self, value: Any) -> Any:
        """A value of a case with `{root}` and the others put in. A path gets the node's separators."""
        if isinstance(value, str):
            filled = _PLACE.sub(self._word, value)
            is_path = re.match(r"^\{(root|state)\}", value) is not None
            return filled.replace("\\", self.separator) if is_path and self.separator == "/" else filled
        if isinstance(value, Mapping):
            return {str(self.fill(key)) if "{" in str(key) else key: self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        return value

    def _word(self, match: re.Match[str]) -> str:
        name, text = match[1], match[2]
        if name == "sha256":
            return hashlib.sha256((text or "").encode()).hexdigest()
        if name == "base64":
            return base64.b64encode((text or "").replace("\\n", "\n").encode()).decode()
        if name == "many":
            count, _, piece = (text or "").partition(":")
            return piece * int(count)
        if name == "file_root":
            return "file:///" + self.root.replace("\\", "/").lstrip("/")
        return {"root": self.root, "state": self.state, **self.words}[name]


@dataclass(frozen=True)
class Link:
    """A symbolic link in a tree, or a junction; the target as the node names it, empty where nobody looks."""

    target: str = ""
    junction: bool = False


class ReadOnly(bytes):
    """A file's content; the file carries the attribute read-only."""


@dataclass(frozen=True)
class Found:
    """What is there now: path below the root -> content, None (a folder) or Link; registry key -> values."""

    files: Mapping[str, bytes | Link | None]
    registry: Mapping[str, Mapping[str, Any]]


class Implementation(Protocol):
    """Something that keeps docs/protocol.md. `prepare` begins a case; `run` and `observe` follow."""

    name: str
    provides: frozenset[str]

    def prepare(self, tree: Tree) -> Place:
        """A fresh root with `tree` in it and no state folder."""

    def run(self, module: str, arguments: Mapping[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
        """One remote execution of node_probe or node_apply; its result."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Files of the state folder, made in one go with a folder that the node accepts as its own."""

    def start(self) -> None:
        """The state folder's runner, started by itself, to its end. What it throws is no error here."""

    def observe(self) -> Found:
        """What is below the root, and below the contract's registry key."""

    def observe_state(self) -> Mapping[str, bytes]:
        """The files of the state folder, path with `/`."""

    def runner(self) -> Mapping[str, str]:
        """`sha256` and `text` of the runner that this implementation is sent."""


def content(value: Any, place: Place) -> bytes | Link | None:
    """A file's description in a tree (text, null, {base64}, {size}, {archive}, {link}, {junction}, {json},
    {text, read_only}) -> what is there."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        if "link" in value:
            return Link(str(place.fill(value["link"])))
        if "junction" in value:
            return Link(str(place.fill(value["junction"])), junction=True)
        if value.get("read_only"):
            return ReadOnly(str(place.fill(value["text"])).encode())
        if "base64" in value:
            return base64.b64decode(value["base64"])
        if "size" in value:
            return bytes(int(value["size"]))
        if "archive" in value:
            return archive(value)
        return json.dumps(place.fill(value["json"])).encode()
    return str(place.fill(str(value))).encode()
