# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that a provisioner knows by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """`service` and `destination` name fields of the layout or, where it has none, are the values themselves; `asks`
    are the arguments that make it say its version and end (none: nobody may start it to find out); `dependence` orders
    starts: lower ones first."""

    service: str
    destination: str
    asks: tuple[str, ...]
    dependence: int
    of_layout: bool = True


PROGRAMS: dict[str, Known] = {
    "containerd": Known("containerd_service", "containerd_binary", ("--version",), 0),
    "kubelet": Known("kubelet_service", "kubelet_binary", ("--version",), 1),
    "flanneld": Known("flanneld_service", "flanneld_binary", ("--version",), 2),
    "kube-proxy": Known("kube_proxy_service", "kube_proxy_binary", ("--version",), 3),
    "csi-proxy": Known("csiproxy", r"C:\etc\kubernetes\node\bin\csi-proxy.exe", (), 4, of_layout=False),
}
"""Sources: the layout of this collection; for csi-proxy kubernetes-csi/csi-proxy README.md (service csiproxy, the
folder of Kubernetes' own kube-up) and its cmd/csi-proxy/main.go, which has no flag for the version: started with one
it would serve. flanneld: flannel main.go, `--version`."""

UNKNOWN = Known("", "", (), 5, of_layout=False)

KUBEPROXY_PATH = "KUBEPROXY_PATH"
"""The variable by which the HostProcess DaemonSets of sig-windows-tools run a kube-proxy.exe of the host instead of the
one in their image. Source: kubernetes-sigs/sig-windows-tools hostprocess/*/kube-proxy/start.ps1."""

WRAPPERS = frozenset({"kube-log-runner.exe", "nssm.exe", "winsw.exe", "powershell.exe", "pwsh.exe", "cmd.exe"})
"""Programs that a service runs in place of its own and that start it: their image is not what is replaced."""
