# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which service managers each program can run under, and the flag that makes it a service by itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceKind:
    """How a program runs as a service.

    `managers`: those it can run under, the default first: `nssm`, `sc` (sc.exe; the program speaks to the service
    control manager),
    `registered` (as `sc`, and the program makes the service itself). `native_flag`: what tells the program that it
    is a service;
    None: it cannot be one.
    """

    managers: tuple[str, ...]
    native_flag: str | None
    why: str
    source: str
    unverified: bool = False


SERVICES: dict[str, ServiceKind] = {
    "containerd": ServiceKind(
        ("registered", "nssm"),
        "--run-service",
        "containerd registers itself; sc.exe would leave out what --register-service sets.",
        "containerd v2.4.2 cmd/containerd/command/service_windows.go",
    ),
    "kubelet": ServiceKind(
        ("nssm", "sc"),
        "--windows-service",
        "The kubelet does not make its own service.",
        "kubernetes v1.27.0 cmd/kubelet/app/options/osflags_windows.go; the documents' --service is no flag of it",
    ),
    "kube-proxy": ServiceKind(
        ("nssm", "sc"),
        "--windows-service",
        "kube-proxy does not make its own service.",
        "kubernetes v1.27.0 cmd/kube-proxy/app/init_windows.go; the documents' --service is no flag of it",
    ),
    "flanneld": ServiceKind(
        ("nssm",),
        None,
        "flanneld does not speak to the service control manager: under sc.exe it would be killed after 30 seconds "
        "(Windows error 1053).",
        "the documents register it with nssm only; flannel's main.go waits for signals alone (read at a commit before "
        "flannel ran on Windows)",
        unverified=True,
    ),
    "csi-proxy": ServiceKind(
        ("sc", "nssm"),
        "-windows-service",
        "csi-proxy does not make its own service.",
        "kubernetes-csi/csi-proxy 10bd8800 cmd/csi-proxy/main.go; kubernetes-csi.github.io/docs/csi-proxy.html",
    ),
}
