# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The linter's model: severities, findings, and paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

Path = tuple[str | int, ...]


class Severity(IntEnum):
    """How bad a finding is; ordered, so that `>=` compares with the level at which a run fails."""

    INFO = 1
    WARNING = 2
    ERROR = 3


def show_path(path: Path) -> str:
    """`("spec", "containers", 0, "image")` as `spec.containers[0].image`; keys with dots or slashes as `["a.b/c"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("-", "").replace("_", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


# Fields of pods that name an object, whose name is not secret; nor is a credential spec, which names an account.
_SECRET_KEY = (
    r"(?:(?![\w.-]{0,80}(?:gmsaCredentialSpec(?:Name)?|secretName)\b)[\w.-]{0,80}(?:pass(?:word|wd)?|pwd|secret|token|credential"
    r"|(?:api|access|account|shared)[-_]?(?:access[-_]?)?key)[\w.-]{0,80})"
)
_IN_URL = re.compile(r"(?P<before>[a-z][a-z0-9+.-]{0,20}://[^:/@\s\"']{0,200}:)[^@/\s\"']{1,300}(?=@)", re.IGNORECASE)
_MAY_HOLD_KEY = re.compile(r"pass|pwd|secret|token|credential|key", re.IGNORECASE)
_VALUE = r"(?!\*\*\*)[^\s;,&\"']+"
_BY_KEY = re.compile(rf"(?P<before>\b{_SECRET_KEY}[\"']?(?:\s{{0,4}}=\s{{0,4}}|:)[\"']?){_VALUE}", re.IGNORECASE)
_IN_YAML = re.compile(
    rf"(?P<before>(?:^\W{{0,80}}|[{{,]\s{{0,4}}[\"']?){_SECRET_KEY}[\"']?:\s+(?![{{\[])[\"']?){_VALUE}", re.IGNORECASE
)
# A variable in one line: `{name: DB_PASSWORD, value: x}`, or JSON.
_IN_FLOW = re.compile(
    rf"(?P<before>\bname[\"']?:\s{{0,4}}[\"']?{_SECRET_KEY}[\"']?,\s{{0,4}}[\"']?value[\"']?:\s{{0,4}})"
    r"(?:\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[^,}\"'][^,}]*)",
    re.IGNORECASE,
)


def mask(text: str) -> str:
    """A text without passwords in URLs and without values of keys that name a secret."""
    # Most texts have none, and the patterns are slow.
    if "@" in text:
        text = _IN_URL.sub(r"\g<before>***", text)
    if _MAY_HOLD_KEY.search(text):
        text = _IN_YAML.sub(r"\g<before>***", _BY_KEY.sub(r"\g<before>***", text))
        text = _IN_FLOW.sub(r"\g<before>***", text)
    return text


def names_secret(name: str) -> bool:
    """Whether the name of a variable or key says that its value is secret."""
    return re.fullmatch(_SECRET_KEY, name, re.IGNORECASE) is not None


def as_map(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one: a rule must survive every manifest."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a rule applies. `path` starts at the rule's input (pod or object)."""

    path: Path
    values: Mapping[str, str] = field(default_factory=dict)
    container: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, with everything that reports need.

    `line` and `column` count from 1; both are 0 for objects without a file. `silenced` is the reason why somebody
    accepted the finding, empty if nobody did.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    column: int
    path: str
    object: str
    container: str
    message: str
    remedy: str
    source: str
    excerpt: str = ""
    fixable: bool = False
    silenced: str = ""
    # It was accepted by the configuration, not at the object.
    external: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.rule,
            "severity": self.severity.name.lower(),
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "object": self.object,
            "container": self.container,
            "message": self.message,
            "remedy": self.remedy,
            "reason": self.source,
            "fixable": self.fixable,
            "silenced": self.silenced,
        }
