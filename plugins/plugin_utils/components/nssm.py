# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nssm.exe itself: version 2.24, from nssm's zip or from the program's own URL.

A component whose service runs under nssm includes these resources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..engine import windows_path
from ..engine.address import mask
from ..engine.reading import Query, Reading, file_key
from ..engine.resource import Change, Refused, Resource
from ..engine.resources.directory import guard_always
from ..engine.resources.programs import Programs, Source
from ..facts import service_wrappers as facts
from .layout import Layout
from .source import source

NAME = "nssm"

_ZIP = re.compile(r"^(?P<folder>nssm-(?P<version>\d[\w.-]*))\.zip$")


@dataclass(frozen=True, slots=True)
class NssmSource:
    """Where nssm.exe comes from: `member` is its name in the zip, empty for the program itself."""

    source: Source
    member: str


@dataclass(frozen=True, slots=True)
class NssmVersion:
    """The program at `path` is nssm 2.24 by its version resource; nothing changes for it.

    `programs` brings nssm.exe; None if another part does.
    """

    path: str
    programs: Programs | None

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """The program and its version."""
        return (_query(self.path),)

    def change(self, reading: Reading) -> Change | None:
        """Never a change. Refused if nssm.exe is missing and will not be installed, or if the present one is not
        2.24."""
        found = reading.file(self.path)
        if self.programs is None and not found.get("exists"):
            raise Refused(
                f"nssm: there is no {self.path}, and nssm_source.url is empty. Put nssm {facts.NSSM_VERSION} there, or "
                "set winkube_nssm_url to install it."
            )
        stays = self.programs is None or self.programs.is_installed(reading)
        version = found.get("version")
        if stays and version and not _is_wanted(str(version)):
            raise Refused(
                f"nssm: {self.path} says that it is version {version}, but {facts.NSSM_VERSION} is needed. "
                f"Give the source of {facts.NSSM_VERSION} (winkube_nssm_url, winkube_nssm_checksum)."
            )
        return None


def nssm_source(
    *, url: str, checksum: str, proxy: str | None, unverified: Collection[str], read_url: Callable[[str], str]
) -> NssmSource | None:
    """The requested source; None for an empty URL: nssm.exe is there already.

    The checksum of nssm's own nssm-2.24.zip is known, on any host; everything else needs one. Refused for another
    version, and for a file that is neither nssm's zip by its name nor an .exe.
    """
    if not url:
        return None
    file = urlsplit(url).path.rsplit("/", 1)[-1]
    zipped = _ZIP.match(file)
    if zipped is None and not file.lower().endswith(".exe"):
        raise Refused(
            f"{NAME}: '{mask(url)}' is neither nssm's own zip by its name (nssm-{facts.NSSM_VERSION}.zip) nor "
            "nssm.exe itself."
        )
    version = zipped["version"] if zipped else facts.NSSM_VERSION
    if not _is_wanted(version):
        raise Refused(f"{NAME}: '{mask(url)}' is version {version}, but {facts.NSSM_VERSION} is needed.")
    known = facts.find_sha256(file)
    made = source(
        component=NAME,
        version=version,
        url=url,
        checksum=checksum or (f"sha256:{known}" if known else ""),
        unverified=unverified,
        read_url=read_url,
        proxy=proxy,
    )
    return NssmSource(made, f"{zipped['folder']}/{facts.NSSM_MEMBER}" if zipped else "")


def build_resources(layout: Layout, wanted: NssmSource | None, mark: str) -> tuple[Resource, ...]:
    """nssm.exe in a folder to which only administrators may write. `mark` is the batch's id."""
    programs = _programs(layout, wanted, mark) if wanted else None
    return (
        *guard_always(windows_path.parent(layout.nssm)),
        *((programs,) if programs else ()),
        NssmVersion(layout.nssm, programs),
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """What `build_resources` reads for this layout, whatever its other arguments."""
    wanted = NssmSource(Source("", None, ""), "")
    return tuple(query for resource in build_resources(layout, wanted, "") for query in resource.reads())


def _programs(layout: Layout, wanted: NssmSource, mark: str) -> Programs:
    return Programs(
        NAME,
        wanted.source,
        ((wanted.member, layout.nssm),),
        layout.state_dir,
        mark[:8],
        resource_version=facts.NSSM_VERSION,
    )


def _query(path: str) -> Query:
    return Query(file_key(path), "file", (("path", path), ("version", True)))


def _is_wanted(version: str) -> bool:
    """True for 2.24, 2.24.0.0 and 2.24-101-g897c7ad, but not for 2.240."""
    return re.match(rf"{re.escape(facts.NSSM_VERSION)}(?!\d)", version) is not None
