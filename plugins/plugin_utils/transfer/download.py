# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller itself reads over the network: sum files, and programs that it sends on.

Certificates are checked, and an address of https leads to no other scheme: what comes over http anyone on the way could
have written, a digest too. The node's own fetch has the same rules (powershell/runner/30_fetch.ps1).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit

from ..engine.address import mask, mask_in
from ..engine.local_path import needing_room
from ..engine.resource import Refused
from ..engine.resources.programs import PROGRAM_BYTES
from ..engine.time_limit import run_within

SUMS_S = 30
SUMS_BYTES = 4 * 1024 * 1024
"""Kubernetes' own, the longest that is known, has 300 KB for each release."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HOPS = 5
_PIECE = 1024 * 1024


def read(address: str, timeout_s: float = SUMS_S, max_bytes: int = SUMS_BYTES) -> bytes:
    """What is behind an address. OSError or HTTPException if it cannot be had, is larger, or takes longer in all."""
    return run_within(timeout_s, lambda: b"".join(_pieces(address, timeout_s, max_bytes)))


def save(address: str, path: Path, timeout_s: float, max_bytes: int = PROGRAM_BYTES) -> None:
    """The same into a file; what has come of it stays after an error."""

    def write() -> None:
        with path.open("wb") as file:
            for piece in _pieces(address, timeout_s, max_bytes):
                file.write(piece)

    run_within(timeout_s, write)


def fetch(what: str, address: str, path: Path, timeout_s: float) -> None:
    """`save` of a program. Refused if the disk is full; if it cannot be had, by a sentence that begins with `what`."""
    try:
        with needing_room(path, 0):
            save(address, path, timeout_s)
    except (OSError, HTTPException) as error:
        raise Refused(
            f"{what}: {mask(address)} could not be fetched on the controller: {mask_in(error, address)}."
        ) from error


def _pieces(address: str, timeout_s: float, max_bytes: int) -> Iterator[bytes]:
    total = 0
    with closing(_open(address, timeout_s)) as answer:
        announced = answer.headers.get("Content-Length", "")
        if announced.isascii() and announced.isdigit() and int(announced) > max_bytes:
            raise OSError(f"it has {int(announced)} bytes, and at most {max_bytes} are read")
        while piece := answer.read(_PIECE):
            total += len(piece)
            if total > max_bytes:
                raise OSError(f"it has more than the {max_bytes} bytes that are read")
            yield piece


def _open(address: str, timeout_s: float) -> Any:
    from ansible.module_utils.urls import open_url  # most runs read nothing, and it loads much

    place = address
    for _hop in range(_HOPS + 1):
        try:
            return open_url(place, timeout=timeout_s, follow_redirects="none")
        except HTTPError as error:
            location = error.headers.get("Location")
            if error.code not in _REDIRECTS or not location:
                raise
            place = _follow(place, location)
    raise OSError(f"more than {_HOPS} redirects")


def _follow(place: str, location: str) -> str:
    following = urljoin(place, location)
    old, new = urlsplit(place).scheme.lower(), urlsplit(following).scheme.lower()
    if new not in {"http", "https"} or (old == "https" and new != "https"):
        raise OSError(f"redirected from {old} to {mask(following)}; that is not followed")
    return following
