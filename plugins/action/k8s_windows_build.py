# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds on the controller; documented in modules/k8s_windows_build.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..plugin_utils.components.options import read
from ..plugin_utils.engine.local_path import expand_home
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.provision import provision_source
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.screen import display


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """The module's options. `settle` is seconds."""

    name: str
    directory: str
    command: tuple[str, ...]
    environment: Mapping[str, Any]
    result: str
    watch: bool
    since: str
    settle: float
    endings: tuple[str, ...]


class ActionModule(ControllerAction):
    """k8s_windows_build."""

    module = "k8s_windows_build"

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """Wait where that is wanted, build, look at what was made."""
        how = read(BuildOptions, options)
        if self._task.check_mode:
            nothing = {"built": False, "seconds": 0.0, "output": "", "stamp": ""}
            return nothing | {"changed": True, "msg": f"{how.name}: would be built"}
        folder = expand_home(how.directory)
        if not folder.is_dir():
            raise Refused(f"directory (winkube_build_dir): {folder} is not a folder on the controller.")

        def look() -> str:
            return provision_source.stamp(folder, how.endings)

        name, seen = how.name, look()
        if how.watch:
            if how.since == seen:
                display.display(f"{name}: waiting for a change below {folder} (Ctrl-C ends)")
            seen = provision_source.wait_for_change(look, how.since, how.settle)
        made = provision_source.make(how.command, folder, {k: str(v) for k, v in how.environment.items()})
        told = {"seconds": made.seconds, "output": made.output, "stamp": seen, "changed": made.code == 0}
        if made.code != 0:
            ended = f"the build ended with exit code {made.code} after {made.seconds} s"
            why = f"{name}: {ended}, in {folder.resolve()}:\n{made.output}"
            if how.watch:
                display.display(why, color="red")
            return told | {"built": False, "msg": why, "failed": not how.watch}
        found = provision_source.find_newest(name, folder / how.result)
        if found is None:
            raise Refused(f"{name}: the build succeeded, but there is no file at {folder / how.result}.")
        about = provision_source.describe_build(found, folder)
        return told | {"built": True, "file": about, "msg": provision_source.summarise_build(name, about, made.seconds)}
