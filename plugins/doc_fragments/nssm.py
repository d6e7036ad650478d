# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where nssm.exe comes from, for the modules whose service may run under it."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  nssm_source:
    description:
      - Where nssm.exe comes from. Used only where O(service.manager=nssm); C(node.nssm) is where it is put.
      - nssm 2.24, or a later build of it, is needed; another version is refused.
    type: dict
    suboptions:
      url:
        description:
          - The address of nssm's own zip (C(nssm-2.24.zip), on any host) or of C(nssm.exe). The node downloads it.
          - Empty if nssm.exe gets to the node in some other way.
        type: str
        default: https://nssm.cc/release/nssm-2.24.zip
      checksum:
        description:
          - V(sha256:) and 64 hex digits, or the https address of a sum file.
          - Empty for C(nssm-2.24.zip), whose checksum is known. Required for everything else, unless
            O(allow_unverified) names nssm.
        type: str
        default: ''
  log:
    description: How the program's output is kept, where nssm or kube-log-runner writes it to a file.
    type: dict
    suboptions:
      max_mb:
        description: The size in megabytes at which the log is rotated.
        type: int
        default: 10
      keep_days:
        description: Days after which kube-log-runner removes older files of the log. M(winkube.node.win_k8s_host)
          removes those of nssm.
        type: int
        default: 14
"""
