# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of win_flannel to what is made of them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...engine.reading import Reading
from ...engine.resource import Resource
from ...engine.resources.programs import Source
from ...facts.version import Version
from .. import networks
from ..cni import cni, cni_conf
from ..kubernetes_fit import kubernetes_line
from ..layout import Layout
from ..networks import Management
from . import flannel, flannel_conf, subnet_env, virtual_switch

Options = Mapping[str, Any]
"""The module's options, checked."""


def flannel_args(
    options: Options,
    layout: Layout,
    reading: Reading,
    management: Management,
    *,
    version: Version,
    source: Source,
    service: Mapping[str, Any],
    conf: str,
    api_server: str,
    notices: tuple[Resource, ...],
    mark: str,
) -> flannel.FlannelArgs:
    """Arguments of flannel's resources. `conf` is the rendered cni.conf, `api_server` what the cluster calls itself,
    `service` the fields of `Managed`."""
    mode = options["network_mode"]
    return flannel.FlannelArgs(
        layout=layout,
        source=source,
        node_name=options["node_name"],
        mode=mode,
        cluster_cidr=options["cluster_cidr"],
        management=management,
        conf=conf,
        switch=virtual_switch.networks_of(
            mode,
            management,
            reading,
            version,
            flannel_conf.network_name(mode, options["network_name"]),
            server(options, api_server),
        ),
        network=flannel_conf.network_name(mode, options["network_name"]),
        net_conf=options["net_conf"],
        notices=notices,
        mark=mark,
        **service,
    )


def server(options: Options, found: str) -> virtual_switch.ApiServer | None:
    """The API server as the options name it, else as it was `found`."""
    return virtual_switch.ApiServer.of(options["api_server"] or found)


def conf_settings(options: Options, layout: Layout, management: Management) -> cni_conf.CniConf:
    """What cni.conf is made of."""
    return cni_conf.settings(
        plugins=cni.plugins_version(options["plugins_version"]),
        runtime=options["runtime"],
        kubernetes=kubernetes_line(options["kubernetes_version"]),
        network=flannel_conf.network_name(options["network_mode"], options["network_name"]),
        mode=options["network_mode"],
        cni_version=options["cni_version"],
        cluster_cidr=options["cluster_cidr"],
        service_cidr=options["service_cidr"],
        subnet=management.subnet,
        management_ip=management.address,
        dns_service_ip=options["dns_service_ip"],
        cluster_domain=options["cluster_domain"],
        extra=options["exception_list"],
        subnet_file="" if subnet_env.is_default(layout) else subnet_env.path(layout),
    )


def range_problems(options: Options, management: Management) -> tuple[str, ...]:
    """Why the cluster's networks do not go together, or not with the node's."""
    return networks.range_problems(
        options["cluster_cidr"],
        options["service_cidr"],
        options["dns_service_ip"],
        options["network_mode"],
        management.subnet,
    )


def lease_problem(options: Options, layout: Layout, reading: Reading, mtu: int) -> str | None:
    """What is wrong with the subnet.env that flanneld has written, a sentence; None if it fits the node."""
    path = subnet_env.path(layout)
    text = reading.text(path)
    if text is None:
        return f"flanneld runs, but there is no {path} that can be read."
    wrong = subnet_env.problems(
        text,
        cluster=str(networks.ipv4(networks.ranges(options["cluster_cidr"], "winkube_cluster_cidr"))[0]),
        mode=options["network_mode"],
        mtu=mtu,
    )
    return f"{path} does not fit this node: {'; '.join(wrong)}." if wrong else None
