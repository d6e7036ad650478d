# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container runs, as Windows reads it: a list of words, a line of cmd.exe, a PowerShell script.

The first word is a file that CreateProcess starts (containerd internal/cri/opts, hcsshim internal/cmd escapeArgs: words
with blanks are quoted, nothing is expanded). cmd.exe and PowerShell read the rest by their own rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..facts.base_images import program_name

EXEC, CMD, WINDOWS_POWERSHELL, PWSH = "exec", "cmd", "powershell", "pwsh"
SHELLS = {"cmd": CMD, "powershell": WINDOWS_POWERSHELL, "pwsh": PWSH}
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Call:
    """One program start, or one built-in of the shell. `words` have no quotes, `raw` are as written.

    `after` is the operator before it (`&&`, `;`, `|`, empty at the beginning). `files` are its redirections.
    """

    words: tuple[str, ...]
    raw: tuple[str, ...]
    after: str = ""
    files: tuple[str, ...] = ()
    last: bool = False

    @property
    def program(self) -> str:
        return program_name(self.words[0]) if self.words else ""


@dataclass(frozen=True, slots=True)
class Script:
    """The calls of one shell, or (`shell` exec) the only call without a shell.

    `first`: the number of words before the text. `text`: what the shell reads.
    """

    shell: str
    calls: tuple[Call, ...]
    text: str = ""
    first: int = 0

    @property
    def powershell(self) -> bool:
        return self.shell in (WINDOWS_POWERSHELL, PWSH)


def scripts(words: Sequence[str], depth: int = 0) -> Iterator[Script]:
    """The command itself, then the script of its shell, then the scripts of shells in that."""
    if not words:
        return
    yield Script(EXEC, (Call(tuple(words), tuple(words), last=True),))
    yield from _inner(words, depth)


def _inner(words: Sequence[str], depth: int) -> Iterator[Script]:
    shell = SHELLS.get(program_name(words[0]), "")
    place = _text_at(shell, words) if shell else 0
    if not place or depth > _DEEPEST:
        return
    text = " ".join(words[place:])
    calls = tuple((_parse_cmd if shell == CMD else _parse_powershell)(text))
    calls = (*calls[:-1], replace(calls[-1], last=True)) if calls else calls
    yield Script(shell, calls, text, place)
    for call in calls:
        if call.words and call.program in SHELLS:
            for each in _inner(call.words, depth + 1):
                yield Script(each.shell, each.calls, each.text, place)


def _text_at(shell: str, words: Sequence[str]) -> int:
    """The index of the first word that the shell executes; 0 if it runs a file or nothing.

    Source: `cmd /?`; learn.microsoft.com, about_PowerShell_exe, about_Pwsh (a bare word is a file to pwsh).
    """
    number = 1
    while number < len(words):
        word = words[number].lower()
        if shell == CMD:
            if re.match(r"/[ck]", word):
                return number + 1 if len(word) == 2 else 0
            if not word.startswith("/"):
                return 0
        else:
            name = word.lstrip("-/") if word[:1] in "-/" else ""
            if not name:
                return number if shell == WINDOWS_POWERSHELL else 0
            if "command".startswith(name):
                return number + 1
            if name[:1] in "fe" and not name.startswith(("ex", "ep")):
                return 0
            if name.startswith(("ex", "ep", "v", "w", "i", "o", "c", "s")) and name not in ("sta", "interactive"):
                number += 1
        number += 1
    return 0


_CMD_TOKEN = re.compile(
    r"""(?P<op>&&|\|\||&|\||\n)|(?P<to>[012]?(?:>>?|<)(?:&[012])?)|(?P<paren>[()])|(?P<blank>[ \t\r]+)"""
    r"""|(?P<word>(?:\^.|"[^"]*"?|[^\s&|<>()"^])+)""",
    re.DOTALL,
)
_POWERSHELL_TOKEN = re.compile(
    r"""(?P<comment>(?<![^\s;])\#[^\n]*)|(?P<op>&&|\|\||;|\||\n|(?<!\$)[{}])|(?P<to>[*0-9]?>>?(?:&1)?)|(?P<paren>[()])"""
    r"""|(?P<blank>[ \t\r]+)|(?P<call>&)|(?P<word>(?:`.|"(?:`.|""|[^"`])*"?|'(?:''|[^'])*'?|\$\{[^}]{0,200}\}"""
    r"""|\$\([^)]{0,2000}\)|@?\([^)]{0,2000}\)(?=[.\[])|[^\s;|&{}()>"'`])+)""",
    re.DOTALL,
)


def _parse_cmd(text: str) -> Iterator[Call]:
    """Calls by cmd.exe's rules: carets escape, double quotes group words, single quotes and semicolons are ordinary."""
    text = text.strip()
    # cmd /c removes the outer quotes. Source: cmd /?.
    if text.startswith('"') and text.endswith('"') and text.count('"') != 2:
        text = text[1:-1]
    return _calls(_CMD_TOKEN, text, _strip_for_cmd)


def _strip_for_cmd(word: str) -> str:
    return re.sub(r"\^(.)", r"\1", word).replace('"', "")


def _parse_powershell(text: str) -> Iterator[Call]:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]
    return _calls(_POWERSHELL_TOKEN, text, _strip_for_powershell)


def _strip_for_powershell(word: str) -> str:
    return re.sub(r"`(.)", r"\1", word).strip("\"'")


def _calls(pattern: re.Pattern[str], text: str, bare: Callable[[str], str]) -> Iterator[Call]:
    words: list[str] = []
    files: list[str] = []
    before, redirected = "", False
    for found in pattern.finditer(text):
        kind, token = str(found.lastgroup), found.group()
        if kind in ("op", "paren"):
            if words:
                yield _call(words, before, files, bare)
                words, files = [], []
            before = token
        elif kind == "to":
            redirected = "&" not in token
        elif kind == "word" and redirected:
            files.append(bare(token))
            redirected = False
        elif kind == "word":
            words.append(token)
    if words:
        yield _call(words, before, files, bare)


def _call(words: Sequence[str], before: str, files: Sequence[str], bare: Callable[[str], str]) -> Call:
    return Call(tuple(map(bare, words)), tuple(words), before, tuple(files))
