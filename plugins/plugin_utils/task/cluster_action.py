# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module that writes objects of the cluster, and asks no node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from ansible import constants as C  # noqa: N812 - as all of Ansible names it

from ..cluster.change import Change
from ..cluster.client import Cluster
from ..cluster.remembered import Remembered
from ..components.shared_options import Access
from ..engine.resource import Refused
from ..engine.sentences import as_result
from .argument_spec import plain
from .module_action import ControllerAction
from .recorded import find_store


class ClusterAction(ControllerAction):
    """A subclass says what is planned and reported in `work`."""

    def open_cluster(self, access: Access) -> Cluster:
        """The cluster. Refused without a kubeconfig."""
        return self._need(Cluster.open(asdict(access)))

    def recall_cluster(self, access: Access) -> Cluster:
        """The cluster as the hosts of the task know it, for reading alone. A host that the run has changed or repaired
        asks for itself: what an earlier batch was told may be older than that. Refused without a kubeconfig."""
        record = find_store().record(self._host)
        if record.done or record.repairs:
            return self.open_cluster(access)
        return self._need(Cluster.remembering(asdict(access), self.share_answers(access)))

    def share_answers(self, access: Access) -> Remembered:
        """What one host of the task was answered, told to the others of its cluster as well."""
        return Remembered(Path(C.DEFAULT_LOCAL_TMP), (str(self._task._uuid), asdict(access)))

    def _need(self, cluster: Cluster | None) -> Cluster:
        if cluster is None:
            raise Refused(f"{self.topic}: cluster.kubeconfig is empty, and everything here is asked of the cluster.")
        return cluster

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
