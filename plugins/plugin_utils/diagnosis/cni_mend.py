# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's CNI configuration mended: what of it would be written, for hns_check to show and win_k8s_repair to write.

A file of its own: it reads and writes a node's file, cni_fix.py knows texts alone.
"""

from __future__ import annotations

import base64
import difflib
from dataclasses import dataclass, replace
from typing import Any

from ..components.cni.cni_conf import FILE
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.reading import Reading, file_key
from ..engine.resource import Refused
from ..engine.resources.text_file import TextFile
from ..network.conf import ConfError, chosen, decode, load
from .cni_fix import fix
from .cni_lint import Subject


@dataclass(frozen=True, slots=True)
class Mended:
    """The file that the runtime takes, its text before and after. `encoding` says why Go's decoder refuses its bytes,
    `problem` why it says nothing to the runtime even when mended; both are empty where all is well."""

    path: str
    before: str
    after: str
    encoding: str = ""
    problem: str = ""

    @property
    def differs(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after or bool(self.encoding)

    def as_data(self) -> dict[str, Any]:
        """As modules return it: the text mended, and a unified diff, empty if nothing can be mended."""
        name = windows_path.name(self.path)
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), f"{name} (before)", f"{name} (after)", lineterm=""
        )
        return {"path": self.path, "mended": self.after, "patch": "\n".join(lines)}

    def resource(self, layout: Layout, mark: str) -> TextFile:
        """What would be written. Refused where a person has to mend it first."""
        if self.problem:
            raise Refused(
                f"{self.path}: {self.problem}. Mend that by hand, or run site.yml, which writes flannel's own."
            )
        refused = bool(self.encoding)
        return TextFile(self.path, self.after, layout.backup(mark), lambda left, right: not refused and left == right)


def mended(reading: Reading, folder: str, subject: Subject) -> Mended | None:
    """The configuration in `folder` that the runtime takes; None if there is none, or it was not read."""
    listed = (reading.parts.get(file_key(folder)) or {}).get("entries")
    path = windows_path.join(folder, chosen(str(each) for each in listed or ()) or FILE)
    content = (reading.parts.get(file_key(path)) or {}).get("content")
    if content is None:
        return None
    text, encoding = _decoded(base64.b64decode(content))
    name = windows_path.name(path)
    after = fix(text, replace(subject, file=name))
    try:
        load(name, after)
    except ConfError as error:
        return Mended(path, text, text, encoding, str(error).rstrip("."))
    return Mended(path, text, after, encoding)


def _decoded(content: bytes) -> tuple[str, str]:
    """The text, and why Go's decoder would refuse its encoding; empty if it would not."""
    try:
        return decode(content), ""
    except ConfError as error:
        wide = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-16-le"
        name = "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else wide
        return content.decode(name, errors="replace"), str(error)
