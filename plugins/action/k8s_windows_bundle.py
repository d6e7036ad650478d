# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects what nodes download; documented in modules/k8s_windows_bundle.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..plugin_utils.components.options import read
from ..plugin_utils.engine.local_path import expand_home
from ..plugin_utils.provision import mirror
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.screen import display


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOptions:
    """The module's options. `timeout` is seconds for a file."""

    directory: str
    files: tuple[mirror.FileOptions, ...]
    allow_unverified: tuple[str, ...]
    timeout: int


class ActionModule(ControllerAction):
    """k8s_windows_bundle."""

    module = "k8s_windows_bundle"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """Learn all digests, fetch what is missing, sum up."""
        how = read(BundleOptions, options)
        folder = expand_home(how.directory)
        files = mirror.list_files(how.files, how.allow_unverified)
        missing = mirror.list_missing(folder, files)
        changed = bool(missing)
        if not self._task.check_mode:
            for file in missing:
                display.display(f"{file.component}: downloading {file.path}")
                mirror.fetch(folder, file, how.timeout)
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            changed = mirror.write_sums(folder, mirror.sum_up(folder, files)) or changed
        fetched = [file.path for file in missing]
        would = "would be " if self._task.check_mode else ""
        return {
            "changed": changed,
            "files": [file.path for file in files],
            "downloaded": fetched,
            "msg": f"{folder}: {len(files)} files, of which {len(fetched)} {would}downloaded",
        }
