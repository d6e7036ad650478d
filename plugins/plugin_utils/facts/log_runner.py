# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-log-runner: Kubernetes' own wrapper that keeps what a program prints in a file.

A program that the service control manager starts has no console, and kubelet and kube-proxy have no flag for a log file
from 1.26 on: image-builder runs the kubelet behind it (kubernetes-sigs/image-builder v0.1.55
images/capi/ansible/windows/roles/kubernetes/tasks/sc.yml), and fetches it from beside kubelet.exe (tasks/url.yml).

It is published since 1.23, as bin/windows/amd64/kube-log-runner.exe of a release and as kubernetes/node/bin in
kubernetes-node-windows-amd64.tar.gz. Sources: kubernetes v1.22.17 (not there) and v1.23.17 hack/lib/golang.sh,
kube::golang::node_targets; v1.37.1 build/lib/release.sh, package_node_tarballs. A newer one runs older programs: it
knows nothing of them.
"""

from __future__ import annotations

from .version import Line

SINCE = Line(1, 23)
"""The first line that has it."""

ROTATES = Line(1, 34)
"""The first line whose -log-file-size and -log-file-age rotate the file and take old ones away.

Source: k8s.io/component-base v0.33.0 and v0.34.0 logs/kube-log-runner/kube-log-runner.go (unchanged in v0.37.1).
"""
