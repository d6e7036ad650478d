# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CNI plugins as a component: its arguments from the options, and its one stage."""

from __future__ import annotations

from ...engine.resource import Refused
from ..declaration import Component
from ..shared_arguments import source_of
from ..source import is_archive
from ..stage import Given, Resources, Stage
from . import cni
from .options import INTERFACE, CniOptions


def build_resources(given: Given[CniOptions]) -> Resources:
    """The folders, and the plugins unless the cluster brings them."""
    options, layout = given.options, given.layout
    if options.managed_by == "cluster":
        return cni.build_resources(cni.CniArgs(layout, mark=given.mark))
    given.warn(cni.strangers(layout, given.reading))
    version = cni.plugins_version(options.version)
    plugins, flannel = options.source, options.flannel_source
    if not plugins.url or not flannel.url:
        raise Refused("source.url and flannel_source.url: the CNI plugins need an address each.")
    if not is_archive(cni.PLUGINS, plugins.url):
        raise Refused(
            f"{cni.PLUGINS}: '{plugins.url}' is a single program; name the release archive (.tgz), which has them all."
        )
    return cni.build_resources(
        cni.CniArgs(
            layout,
            plugins=source_of(given, cni.PLUGINS, str(version)),
            flannel=source_of(given, cni.FLANNEL, options.flannel_version, flannel),
            flannel_archive=is_archive(cni.FLANNEL, flannel.url),
            mark=given.mark,
        )
    )


COMPONENT = Component(
    name=cni.NAME,
    role="cni",
    reads=cni.reads,
    expected=lambda expected: expected.runs_flannel,
    interface=INTERFACE,
    folders=lambda layout: (layout.cni_bin_dir, layout.cni_conf_dir),
    stages=(Stage("plugins", build_resources, first=(cni.COMPARED,)),),
)
