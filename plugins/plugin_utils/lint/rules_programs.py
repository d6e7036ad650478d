# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs in containers, probes and hooks that their image does not have, and syntax of another shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..facts.base_images import (
    APPLICATIONS,
    GONE_IN_7,
    ONLY_IN_5_1,
    PARAMETERS,
    POWERSHELL_ALIASES,
    UNIX_TOOLS,
    WORDS_OF_CMD,
    find_base,
    has_program,
    program_name,
)
from ..foreign.windows import Pattern
from .catalog import PodCase
from .commands import (
    CMD,
    EXEC,
    LONGEST_LINE,
    PWSH,
    SHELLS,
    WINDOWS_POWERSHELL,
    Call,
    Script,
    expanded,
    is_cmdlet,
    list_strays,
    loses_its_quotes,
    scripts,
)
from .model import Hit, Path, Severity, as_list, as_map, as_text
from .rule import ALL_CONTAINERS, BRINGS_TOOLS, Find, Rule, always, dig, needing, says_yes
from .workload import Container

# The effect of a failed command, by place. Sources: kubelet prober worker.go, kuberuntime_container.go (startContainer
# kills it after a failed postStart; killContainer goes on after a failed preStop).
_PLACES: dict[tuple[str, ...], str] = {
    ("command",): "the container does not start",
    ("livenessProbe", "exec", "command"): "the container is killed again and again",
    ("startupProbe", "exec", "command"): "the container is killed again and again",
    ("readinessProbe", "exec", "command"): "the pod never gets ready",
    ("lifecycle", "postStart", "exec", "command"): "the container is killed",
    ("lifecycle", "preStop", "exec", "command"): "the hook does nothing",
}
# cmd.exe starts, and what it starts is not there.
_OF_HOST_PROCESS = "the container starts, and ends with the exit code of cmd.exe"
_PRE_STOP = ("lifecycle", "preStop", "exec", "command")
_PATHS = (
    f"{ALL_CONTAINERS}.command",
    f"{ALL_CONTAINERS}.args",
    f"{ALL_CONTAINERS}.*Probe.exec",
    f"{ALL_CONTAINERS}.lifecycle",
)
_SOURCE = "microsoft/hcsshim internal/cmd; k8s.io/kubernetes pkg/kubelet prober, kuberuntime"


@dataclass(frozen=True, slots=True)
class Run:
    """A command of a container, at `place`; a container's own command continues in its args.

    `by_cmd`: cmd.exe starts it, as all of a HostProcess container's.
    """

    container: Container
    place: tuple[str, ...]
    words: tuple[str, ...]
    own: int
    scripts: tuple[Script, ...]
    by_cmd: bool

    @property
    def outcome(self) -> str:
        return _OF_HOST_PROCESS if self.by_cmd and self.place == ("command",) else _PLACES[self.place]

    @property
    def main(self) -> bool:
        return self.place == ("command",) and self.container.kind == "containers"

    def path(self, script: Script) -> Path:
        in_args = self.place == ("command",) and script.first >= self.own
        return (*self.container.path, *(("args",) if in_args else self.place))


@lru_cache(maxsize=1)
def runs(case: PodCase) -> tuple[Run, ...]:
    return tuple(_runs(case))


def _runs(case: PodCase) -> Iterator[Run]:
    by_cmd = started_by_cmd(case)
    for container in case.pod.containers:
        for place in _PLACES:
            words = dig(container.value, place)
            if isinstance(words, list) and words:
                more = as_list(container.value.get("args")) if place == ("command",) else []
                run = tuple(map(str, (*words, *more)))
                if place[0] != "lifecycle":
                    run = expanded(run)
                yield Run(container, place, run, len(words), tuple(scripts(run, by_cmd)), by_cmd)


# The first whose bindfltapi.dll is in every update; of Windows Server 2019 it is not known.
_BUILD_WITH_BINDFLT = 20348


def started_by_cmd(case: PodCase) -> bool:
    """Whether cmd.exe starts the pod's commands, see commands.host_process_line."""
    old = case.profile.builds and max(case.profile.builds) < _BUILD_WITH_BINDFLT
    return case.pod.host_process and says_yes("commands-by-cmd", case) and not old


