"""The programs that can be run in a pod, and on a Linux host: curl, ping, whoami and a few lines of PowerShell.

They print what the smoke test looks at, in the programs' own form; everything else is refused by name. Exit codes of
curl: 6 (name), 7 (refused), 28 (time). Source: curl's man page.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from urllib.parse import urlsplit

from tests.lab.cluster.flows import Flows, Place, SilenceError

Answer = tuple[int | None, str, str]
"""Exit code (None: there is no such program), standard output, standard error."""

_RESOLVE = re.compile(r"Resolve-DnsName(?: -Name)? '?([A-Za-z0-9.-]+)'?")
_SERVER = re.compile(r"-Server '?([0-9.]+)'?")
_UDP = re.compile(r"Connect\('([^']+)', ?(\d+)\).*GetBytes\('([^']*)'\)", re.DOTALL)
_DEV_UDP = re.compile(r"/dev/udp/([0-9A-Za-z.-]+)/(\d+)")
_ECHO = re.compile(r"echo (?:-n )?(\w+)")
_WITH_VALUE = {"-m", "--max-time", "-o", "--output", "-w", "--write-out", "--noproxy", "--connect-timeout", "-H"}
_DENIED = ("C:\\Windows\\", "C:\\Program Files\\")


def messages(flows: Flows, namespace: str, pod: str, argv: list[str]) -> bytes:
    """What a program answers, as JSON: what it said, (channel, text), and its exit code, null with the reason."""
    code, stdout, stderr = run(flows, flows.place_of(namespace, pod), argv)
    said = f'error executing command in container: "{argv[0]}": The system cannot find the file specified.'
    found = [(channel, text) for channel, text in ((1, stdout), (2, stderr)) if text]
    return json.dumps({"said": found, "code": code, "why": said}).encode()


def run(flows: Flows, place: Place, argv: list[str]) -> Answer:
    """A program in a Windows pod."""
    name = argv[0].rpartition("\\")[2].lower().removesuffix(".exe")
    programs: dict[str, Callable[[], Answer]] = {
        "curl": lambda: _curl(flows, place, argv[1:]),
        "ping": lambda: _ping(flows, place, argv[-1]),
        "whoami": lambda: (0, f"user manager\\{place.user}\r\n".lower(), ""),
        "powershell": lambda: _powershell(flows, place, " ".join(argv[1:])),
        "cmd": lambda: _cmd(place, " ".join(argv[2:])),
    }
    return programs[name]() if name in programs else (None, "", "")


def run_on_linux(flows: Flows, place: Place, line: str) -> Answer:
    """A command line of a shell: curl, or an exchange over bash's /dev/udp."""
    words = shlex.split(line)
    while len(words) == 3 and words[0].rpartition("/")[2] in {"sh", "bash"} and words[1] == "-c":
        line, words = words[2], shlex.split(words[2])
    sent = _DEV_UDP.search(line)
    if sent:
        said = _ECHO.search(line)
        try:
            served = flows.ask(place, sent[1], int(sent[2]), "UDP", said[1] if said else "")
        except (SilenceError, LookupError):
            return 124, "", ""
        return 0, served.text, ""
    if words and words[0] == "curl":
        return _curl(flows, place, words[1:])
    return 127, "", f"{words[0] if words else ''}: the lab's Linux host knows curl and bash's /dev/udp only\n"


def _curl(flows: Flows, place: Place, words: list[str]) -> Answer:
    options: dict[str, str] = {}
    url, rest = "", list(words)
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            options[word] = rest.pop(0) if rest else ""
        elif not word.startswith("-"):
            url = word
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    limit = options.get("--max-time") or options.get("-m") or "300"
    try:
        served = flows.ask(place, host, port)
    except LookupError:
        return 6, "", f"curl: (6) Could not resolve host: {host}\n"
    except SilenceError as silence:
        if silence.refused:
            return 7, "", f"curl: (7) Failed to connect to {host} port {port}: Connection refused\n"
        return 28, "", f"curl: (28) Connection timed out after {limit}000 milliseconds\n"
    shown = "" if "-o" in options or "--output" in options else served.text
    form = options.get("-w") or options.get("--write-out") or ""
    return 0, shown + form.replace("%{http_code}", str(served.status)).replace("\\n", "\n"), ""


def _ping(flows: Flows, place: Place, address: str) -> Answer:
    try:
        flows.ping(place, address)
    except SilenceError:
        return 1, f"\r\nPinging {address} with 32 bytes of data:\r\nRequest timed out.\r\n", ""
    return 0, f"\r\nPinging {address} with 32 bytes of data:\r\nReply from {address}: bytes=32 time<1ms TTL=128\r\n", ""


def _powershell(flows: Flows, place: Place, script: str) -> Answer:
    sent = _UDP.search(script)
    try:
        if sent:
            return 0, flows.ask(place, sent[1], int(sent[2]), "UDP", sent[3]).text + "\r\n", ""
        asked = _RESOLVE.search(script)
        if asked:
            server = _SERVER.search(script)
            if server:
                flows.ask(place, server[1], 53, "UDP")
                return 0, f"{flows.internet.get(asked[1], '')}\r\n", ""
            return 0, f"{flows.resolve(place, asked[1])}\r\n", ""
    except LookupError as error:
        return 1, "", f"Resolve-DnsName : {error.args[0]} : DNS name does not exist\r\n"
    except SilenceError:
        return 1, "", "This operation returned because the timeout period expired\r\n"
    if "Get-DnsClientServerAddress" in script:
        return 0, f"{flows.dns_of(place)}\r\n", ""
    return 1, "", "the lab does not run this script\r\n"


def _cmd(place: Place, line: str) -> Answer:
    """A file that is written: the folders of the system belong to administrators."""
    target = line.rpartition(">")[2].strip().strip('"')
    if place.user.lower() != "containeradministrator" and target.lower().startswith(tuple(d.lower() for d in _DENIED)):
        return 1, "", "Access is denied.\r\n"
    return 0, "", ""
