"""A Chocolatey feed for the lab: the script that installs Chocolatey, and a few packages, below any path.

    .../install.ps1                     as Chocolatey's server serves it at its root
    .../package/<id>[/<version>]        a package, as a feed of NuGet's version 2 serves it

A package is a zip with a nuspec and tools/chocolateyInstall.ps1, and does nothing. `broken` is one whose script fails.
"""

from __future__ import annotations

import re

from tests.lab.machine.builds import zip_of

# Oldest first. 1.4.0 is the last Chocolatey that is content with the .NET Framework of Windows Server 2019.
PACKAGES: dict[str, tuple[str, ...]] = {
    "chocolatey": ("1.4.0", "2.5.0"),
    "vim": ("9.0.1677", "9.1.1591"),
    "grep": ("3.7", "3.11"),
    "broken": ("1.0.0",),
}
SCRIPT = b"# simulated: installs Chocolatey from the package beside it\n"
FAILS = "throw 'simulated: the installer ended with exit code 1603'"
_PACKAGE = re.compile(r"/package/(?P<id>[A-Za-z0-9._-]+?)(?:/(?P<version>[0-9][A-Za-z0-9.-]*))?$")


def content(path: str) -> bytes | None:
    """What the feed has at this path, None if nothing."""
    if path.endswith("/install.ps1"):
        return SCRIPT
    match = _PACKAGE.search(path)
    versions = PACKAGES.get(match["id"].lower(), ()) if match else ()
    if match is None or not versions:
        return None
    version = match["version"] or versions[-1]
    return package(match["id"].lower(), version) if version in versions else None


def package(name: str, version: str) -> bytes:
    """A nupkg."""
    nuspec = f"<package><metadata><id>{name}</id><version>{version}</version></metadata></package>\n"
    script = FAILS if name == "broken" else "# simulated: nothing to do"
    return zip_of({f"{name}.nuspec": nuspec.encode(), "tools/chocolateyInstall.ps1": script.encode()})