_OF_THE_IMAGES_PATH = (
    "only the image's Path knows it, and a HostProcess container has the host's Path and the image's root folder"
)


def _explain_missing(case: PodCase, container: Container, script: Script, call: Call) -> str:
    """Why the program does not exist; empty if it may exist."""
    program, image = call.program, container.image
    if not program or BRINGS_TOOLS.search(image) or not re.fullmatch(r"[\w.+-]+", program):
        return ""
    if script.shell == CMD and call.words[0].lower() in WORDS_OF_CMD:
        return ""
    # The script itself may have downloaded it, or a volume may contain it.
    if _is_mounted(container, call.words[0]):
        return ""
    if program not in UNIX_TOOLS and _may_be_brought(container, script, call):
        return ""
    if script.shell == PWSH and program in GONE_IN_7:
        return "PowerShell 7 does not have it, only Windows PowerShell 5.1"
    if script.powershell and (program in POWERSHELL_ALIASES or (program in ONLY_IN_5_1 and script.shell != PWSH)):
        return ""
    base = find_base(image)
    if case.pod.host_process:
        if program in UNIX_TOOLS - {"sh", "bash", "tee", "nc", "wget"}:
            return "no Windows node has it"
        by_name = program in APPLICATIONS and not re.search(r"[\\/]", call.words[0])
        return _OF_THE_IMAGES_PATH if base and by_name and program in base.has else ""
    if base is None:
        return "no base image for Windows has it" if program in UNIX_TOOLS else ""
    return f"{base.name} ({image}) does not have it" if has_program(image, program) is False else ""


def _is_mounted(container: Container, word: str) -> bool:
    """Whether the program's path is below a volume."""
    mounts = (as_text(as_map(each).get("mountPath")) for each in as_list(container.value.get("volumeMounts")))
    folders = [_plain(mount) for mount in mounts if _plain(mount)]
    return any(_plain(word).startswith(f"{folder}/") for folder in folders)


def _plain(path: str) -> str:
    return re.sub(r"^c:(?=/|$)", "", path.replace("\\", "/").lower()).rstrip("/")


def _may_be_brought(container: Container, script: Script, call: Call) -> bool:
    by_path = bool(re.search(r"[\\/]", call.words[0]))
    if call.program not in APPLICATIONS:
        return by_path and script.shell != EXEC
    names = {str(as_map(each).get("name")).upper() for each in as_list(container.value.get("env"))}
    return by_path or "PATH" in names


def _decides(run: Run, script: Script, call: Call) -> bool:
    """Whether the whole command fails with this call. A shell continues after `;` and `&`, but not after `&&`."""
    for each in reversed(script.calls):
        if each is call or each.after != "&&":
            return each is call
    return script.shell == EXEC


def _find_missing_programs(severe: bool, powershell: bool) -> Find:
    @needing("command")
    def find(case: PodCase) -> Iterator[Hit]:
        for run in runs(case):
            for script in run.scripts:
                for call in script.calls:
                    if not (why := _explain_missing(case, run.container, script, call)):
                        continue
                    fails = _decides(run, script, call)
                    # Other images may bring it.
                    known = case.pod.host_process or find_base(run.container.image) is not None
                    certain = fails and known and run.place != _PRE_STOP
                    if certain is severe and (call.program in ("powershell", "pwsh")) is powershell:
                        outcome = run.outcome if fails or run.place == _PRE_STOP else "this part of the line fails"
                        outcome += "" if known else " if this image does not, either"
                        values = {"value": call.words[0], "why": why, "outcome": outcome, "effect": outcome}
                        yield Hit(run.path(script), values, run.container.name)

    return find


_NO_PROGRAM = Pattern(r"\.(ps1|sh|py|jar|vbs|js|psm1|rb|pl)$", re.IGNORECASE)
_INTERPRETERS = {
    "ps1": "powershell.exe -File",
    "sh": "a shell that the image brings",
    "py": "python",
    "jar": "java -jar",
    "vbs": "cscript",
    "js": "node",
    "psm1": "powershell.exe -Command Import-Module",
    "rb": "ruby",
    "pl": "perl",
}


