# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a container runtime over CRI; documented in modules/cri_info.py."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils.argument_spec import of_module
from ..plugin_utils.cri.client import CriClient, CriError
from ..plugin_utils.cri.inventory import look
from ..plugin_utils.plain import plain


class ActionModule(ActionBase):
    """cri_info."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the runtime says about itself; the task fails if it serves no CRI."""
        super().run(tmp, task_vars)
        options = plain(self.validate_argument_spec(argument_spec=of_module("cri_info"))[1])
        try:
            with CriClient.of(options) as client:
                return {"changed": False} | look(client)
        except CriError as error:
            raise AnsibleActionFail(str(error)) from error
