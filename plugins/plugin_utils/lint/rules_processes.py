# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Windows starts a container's processes: what counts as a program, and what variables do to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..facts.base_images import WORDS_OF_CMD
from ..foreign.windows import Pattern
from .catalog import PodCase
from .commands import is_cmdlet
from .model import Hit, Severity, as_map, as_text
from .rule import ALL_CONTAINERS, BRINGS_TOOLS, DOC, Rule, always, commands, environment, mounts, needing, word_lists
from .rules_programs import started_by_cmd

_EXECUTED = (f"{ALL_CONTAINERS}.command", f"{ALL_CONTAINERS}.*Probe.exec", f"{ALL_CONTAINERS}.lifecycle")

_LINE_IN_ONE_WORD = Pattern(r"(?:[^\s\"]*[\\/])?(?:powershell|pwsh|cmd)\s|[^\s\"]+\.exe\s", re.IGNORECASE)


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
        elif len(words) == 1 and _LINE_IN_ONE_WORD.match(first):
            yield Hit(path, {"value": first[:60], "what": "a whole command line in one word"}, container.name)


# At the beginning, after a shell's option, or after a command separator.
_TIMEOUT = Pattern(r"(?:^|[&|;(]\s*|[/-](?:[cks]|command)\s+\"?\s*)timeout(?:\.exe)?\s+(?:/t\s+)?-?\d+", re.IGNORECASE)


@needing("command", "args")
def _waits_at_the_console(case: PodCase) -> Iterator[Hit]:
    """Probes and hooks have no console input; containers have it only on request."""
    interactive = {each.path for each in case.pod.containers if each.value.get("stdin") or each.value.get("tty")}
    for path, text, container in commands(case):
        started = path[3:] in (("command",), ("args",))
        if _TIMEOUT.search(text) and not (started and path[:3] in interactive):
            yield Hit(path, {"value": "timeout"}, container)


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
_UNIX_FOLDER = Pattern(r"/(?:etc|usr|root|proc|sys|dev|lib)/[\w./-]+")
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
    "PATH": "names of variables know no case on Windows, so it replaces the image's Path, and neither cmd.exe nor the"
    " image's programs are found",
    "TEMP": _NO_FOLDER,
    "TMP": _NO_FOLDER,
}


@needing("env")
def _linux_variables(case: PodCase) -> Iterator[Hit]:
    mounted = _list_mounts(case)
    for path, name, value, container in environment(case):
        brought = any(value == each or value.startswith(f"{each}/") for each in mounted.get(container, ()) if each)
        if name in _OF_THE_LINUX_LOADER:
            yield Hit(path, {"name": name, "what": "is for the loader of Linux: Windows does not read it"}, container)
        elif name == "TZ" and _IANA_ZONE.fullmatch(value):
            what = (
                f"is {value}: Windows takes its time zone from the registry, and programs for .NET and Go ask it alone"
            )
            yield Hit(path, {"name": name, "what": what}, container)
        elif _UNIX_FOLDER.fullmatch(value) and not brought and not _OF_A_WEBSITE.search(name):
            yield Hit(path, {"name": name, "what": f"is {value}, which images for Windows do not have"}, container)


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
        id="console-input",
        title="Waiting with timeout.exe",
        level=always(Severity.WARNING),
        find=_waits_at_the_console,
        message="{value} ends at once with an error: it reads the console, and a container has no console input.",
        remedy="Wait with ping -n 31 127.0.0.1 > NUL in cmd.exe, or with Start-Sleep in PowerShell.",
        source="Azure/application-gateway-kubernetes-ingress#980; microsoft/azure-pipelines-agent#5556",
        paths=(*_EXECUTED, f"{ALL_CONTAINERS}.args"),
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
)
