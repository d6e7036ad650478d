# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Windows updates on a drained node; documented in modules/win_k8s_update.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils.components.options import read
from ..plugin_utils.engine.sentences import as_steps
from ..plugin_utils.task import claimed
from ..plugin_utils.task.module_action import ModuleAction

UPDATES = "ansible.windows.win_updates"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOptions:
    """The module's options. `updates` are those of win_updates."""

    node_name: str
    updates: Mapping[str, Any]


class ActionModule(ModuleAction):
    """win_k8s_update."""

    module = "win_k8s_update"

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """What win_updates returns, with a step for the record."""
        self._task_vars = task_vars or {}
        super().run(tmp, self._task_vars)
        return self.keep_record(lambda: self._update(read(UpdateOptions, self.check_options())), changes=True)

    def _update(self, how: UpdateOptions) -> dict[str, Any]:
        """Only now is the node changed: after a drain, a batch waits for its slowest node, and then for a free
        worker."""
        task = self._task.copy()
        task.args = dict(how.updates)
        updates = self._shared_loader_obj.action_loader.get(
            UPDATES,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        if updates is None:
            raise AnsibleActionFail(
                "updates: the collection ansible.windows is missing: ansible-galaxy collection install ansible.windows"
            )
        check = bool(self._task.check_mode)
        if not check:
            claimed.forget([how.node_name])
        found: dict[str, Any] = updates.run(task_vars=self._task_vars)
        count = found.get("found_update_count" if check else "installed_update_count")
        return found | {"steps": as_steps([f"install {count} updates"] if count else [], planned=check)}
