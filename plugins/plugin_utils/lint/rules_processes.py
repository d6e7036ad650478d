# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Windows starts a container's processes: what counts as a program, and what variables do to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..facts.base_images import APPLICATIONS, UNIX_TOOLS, WORDS_OF_CMD, program_name
from ..foreign.windows import Pattern
from .catalog import PodCase
from .commands import is_cmdlet
from .model import Hit, Severity, as_map, as_text
from .rule import ALL_CONTAINERS, BRINGS_TOOLS, DOC, Rule, always, environment, mounts, needing, short, word_lists
from .rules_programs import started_by_cmd

_EXECUTED = (f"{ALL_CONTAINERS}.command", f"{ALL_CONTAINERS}.*Probe.exec", f"{ALL_CONTAINERS}.lifecycle")

_LINE_IN_ONE_WORD = Pattern(r"(?:[^\s\"]*[\\/])?(?:powershell|pwsh|cmd)\s|[^\s\"]+\.exe\s", re.IGNORECASE)


def _is_line(word: str) -> bool:
    r"""Whether it is a program with its arguments, not a path with blanks: `cat x`, not `C:\my cat\x`."""
    first, _blank, rest = word.partition(" ")
    known = program_name(first) in UNIX_TOOLS | APPLICATIONS | WORDS_OF_CMD and not re.search(r"[\\:]", first)
    return bool(rest and known) or bool(_LINE_IN_ONE_WORD.match(word))


@needing("command")
def _no_programs(case: PodCase) -> Iterator[Hit]:
    """The first word must be a file: Windows starts it by CreateProcess, without a shell."""
    for path, words, container in word_lists(case):
        # cmd.exe, which starts those of a HostProcess container, reads a line, and has words of its own.
        if path[-1] != "command" or started_by_cmd(case):
            continue
        first = words[0].strip()
        if (first.lower() in WORDS_OF_CMD or first == "export") and not BRINGS_TOOLS.search(container.image):
            yield Hit(path, {"value": first, "what": "a word of cmd.exe"}, container.name)
        elif is_cmdlet(first):
            yield Hit(path, {"value": first, "what": "a cmdlet of PowerShell"}, container.name)
        elif len(words) == 1 and _is_line(first):
            yield Hit(path, {"value": first[:60], "what": "a whole command line in one word"}, container.name)


_POWERSHELL = Pattern(r"(?:\S*[\\/])?(?:powershell|pwsh)(?:\.exe)?", re.IGNORECASE)
# the API server's default
_DEFAULT_SECONDS = 1


@needing("exec")
def _hasty_probes(case: PodCase) -> Iterator[Hit]:
    for path, words, container in word_lists(case):
        probe = as_map(container.value.get(str(path[3])))
        if path[4:] == ("exec", "command") and _POWERSHELL.fullmatch(words[0]):
            seconds = probe.get("timeoutSeconds", _DEFAULT_SECONDS)
            if seconds == _DEFAULT_SECONDS:
                yield Hit(path, {"value": words[0]}, container.name)


# The minimum start time of a Windows container in seconds. Source: learn.microsoft.com, Optimize Windows containers.
_LEAST_SECONDS = 10


@needing("livenessProbe")
def _impatient_probes(case: PodCase) -> Iterator[Hit]:
    """Only explicit values: the defaults give a container thirty seconds."""
    for container in case.pod.containers:
        probe = as_map(container.value.get("livenessProbe"))
        numbers = [probe.get(name, default) for name, default in _DEFAULTS.items()]
        if not probe or container.value.get("startupProbe") or not all(isinstance(each, int) for each in numbers):
            continue
        delay, period, failures = numbers
        seconds = delay + period * failures
        if seconds < _LEAST_SECONDS:
            yield Hit((*container.path, "livenessProbe"), {"value": str(seconds)}, container.name)


# Source: k8s.io/kubernetes pkg/apis/core/v1 SetDefaults_Probe.
_DEFAULTS = {"initialDelaySeconds": 0, "periodSeconds": 10, "failureThreshold": 3}
# /bin, /opt, /tmp and /var are C:\bin and so on, which images for both systems have.
_UNIX_FOLDER = Pattern(r"(?:-[\w.-]*=)?(?P<path>/(?:etc|usr|root|home|proc|sys|dev|lib|sbin)/[\w./-]+)")
_OF_A_WEBSITE = Pattern(r"URL|URI|ROUTE|PREFIX|CONTEXT|BASE", re.IGNORECASE)
_OF_THE_LINUX_LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD")
_IANA_ZONE = Pattern(r"(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/\S+")


def _list_mounts(case: PodCase) -> dict[str, list[str]]:
    """Folders with a mounted volume, by container: these exist, on C:."""
    found: dict[str, list[str]] = {}
    for _path, mount, container in mounts(case):
        found.setdefault(container, []).append(as_text(mount.get("mountPath")).rstrip("/"))
    return found


