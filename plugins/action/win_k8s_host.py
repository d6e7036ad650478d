# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges the machine itself; documented in modules/win_k8s_host.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.components import log_limit
from ..plugin_utils.components.host import host
from ..plugin_utils.components.host.host import HostArgs, Proxy
from ..plugin_utils.components.host.node_fit import Wanted
from ..plugin_utils.components.kubernetes_fit import kubernetes_line, release
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.registry import DAEMONS
from ..plugin_utils.engine import windows_path
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.engine.resources.feature import TIMEOUT_S
from ..plugin_utils.source_action import KubernetesAction


class ActionModule(KubernetesAction):
    """win_k8s_host."""

    module = "win_k8s_host"
    component = host.NAME
    deadline_s = TIMEOUT_S + 900
    """Turning on a feature takes long on a slow disk."""

    _reminders: tuple[str, ...] = ()

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """As every component; a kubeconfig with which a later step would fail is said before the node is touched."""
        if options["kubernetes_version"]:
            self.of_cluster(options, "version", lambda cluster: cluster.version())
        return super().work(options, layout)

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, the feature Containers, the machine's name and proxy; refused before anything is touched."""
        args = arguments(options, layout, mark)
        if not reading.missing(host.reads(layout)):
            found = host.check(args, reading)
            self._reminders = found.reminders
            self._warn(found.warnings)
        return host.desired(args, reading)

    def _finished(self, done: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """As every component; reminders only where something changes, or is only planned."""
        result = super()._finished(done, options)
        if result["changed"] or done[-1].reading.predicted:
            self._warn(self._reminders)
        return result

    def _warn(self, sentences: Sequence[str]) -> None:
        for sentence in sentences:
            self.warn_once(f"{self._host}: {sentence}")


def arguments(options: Mapping[str, Any], layout: Layout, mark: str = "") -> HostArgs:
    """The component's arguments from the module's options."""
    network = options["network"]
    # Of an image neither: every machine gets a name of its own, and NO_PROXY would hold this one's network.
    bound = not options["golden_image"]
    proxy: Mapping[str, Any] = options["proxy"] if bound else {"http": "", "https": "", "no_proxy": ()}
    return HostArgs(
        layout=layout,
        wanted=Wanted(
            kubernetes=kubernetes_line(options["kubernetes_version"]),
            containerd=release(options["containerd_version"], "containerd version")
            if options["containerd_version"]
            else None,
            pause_image=options["pause_image"],
            pause_image_source=options["pause_image_source"],
            network_mode=network["mode"],
            allow_unsupported_os=options["allow_unsupported_os"],
        ),
        computer_name=options["computer_name"] if bound else "",
        proxy=Proxy(
            http=proxy["http"],
            https=proxy["https"],
            exceptions=tuple(proxy["no_proxy"]),
            ranges=tuple(
                each.strip() for name in ("cluster_cidr", "service_cidr") for each in network[name].split(",") if each
            ),
            domain=network["domain"],
        ),
        interface_name=network["interface_name"],
        address=network["address"],
        page_file_mb=options["page_file_min_mb"],
        require_encryption=options["require_encryption"],
        gmsa=options["gmsa"],
        limits=log_limit.limits(options["log"]),
        logs=tuple(windows_path.join(layout.log_dir, f"{name}.log") for name in DAEMONS),
        scheduled=options["runner"] == "task",
        golden_image=options["golden_image"],
        mark=mark,
    )
