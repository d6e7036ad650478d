# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must not leave a node with its logs; pure. It takes away too much rather than too little."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MASK = "<removed>"

# Names are found at any place in a word, and are short: a pattern that may begin anywhere must not run far.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client-key-data"
    r"|client_?secret|credentials?|signature)[\w-]{0,40}"
)
_WORD = rf"(?:{MASK}|true|false|null|none|nil|yes|no|\[\]|\{{\}}|(?:\d+(?:\.\d+)?(?:ms|us|[smh]))+)"
_PLAIN = rf"""(?:"(?:{_WORD})?"|'(?:{_WORD})?'|{_WORD})(?=[\s,;}}\])]|\Z)"""
"""Values that are no secrets, whatever their name: switches and durations; a number may be a password."""
_NESTED = r"(?:\{[\"'\s}]|\[[\"'{\s\]])"
"""Begins what has values with names of their own."""
_VALUE = rf"""(?:\\?"(?:[^"\\]|\\.)*\\?"|"(?:[^"\\]|\\.)*"|'[^']*'|(?!{_NESTED})[^\s"]+)"""


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` and what stands in its place."""

    name: str
    pattern: re.Pattern[str]
    instead: str


def _rule(name: str, pattern: str, instead: str) -> Rule:
    return Rule(name, re.compile(pattern), instead)


RULES: tuple[Rule, ...] = (
    # A block may be cut at either end, where a file is too long.
    _rule(
        "private key",
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        f"-----BEGIN PRIVATE KEY----- {MASK}",
    ),
    _rule(
        "private key",
        r"(\A|bytes left out \.\.\.\r?\n)(?:[A-Za-z0-9+/=]{40,}\s+)*[A-Za-z0-9+/=]*\s*"
        r"-----END [A-Z ]*PRIVATE KEY-----",
        rf"\1{MASK}",
    ),
    _rule("arguments of Ansible", r"(?i)(\bInvoked with:?)[^\r\n]*", rf"\1 {MASK}"),
    _rule("header", r"(?i)(\b(?:proxy-)?authorization[\"']?[ \t]*[:=][ \t]*)[^\s][^\r\n]*", rf"\1{MASK}"),
    _rule("header", r"(?i)(\bBearer\s+)[A-Za-z0-9._~+/=-]{8,}", rf"\1{MASK}"),
    _rule("user in an address", r"(?i)(\b[a-z][a-z0-9+.-]{1,15}://)[^\s/@\"']{1,300}@", rf"\1{MASK}@"),
    _rule("JSON web token", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", MASK),
    _rule("bootstrap token", r"\b([a-z0-9]{6})\.[a-z0-9]{16}\b", rf"\1.{MASK}"),
    _rule("certificate key", r"(?i)(--certificate-key[=\s]+)\S+", rf"\1{MASK}"),
    _rule(
        "token of a cloud",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16})\b",
        MASK,
    ),
    _rule("signed address", r"(?i)([?&](?:sig|x-amz-signature|x-amz-security-token)=)[^&\s\"']+", rf"\1{MASK}"),
    _rule("registry login", r"(?i)([\"']?\bauth[\"']?[ \t]*[:=][ \t]*)(?!\{)" + _VALUE, rf"\1{MASK}"),
    # YAML's values below their name: a block of any lines, else lines that are no mapping.
    _rule(
        "value below",
        rf"(?im)^([^\r\n:=]{{0,80}}?{_NAME}[\"']?[ \t]*:[ \t]*[|>][-+0-9]*[ \t]*\r?\n)(?:[ \t]+[^\r\n]+(?:\r?\n|\Z))+",
        rf"\1  {MASK}\n",
    ),
    _rule(
        "value below",
        rf"(?im)^([^\r\n:=]{{0,80}}?{_NAME}[\"']?[ \t]*[:=][ \t]*\r?\n)(?:[ \t]+[^\r\n:-][^\r\n:]*(?:\r?\n|\Z))+",
        rf"\1  {MASK}\n",
    ),
    _rule(
        "rest of the line",
        rf"(?im)^([^\r\n:=]{{0,80}}?{_NAME}[\"']?[ \t]*:[ \t]+)"
        rf"(?!{_PLAIN}|{_NESTED}|[|>][-+0-9]*[ \t]*\r?$)[^\s][^\r\n]*",
        rf"\1{MASK}",
    ),
    _rule(
        "named value",
        rf"(?i)({_NAME}(?:\\?[\"'])?[ \t]*[:=][ \t]*)(?!{_PLAIN}){_VALUE}",
        rf"\1{MASK}",
    ),
    _rule("argument", rf"(?i)((?<![\w-])--?[\w.-]{{0,40}}?{_NAME}\s+)(?!-)(?!{_PLAIN}){_VALUE}", rf"\1{MASK}"),
)

_FOLDERS = ("pki", "credentialspecs", "secrets", "tokens")
_ENDINGS = (".key", ".pem", ".pfx", ".p12", ".crt", ".cer", ".kubeconfig", ".ppk")
_NAMES = ("kubelet.conf", "bootstrap-kubelet.conf", "admin.conf", "config", ".dockerconfigjson", "docker.json")


def is_secret_file(path: str) -> bool:
    r"""Whether a file is never fetched: kubeconfigs, keys, credential specs, what lies in volumes of pods."""
    parts = [part.casefold() for part in path.split("\\")]
    name = parts[-1]
    if any(part in _FOLDERS or part == "volumes" for part in parts[:-1]):
        return True
    return name in _NAMES or name.endswith(_ENDINGS) or "kubeconfig" in name or name.startswith("id_rsa")


def redacted(text: str, more: Sequence[re.Pattern[str]] = ()) -> tuple[str, int]:
    """The text without secrets, and how many were taken out. `more` are patterns that go as a whole."""
    count = 0
    for rule in RULES:
        text, found = rule.pattern.subn(rule.instead, text)
        count += found
    for pattern in more:
        text, found = pattern.subn(MASK, text)
        count += found
    return text, count


def patterns(texts: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """The user's own patterns. ValueError with a sentence for one that is no regular expression."""
    found = []
    for text in texts:
        try:
            found.append(re.compile(text))
        except re.error as error:
            raise ValueError(f"redact: '{text}' is no regular expression: {error}.") from error
    return tuple(found)


def name_in_bundle(path: str) -> str:
    """How a file of the node is called below `files/`: C:\\k\\kubelet.log is c/k/kubelet.log."""
    drive, rest = path[:1].lower(), path[3:]
    return "/".join([drive, *(part for part in rest.split("\\") if part not in {"", ".", ".."})])