@needing("command")
def _files_that_are_no_programs(case: PodCase) -> Iterator[Hit]:
    for run in runs(case):
        found = _NO_PROGRAM.search(run.words[0])
        if found and run.place != _PRE_STOP:
            with_what = _INTERPRETERS[found[1].lower()]
            values = {"value": run.words[0], "outcome": run.outcome, "with": with_what}
            yield Hit((*run.container.path, *run.place), values, run.container.name)


@dataclass(frozen=True, slots=True)
class Slip:
    """A misreading by one shell of words meant for another. `severe`: it makes the command fail."""

    what: str
    severe: bool
    value: str = ""


_PERCENT = Pattern(r"%[A-Za-z_]\w*%")
_OF_POWERSHELL = Pattern(r"\$env:\w+", re.IGNORECASE)
_OF_BASH = Pattern(r"\$\{\w+\}|\$\([a-z][^)]*\)|\$[A-Z_][A-Z0-9_]{2,}\b|`[^`]+`")
_SET = Pattern(r"\"?([A-Za-z_]\w*)=", re.IGNORECASE)
_DRIVE_PATH = Pattern(r"[A-Za-z]:\\\S*$")
_WEB = ("invoke-webrequest", "iwr", "curl", "wget")
_BASIC = Pattern(r"-useb", re.IGNORECASE)
_UNIX_OPTION = Pattern(r"-(?:[fsSLkqoOvX]+|-\w[\w-]*)$")
_IN_JOB_OBJECT = Pattern(r"CONTAINER_SANDBOX_MOUNT_POINT", re.IGNORECASE)


def _slips_of_an_option(call: Call) -> Iterator[Slip]:
    if call.program == "cmd" and len(call.words) > 1 and call.words[1].lower() in ("-c", "-k"):
        yield Slip(f"cmd.exe knows no {call.words[1]}: it waits for input and ends; write /c", True, call.words[1])


def _slips_of_words(script: Script) -> Iterator[Slip]:
    """Without a shell nothing is expanded, separated or redirected."""
    call = script.calls[0]
    shell = call.program if call.program in SHELLS else ""
    yield from _slips_of_an_option(call)
    for number, word in enumerate(call.words if not shell else ()):
        if found := _PERCENT.search(word):
            yield Slip("without cmd.exe percent signs stay as they are written", number == 0, found.group())
        elif found := _OF_POWERSHELL.search(word):
            yield Slip("without PowerShell $env: stays as it is written", False, found.group())
        elif word in (">", ">>", "2>&1", "|", "&&", "||", "<"):
            yield Slip("without a shell it is an argument of the program", False, word)


def _slips_of_host_process(run: Run) -> Iterator[Slip]:
    """cmd.exe reads the words of a HostProcess container as one line."""
    if loses_its_quotes(run.words):
        slip = "cmd.exe starts it, and takes the quotes away that the path's blank needs; write call before it"
        yield Slip(slip, True, run.words[0])
    for word, letter in list_strays(run.words):
        slip = f"cmd.exe starts it, and takes {letter} for its own: {_STRAYS[letter]}"
        yield Slip(slip, letter in "|<", word)


_STRAYS = {
    "&": "what follows is a command of its own",
    "|": "what follows is a program that reads the output of the first",
    "<": "what follows is a file that the program reads",
    ">": "what follows is a file that the output goes to",
    "^": "it is left out",
}
_SLASHED = re.compile(r"\.{0,2}/|[\w.-]+/[\w./-]*\.(?:exe|com|cmd|bat)$", re.IGNORECASE)
# Words of cmd.exe whose arguments are paths, and find.exe, which reads its line by itself.
_WITH_PATHS = frozenset(
    [
        *("call", "cd", "chdir", "copy", "del", "dir", "erase", "find", "if", "md", "mkdir", "mklink"),
        "move",
        "rd",
        "ren",
        "type",
    ]
)


