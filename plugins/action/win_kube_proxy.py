# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges kube-proxy; documented in modules/win_kube_proxy.py."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from ..plugin_utils.component_action import STALE_TRIES
from ..plugin_utils.components.kube_proxy import kube_proxy, source_vip
from ..plugin_utils.components.kube_proxy.kube_proxy_args import KubeProxySettings
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.plan import make_plan
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.source_action import KubernetesAction, feature_gates


class ActionModule(KubernetesAction):
    """win_kube_proxy."""

    module = "win_kube_proxy"
    component = kube_proxy.NAME

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, program, service; where kube-proxy is the cluster's, no service; in an image the program alone."""
        if options["golden_image"]:
            return self.program_alone(options, layout, mark, kube_proxy.program)
        theirs = self._daemon_sets(options)
        if options["managed_by"] == "cluster":
            gone = kube_proxy.left_to_cluster(layout, reading)
            if theirs == ():
                self.warn_all([kube_proxy.nobody_runs_it(options["node_name"])])
            return gone
        if theirs:
            kube_proxy.refuse_beside(theirs[0], options["node_name"])
        return kube_proxy.desired(self._args(options, layout, reading, mark), reading)

    def _known(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[tuple[Resource, ...], Reading]:
        """As every component; and the source VIP is reserved first, since the command line holds it."""
        for _attempt in range(STALE_TRIES):
            resources, reading = super()._known(options, layout, reading, mark)
            if self._task.check_mode or not self._needs_vip(options, layout, reading):
                return resources, reading
            make_plan(self.component, resources, reading)  # what would be refused is refused before an address is taken
            vip = self._vip_args(options, layout)
            batch = source_vip.reserve(vip, reading, self.component)
            answer = self._apply(batch, uuid.uuid4().hex, layout, reading)
            if answer.get("answer") == "stale":
                reading = self.read(layout)
                continue
            address = source_vip.reserved(answer, source_vip.pod_range(vip, reading))
            reading = self._after(reading, batch, answer, layout).merged({source_vip.KEY: address})
        if self._needs_vip(options, layout, reading):
            raise NodeError(
                "kube-proxy: subnet.env on the node changed each time that a source VIP was reserved; flanneld seems "
                "to restart again and again."
            )
        return super()._known(options, layout, reading, mark)

    def _args(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> kube_proxy.KubeProxyArgs:
        version = self.version(options)
        mode = kube_proxy.mode(options["network_mode"])
        overlay = mode == "overlay"
        vip = self._present_vip(options, layout, reading) if overlay else ""
        return kube_proxy.KubeProxyArgs(
            layout=layout,
            source=self.source_of(options),
            settings=KubeProxySettings(
                version=version,
                node_name=options["node_name"],
                mode=mode,
                network=options["network_name"],
                source_vip=(vip or source_vip.UNKNOWN) if overlay else "",
                pod_cidr=source_vip.pod_range(self._vip_args(options, layout), reading) if vip else "",
                cluster_cidr=options["cluster_cidr"],
                kubeconfig=layout.kube_proxy_kubeconfig,
                dsr=options["dsr"],
                verbosity=options["verbosity"],
                log_dir="" if options["service"]["manager"] == "sc" else layout.log_dir,
                feature_gates=feature_gates(options["feature_gates"]),
                extra=tuple(options["extra_arguments"]),
            ),
            notices=self.check_skew(options, version),
            reads_vip=source_vip.reads(self._vip_args(options, layout)) if overlay else (),
            mark=mark,
            **self.service_options(options, layout, mark),
        )

    def _daemon_sets(self, options: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The DaemonSets that run kube-proxy on this node; None if the cluster cannot be asked."""
        name = options["node_name"].lower()
        return self.of_cluster(
            options,
            "daemon sets",
            lambda cluster: kube_proxy.beside_daemon_set(cluster.daemon_sets(), cluster.node(name), name),
        )

    def _needs_vip(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> bool:
        here = options["managed_by"] == "service" and not options["golden_image"]
        overlay = here and options["network_mode"] == "overlay"
        return overlay and not self._present_vip(options, layout, reading)

    def _present_vip(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> str:
        return source_vip.present(self._vip_args(options, layout), reading.service(layout.kube_proxy_service), reading)

    def _vip_args(self, options: Mapping[str, Any], layout: Layout) -> source_vip.VipArgs:
        network = options["network_name"] or kube_proxy.network_name(options["network_mode"])
        return source_vip.VipArgs(layout, network, options["cni_data_dir"])
