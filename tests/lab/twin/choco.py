"""choco.exe as the module win_chocolatey calls it: list, install, upgrade. Its packages and its log are on the drive.

Sources: the module's own calls (chocolatey.chocolatey 1.6.0, plugins/module_utils/Packages.psm1) and what it reads of
the answers; the sentences are field knowledge, unverified. A feed is asked as NuGet's version 2 has it,
`<source>/package/<id>`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.lab.machine.network import NetworkError

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

ROOT = "C:\\ProgramData\\chocolatey"
EXE = f"{ROOT}\\bin\\choco.exe"
LOG = f"{ROOT}\\logs\\chocolatey.log"
COMMUNITY = "https://community.chocolatey.org/api/v2"
_WITH_VALUE = frozenset({"--version", "--source", "--proxy", "--proxy-user", "--proxy-password", "--timeout"})
_VERSION = re.compile(r"<version>([^<]+)</version>")
_FAILS = re.compile(r"^throw '(.*)'$", re.MULTILINE)


class ChocoError(Exception):
    """A sentence, as choco prints it."""


@dataclass(frozen=True)
class Package:
    """A nupkg: name, version, and why its script fails (empty if it does not)."""

    name: str
    version: str
    failure: str = ""


@dataclass(frozen=True)
class Done:
    """Exit code and standard output."""

    rc: int
    stdout: str


def installed(node: SimulatedNode) -> dict[str, str]:
    """Name and version of what is in Chocolatey's folder lib."""
    found = {}
    for path, entry in node.drive.walk():
        parts = path[len(ROOT) + 1 :].split("\\") if path.lower().startswith(ROOT.lower() + "\\lib\\") else []
        if entry.kind == "file" and len(parts) == 3 and parts[2].lower().endswith(".nuspec"):
            match = _VERSION.search(node.drive.read(path).decode())
            found[parts[1]] = match[1] if match else ""
    return found


def fetch(node: SimulatedNode, url: str, proxy: str | None) -> bytes:
    """Raises ChocoError with .NET's sentence."""
    try:
        answer = node.network.get(url, 30.0, proxy=proxy)
    except NetworkError as error:
        raise ChocoError(str(error)) from error
    if answer.status != 200:
        raise ChocoError(f"The remote server returned an error: ({answer.status}).")
    return answer.body


def unpack(name: str, nupkg: bytes) -> Package:
    """Raises ChocoError for what is no package."""
    try:
        with zipfile.ZipFile(io.BytesIO(nupkg)) as archive:
            nuspec = archive.read(f"{name}.nuspec").decode()
            script = archive.read("tools/chocolateyInstall.ps1").decode()
    except (zipfile.BadZipFile, KeyError) as error:
        raise ChocoError(f"The package {name} is no zip with {name}.nuspec.") from error
    version, failure = _VERSION.search(nuspec), _FAILS.search(script)
    return Package(name, version[1] if version else "", failure[1] if failure else "")


def put(node: SimulatedNode, package: Package) -> None:
    """Puts a package into lib."""
    folder = f"{ROOT}\\lib\\{package.name}"
    node.drive.mkdir(folder)
    text = f"<package><metadata><id>{package.name}</id><version>{package.version}</version></metadata></package>\n"
    node.drive.write(f"{folder}\\{package.name}.nuspec", text.encode())


def run(node: SimulatedNode, arguments: list[str]) -> Done:
    """`choco ARGUMENTS`."""
    _log(node, arguments)
    command, names, options = _parse(arguments)
    if command == "list":
        lines = [f"{name}|{version}\r\n" for name, version in sorted(installed(node).items())]
        return Done(0, "".join(lines))
    if command not in {"install", "upgrade"}:
        return Done(1, f"Could not find a command registered that meets '{command}'.\r\n")
    lines, done, failures = [], 0, 0
    for name in names:
        try:
            done += _one(node, command, name, options)
        except ChocoError as error:
            failures += 1
            lines.append(f"{name} not {command}ed. {error}\r\n" if command == "install" else f"{name}: {error}\r\n")
    past = "installed" if command == "install" else "upgraded"
    lines.append(
        f"Chocolatey {past} {done}/{len(names)} packages.{f' {failures} packages failed.' if failures else ''}\r\n"
    )
    return Done(1 if failures else 0, "".join(lines))


def _one(node: SimulatedNode, command: str, name: str, options: Mapping[str, str]) -> int:
    """1 if something was done for this package."""
    have, wanted = installed(node).get(name), options.get("--version", "")
    if command == "install" and have is not None:
        return 0
    source = options.get("--source") or COMMUNITY
    version = f"/{wanted}" if wanted else ""
    try:
        nupkg = fetch(node, f"{source}/package/{name}{version}", options.get("--proxy"))
    except ChocoError as error:
        sentence = f"The package was not found with the source(s) listed. Source(s): '{source}' ({error})"
        raise ChocoError(sentence) from error
    package = unpack(name, nupkg)
    if package.version == have:
        return 0
    if have is not None and number(package.version) < number(have) and "--allow-downgrade" not in options:
        raise ChocoError(f"A newer version of {name} (v{have}) is already installed.")
    if "--what-if" in options:
        return 1
    if package.failure:
        raise ChocoError(f"Error while running 'chocolateyInstall.ps1': {package.failure}")
    put(node, package)
    return 1


def number(version: str) -> tuple[int, ...]:
    """A version as numbers, for comparing."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _parse(arguments: list[str]) -> tuple[str, list[str], dict[str, str]]:
    names: list[str] = []
    options: dict[str, str] = {}
    rest = iter(arguments[1:])
    for word in rest:
        if word in _WITH_VALUE:
            options[word] = next(rest, "")
        elif word.startswith("-"):
            options[word] = ""
        else:
            names.append(word)
    return arguments[0] if arguments else "", names, options


def commands(node: SimulatedNode) -> list[list[str]]:
    """The arguments of every call so far, out of its log."""
    if not node.drive.is_file(LOG):
        return []
    found = re.findall(r'Command line: "[^"]*" (.*)\r?$', node.drive.read(LOG).decode(), re.MULTILINE)
    return [line.rstrip("\r").split(" ") for line in found]


def _log(node: SimulatedNode, arguments: list[str]) -> None:
    secret = "--proxy-password" in arguments
    shown = f'Command line: "{EXE}" {" ".join(arguments)}'
    line = "Command line not shown - sensitive arguments may have been passed." if secret else shown
    before = node.drive.read(LOG) if node.drive.is_file(LOG) else b""
    node.drive.mkdir(LOG.rpartition("\\")[0])
    node.drive.write(LOG, before + f"{node.clock.iso()} [DEBUG] - {line}\r\n".encode())
