# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends what scripts have started outside services; documented in modules/win_k8s_takeover.py."""

from __future__ import annotations

import uuid
from typing import Any

from ..plugin_utils import drain
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node_action import NodeAction
from ..plugin_utils.repair import rejoin, takeover
from ..plugin_utils.run_id import RUN_ID
from ..plugin_utils.verdict import must_be_done


class ActionModule(NodeAction):
    """win_k8s_takeover."""

    module = "win_k8s_takeover"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Look, say what was found, and end what runs outside a service."""
        reading = self.read_of((*takeover.reads(layout), *rejoin.runner_reads(layout)))
        if wrong := takeover.misnamed(layout, reading):
            raise Refused(*wrong)
        found, going = takeover.services(layout, reading), takeover.loose(layout, reading)
        batch = takeover.batch(layout, going, reading)
        state = "planned" if self._task.check_mode else "done"
        texts = [f"end {each.path or each.name} (pid {each.pid}), which no service has started" for each in going]
        if batch is not None and not self._task.check_mode:
            emptied = drain.before(batch, options, RUN_ID)
            answer = self._link.apply(batch, uuid.uuid4().hex, reading.file(layout.runner).get("sha256"))
            if answer.get("answer") == "stale":
                raise NodeError("takeover: the machine was restarted meanwhile. Run again.")
            must_be_done(answer, takeover.NAME)
            texts = [*emptied, *texts]
        result: dict[str, Any] = {
            "changed": batch is not None,
            "steps": [{"text": text, "state": state} for text in texts],
            "winkube": {"calls": self._link.calls},
        }
        if self._task.diff:
            result["diff"] = [{"prepared": "".join(f"{text}\n" for text in texts)}] * bool(texts)
        return result | takeover.as_data(found, going)
