# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands between a service and the program that a provisioner replaces."""

from __future__ import annotations

KUBEPROXY_PATH = "KUBEPROXY_PATH"
"""The variable by which the HostProcess DaemonSets of sig-windows-tools run a kube-proxy.exe of the host instead of the
one in their image. Source: kubernetes-sigs/sig-windows-tools hostprocess/*/kube-proxy/start.ps1."""

WRAPPERS = frozenset({"kube-log-runner.exe", "nssm.exe", "winsw.exe", "powershell.exe", "pwsh.exe", "cmd.exe"})
"""Programs that a service runs in place of its own and that start it: their image is not what is replaced."""
