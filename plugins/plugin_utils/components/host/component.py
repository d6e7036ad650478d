# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine itself as a component: its arguments from the options, and its one stage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

from ...engine import windows_path
from ...engine.resources.feature import TIMEOUT_S
from ...facts.calico import hns_mode
from ...facts.windows_revisions import parse_entries as own_revisions
from .. import log_limit
from ..declaration import Component
from ..kubernetes_fit import kubernetes_line, release
from ..stage import After, Given, Resources, Stage
from . import host
from .host import HostArgs, Proxy
from .node_fit import Wanted
from .options import INTERFACE, HostOptions, ProxyOptions


def build_resources(given: Given[HostOptions]) -> Resources:
    """Folders, the feature Containers, the machine's name and proxy. Refused before anything changes."""
    args = arguments(given)
    for sentence in host.check(args, given.reading).warnings:
        given.asks.warn(f"{given.asks.host}: {sentence}")
    return host.build_resources(args, given.reading)


def arguments(given: Given[HostOptions]) -> HostArgs:
    """The component's arguments from the module's options."""
    options, layout = given.options, given.layout
    network = options.network
    # Not for an image: every machine gets its own name, and NO_PROXY would hold this machine's network.
    bound = not given.shared.golden_image
    proxy = options.proxy if bound else ProxyOptions()
    return HostArgs(
        layout=layout,
        wanted=Wanted(
            kubernetes=kubernetes_line(options.kubernetes_version),
            containerd=release(options.containerd_version, "containerd version")
            if options.containerd_version
            else None,
            pause_image=options.pause_image,
            pause_image_source=options.pause_image_source,
            network_mode=hns_mode(network.mode),
            allow_unsupported_os=options.allow_unsupported_os,
        ),
        computer_name=options.computer_name if bound else "",
        proxy=Proxy(
            http=proxy.http,
            https=proxy.https,
            exceptions=proxy.no_proxy,
            ranges=tuple(
                each.strip()
                for cidr in (network.cluster_cidr, network.service_cidr)
                for each in cidr.split(",")
                if each
            ),
            domain=network.domain,
        ),
        interface_name=network.interface_name,
        address=network.address,
        page_file_mb=options.page_file_min_mb,
        require_encryption=options.require_encryption,
        gmsa=options.gmsa,
        bad_revisions=own_revisions([asdict(each) for each in options.windows_revisions]),
        limits=log_limit.limits(options.log),
        logs=tuple(windows_path.join(layout.log_dir, f"{name}.log") for name in given.programs),
        scheduled=given.shared.runner == "task",
        golden_image=given.shared.golden_image,
        mark=given.mark,
    )


def ask_cluster(given: Given[HostOptions]) -> None:
    """Refused before the node is touched if a later component's kubeconfig would fail."""
    if given.options.kubernetes_version:
        given.ask_cluster("version", lambda cluster: cluster.version())


def remind(given: Given[HostOptions], _acted: Collection[str], changed: bool) -> After:
    """Reminders, only if something changes or is planned."""
    if changed or given.reading.predicted:
        for sentence in host.check(arguments(given), given.reading).reminders:
            given.asks.warn(f"{given.asks.host}: {sentence}")
    return After()


COMPONENT = Component(
    name=host.NAME,
    role="host",
    reads=host.reads,
    expected=lambda _expected: True,
    interface=INTERFACE,
    folders=lambda layout: (layout.root, layout.log_dir),
    # Turning on a feature takes long on a slow disk.
    stages=(Stage("machine", build_resources, before=ask_cluster, deadline=lambda _given: TIMEOUT_S + 900),),
    after=remind,
)
