# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a component's programs come from: the URL and the checksum a person gave, made into a source or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

from ..engine.resource import Refused
from ..engine.resources.programs import Source

_SHA256 = re.compile(r"^[0-9a-f]{64}$")
_SUM_LINE = re.compile(r"^([0-9a-fA-F]{64})(?:\s+\*?(\S+))?\s*$")

ReadUrl = Callable[[str], str]
"""Gives the text behind an https address, on the controller. Raises OSError with a sentence."""

SUMS = "SHA256SUMS"
"""The sum file of a bundle: its lines name files by their path below the bundle (playbooks/bundle.yml)."""


def source(
    *,
    component: str,
    version: str,
    url: str,
    checksum: str,
    unverified: Collection[str],
    read_url: ReadUrl,
    proxy: str | None = None,
) -> Source:
    """The source of `component`. Refused without a checksum, unless the component is named in
    `winkube_allow_unverified`.

    `checksum` is `sha256:<64 hex digits>`, the https address of a sum file, which the controller reads, or
    a file SHA256SUMS on the controller.
    """
    scheme = urlsplit(url).scheme.lower()
    if scheme not in {"http", "https", "file"}:
        raise Refused(
            f"{component}: the source '{url}' has no scheme that can be fetched; use http, https or file:///C:/..."
        )
    if not checksum:
        if component not in unverified:
            raise Refused(
                f"{component}: the source {url} has no checksum. Give 'sha256:<64 hex digits>' or the https address "
                "of the publisher's sum file; "
                f"to go without, say so by name: winkube_allow_unverified: [{component}]."
            )
        return Source(url, None, version, proxy)
    return Source(url, _sha256(component, url, checksum, read_url), version, proxy)


def _sha256(component: str, url: str, checksum: str, read_url: ReadUrl) -> str:
    if checksum.startswith("https://"):
        return _from_sum_file(component, url, checksum, read_url)
    if checksum.endswith(SUMS):
        return _from_sum_file(component, url, checksum, _read_file)
    algorithm, colon, digest = checksum.partition(":")
    if not colon or algorithm != "sha256" or not _SHA256.match(digest.lower()):
        raise Refused(
            f"{component}: the checksum '{checksum}' is neither 'sha256:' and 64 hex digits nor an https address of "
            "a sum file."
        )
    return digest.lower()


def _why(error: OSError) -> str:
    """What urllib means, without its own wrapping: `Connection refused`, `HTTP Error 404: Not Found`."""
    cause = error if isinstance(error, HTTPError) else getattr(error, "reason", error)
    return str(getattr(cause, "strerror", None) or cause)


def _from_sum_file(component: str, url: str, address: str, read_url: ReadUrl) -> str:
    try:
        text = read_url(address)
    except OSError as error:
        raise Refused(
            f"{component}: the controller could not read the sum file {address}: {_why(error)}. Give it a way there "
            "(its own HTTPS_PROXY counts), or the file's checksum itself, 'sha256:...'."
        ) from error
    name = url.rsplit("/", 1)[-1]
    sums = [match.groups() for line in text.splitlines() if (match := _SUM_LINE.match(line.strip()))]
    if len(sums) == 1 and sums[0][1] is None:
        return str(sums[0][0]).lower()
    listed = [(str(digest).lower(), str(path).removeprefix("./")) for digest, path in sums if path is not None]
    named = [(digest, path) for digest, path in listed if path.rsplit("/", 1)[-1] == name]
    # A list names a file by its path: the same name in another folder is another file, such as another release's. Only
    # a sum of this one file, which lies beside it (kubelet.exe.sha256), may tell the folder in which it was made.
    beside = len(sums) == 1 and address.startswith(url)
    found = {digest for digest, path in named if "/" in path and f"/{url}".endswith(f"/{path}")}
    found = found or {digest for digest, path in named if "/" not in path or beside}
    if len(found) == 1:
        return found.pop()
    if found:
        raise Refused(
            f"{component}: the sum file {address} lists several files called {name}, and none of them as {url}; the "
            "checksum is not guessed."
        )
    if named:
        raise Refused(
            f"{component}: the sum file {address} has no line for {url}; the {name} that it lists is "
            f"{' and '.join(path for _sum, path in named)}. Give this release's sum file, or the file's own checksum."
        )
    raise Refused(
        f"{component}: the sum file {address} holds no sha256 for {name}; its first line is "
        f"'{text.strip().splitlines()[0][:80] if text.strip() else ''}'."
    )


def _read_file(path: str) -> str:
    return Path(path).expanduser().read_text(encoding="utf-8", errors="replace")


def is_archive(component: str, url: str) -> bool:
    """Whether `url` names a release archive (.tar.gz, .tgz, .zip) rather than a program (.exe). Refused if it is
    neither."""
    path = urlsplit(url).path.lower()
    if path.endswith((".tar.gz", ".tgz", ".zip")):
        return True
    if path.endswith(".exe"):
        return False
    raise Refused(f"{component}: '{url}' is neither an archive (.tar.gz, .tgz, .zip) nor a program (.exe) by its name.")
