# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container runs, as Windows reads it: a list of words, a line of cmd.exe, a PowerShell script.

The first word is a file that CreateProcess starts (containerd internal/cri/opts, hcsshim internal/cmd escapeArgs: words
with blanks are quoted, nothing is expanded). cmd.exe and PowerShell read the rest by their own rules. In a HostProcess
container cmd.exe reads the whole line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from subprocess import list2cmdline

from ..engine import command_line
from ..facts.base_images import program_name
from . import powershell

EXEC, CMD, WINDOWS_POWERSHELL, PWSH = "exec", "cmd", "powershell", "pwsh"
SHELLS = {"cmd": CMD, "powershell": WINDOWS_POWERSHELL, "pwsh": PWSH}
LONGEST_LINE = 8191
"""Characters of a line of cmd.exe. Source: learn.microsoft.com, Command prompt line string limitation."""
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Call:
    """One program start, or one built-in of the shell. `words` have no quotes, `raw` are as written.

    `after` is the operator before it (`&&`, `;`, `|`, empty at the beginning). `files` are its redirections. `loops`:
    it stands in a loop that nothing ends.
    """

    words: tuple[str, ...]
    raw: tuple[str, ...]
    after: str = ""
    files: tuple[str, ...] = ()
    last: bool = False
    loops: bool = False

    @property
    def program(self) -> str:
        return program_name(self.words[0]) if self.words else ""


@dataclass(frozen=True, slots=True)
class Script:
    """The calls of one shell, or (`shell` exec) the only call without a shell.

    `first`: the number of words before the text. `text`: what the shell reads. `refusal`: why PowerShell runs nothing
    of it.
    """

    shell: str
    calls: tuple[Call, ...]
    text: str = ""
    first: int = 0
    refusal: powershell.Refusal | None = None

    @property
    def powershell(self) -> bool:
        return self.shell in (WINDOWS_POWERSHELL, PWSH)


_CMDLET = re.compile(r"[A-Z][a-z]+-[A-Z]\w+")


def is_cmdlet(word: str) -> bool:
    """Whether it is the name of a cmdlet by its form, Verb-Noun, which only PowerShell knows."""
    return bool(_CMDLET.fullmatch(word))


def scripts(words: Sequence[str], host_process: bool = False) -> Iterator[Script]:
    """The command itself, then the script of its shell, then the scripts of shells in that.

    `host_process`: cmd.exe starts it, see host_process_line.
    """
    if not words:
        return
    if host_process:
        yield from _read(CMD, _unquote(host_process_line(words).removeprefix(_PREFIX)), 0, 0)
        return
    yield Script(EXEC, (Call(tuple(words), tuple(words), last=True),))
    yield from _inner(words, 0)


_REFERENCE = re.compile(r"\$(?:\$|\([^)]*\)|.)", re.DOTALL)


def expanded(words: Sequence[str]) -> tuple[str, ...]:
    """Words as the kubelet hands them over: `$$` is one. It expands commands, args and probes, no hooks.

    Source: k8s.io/kubernetes third_party/forked/golang/expansion; pkg/kubelet/prober, pkg/kubelet/lifecycle.
    """
    return tuple(_REFERENCE.sub(lambda found: found.group().replace("$$", "$", 1), word) for word in words)


_PREFIX = "cmd /c "


def host_process_line(words: Sequence[str]) -> str:
    """What Windows starts for a command, probe or hook of a HostProcess container.

    Source: microsoft/hcsshim internal/jobcontainers/jobcontainer.go, CreateProcess (v0.10.0 to v0.14.1, so containerd
    1.7 and later, where bindfltapi.dll is there); internal/cmd escapeArgs, whose rules are list2cmdline's.
    """
    return _PREFIX + list2cmdline(words)


def loses_its_quotes(words: Sequence[str]) -> bool:
    """Whether the program's path has blanks, and cmd.exe takes away the quotes that keep it together."""
    line = list2cmdline(words)
    return line.startswith('"') and _is_program(words[0]) and not _keeps_quotes(line)


_OF_CMD = "&|<>^"
_OPERATOR = re.compile(r"&&?|\|\|?|[012]?(?:>>?|<)(?:&[012]|[^&|<>^]*)")


