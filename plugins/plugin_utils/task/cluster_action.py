# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module that writes objects of the cluster, and asks no node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..cluster.change import Change
from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..engine.resource import Refused
from ..engine.sentences import as_result
from .argument_spec import normalize, of_module, plain


class ClusterAction(ActionBase):
    """A subclass says what is planned and reported in `work`."""

    _requires_connection = False

    module: str
    topic: str
    """What its errors begin with."""

    def work(self, options: dict[str, Any], cluster: Cluster) -> dict[str, Any]:
        """The task's result. May raise Refused and ClusterError."""
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the arguments, open the cluster, do the work, turn errors into sentences."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        options = normalize(self.validate_argument_spec(argument_spec=of_module(self.module))[1])
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                raise Refused(
                    f"{self.topic}: cluster.kubeconfig is empty, and everything here is asked of the cluster."
                )
            return result | self.work(options, cluster)
        except Refused as refused:
            raise AnsibleActionFail("\n".join(refused.sentences), obj=self._task.args) from None
        except ClusterError as error:
            raise AnsibleActionFail(f"{self.topic}: {error}") from error

    def write(self, changes: Sequence[Change], cluster: Cluster) -> bool:
        """Do what is planned, except in check mode; whether anything was done."""
        if self._task.check_mode:
            return False
        for change in changes:
            change.do(cluster)
        return bool(changes)

    def report_changes(self, changes: Sequence[Change]) -> dict[str, Any]:
        """Of the result what the changes say: `changed`, `steps`, and with --diff `diff`."""
        texts = [change.text for change in changes]
        diff = as_diff(changes) if self._task.diff else ()
        return as_result(texts, planned=bool(self._task.check_mode), diff=diff)


def as_diff(changes: Iterable[Change]) -> list[dict[str, str]]:
    """As Ansible shows it, one part a change."""
    return [
        {"before": _text(change.before), "after": _text(change.after), "before_header": change.text}
        for change in changes
    ]


def _text(found: Any) -> str:
    return yaml.safe_dump(plain(found), sort_keys=True) if found else ""
