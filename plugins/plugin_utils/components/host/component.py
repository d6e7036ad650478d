# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine itself as a component: its arguments from the options, and its one stage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...engine import windows_path
from ...engine.resources.feature import TIMEOUT_S
from ..declaration import Component
from ..stage import After, Given, Resources, Stage
from . import host
from .host import Host
from .options import INTERFACE, HostOptions, ProxyOptions


def build_resources(given: Given[HostOptions]) -> Resources:
    """Folders, the feature Containers, the machine's name and proxy. Refused before anything changes."""
    wanted = find_wanted(given)
    for sentence in host.check(wanted, given.reading).warnings:
        given.asks.warn(f"{given.asks.host}: {sentence}")
    return host.build_resources(wanted, given.reading)


def find_wanted(given: Given[HostOptions]) -> Host:
    """The machine by the module's options. An image has no name and no proxy: every machine gets its own name, and
    NO_PROXY would hold this machine's network."""
    options, layout = given.options, given.layout
    if given.shared.golden_image:
        options = replace(options, computer_name="", proxy=ProxyOptions())
    logs = tuple(windows_path.join(layout.log_dir, f"{name}.log") for name in given.programs)
    return Host(options, layout, given.shared, logs, given.mark)


def ask_cluster(given: Given[HostOptions]) -> None:
    """Refused before the node is touched if a later component's kubeconfig would fail."""
    if given.options.kubernetes_version:
        given.ask_for_all("version", lambda cluster: cluster.version())


def remind(given: Given[HostOptions], _acted: Collection[str], changed: bool) -> After:
    """Reminders, only if something changes or is planned."""
    if changed or given.reading.predicted:
        for sentence in host.check(find_wanted(given), given.reading).reminders:
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
