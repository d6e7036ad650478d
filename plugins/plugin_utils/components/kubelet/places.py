# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a kubelet's files are on a node."""

from __future__ import annotations

from ...engine import windows_path
from ..layout import Layout

ROOT_DIR = r"C:\var\lib\kubelet"
"""The kubelet's default folder. Source: kubernetes v1.37.1 cmd/kubelet/app/options/options.go, defaultRootDir
(`/var/lib/kubelet`)."""
ENV_FILE = "kubeadm-flags.env"
"""Also its name in messages."""


def config_file(layout: Layout) -> str:
    """kubeadm's KubeletConfiguration."""
    return windows_path.join(layout.kubelet_dir, "config.yaml")


def instance_file(layout: Layout) -> str:
    """What kubeadm puts into config.yaml on this node alone: the runtime's socket."""
    return windows_path.join(layout.kubelet_dir, "instance-config.yaml")


def env_file(layout: Layout) -> str:
    """kubeadm's arguments for the kubelet."""
    return windows_path.join(layout.kubelet_dir, ENV_FILE)


def drop_in_dir(layout: Layout) -> str:
    """The folder of our part of the KubeletConfiguration."""
    return windows_path.join(layout.kubelet_dir, "config.d")


def cert_dir(layout: Layout) -> str:
    """The folder of the kubelet's certificates."""
    return windows_path.join(layout.kubelet_dir, "pki")


def ca_file(layout: Layout) -> str:
    """The cluster's CA, by which the kubelet authenticates its callers, in the place where kubeadm writes it."""
    return windows_path.join(layout.kubernetes_dir, "pki", "ca.crt")


def bootstrap_file(layout: Layout) -> str:
    """The kubeconfig with which the kubelet gets its first certificate."""
    return windows_path.join(layout.kubernetes_dir, "bootstrap-kubelet.conf")
