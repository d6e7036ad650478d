# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run others as services: nssm, and Kubernetes' own kube-log-runner, which keeps what they print."""

from __future__ import annotations

from dataclasses import dataclass

from .version import Line

# nssm's releases: nssm.cc publishes SHA-1 sums only, so the sha256 of the one that is wanted stands here.

NSSM_VERSION = "2.24"
"""The last release (2014-08-31). Builds after it, such as 2.24-101-g897c7ad, call themselves 2.24 with a suffix."""

NSSM_MEMBER = "win64/nssm.exe"
"""The 64-bit program in the zip's one folder. Source: thespianpy/Thespian, thespian/director.py (member names)."""


@dataclass(frozen=True, slots=True)
class NssmRelease:
    """One release. `file`: the zip's name; `sha256`: the zip's, lower-case hex."""

    file: str
    sha256: str
    source: str
    unverified: bool = False


NSSM_RELEASES: tuple[NssmRelease, ...] = (
    NssmRelease(
        "nssm-2.24.zip",
        "727d1e42275c605e0f04aba98095c38a8e1e46def453cdffce42869428aa6743",
        "ten public repositories that pin https://nssm.cc/release/nssm-2.24.zip (351,793 bytes) agree on it; of its "
        "win64/nssm.exe they say f689ee9a...6c97, as thespianpy/Thespian thespian/director.py does",
    ),
)


def find_sha256(file: str) -> str | None:
    """The sha256 of nssm's own zip of this name, None if it is not known."""
    return next((release.sha256 for release in NSSM_RELEASES if release.file == file), None)


# kube-log-runner: Kubernetes' own wrapper that keeps what a program prints in a file.
#
# A program that the service control manager starts has no console, and kubelet and kube-proxy have no flag for a log
# file from 1.26 on: image-builder runs the kubelet behind it (kubernetes-sigs/image-builder v0.1.55
# images/capi/ansible/windows/roles/kubernetes/tasks/sc.yml), and fetches it from beside kubelet.exe (tasks/url.yml).
#
# It is published since 1.23, as bin/windows/amd64/kube-log-runner.exe of a release and as kubernetes/node/bin in
# kubernetes-node-windows-amd64.tar.gz. Sources: kubernetes v1.22.17 (not there) and v1.23.17 hack/lib/golang.sh,
# kube::golang::node_targets; v1.37.1 build/lib/release.sh, package_node_tarballs. A newer one runs older programs: it
# knows nothing of them.

LOG_RUNNER_SINCE = Line(1, 23)
"""The first line that has it."""

LOG_RUNNER_ROTATES = Line(1, 34)
"""The first line whose -log-file-size and -log-file-age rotate the file and take old ones away.

Source: k8s.io/component-base v0.33.0 and v0.34.0 logs/kube-log-runner/kube-log-runner.go (unchanged in v0.37.1).
"""

# Which of them the machine's preshutdown gets through, which the kubelet's graceful node shutdown needs.
#
# nssm is the service itself, and its kubelet has no --windows-service: "kubelet is NOT running as a Windows service"
# (nodeshutdown_manager_windows.go, start). kube-log-runner is not a service: it starts the kubelet and waits
# (kube-log-runner.go, configureAndRun), and the kubelet connects to the service control manager itself (svc.Run in
# pkg/windows/service/service.go, initService). Windows takes the process that connects for the service's (event 7039,
# "process .. connected instead") and sends all controls over that connection (learn.microsoft.com,
# StartServiceCtrlDispatcher), stop as well as preshutdown. That is read from source: unverified on a real Windows is a
# preshutdown behind kube-log-runner. Sources: kubernetes v1.32.0, v1.34.2, v1.37.1; component-base v0.37.1.

GRACEFUL_SHUTDOWN_SINCE = Line(1, 32)
"""The first line whose kubelet on Windows has a shutdown manager and accepts preshutdown.

Source: kubernetes v1.31.14 (no nodeshutdown_manager_windows.go; InitService), v1.32.0 (InitServiceWithShutdown)
cmd/kubelet/app/init_windows.go."""

GRACEFUL_SHUTDOWN_GATE = "WindowsGracefulNodeShutdown"
"""On by default from 1.34 on (feature_gates.txt)."""

GRACEFUL_SHUTDOWN_SERVICE = "kubelet"
"""The name under which the kubelet looks for its own service. Source: kubernetes v1.37.1
pkg/kubelet/nodeshutdown/nodeshutdown_manager_windows.go, serviceKubelet."""
