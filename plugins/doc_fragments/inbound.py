# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules whose program has a port say who may reach it."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  firewall:
    description:
      - The inbound rule of the Windows firewall for the program's port. If a rule that someone else made admits the
        same machines, it is left as it is and no other is created.
    type: dict
    suboptions:
      enabled:
        description: V(false) leaves the firewall as it is; the port is then unreachable unless another rule opens it.
        type: bool
        default: true
      sources:
        description:
          - Addresses and networks that may connect, or V(any) for all.
          - Empty for the pods' networks and the node's own network, if O(cluster.kubeconfig) shows that they contain
            all nodes and API servers; otherwise for all.
        type: list
        elements: str
        default: []
"""
