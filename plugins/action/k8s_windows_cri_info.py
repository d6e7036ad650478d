# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a container runtime over CRI, and says who reports wrong CPU usage; documented in
modules/k8s_windows_cri_info.py."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.options import read
from ..plugin_utils.components.shared_options import Access
from ..plugin_utils.cri import plot
from ..plugin_utils.cri.client import CriClient, CriError, Tls
from ..plugin_utils.cri.inventory import look
from ..plugin_utils.cri.kubelet import KubeletProxy
from ..plugin_utils.cri.recording import Recording
from ..plugin_utils.cri.samples import Sample, SampleError
from ..plugin_utils.cri.watch import StatsOptions, check_numbers, read_elsewhere, report, summary_line, take
from ..plugin_utils.facts.version import VersionError
from ..plugin_utils.task.module_action import ControllerAction
from ..plugin_utils.task.screen import display


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions(Tls):
    """The option `tls`; files for a connection that is not encrypted are refused."""

    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CriInfoOptions:
    """The module's options. `timeout` is seconds."""

    gather: tuple[str, ...]
    address: str
    tls: TlsOptions
    timeout: float
    node_name: str
    cluster: Access
    stats: StatsOptions

    def open_client(self) -> CriClient:
        """A connection to the runtime. CriError."""
        tls = self.tls
        if not tls.enabled and (tls.ca or tls.cert or tls.key or tls.server_name):
            raise CriError("tls: enabled is false, but the rest of tls is given; set enabled, or take it away.")
        return CriClient(self.address, tls if tls.enabled else None, self.timeout)


class ActionModule(ControllerAction):
    """k8s_windows_cri_info."""

    module = "k8s_windows_cri_info"
    refusals = (CriError, SampleError, VersionError)

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the runtime says of itself, the figures and the verdicts; the task fails only where someone cannot be
        asked."""
        given = read(CriInfoOptions, options)
        result: dict[str, Any] = {"changed": False}
        if "containers" in given.gather:
            result |= _containers(given)
        if "stats" in given.gather:
            result |= self._stats(given, given.stats)
        return result

    def _stats(self, given: CriInfoOptions, how: StatsOptions) -> dict[str, Any]:
        check_numbers(how)
        elsewhere, kubelet = read_elsewhere(how), _kubelet(given)
        if not given.address and kubelet is None and not elsewhere:
            raise SampleError(
                "There is nothing to read: give address, or node_name and cluster, or stats.crictl, or stats.summaries."
            )
        if how.second_caller > 0 and not given.address:
            raise SampleError("stats.second_caller: it asks the runtime, so it needs address.")
        files = Recording(how, write=not self._task.check_mode)

        def each(number: int, samples: Sequence[Sample]) -> None:
            if how.live:
                for line in plot.live(number, samples):
                    display.display(line)
            files.add(number, samples)

        with ExitStack() as stack:
            runtime = second = None
            if given.address:
                runtime = stack.enter_context(given.open_client())
                if how.second_caller > 0:
                    second = stack.enter_context(given.open_client())
                    second.version()
            found = take(how, runtime, second, kubelet, elsewhere, each=each)
        result = report(how, found)
        files.finish(how.title or f"CPU usage, {given.node_name}", result["readings"], result["verdicts"])
        for one in result["findings"]:
            display.v(f"{one['blame']}: {one['text']}")
        return {"msg": summary_line(result), **result}


def _containers(given: CriInfoOptions) -> dict[str, Any]:
    if not given.address:
        raise CriError("gather: containers asks the runtime, so it needs address.")
    with given.open_client() as client:
        return look(client)


def _kubelet(given: CriInfoOptions) -> KubeletProxy | None:
    if not given.node_name:
        return None
    cluster = Cluster.open(asdict(given.cluster))
    if cluster is None:
        raise ClusterError(
            "node_name is given, but no way to the cluster: cluster.kubeconfig is empty; set it, or leave node_name "
            "out."
        )
    return KubeletProxy(cluster, given.node_name)
