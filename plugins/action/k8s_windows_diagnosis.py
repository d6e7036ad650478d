# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the report about all nodes; documented in modules/k8s_windows_diagnosis.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..plugin_utils.components.options import read
from ..plugin_utils.diagnosis import page
from ..plugin_utils.engine.local_path import expand_home
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.record.node_record import NodeRecord
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.recorded import find_store
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
        folder = expand_home(how.directory).absolute()
        texts = {
            "report.md": page.as_markdown(nodes),
            "report.html": page.as_html(nodes),
            "report.json": page.as_json(nodes),
        }
        try:
            changed = [name for name, text in texts.items() if self._write(folder / name, text)]
        except OSError as error:
            raise Refused(
                f"directory: the report cannot be written to {folder}: {error.strerror or error}. Name a folder on the "
                "controller that you may write to."
            ) from error
        return {
            "changed": bool(changed),
            "files": {name.partition(".")[2]: str(folder / name) for name in texts},
            "counts": page.counts(nodes),
            "broken": [str(node["host"]) for node in nodes if (node.get("counts") or {}).get("errors")],
            "verdicts": page.verdicts(nodes),
            "lines": [*message_lines(how.message), *page.lines(nodes)],
        }

    def _write(self, path: Path, text: str) -> bool:
        """Whether the file differs; written unless this is check mode."""
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return False
        if not self._task.check_mode:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return True


def _node(record: NodeRecord) -> dict[str, Any]:
    """A node's part of the report; why it was not looked at is a sentence."""
    if record.diagnosis is None:
        failures = (*record.went_on, *((record.failed,) if record.failed else ()))
        why = failures[-1].reason if failures else "this run did not look at it"
        return {"host": record.host, "error": why.strip()}
    return {"host": record.host, **record.diagnosis}
