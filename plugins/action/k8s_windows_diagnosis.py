# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the report about all nodes; documented in modules/k8s_windows_diagnosis.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..plugin_utils.components.options import read
from ..plugin_utils.diagnosis import page
from ..plugin_utils.record.node_record import NodeRecord
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.recorded import find_store
from ..plugin_utils.task.reports import write_report
from ..plugin_utils.words.meanings import message_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisOptions:
    """The module's options."""

    hosts: tuple[str, ...]
    directory: str
    message: str


class ActionModule(ControllerAction):
    """k8s_windows_diagnosis."""

    module = "k8s_windows_diagnosis"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """The files; nothing fails because of what is in them."""
        how, store = read(DiagnosisOptions, options), find_store()
        nodes = [_node(store.record(host)) for host in how.hosts]
        texts = {
            "report.md": page.as_markdown(nodes),
            "report.html": page.as_html(nodes),
            "report.json": page.as_json(nodes),
        }
        files, changed = write_report(how.directory, texts, check=bool(self._task.check_mode))
        return {
            "changed": changed,
            "files": files,
            "counts": page.counts(nodes),
            "broken": [str(node["host"]) for node in nodes if (node.get("counts") or {}).get("errors")],
            "verdicts": page.verdicts(nodes),
            "lines": [*message_lines(how.message), *page.lines(nodes)],
        }


def _node(record: NodeRecord) -> dict[str, Any]:
    """A node's part of the report; why it was not looked at is a sentence."""
    about = {
        "host": record.host,
        "ready": record.ready,
        "pod_cidr": record.pod_cidr,
        "versions": asdict(record.versions),
        "standing": ", ".join(record.standing),
    }
    if record.diagnosis is None:
        failures = record.failures
        why = failures[-1].reason if failures else "this run did not look at it"
        return {**about, "error": why.strip()}
    return {**about, **record.diagnosis}
