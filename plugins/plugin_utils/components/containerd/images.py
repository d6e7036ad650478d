# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that the node has before the first pod needs them: Windows images are gigabytes, and a first pull takes
minutes.

A reading does not tell which images containerd has. So a receipt on the node lists the images that were pulled or
found, and they are not checked again. The kubelet may delete an unused image; the next pod then pulls it, not the next
run. For an image that is not in the receipt, containerd is asked first.

`ctr images pull` does not use CRI's registry settings, so it gets the folder of hosts.toml. CRI lists what it pulls
into the namespace k8s.io. Source: containerd v1.6.36, v1.7.35, v2.3.7 cmd/ctr/commands/{commands,resolver}.go,
images/pull.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...engine import windows_path
from ...engine.answer import Answer
from ...engine.batch import Batch, Op
from ...engine.reading import CONFIDENTIAL, Expectation, Query, Reading, file_key, file_query, system_query
from ...engine.resource import Change, Refused
from ...engine.tools import run
from ...facts.containerd import DEFAULT_ROOT
from ..layout import Layout

NAME = "images"

PRESENT = f"{CONFIDENTIAL}images"
"""The part of a reading with containerd's images; only the task that asked has it."""

RECEIPT_LIMIT = 64 * 1024
NAMESPACE = "k8s.io"

UNPACKED_GB = {"nanoserver": 0.3, "servercore": 5, "server": 11, "windows": 14}
"""Disk space of the unpacked layers of Microsoft's base images in GB, by the last part of their names.

unverified: orders of magnitude, not measured here; hence a warning and no refusal.
"""
_BASE = re.compile(r"mcr\.microsoft\.com/windows(?:/(\w+))?[:@]")

