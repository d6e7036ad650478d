# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules that ask the cluster reach its API."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  cluster:
    description:
      - How the controller reaches the cluster's API. The roles pass the variable C(winkube_cluster).
      - Needs the Python package C(kubernetes) on the controller. Nodes never get these credentials.
    type: dict
    suboptions:
      kubeconfig:
        description:
          - A kubeconfig on the controller, or several as in C(KUBECONFIG). Empty to leave the cluster alone; the task
            then says what it cannot check, and refuses what it cannot do.
        type: str
        default: ''
      context:
        description: The context of that kubeconfig; empty for its current one.
        type: str
        default: ''
"""
