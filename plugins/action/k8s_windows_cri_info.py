# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a container runtime over CRI, and says who reports wrong CPU usage; documented in
modules/k8s_windows_cri_info.py."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cri import plot
from ..plugin_utils.cri.client import CriClient, CriError
from ..plugin_utils.cri.inventory import look
from ..plugin_utils.cri.kubelet import KubeletProxy
from ..plugin_utils.cri.recording import Recording
from ..plugin_utils.cri.samples import Sample, SampleError
from ..plugin_utils.cri.watch import Wanted, read_elsewhere, report, summary_line, take
from ..plugin_utils.facts.version import VersionError
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.screen import display


class ActionModule(ControllerAction):
    """k8s_windows_cri_info."""

    module = "k8s_windows_cri_info"
    refusals = (CriError, SampleError, VersionError)

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the runtime says of itself, the figures and the verdicts; the task fails only where someone cannot be
        asked."""
        result: dict[str, Any] = {"changed": False}
        if "containers" in options["gather"]:
            result |= _containers(options)
        if "stats" in options["gather"]:
            result |= self._stats(options, options["stats"])
        return result

    def _stats(self, options: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
        wanted, elsewhere, kubelet = Wanted.of(how), read_elsewhere(how), _kubelet(options)
        if not options["address"] and kubelet is None and not elsewhere:
            raise SampleError(
                "There is nothing to read: give address, or node_name and cluster, or stats.crictl, or stats.summaries."
            )
        if wanted.second_caller_s > 0 and not options["address"]:
            raise SampleError("stats.second_caller: it asks the runtime, so it needs address.")
        files = Recording(how, write=not self._task.check_mode)

        def each(number: int, samples: Sequence[Sample]) -> None:
            if how["live"]:
                for line in plot.live(number, samples):
                    display.display(line)
            files.add(number, samples)

        with ExitStack() as stack:
            runtime = second = None
            if options["address"]:
                runtime = stack.enter_context(CriClient.of(options))
                if wanted.second_caller_s > 0:
                    second = stack.enter_context(CriClient.of(options))
                    second.version()
            found = take(wanted, runtime, second, kubelet, elsewhere, each=each)
        result = report(wanted, found)
        files.finish(how["title"] or f"CPU usage, {options['node_name']}", result["readings"], result["verdicts"])
        for one in result["findings"]:
            display.v(f"{one['blame']}: {one['text']}")
        return {"msg": summary_line(result), **result}


def _containers(options: dict[str, Any]) -> dict[str, Any]:
    if not options["address"]:
        raise CriError("gather: containers asks the runtime, so it needs address.")
    with CriClient.of(options) as client:
        return look(client)


def _kubelet(options: dict[str, Any]) -> KubeletProxy | None:
    if not options["node_name"]:
        return None
    cluster = Cluster.open(options["cluster"])
    if cluster is None:
        raise ClusterError(
            "node_name is given, but no way to the cluster: cluster.kubeconfig is empty; set it, or leave node_name "
            "out."
        )
    return KubeletProxy(cluster, options["node_name"])
