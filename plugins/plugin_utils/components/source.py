# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source of a component's programs: URL and checksum from the user, made into a source or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from urllib.error import HTTPError
from urllib.parse import urlsplit

from ..engine.address import mask, mask_in
from ..engine.local_path import expand_home
from ..engine.resource import Refused
from ..engine.resources.programs import Source
from ..facts.pins import find_pin
from ..foreign.encoding import decode_anyhow

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUM_LINE = re.compile(r"^([0-9a-fA-F]{64})(?:\s+\*?(\S+))?\s*$")

ReadUrl = Callable[[str], str]
"""Reads the text at an https address, on the controller. Raises OSError with a sentence."""

SUMS = "SHA256SUMS"
"""The sum file of a bundle: its lines name files by their path inside the bundle (playbooks/bundle.yml)."""


def source(
    *,
    component: str,
    version: str,
    url: str,
    checksum: str,
    unverified: Collection[str],
    read_url: ReadUrl,
    proxy: str | None = None,
    over_http: bool = False,
) -> Source:
    """The source of `component`. Refused without a checksum, unless `winkube_allow_unverified` names the component and
    the file comes over https; `over_http`: the user has named the file alone, and is warned.

    `checksum` is `sha256:<64 hex digits>`, the https address of a sum file, which the controller reads, or a file
    SHA256SUMS on the controller. A pinned hash replaces a missing checksum, and a sum file on the file's own server.
    """
    scheme = urlsplit(url).scheme.lower()
    if scheme not in {"http", "https", "file"}:
        raise Refused(
            f"{component}: the source '{mask(url)}' has no scheme that can be fetched; use http, https or file:///C:/..."
        )
    if not checksum or _is_same_server(url, checksum):
        checksum = f"sha256:{pin}" if (pin := find_pin(url)) else checksum
    if not checksum:
        if component not in unverified:
            raise Refused(
                f"{component}: the source {mask(url)} has no checksum. Give 'sha256:<64 hex digits>' or the https "
                "address of the publisher's sum file; to install it without one, name it: winkube_allow_unverified: "
                f"[{component}]."
            )
        if scheme == "http" and not over_http:
            raise Refused(
                f"{component}: the source {mask(url)} has no checksum and comes over http: anyone on the way can put "
                "any program on the node, and winkube_allow_unverified does not allow that. Give "
                "'sha256:<64 hex digits>', or an https address of the file."
            )
        return Source(url, None, version, proxy)
    return Source(url, _sha256(component, url, checksum, read_url), version, proxy)


def find_trust(url: str, checksum: str) -> str:
    """What is said of a source for which nothing but its own server vouches: `no sum`, or `its server's sum`; empty for
    any other, and for a file that the node has."""
    if urlsplit(url).scheme.lower() not in {"http", "https"} or find_pin(url) is not None:
        return ""
    return "no sum" if not checksum else "its server's sum" if _is_same_server(url, checksum) else ""


def _is_same_server(url: str, checksum: str) -> bool:
    said = as_meant(checksum)
    return said.startswith("https://") and urlsplit(said).hostname == urlsplit(url).hostname


def as_meant(checksum: str) -> str:
    """The checksum without the newline that ends YAML's blocks, without copied blanks, its digits in lower case."""
    said = checksum.strip()
    return "".join(said.split()).lower() if said[:6].lower() == "sha256" else said


def _sha256(component: str, url: str, given: str, read_url: ReadUrl) -> str:
    checksum = as_meant(given)
    if checksum.startswith("https://"):
        return find_in_sum_file(component, url, checksum, read_url)
    if checksum.endswith(SUMS):
        return find_in_sum_file(component, url, checksum, _read_file)
    algorithm, colon, digest = checksum.partition(":")
    if not colon or algorithm != "sha256" or not _SHA256.fullmatch(digest):
        said = checksum if algorithm == "sha256" else mask(checksum)
        raise Refused(
            f"{component}: the checksum '{said}' is neither 'sha256:' and 64 hex digits nor an https "
            "address of a sum file."
        )
    return digest


def _describe_error(error: OSError) -> str:
    """urllib's message without its wrapping: `Connection refused`, `HTTP Error 404: Not Found`."""
    cause = error if isinstance(error, HTTPError) else getattr(error, "reason", error)
    return str(getattr(cause, "strerror", None) or cause)


def find_in_sum_file(component: str, url: str, address: str, read_url: ReadUrl) -> str:
    """The sha256 for `url` in a sum file. Refused if the sum file cannot be read, or does not list the file."""
    try:
        text = read_url(address)
    except OSError as error:
        raise Refused(
            f"{component}: the controller could not read the sum file {mask(address)}: "
            f"{mask_in(_describe_error(error), address)}. Give the controller access to it (its own HTTPS_PROXY "
            "counts), or give the file's checksum itself, 'sha256:...'."
        ) from error
    path_of_url = _strip_query(url)
    name = path_of_url.rsplit("/", 1)[-1]
    sums = [match.groups() for line in text.splitlines() if (match := _SUM_LINE.match(line.strip()))]
    if len(sums) == 1 and sums[0][1] is None:
        return str(sums[0][0]).lower()
    listed = [(str(digest).lower(), str(path).removeprefix("./")) for digest, path in sums if path is not None]
    named = [(digest, path) for digest, path in listed if path.rsplit("/", 1)[-1] == name]
    # A sum file names files by their path: the same name in another folder is another file, such as another release's.
    # Only the sum of this one file, beside it (kubelet.exe.sha256), may name the folder in which it was made.
    beside = len(sums) == 1 and _strip_query(address).startswith(path_of_url)
    found = {digest for digest, path in named if "/" in path and f"/{path_of_url}".endswith(f"/{path}")}
    found = found or {digest for digest, path in named if "/" not in path or beside}
    if len(found) == 1:
        return found.pop()
    if found:
        raise Refused(
            f"{component}: the sum file {mask(address)} lists several files called {mask(name)}, but none as "
            f"{mask(url)}; the checksum is not guessed."
        )
    if named:
        raise Refused(
            f"{component}: the sum file {mask(address)} has no line for {mask(url)}; the {mask(name)} that it "
            f"lists is {' and '.join(path for _sum, path in named)}. Give this release's sum file, or "
            "the file's own checksum."
        )
    raise Refused(
        f"{component}: the sum file {mask(address)} holds no sha256 for {mask(name)}; its first line is "
        f"'{text.strip().splitlines()[0][:80] if text.strip() else ''}'."
    )


def _strip_query(address: str) -> str:
    """The address without its query: a signature, such as a store's ?sig=.., is not part of a file's name."""
    return re.split(r"[?#]", address, maxsplit=1)[0]


def text_of(data: bytes) -> str:
    """The text of a sum file; Windows' own programs write it with a byte order mark, or in UTF-16."""
    return decode_anyhow(data)


def _read_file(path: str) -> str:
    return text_of(expand_home(path).read_bytes())


def is_archive(component: str, url: str) -> bool:
    """Whether `url` names a release archive (.tar.gz, .tgz, .zip) rather than a program (.exe). Refused if it names
    neither."""
    path = urlsplit(url).path.lower()
    if path.endswith((".tar.gz", ".tgz", ".zip")):
        return True
    if path.endswith(".exe"):
        return False
    raise Refused(
        f"{component}: '{mask(url)}' is neither an archive (.tar.gz, .tgz, .zip) nor a program (.exe) by its name."
    )