def _slips_of_cmd(script: Script) -> Iterator[Slip]:
    set_here: set[str] = set()
    if len(script.text) > LONGEST_LINE:
        yield Slip(f"cmd.exe reads no line of more than {LONGEST_LINE} characters", True, f"{len(script.text)} of them")
    for call in script.calls:
        own = "" if call.program in SHELLS and call.program != "cmd" else call.program
        for word in call.words if own else ():
            if word.endswith(";") and len(word) > 1 and word != call.words[-1]:
                yield Slip("cmd.exe does not separate commands by semicolons; use &", False, word)
            if found := _OF_POWERSHELL.search(word):
                yield Slip("cmd.exe leaves $env: as it is written; write %NAME%", False, found.group())
            elif found := _OF_BASH.search(word):
                yield Slip("cmd.exe leaves it as it is written", False, found.group())
            for name in _PERCENT.findall(word):
                if name.strip("%").lower() in set_here:
                    yield Slip(
                        "cmd.exe fills in variables before it runs the line: the set in it comes too late", False, name
                    )
        # for /f %i in ('hostname'): there they are right.
        for word in call.raw if own and call.after != "(" else ():
            if re.match(r"'[^']*$|'.*'$", word):
                yield Slip("single quotes are letters to cmd.exe: use double quotes", False, word)
        for file in call.files:
            if file.startswith("/dev/"):
                yield Slip("there is no such folder, and cmd.exe does not run the line; write NUL", call.last, file)
        if call.program == "set" and len(call.words) > 1 and (found := _SET.match(call.words[1])):
            set_here.add(found[1].lower())
        yield from _slips_of_a_call(call)


_DOUBLED = re.compile(r"%%~?\w")


def _slips_of_a_call(call: Call) -> Iterator[Slip]:
    """What cmd.exe does not find as it is written: a program, a file, an option."""
    first, second = (*call.words, "", "")[:2]
    if call.program in ("mkdir", "md", "rmdir", "rd", "del", "copy") and second.startswith("-"):
        slip = f"to {call.program} of cmd.exe {second} is a name: options begin with a slash"
        yield Slip(slip, False, f"{call.program} {second}")
    yield from _slips_of_an_option(call)
    if call.program in ("while", "until", "foreach"):
        yield Slip(f"cmd.exe has no loop {call.program}; only for, as in for /l %i in (0,0,1) do ...", True, first)
    elif call.program == "goto":
        yield Slip("cmd.exe finds labels only in a batch file, not in a line", True, " ".join(call.words[:2]))
    elif call.program == "for" and (found := next(filter(None, map(_DOUBLED.match, call.words)), None)):
        yield Slip(
            "outside a batch file the variable of a loop has one %, and nothing of the line runs", True, found[0]
        )
    if is_cmdlet(first):
        yield Slip("cmd.exe knows no cmdlets; write powershell -Command before it", call.last, first)
    # A quote within a word comes with a backslash (hcsshim internal/cmd escapeArgs), which only programs take away.
    escaped = [word for word in call.raw if word.startswith('\\"')]
    if escaped and SHELLS.get(call.program, CMD) != CMD:
        slip = "PowerShell gets the quotes as letters, and writes the text between them instead of running it"
        yield Slip(slip, False, escaped[0][1:])
    elif escaped and (call.raw[0] in escaped or call.program in _WITH_PATHS):
        slip = (
            "cmd.exe gets a backslash before the quote, and takes it for a part of the name; make it a word of its own"
        )
        yield Slip(slip, call.last and call.raw[0] in escaped, escaped[0][1:])
    elif call.program not in UNIX_TOOLS and _SLASHED.match(call.raw[0]):
        yield Slip("to cmd.exe a slash ends the program's name; write backslashes", call.last, first)
    elif _DRIVE_PATH.match(first) and "." not in first and not call.raw[0].startswith('"') and "\\" in second:
        yield Slip("the path ends at its blank: put it in double quotes", call.last, f"{first} {second}")


