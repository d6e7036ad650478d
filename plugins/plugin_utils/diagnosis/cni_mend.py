# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's CNI configuration mended: what of it would be written, for hns_check to show and win_k8s_repair to write.

A file of its own: it reads and writes a node's file, components/cni/mend.py knows only texts.
"""

from __future__ import annotations

import base64
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..components.cni.conf import FILE, ConfError, choose_file, decode, load
from ..components.cni.mend import mend
from ..components.cni.rules import Subject
from ..components.kube_proxy.kube_proxy_args import NETWORKS
from ..components.layout import Layout
from ..components.node import Node
from ..engine import windows_path
from ..engine.reading import Reading, file_key
from ..engine.resource import Refused
from ..engine.resources.file import File
from ..foreign.encoding import decode_anyhow
from .checks_cni import subject_of
from .scene import cni_folder


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

    def resource(self, layout: Layout, mark: str) -> File:
        """What would be written. Refused where a person has to mend it first."""
        if self.problem:
            raise Refused(
                f"{self.path}: {self.problem}. Mend that by hand, or run site.yml, which writes flannel's own."
            )
        refused = bool(self.encoding)
        return File(
            self.path,
            self.after.encode(),
            layout.backup(mark),
            equal=lambda left, right: not refused and left == right,
        )


def plan_mend(reading: Reading, layout: Layout, subject: Subject) -> Mended | None:
    """The configuration that the runtime takes; None if there is none, or it was not read."""
    folder = cni_folder(reading, layout)
    listed = (reading.parts.get(file_key(folder)) or {}).get("entries")
    path = windows_path.join(folder, choose_file(str(each) for each in listed or ()) or FILE)
    content = (reading.parts.get(file_key(path)) or {}).get("content")
    if content is None:
        return None
    text, encoding = _decode(base64.b64decode(content))
    name = windows_path.name(path)
    after = mend(text, replace(subject, file=name))
    try:
        load(name, after)
    except ConfError as error:
        return Mended(path, text, text, encoding, str(error).rstrip("."))
    return Mended(path, text, after, encoding)


def repaired_node(options: Mapping[str, Any], layout: Layout) -> Node:
    """The node by the options of win_k8s_repair, whose `network_name` is the overlay's in each mode."""
    node = Node.of(options, layout)
    given = node.flannel.network_name if node.network_mode == "overlay" else ""
    name = given or NETWORKS.get(node.network_mode, "")
    return replace(node, flannel=replace(node.flannel, network_name=name))


def resources(reading: Reading, expected: Node, mark: str) -> tuple[File, ...]:
    """What win_k8s_repair writes; nothing where all is well. Refused where there is nothing to mend, or where a person
    has to mend it first."""
    layout, name = expected.layout, expected.network_name if expected.flannel_is_ours else ""
    found = plan_mend(reading, layout, subject_of(expected, name))
    if found is None:
        raise Refused(
            f"There is no CNI configuration in {cni_folder(reading, layout)} to mend, or it has more than 64 KB: run "
            "site.yml with the tag flannel, which writes flannel's own."
        )
    return (found.resource(layout, mark),) if found.differs or found.problem else ()


def _decode(content: bytes) -> tuple[str, str]:
    """The text, and why Go's decoder would refuse its encoding; empty if it would not."""
    try:
        return decode(content), ""
    except ConfError as error:
        return decode_anyhow(content), str(error)