def list_strays(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(word, letter) of letters in a HostProcess container's words that cmd.exe takes for its own: `?a=1&b=2`.

    Not in a line that is one word, nor in words that are an operator or a redirection, which are meant so.
    """
    if any(letter in words[0] for letter in ' "') or program_name(words[0]) == "cmd":
        return
    quoted = False
    for word in words:
        escaped = False
        for letter, following in zip(text := list2cmdline([word]), f"{text[1:]} ", strict=True):
            if letter == '"':
                quoted = not quoted
            elif letter == "^" and following in _OF_CMD and not quoted:
                escaped = not escaped
            elif letter in _OF_CMD and not (quoted or escaped or _OPERATOR.fullmatch(word)):
                yield word, letter
                break
            else:
                escaped = False


def _inner(words: Sequence[str], depth: int) -> Iterator[Script]:
    shell = SHELLS.get(program_name(words[0]), "")
    place = _text_at(shell, words) if shell else 0
    if not place or depth > _DEEPEST:
        return
    if shell == CMD:
        stripped = any(word.lower().startswith("/s") for word in words[1:place])
        yield from _read(shell, _unquote(list2cmdline(words[place:]), stripped), place, depth)
    else:
        yield from _read(shell, " ".join(words[place:]), place, depth)


def _read(shell: str, text: str, place: int, depth: int) -> Iterator[Script]:
    """The script of a shell, and those of shells in it, which count as at the same place."""
    refusal = None
    if shell == CMD:
        calls = tuple(_parse_cmd(text))
    else:
        parsed, refusal = _parse_powershell(text, shell == PWSH)
        calls = tuple(parsed)
    counts = shell == CMD and any(call.words[:2] == ("for", "/l") for call in calls)
    calls = (*calls[:-1], replace(calls[-1], last=True, loops=counts or calls[-1].loops)) if calls else calls
    yield Script(shell, calls, text, place, refusal)
    for call in calls:
        if call.words and call.program in SHELLS:
            for each in _inner(call.words, depth + 1):
                yield replace(each, first=place)


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


def _parse_cmd(text: str) -> Iterator[Call]:
    """Calls by cmd.exe's rules: carets escape, double quotes group words, single quotes and semicolons are ordinary."""
    words: list[str] = []
    files: list[str] = []
    pieces: list[str] = []
    before, redirected = "", False
    tokens = ((str(found.lastgroup), found.group()) for found in _CMD_TOKEN.finditer(text))
    for kind, token in chain(tokens, [("op", "")]):
        first = words[:1] or pieces[:2]
        # Elsewhere they are letters: `powershell (Get-Date).Year`.
        alone = not first or (len(first) == 1 and first[0].lower() in _WITH_BLOCKS)
        block = kind == "paren" and (alone or before in ("(", ")"))
        if kind in ("word", "paren") and not block:
            pieces.append(token)
            continue
        if pieces and redirected:
            files.append("".join(pieces).replace('"', ""))
            redirected = False
        elif pieces:
            words.append("".join(pieces))
        pieces = []
        if kind == "op" or block:
            if words:
                yield _call_of_cmd(words, before, files)
                words, files = [], []
            before = token
        elif kind == "to":
            redirected = "&" not in token


_WITH_BLOCKS = ("if", "for", "else", "do")


def _call_of_cmd(words: Sequence[str], before: str, files: Sequence[str]) -> Call:
    """The program reads its line by itself, without the carets that cmd.exe has taken away."""
    line = " ".join(re.sub(r'("[^"]*"?)|\^(.)', r"\1\2", word) for word in words)
    return Call(tuple(command_line.split(line)), tuple(words), before, tuple(files))


def _unquote(text: str, always: bool = False) -> str:
    """The line that cmd /c executes: of one that begins with a quote the first and the last are taken away.

    `always`: with /s. Source: `cmd /?`.
    """
    text = text.strip()
    if text.startswith('"') and (always or not _keeps_quotes(text)):
        return "".join(text[1:].rsplit('"', 1))
    return text


def _keeps_quotes(text: str) -> bool:
    """Whether cmd /c leaves the quotes of a line that begins with one: those of a program's path, if nothing else."""
    inner = text[1:].partition('"')[0]
    return text.count('"') == 2 and not re.search(r"[&<>()@^|]", inner) and " " in inner and _is_program(inner)


_PROGRAM = re.compile(r"(?:[A-Za-z]:|%\w+%|\.{1,2}(?=[\\/]))?[\\/]?(?:(?! [-/&|<>])[^\"*?:])*")
_ENDING = re.compile(r"\.(?:exe|com|cmd|bat)$", re.IGNORECASE)


def _is_program(text: str) -> bool:
    r"""Whether it is a path with blanks, or a program's name: `C:\Program Files\a`, not `a.exe -x C:\Program Files`."""
    return bool(_PROGRAM.fullmatch(text) and (_ENDING.search(text) or re.match(r"[A-Za-z]:|%\w+%|[\\/.]", text)))


def _parse_powershell(text: str, seven: bool) -> tuple[Iterator[Call], powershell.Refusal | None]:
    """Calls by PowerShell's rules, and why it runs none of them."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]
    commands, refusal = powershell.read(text, seven)
    return (_call_of_powershell(each) for each in commands), refusal


def _call_of_powershell(command: powershell.Command) -> Call:
    words = tuple(map(_strip_for_powershell, command.words))
    files = tuple(map(_strip_for_powershell, command.files))
    return Call(words, command.words, command.after, files, loops=command.loops)


def _strip_for_powershell(word: str) -> str:
    return re.sub(r"`(.)", r"\1", word).strip("\"'")
