# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_cni and the variables of the role cni."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..options import Interface, Option, Variable, option, suboptions
from ..shared_options import ProgramSource, checksum_option, unverified_option

PLACES = (
    Option(
        "cni_bin_dir",
        "str",
        "The folder of the CNI plugins.",
        default=r"C:\k\cni",
        variable=Variable(
            "winkube_cni_bin_dir",
            r"{{ 'C:\opt\cni\bin' if winkube_cni_managed_by == 'cluster' else winkube_root ~ '\cni' }}",
            "The folder of the CNI plugins; with C(winkube_cni_managed_by=cluster) the one that DaemonSets write to.",
        ),
    ),
    Option(
        "cni_conf_dir",
        "str",
        "The folder of the CNI configuration. containerd watches it from its first start.",
        default=r"C:\k\cni\config",
        variable=Variable(
            "winkube_cni_conf_dir",
            r"{{ 'C:\etc\cni\net.d' if winkube_cni_managed_by == 'cluster' else winkube_root ~ "
            r"'\cni\config' }}",
            "The folder of the CNI configuration; with C(winkube_cni_managed_by=cluster) the one that"
            " DaemonSets write to.",
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CniOptions:
    managed_by: Literal["service", "cluster"] = option(
        "Who brings the network. With V(cluster) a DaemonSet of the cluster does; then the folders are "
        "made and nothing is written into them.",
        default="service",
        variable="winkube_cni_managed_by",
    )
    version: str = option(
        "The release of the CNI plugins, such as V(1.10.0).", default="1.10.0", variable="winkube_cni_plugins_version"
    )
    source: ProgramSource = suboptions(
        ProgramSource,
        "Where the CNI plugins come from.",
        url=option(
            "The release archive (C(.tgz)), fetched by the node.",
            default="https://github.com/containernetworking/plugins/releases/download/v1.10.0/cni-plugins-windows-amd64-v1.10.0.tgz",
            variable=Variable(
                "winkube_cni_plugins_url",
                "{{ winkube_downloads }}github.com/containernetworking/plugins/releases/download/v{{ "
                "winkube_cni_plugins_version | regex_replace('^v') }}/cni-plugins-windows-amd64-v{{ "
                "winkube_cni_plugins_version | regex_replace('^v') }}.tgz",
                shown="the release archive",
            ),
        ),
        checksum=checksum_option(
            "cni-plugins",
            Variable(
                "winkube_cni_plugins_checksum",
                "{{ winkube_download_sums or ((winkube_cni_plugins_url ~ '.sha256') if "
                "winkube_cni_plugins_url.startswith('https://') else '') }}",
                shown="the publisher's sum file",
            ),
        ),
    )
    flannel_version: str = option(
        "The release of flannel's CNI plugin, such as V(1.9.1-flannel3).",
        default="1.9.1-flannel3",
        variable=Variable("winkube_flannel_cni_version"),
    )
    flannel_source: ProgramSource = suboptions(
        ProgramSource,
        "Where flannel's CNI plugin comes from.",
        url=option(
            "The release archive (C(.tgz)) with flannel-amd64.exe, or just that program, fetched by the node.",
            default="https://github.com/flannel-io/cni-plugin/releases/download/v1.9.1-flannel3/cni-plugin-flannel-windows-amd64-v1.9.1-flannel3.tgz",
            variable=Variable(
                "winkube_flannel_cni_url",
                "{{ winkube_downloads }}github.com/flannel-io/cni-plugin/releases/download/v{{ "
                "winkube_flannel_cni_version | regex_replace('^v') }}/cni-plugin-flannel-windows-amd64-v{{ "
                "winkube_flannel_cni_version | regex_replace('^v') }}.tgz",
                shown="the release archive",
            ),
        ),
        checksum=option(
            "As for O(source.checksum); O(allow_unverified) calls it C(flannel-cni).",
            default="",
            variable=Variable(
                "winkube_flannel_cni_checksum",
                "{{ winkube_download_sums or ((winkube_flannel_cni_url ~ '.sha256') if "
                "winkube_flannel_cni_url.startswith('https://') else '') }}",
                shown="the publisher's sum file",
            ),
        ),
    )
    allow_unverified: tuple[str, ...] = unverified_option("cni-plugins", "flannel-cni")


INTERFACE = Interface(
    module="win_cni",
    summary="Installs the CNI plugins on a Windows node",
    task="Install the CNI plugins",
    shared=("node",),
    places=PLACES,
    options=CniOptions,
)