def _slips_of_powershell(script: Script, no_browser: bool) -> Iterator[Slip]:
    if script.refusal:
        yield Slip(script.refusal.what, True, script.refusal.value)
    for call in script.calls:
        for word in call.words:
            if (found := _PERCENT.search(word)) and call.program not in ("cmd", "foreach-object"):
                yield Slip("PowerShell leaves percent signs as they are written; write $env:NAME", False, found.group())
        for file in call.files:
            if file.startswith("/dev/"):
                yield Slip("there is no such folder; write $null", False, file)
        for word in call.words[1:] if call.program in PARAMETERS else ():
            option = word[1:].lower() if re.fullmatch(r"-[A-Za-z]{2,}", word) else ""
            if option and not any(name.startswith(option) for name in PARAMETERS[call.program]):
                slip = f"in PowerShell {call.program} is a cmdlet that knows no {word}, and does nothing"
                yield Slip(slip, False, f"{call.program} {word}")
        if script.shell == WINDOWS_POWERSHELL and call.program in _WEB:
            options = [word for word in call.words[1:] if _UNIX_OPTION.fullmatch(word)]
            if call.program in ONLY_IN_5_1 and not call.words[0].lower().endswith(".exe") and options:
                slip = f"in Windows PowerShell {call.program} is Invoke-WebRequest, which knows no {options[0]};"
                yield Slip(f"{slip} write {call.program}.exe", call.last, f"{call.program} {options[0]}")
            elif no_browser and not any(map(_BASIC.match, call.words)) and not call.words[0].lower().endswith(".exe"):
                slip = "without -UseBasicParsing it asks Internet Explorer's engine, which the image does not have"
                yield Slip(slip, call.last, call.words[0])


def _slips(case: PodCase, run: Run, script: Script) -> Iterator[Slip]:
    if script.shell == EXEC:
        yield from _slips_of_words(script)
    elif script.shell == CMD and run.by_cmd and script is run.scripts[0]:
        yield from _slips_of_host_process(run)
        if not loses_its_quotes(run.words):
            yield from _slips_of_cmd(script)
    elif script.shell == CMD:
        yield from _slips_of_cmd(script)
    else:
        base = find_base(run.container.image)
        no_browser = base is not None and "Windows Server" not in base.name and not case.pod.host_process
        yield from _slips_of_powershell(script, no_browser)


def _foreign_syntax(severe: bool) -> Find:
    @needing("command")
    def find(case: PodCase) -> Iterator[Hit]:
        for run in runs(case):
            for script in run.scripts:
                for slip in _slips(case, run, script):
                    expanded = case.pod.host_process and _IN_JOB_OBJECT.search(slip.value)
                    if (slip.severe and run.place != _PRE_STOP) is severe and not expanded:
                        outcome = f": {run.outcome}" if severe else ""
                        values = {"value": slip.value, "what": slip.what, "outcome": outcome}
                        yield Hit(run.path(script), values, run.container.name)

    return find


_RETURNS = {
    "start": "start returns at once",
    "start-process": "Start-Process without -Wait returns at once",
    "saps": "Start-Process without -Wait returns at once",
    "start-service": "Start-Service returns as soon as the service runs",
    "start-job": "Start-Job returns at once",
    "pause": "pause reads the console, and there is no input",
    "read-host": "Read-Host reads the console, and there is no input",
    "set-service": "it returns at once",
    "net start": "net start returns as soon as the service runs",
    "sc start": "sc start returns at once",
}
_READ_THE_CONSOLE = ("pause", "read-host")


def _is_left_to_its_input(words: tuple[str, ...]) -> str:
    """The shell that has nothing to run, or reads its input after running it; empty for any other."""
    shell, options = program_name(words[0]), [word.lower() for word in words[1:]]
    if shell == "cmd" and (not options or any(word.startswith("/k") for word in options)):
        return "cmd.exe /k" if options else "cmd.exe"
    # -NoExit is allowed only before -File and -Command.
    if shell in ("powershell", "pwsh") and (not options or any(re.fullmatch(r"[-/]noe\w*", word) for word in options)):
        return f"{shell} -NoExit" if options else shell
    return ""


def _is_to_end(case: PodCase) -> bool:
    """Whether the pod's end is what is waited for: of Jobs, whose pods do not start anew, and of workflows."""
    return case.pod.spec.get("restartPolicy") in ("Never", "OnFailure") or "Workflow" in case.pod.object.kind


_SHELL_IMAGES = frozenset(
    ["Nano Server", "Server Core", "Windows Server", "PowerShell on Nano Server", "PowerShell on Server Core"]
)
"""Base images whose own command is a shell. Source: their CMD and ENTRYPOINT, by the publishers' pages."""


