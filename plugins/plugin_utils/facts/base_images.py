# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base images for Windows: which programs they have, which tags there are, and how long they are looked after.

Only images whose publisher says what is in them. An image that is made from one of them may bring more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from .rows import read_rows


def _words() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in Path(__file__).with_name("program_words.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, *words = line.split()
            found[kind] = found.get(kind, frozenset()) | frozenset(words)
    return found


_WORDS = _words()
UNIX_TOOLS, WORDS_OF_CMD, POWERSHELL_ALIASES = (_WORDS[kind] for kind in ("unix", "cmd", "alias"))
ONLY_IN_5_1, GONE_IN_7 = _WORDS["alias-5.1"], _WORDS["only-5.1"]
APPLICATIONS = _WORDS["product"]
PARAMETERS = {
    kind.removeprefix("parameters-"): words for kind, words in _WORDS.items() if kind.startswith("parameters-")
}


@dataclass(frozen=True, slots=True)
class Base:
    """A family of base images. `lacks`: programs of Windows that it has not; `has`: programs beyond the usual ones.

    `image` matches `repository:tag`. `exact`: nothing but what the publisher says is in it.
    """

    name: str
    image: re.Pattern[str]
    lacks: frozenset[str] = frozenset()
    has: frozenset[str] = frozenset()
    source: str = ""


def _base(row: Mapping[str, Any]) -> Base:
    image = re.compile(row["image"], re.IGNORECASE)
    return Base(row["name"], image, frozenset(row["lacks"]), frozenset(row["has"]), row["source"])


BASES: tuple[Base, ...] = tuple(map(_base, read_rows("base_images.json")))
"""The first that matches counts. Unverified: what the images have is by the publishers' pages and Dockerfiles; none was
opened."""


@lru_cache(maxsize=4096)
def find_base(image: str) -> Base | None:
    """The base image that this is, None for any other."""
    name = image.partition("@")[0]
    return next((base for base in BASES if base.image.match(name if ":" in name else f"{name}:")), None)


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    r"""`C:\Windows\System32\cmd.exe` as `cmd`."""
    return re.split(r"[\\/]", word.strip("\"' "))[-1].lower().removesuffix(".exe")


def has_program(image: str, program: str) -> bool | None:
    """Is the program in the image? None if it cannot be said by the image's name."""
    base = find_base(image)
    if base is None:
        return None
    if program in base.has:
        return True
    return False if program in base.lacks | UNIX_TOOLS | APPLICATIONS else None


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags of a repository. `ends`: since when a tag gets no more updates; what `tags` does not match never existed.

    `gone`: the repository itself is no longer served, and what stands in its place. `example`: a tag that there is.
    """

    repository: str
    tags: re.Pattern[str] | None = None
    gone: str = ""
    example: str = "ltsc2022"
    source: str = ""


ENDS: dict[str, date] = {row["tag"]: date.fromisoformat(row["end"]) for row in read_rows("base_image_ends.json")}
"""End of support of the base images, by tag."""
_SUFFIX = r"(?:-(?:amd64|arm64))?(?:-KB\d+)?"
_BUILD = r"10\.0\.\d{5}(?:\.\d+)?"


def _tags(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{names})(?:{_SUFFIX}|[.-].*)|{_BUILD}{_SUFFIX})", re.IGNORECASE)


# unverified: which tags there are, and that there is no ltsc1809, is by the pages named; no registry was asked.
# .NET has images of a release of Windows as long as that gets updates: none of 7.0 and later for these.
_NET = re.compile(r"(?!(?:[7-9]|\d\d)\.\d.*-(?:1709|1803|1903|1909|2004|20h2)(?:-|$)).*", re.IGNORECASE)
_OF_NET = "dotnet/dotnet-docker, README of each image, Windows tags"
_NO_SQL_SERVER = "no image: SQL Server in Windows containers has ended"
_EVERY = "1709|1803|1809|1903|1909|2004|20h2|ltsc2019|ltsc2022|23h2|ltsc2025"
_HUB = "Docker Hub, microsoft/ (moved to mcr.microsoft.com, 2018 to 2020)"
_PAGE = "learn.microsoft.com, Windows container base images"
REPOSITORIES: dict[str, Tags] = {
    each.repository: each
    for each in (
        Tags("mcr.microsoft.com/windows/nanoserver", _tags(f"sac2016|{_EVERY}"), source=_PAGE),
        Tags("mcr.microsoft.com/windows/servercore", _tags(f"ltsc2016|{_EVERY}"), source=_PAGE),
        Tags("mcr.microsoft.com/windows/server", _tags("ltsc2022|ltsc2025"), source=_PAGE),
        Tags("mcr.microsoft.com/windows", _tags("1809|1903|1909|2004|20h2|ltsc2019"), source=_PAGE),
        *(
            Tags(f"mcr.microsoft.com/dotnet/{name}", _NET, example="8.0-nanoserver-ltsc2022", source=_OF_NET)
            for name in ("runtime", "aspnet", "sdk")
        ),
        Tags("microsoft/iis", gone="mcr.microsoft.com/windows/servercore/iis", source=_HUB),
        Tags("microsoft/aspnet", gone="mcr.microsoft.com/dotnet/framework/aspnet", source=_HUB),
        Tags("microsoft/dotnet-framework", gone="mcr.microsoft.com/dotnet/framework/runtime", source=_HUB),
        Tags("microsoft/dotnet", gone="mcr.microsoft.com/dotnet/", source=_HUB),
        Tags("microsoft/windowsservercore", gone="mcr.microsoft.com/windows/servercore", source=_HUB),
        Tags("microsoft/nanoserver", gone="mcr.microsoft.com/windows/nanoserver", source=_HUB),
        Tags("microsoft/powershell", gone="mcr.microsoft.com/powershell", source=_HUB),
        Tags("microsoft/mssql-server-windows-developer", gone=_NO_SQL_SERVER, source=_HUB),
        Tags("microsoft/mssql-server-windows-express", gone=_NO_SQL_SERVER, source=_HUB),
    )
}  # fmt: skip


# Of these repositories a tag names the base image before the release of Windows: 8.0-nanoserver-ltsc2022.
_ON_A_BASE = re.compile(
    r"mcr\.microsoft\.com/(?:dotnet/(?:framework/)?\w+|windows/servercore/iis|powershell)|python|golang|openjdk"
    r"|eclipse-temurin|mongo"
)
_RELEASE = re.compile(r"(?:^|-)(?:ltsc20\d\d|1809|1903|1909|20h2)(?:-|$)", re.IGNORECASE)
_FRAMEWORK = "mcr.microsoft.com/dotnet/framework/"


def explain_tag(repository: str, tag: str) -> tuple[str, str]:
    """Why there is no such tag by its form, and what to use instead; empty for one that there may be.

    Source: the READMEs of dotnet/dotnet-docker, microsoft/dotnet-framework-docker, microsoft/iis-docker,
    PowerShell/PowerShell-Docker and docker-library, Windows tags.
    """
    if repository.startswith(_FRAMEWORK) and "nanoserver" in tag:
        return ".NET Framework does not run on nanoserver", f"{repository}:4.8-windowsservercore-ltsc2022"
    if re.fullmatch(r"mcr\.microsoft\.com/dotnet/(?:runtime|aspnet|sdk)", repository) and re.match(
        r"(?:3\.5|4\.[5-9])(?:[.-]|$)", tag
    ):
        name = repository.rpartition("/")[2]
        return f"{repository} has no {tag}, which is .NET Framework", f"{_FRAMEWORK}{name}:{tag}"
    if _ON_A_BASE.fullmatch(repository) and _RELEASE.search(tag) and not re.search("nanoserver|windowsservercore", tag):
        named = _RELEASE.sub(
            lambda found: found[0].replace(found[0].strip("-"), f"windowsservercore-{found[0].strip('-')}"), tag
        )
        return f"{repository} has no tag {tag}: a tag names nanoserver or windowsservercore", f"{repository}:{named}"
    return "", ""