_REFERENCE = re.compile(
    r"(?P<host>[A-Za-z0-9.-]+(?::\d+)?)/[a-z0-9]+(?:[._/-]+[a-z0-9]+)*"
    r"(?P<tag>:\w[\w.-]*)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


@dataclass(frozen=True, slots=True)
class Images:
    """The images `wanted`, by full name. Each pull may take `timeout_s`."""

    layout: Layout
    wanted: tuple[str, ...]
    timeout_s: int

    @property
    def label(self) -> str:
        return "images"

    @property
    def deadline_s(self) -> int:
        """The time limit of the batch: the sum of the limits of all pulls."""
        return len(self.wanted) * self.timeout_s + 300

    def reads(self) -> tuple[Query, ...]:
        """The receipt, and whether ctr.exe exists."""
        return (_receipt_query(self.layout), file_query(self.layout.ctr, sha256=True))

    def find_unknown(self, reading: Reading) -> tuple[str, ...]:
        """Images that the receipt does not list."""
        known = list_recorded(self.layout, reading)
        return tuple(image for image in self.wanted if image not in known)

    def describe_shortage(self, reading: Reading) -> str:
        """A sentence if missing base images need more space than the drive has; empty if they fit, or if either size
        is unknown."""
        names = [match[1] or "windows" for image in self.find_unknown(reading) if (match := _BASE.match(image))]
        needed = sum(UNPACKED_GB.get(name, 0) for name in names)
        free = reading.free_bytes.get(DEFAULT_ROOT[:2])
        if free is None or int(free) >= needed * 10**9:
            return ""
        return (
            f"images: {', '.join(names)} take about {needed:g} GB on {DEFAULT_ROOT[:2]}, which has "
            f"{int(free) / 10**9:.1f} GB free: a pull may fail, and the kubelet evict pods. Make room first."
        )

    def change(self, reading: Reading) -> Change | None:
        """Pull missing images and record all of them. Refused without ctr.exe."""
        unknown = self.find_unknown(reading)
        if not unknown:
            return None
        if not reading.file(self.layout.ctr).get("exists"):
            raise Refused(
                f"images: there is no {self.layout.ctr}, which pulls them. A release archive of containerd brings it "
                "in; containerd.exe alone does not."
            )
        present = set(reading.parts.get(PRESENT) or ())
        missing = [image for image in unknown if image not in present]
        everything = sorted({*list_recorded(self.layout, reading), *self.wanted})
        content = reading.file(_receipt(self.layout)).get("content")
        back = (
            Op("write", {"path": _receipt(self.layout), "content": content})
            if content
            else Op("remove", {"path": _receipt(self.layout)})
        )
        note = Op("record", {"path": _receipt(self.layout), "source": {"images": everything}, "files": []})
        return Change(
            text=f"pull {', '.join(missing)}" if missing else f"record that {', '.join(unknown)} is there already",
            before="".join(f"{image}\n" for image in sorted(present & set(unknown))),
            after="".join(f"{image}\n" for image in unknown),
            commit=tuple(self._pull(image) for image in missing),
            finish=(note.with_undo(back),),
            state=self.reads(),
        )

    def listing(self, reading: Reading) -> Batch | None:
        """A batch that asks containerd for its images, if the receipt does not list them all. It changes nothing."""
        if (
            PRESENT in reading.parts
            or not self.find_unknown(reading)
            or not reading.file(self.layout.ctr).get("exists")
        ):
            return None
        expect = Expectation(system_query(), (("machine", reading.machine),))
        return Batch(NAME, (self._ctr("images", "ls", "-q", timeout_s=120),), pre=(expect,))

    def _pull(self, image: str) -> Op:
        return self._ctr("images", "pull", "--hosts-dir", self.layout.certs_dir, image, timeout_s=self.timeout_s)

    def _ctr(self, *args: str, timeout_s: int) -> Op:
        address = rf"\\.\pipe\{self.layout.containerd_pipe}"
        line = ("--address", address, "--namespace", NAMESPACE, *args)
        return run(self.layout.ctr, *line, timeout_s=timeout_s, encoding="utf-8")


def build_resources(layout: Layout, wanted: Iterable[str], timeout_s: int) -> Images:
    """Refused for a name that is not full: unlike docker, ctr does not add docker.io/library."""
    images = tuple(dict.fromkeys(wanted))
    problems = [
        f"images: '{image}' is not a full image name; wanted host, path and tag, such as "
        "mcr.microsoft.com/windows/nanoserver:ltsc2022 or docker.io/library/golang:1.24."
        for image in images
        if not _is_whole(image)
    ]
    if problems:
        raise Refused(*problems)
    return Images(layout, images, timeout_s)


def read_listing(batch: Batch, answer: Answer) -> dict[str, Any]:
    """The part PRESENT from the answer to the batch of `listing`; nothing for any other batch."""
    if batch.component != NAME or any(op.op == "record" for op in batch.ops):
        return {}
    lines = (line.strip() for each in answer.results for line in each.stdout.splitlines())
    return {PRESENT: [line for line in lines if line]}


def list_recorded(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """The images in the receipt. KeyError if it was not read."""
    text = reading.text(_receipt(layout)) if file_key(_receipt(layout)) in reading.parts else None
    try:
        found = json.loads(text or "{}").get("source", {}).get("images", ())
    except (ValueError, AttributeError, RecursionError):
        return ()
    return tuple(image for image in found if isinstance(image, str)) if isinstance(found, list) else ()


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads for this layout, whatever the images are."""
    return (_receipt_query(layout),)


def _receipt(layout: Layout) -> str:
    return windows_path.join(layout.state_dir, "receipts", f"{NAME}.json")


def _receipt_query(layout: Layout) -> Query:
    return file_query(_receipt(layout), sha256=True, content_limit=RECEIPT_LIMIT)


def _is_whole(image: str) -> bool:
    match = _REFERENCE.fullmatch(image)
    if match is None or not (match["tag"] or match["digest"]):
        return False
    return "." in match["host"] or ":" in match["host"] or match["host"] == "localhost"