@needing("env")
def _linux_folders(case: PodCase) -> Iterator[Hit]:
    mounted = _list_mounts(case)
    for path, name, value, container in environment(case):
        what = _OF_WINDOWS.get(name.upper())
        if what and value.startswith("/") and ";" not in value and value.rstrip("/") not in mounted.get(container, ()):
            yield Hit(path, {"name": name.upper(), "value": value[:60], "what": what}, container)


_NO_FOLDER = "images for Windows have no such folder, and what writes temporary files fails"
_OF_WINDOWS = {
    "TEMP": _NO_FOLDER,
    "TMP": _NO_FOLDER,
}


@needing("env")
def _linux_variables(case: PodCase) -> Iterator[Hit]:
    mounted = _list_mounts(case)
    for path, name, value, container in environment(case):
        brought = _is_brought(value, mounted.get(container, ()))
        if name in _OF_THE_LINUX_LOADER:
            yield Hit(path, {"name": name, "what": "is for the loader of Linux: Windows does not read it"}, container)
        elif name == "TZ" and _IANA_ZONE.fullmatch(value):
            what = (
                f"is {value}: Windows takes its time zone from the registry, and programs for .NET and Go ask it alone"
            )
            yield Hit(path, {"name": name, "what": what}, container)
        elif value.startswith("/") and _UNIX_FOLDER.fullmatch(value) and not brought and not _OF_A_WEBSITE.search(name):
            yield Hit(path, {"name": name, "what": f"is {value}, which images for Windows do not have"}, container)


def _is_brought(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in folders if each)


@needing("command", "args")
def _linux_words(case: PodCase) -> Iterator[Hit]:
    mounted = _list_mounts(case)
    for path, words, container in word_lists(case):
        found = (_UNIX_FOLDER.fullmatch(word) for text in words for word in text.split())
        for place in dict.fromkeys(match["path"] for match in found if match):
            if not _is_brought(place, mounted.get(container.name, ())):
                what = f"is {short(place)}, which images for Windows do not have"
                yield Hit(path, {"name": "a word of the command", "what": what}, container.name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="not-a-program",
        title="Commands that are not a program",
        level=always(Severity.ERROR),
        find=_no_programs,
        message="{value} is {what}, not a program: Windows starts the first word as a file and does not find"
        " it; the command fails.",
        remedy="Name the shell and give it the rest as words of their own: [cmd.exe, /c, dir],"
        " [powershell.exe, -Command, Get-Date].",
        source="Azure/AKS#1836; containerd pkg/cri/opts spec_windows.go; microsoft/hcsshim internal/cmd escapeArgs",
        paths=_EXECUTED,
    ),
    Rule(
        id="slow-probe",
        title="PowerShell in a probe that waits one second",
        level=always(Severity.WARNING),
        find=_hasty_probes,
        message="the probe starts {value} and waits one second, timeoutSeconds' default: PowerShell often takes"
        " longer to start on a busy node, and the container counts as dead.",
        remedy="Set timeoutSeconds, or ask by httpGet or tcpSocket.",
        source="Kubernetes documentation, Configure Liveness, Readiness and Startup Probes",
        paths=(f"{ALL_CONTAINERS}.*Probe.exec",),
    ),
    Rule(
        id="slow-probe",
        title="Liveness probes that do not wait for a Windows container",
        level=always(Severity.WARNING),
        find=_impatient_probes,
        message="a container that does not answer {value} seconds after its start counts as dead: one of Windows often"
        " takes longer to start.",
        remedy="Add a startupProbe, or raise initialDelaySeconds or failureThreshold.",
        source="k8s.io/kubernetes pkg/kubelet/prober; learn.microsoft.com, Optimize Windows containers",
        paths=(f"{ALL_CONTAINERS}.livenessProbe",),
    ),
    Rule(
        id="linux-variable",
        title="Variables of Windows with paths of Linux",
        level=always(Severity.WARNING),
        find=_linux_folders,
        message="{name} is {value}: {what}.",
        remedy="Remove the variable, or set it in the image.",
        source="learn.microsoft.com, Environment variables",
        paths=(f"{ALL_CONTAINERS}.env[*].value",),
    ),
    Rule(
        id="linux-variable",
        title="Variables for Linux programs",
        level=always(Severity.INFO),
        find=_linux_variables,
        message="{name} {what}.",
        remedy="Remove the variable for Windows, or set it to a folder of the image or of a volume.",
        source=DOC,
        paths=(f"{ALL_CONTAINERS}.env[*].value",),
    ),
    Rule(
        id="linux-variable",
        title="Paths of Linux in commands",
        level=always(Severity.INFO),
        find=_linux_words,
        message="{name} {what}.",
        remedy="Name a folder of the image or of a volume.",
        source=DOC,
        paths=(*_EXECUTED, f"{ALL_CONTAINERS}.args"),
    ),
)