@needing("image")
def _shell_without_a_command(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers if not _is_to_end(case) else ():
        base = find_base(container.image)
        given = ("command", "args", "stdin", "tty")
        idle = container.kind == "containers" and not any(map(container.value.get, given))
        if idle and base and base.name in _SHELL_IMAGES:
            values = {"value": "the image's shell", "what": "no command is named, and the shell has no input"}
            yield Hit((*container.path, "image"), values, container.name)


@needing("command")
def _ends_at_once(case: PodCase) -> Iterator[Hit]:
    """The last call of a container's own command: the container ends with it."""
    for run in runs(case) if not _is_to_end(case) else ():
        console = run.container.value.get("stdin") or run.container.value.get("tty")
        if not run.main:
            continue
        if (shell := _is_left_to_its_input(run.words)) and not console:
            values = {"value": shell, "what": "the shell reads its input, and there is none"}
            yield Hit((*run.container.path, "command"), values, run.container.name)
            continue
        for script in run.scripts:
            call = script.calls[-1] if script.calls else None
            name = call.program if call else ""
            if call and len(call.words) > 1 and f"{name} {call.words[1].lower()}" in _RETURNS:
                name += f" {call.words[1].lower()}"
            if call is None or script.shell == EXEC or name not in _RETURNS or call.loops:
                continue
            # Not start.exe and pause.exe, which images bring.
            if name in ("start", "pause") and call.words[0].lower() != name:
                continue
            waits = any(re.match(r"[-/]wait?", word, re.IGNORECASE) for word in call.words)
            if not waits and not (name in _READ_THE_CONSOLE and console) and not _is_left_to_its_input(run.words):
                yield Hit(run.path(script), {"value": name, "what": _RETURNS[name]}, run.container.name)


_SECONDS = re.compile(r"-?\d+|/t", re.IGNORECASE)


def _find_timeouts(severe: bool) -> Find:
    """Probes and hooks have no console input; containers have it only on request."""

    @needing("command")
    def find(case: PodCase) -> Iterator[Hit]:
        for run in runs(case):
            console = run.place == ("command",) and (run.container.value.get("stdin") or run.container.value.get("tty"))
            for script in run.scripts if not console else ():
                for call in script.calls:
                    waits = call.program == "timeout" and any(map(_SECONDS.fullmatch, call.words[1:3]))
                    fails = waits and run.place != _PRE_STOP and _decides(run, script, call)
                    if waits and fails is severe:
                        values = {"value": "timeout", "outcome": f": {run.outcome}" if severe else ""}
                        yield Hit(run.path(script), values, run.container.name)

    return find


_SYSTEM32 = re.compile(r"windows[\\/]+system32|%systemroot%", re.IGNORECASE)


def _find_replaced_paths(severe: bool) -> Find:
    """A variable PATH takes the place of the image's Path: names of variables know no case on Windows.

    CreateProcess looks into System32 all the same, cmd.exe does not. Of a HostProcess container the host's Path counts.
    """

    @needing("env")
    def find(case: PodCase) -> Iterator[Hit]:
        by_name = [
            (run.container.path, program_name(run.words[0])) for run in runs(case) if _is_found_by_path(run.words[0])
        ]
        for container in case.pod.containers if not case.pod.host_process else ():
            for number, entry in enumerate(map(as_map, as_list(container.value.get("env")))):
                name, value = as_text(entry.get("name")), as_text(entry.get("value"))
                if name.upper() != "PATH" or not value or _SYSTEM32.search(value):
                    continue
                # One of its folders may be the program's own: `C:\Program Files\dotnet`.
                lost = any(own == container.path and name not in value.lower() for own, name in by_name)
                if severe is (value.startswith("/") or lost):
                    path = (*container.path, "env", number, "value")
                    yield Hit(path, {"name": name, "value": value[:60]}, container.name)

    return find


def _is_found_by_path(word: str) -> bool:
    return not re.search(r"[\\/]", word) and program_name(word) in APPLICATIONS | {"powershell"}


_REFERENCE = Pattern(r"(?<!\$)\$\(([A-Za-z_][\w.-]*)\)")


@needing("env", "command", "args")
def _find_undefined(case: PodCase) -> Iterator[Hit]:
    """The kubelet expands `$(NAME)` from the container's variables; in env only from earlier ones."""
    for container in case.pod.containers:
        if container.value.get("envFrom"):
            continue
        entries = [as_map(each) for each in as_list(container.value.get("env"))]
        names = {str(each.get("name")) for each in entries}
        texts: list[tuple[Path, str]] = []
        for key in ("command", "args"):
            words = list(map(str, as_list(container.value.get(key))))
            inner = program_name(words[0]) in ("powershell", "pwsh") if words else False
            texts += [((*container.path, key), word) for word in words if not inner]
        for number, entry in enumerate(entries):
            if isinstance(entry.get("value"), str):
                texts.append(((*container.path, "env", number, "value"), entry["value"]))
        for path, text in texts:
            for found in _REFERENCE.finditer(text):
                known = found[1] in names or _OF_SERVICES.search(found[1])
                # A lower-case name is a shell command: `$(hostname)`, `$(date)`.
                if not known and not found[1].islower():
                    yield Hit(path, {"value": found.group(), "name": found[1]}, container.name)


# The kubelet adds variables for each Service. Source: k8s.io/kubernetes pkg/kubelet/envvars.
_OF_SERVICES = Pattern(r"_(SERVICE|PORT)(_|$)")


RULES: tuple[Rule, ...] = (
    Rule(
        id="missing-program",
        title="Programs that the image does not have",
        level=always(Severity.ERROR),
        find=_find_missing_programs(severe=True, powershell=False),
        message="{value}: {why}; {outcome}.",
        remedy="Use a program of Windows (cmd.exe /c type, PowerShell's cmdlets), a probe by httpGet or tcpSocket, or"
        " an image that brings it.",
        source=_SOURCE + "; plugin_utils/facts/base_images",
        paths=_PATHS,
    ),
    Rule(
        id="missing-program",
        title="Programs that the image does not have, where the rest goes on",
        level=always(Severity.WARNING),
        find=_find_missing_programs(severe=False, powershell=False),
        message="{value}: {why}; {effect}.",
        remedy="Use a program of Windows, or an image that brings it.",
        source=_SOURCE + "; plugin_utils/facts/base_images",
        paths=_PATHS,
    ),
    Rule(
        id="missing-powershell",
        title="PowerShell that the image does not have",
        level=always(Severity.ERROR),
        find=_find_missing_programs(severe=True, powershell=True),
        message="{value}: {why}; {outcome}.",
        remedy="Use cmd.exe, the other PowerShell (powershell in Server Core, pwsh in mcr.microsoft.com/powershell), or"
        " an image that brings it.",
        source=_SOURCE + "; learn.microsoft.com, Windows container base images",
        paths=_PATHS,
    ),
    Rule(
        id="missing-powershell",
        title="PowerShell that the image does not have, where the rest goes on",
        level=always(Severity.WARNING),
        find=_find_missing_programs(severe=False, powershell=True),
        message="{value}: {why}; {effect}.",
        remedy="Use cmd.exe, or an image that brings it.",
        source=_SOURCE + "; learn.microsoft.com, Windows container base images",
        paths=_PATHS,
    ),
    Rule(
        id="script-as-program",
        title="Scripts that are started as programs",
        level=always(Severity.ERROR),
        find=_files_that_are_no_programs,
        message="{value} is not a program that Windows starts (.exe, .cmd, .bat): {outcome}.",
        remedy="Name what runs it before it: {with}.",
        source="learn.microsoft.com, CreateProcessW; microsoft/hcsshim internal/cmd",
        paths=_PATHS,
    ),
    Rule(
        id="foreign-shell-syntax",
        title="Words of another shell that make a command fail",
        level=always(Severity.ERROR),
        find=_foreign_syntax(severe=True),
        message="{value}: {what}{outcome}.",
        remedy="Write the line for the shell that reads it.",
        source=_SOURCE + "; learn.microsoft.com, cmd, about_Pipeline_Chain_Operators, Invoke-WebRequest",
        paths=_PATHS,
    ),
    Rule(
        id="foreign-shell-syntax",
        title="Words of another shell",
        level=always(Severity.WARNING),
        find=_foreign_syntax(severe=False),
        message="{value}: {what}.",
        remedy="Write the line for the shell that reads it.",
        source="learn.microsoft.com, cmd, set, about_Environment_Variables; containerd internal/cri/opts"
        " spec_windows_opts.go",
        paths=_PATHS,
    ),
    Rule(
        id="ends-at-once",
        title="Commands that end at once",
        level=always(Severity.ERROR),
        find=_ends_at_once,
        message="the container's command ends with {value}: {what}, and the container ends with it.",
        remedy="Let the shell wait: start /wait, Start-Process -Wait, ServiceMonitor.exe, or name the program itself.",
        source="microsoft/hcsshim internal/hcsoci; learn.microsoft.com, start, Start-Process",
        paths=(f"{ALL_CONTAINERS}.command", f"{ALL_CONTAINERS}.args"),
    ),
    Rule(
        id="console-input",
        title="Waiting with timeout.exe, and nothing after it",
        level=always(Severity.ERROR),
        find=_find_timeouts(severe=True),
        message="{value} ends at once with an error, since it reads the console and a container has no console input"
        "{outcome}.",
        remedy="Wait with ping -n 31 127.0.0.1 > NUL in cmd.exe, or with Start-Sleep in PowerShell.",
        source="Azure/application-gateway-kubernetes-ingress#980; microsoft/azure-pipelines-agent#5556",
        paths=_PATHS,
    ),
    Rule(
        id="console-input",
        title="Waiting with timeout.exe",
        level=always(Severity.WARNING),
        find=_find_timeouts(severe=False),
        message="{value} ends at once with an error: it reads the console, and a container has no console input.",
        remedy="Wait with ping -n 31 127.0.0.1 > NUL in cmd.exe, or with Start-Sleep in PowerShell.",
        source="Azure/application-gateway-kubernetes-ingress#980; microsoft/azure-pipelines-agent#5556",
        paths=_PATHS,
    ),
    Rule(
        id="ends-at-once",
        title="Images of a shell without a command",
        level=always(Severity.ERROR),
        find=_shell_without_a_command,
        message="the container starts {value}: {what}, and the container ends with it.",
        remedy="Name a command, or use the image that was made from this one.",
        source="learn.microsoft.com, Windows container base images; microsoft/hcsshim internal/hcsoci",
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="replaced-path",
        title="PATH of Linux, or without System32 before a program by its name",
        level=always(Severity.ERROR),
        find=_find_replaced_paths(severe=True),
        message="{name} is {value}, and nothing fills it in or adds to it: it replaces the image's Path, and by their"
        " names only programs of System32 are found. The container does not start with any other.",
        remedy="Remove the variable, set it in the image, or write the image's whole Path.",
        source="learn.microsoft.com, Environment variables; k8s.io/kubernetes third_party/forked/golang/expansion",
        paths=(f"{ALL_CONTAINERS}.env[*].value",),
    ),
    Rule(
        id="replaced-path",
        title="PATH without System32",
        level=always(Severity.WARNING),
        find=_find_replaced_paths(severe=False),
        message="{name} is {value}, and nothing fills it in or adds to it: it replaces the image's Path, and cmd.exe"
        " finds no program of Windows by its name.",
        remedy="Remove the variable, set it in the image, or write the image's whole Path.",
        source="learn.microsoft.com, Environment variables; k8s.io/kubernetes third_party/forked/golang/expansion",
        paths=(f"{ALL_CONTAINERS}.env[*].value",),
    ),
    Rule(
        id="undefined-variable",
        title="References to undefined variables",
        level=always(Severity.WARNING),
        find=_find_undefined,
        message="{value}: no variable of this container is called {name}, so it stays as it is written; variables of"
        " the image do not count.",
        remedy="Correct the name, or declare the variable before it.",
        source="k8s.io/kubernetes third_party/forked/golang/expansion",
        paths=(f"{ALL_CONTAINERS}.command", f"{ALL_CONTAINERS}.args", f"{ALL_CONTAINERS}.env[*].value"),
    ),
)
