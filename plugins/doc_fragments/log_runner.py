# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where kube-log-runner.exe comes from, for the modules whose service sc.exe may make."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  log_runner_source:
    description:
      - Where kube-log-runner.exe comes from, which keeps the log of a service that has no console. Used only where
        O(service.manager=sc).
    type: dict
    suboptions:
      version:
        description: Its release of Kubernetes, V(1.34.0) or newer. It may be newer than the program that it runs.
        type: str
        default: 1.37.2
      url:
        description: Its address, from which the node downloads it; empty if the program is already in C(node.root).
        type: str
        default: https://dl.k8s.io/release/v1.37.2/bin/windows/amd64/kube-log-runner.exe
      checksum:
        description: As for O(source.checksum).
        type: str
        default: https://dl.k8s.io/release/v1.37.2/bin/windows/amd64/kube-log-runner.exe.sha256
"""
