# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converges the kubelet; documented in modules/win_kubelet.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ..plugin_utils.cluster.endpoint import endpoint
from ..plugin_utils.components.kubelet import kubelet
from ..plugin_utils.components.kubelet.kubelet_args import PAUSE_IS_AN_ARGUMENT, KubeletSettings, reserved
from ..plugin_utils.components.kubernetes_fit import pause_image, release
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.facts.version import Version
from ..plugin_utils.source_action import KubernetesAction, feature_gates


class ActionModule(KubernetesAction):
    """win_kubelet."""

    module = "win_kubelet"
    component = kubelet.NAME

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, program, drop-in, service. In an image its command line names no machine: the join puts that in."""
        if options["golden_image"] and kubelet.configured(layout, reading):
            raise kubelet.no_image(layout)
        version = self.version(options)
        settings = self._settings(options, layout, version, reading)
        args = kubelet.KubeletArgs(
            layout=layout,
            source=self.source_of(options),
            settings=settings,
            ca_pem=self._ca(options, layout) if kubelet.lacks_ca(settings, layout, reading) else "",
            sources=self.inbound(options, reading),
            configured=kubelet.configured(layout, reading),
            kubeadm_flags=kubelet.text_of(kubelet.env_file(layout), reading),
            config=self._config(layout, reading),
            notices=self.check_skew(options, version),
            mark=mark,
            **self.service_options(options, layout, mark),
        )
        made = kubelet.desired(args)
        self.warn_all(kubelet.warnings(args))
        return made

    def _settings(
        self, options: Mapping[str, Any], layout: Layout, version: Version, reading: Reading
    ) -> KubeletSettings:
        image, beside = "", options["containerd_version"]
        if version.line < PAUSE_IS_AN_ARGUMENT:
            image = pause_image(options["pause_image"], version.line, options["pause_image_source"], reading.build)
        logs = {"log_dir": ""} if options["service"]["manager"] == "sc" else {}  # kube-log-runner keeps them
        return KubeletSettings(
            version=version,
            node_name="" if options["golden_image"] else options["node_name"],
            runtime=options["container_runtime"],
            containerd_version=release(beside, "containerd_version") if beside else None,
            pause_image=image,
            cluster_dns=tuple(options["cluster_dns"]),
            cluster_domain=options["cluster_domain"],
            verbosity=options["verbosity"],
            priority_class=options["priority_class"],
            system_reserved=reserved("system_reserved", options["system_reserved"], reading),
            kube_reserved=reserved("kube_reserved", options["kube_reserved"], reading),
            eviction_hard=_texts(options["eviction_hard"]),
            eviction_soft=_texts(options["eviction_soft"]),
            eviction_soft_grace_period=_texts(options["eviction_soft_grace_period"]),
            taints=tuple(options["taints"]),
            labels=_texts(options["labels"]),
            node_ip="" if options["golden_image"] else options["node_ip"] or self.management(options, reading).address,
            feature_gates=feature_gates(options["feature_gates"]),
            extra=(*kubelet.own_arguments(layout), *options["extra_arguments"]),
            **(kubelet.places(layout, options["join"]) | logs),
        )

    def _ca(self, options: Mapping[str, Any], layout: Layout) -> str:
        """The cluster's CA, for a kubelet that runs already and was not told it. Refused if nobody can say."""
        found = self.of_cluster(options, "CA", lambda cluster: endpoint(cluster).ca_pem)
        if not found:
            raise kubelet.no_ca(layout)
        return found.decode()

    def _config(self, layout: Layout, reading: Reading) -> Mapping[str, Any]:
        """kubeadm's KubeletConfiguration as it lies on the node; empty if there is none that can be read."""
        try:
            found = yaml.safe_load(kubelet.text_of(kubelet.config_file(layout), reading))
        except yaml.YAMLError:
            return {}
        return found if isinstance(found, dict) else {}


def _texts(given: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items()}
