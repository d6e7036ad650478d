# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_windows_exporter; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_windows_exporter
short_description: Runs windows_exporter on a Windows node, for Prometheus
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Installs windows_exporter.exe, and makes and starts its service. It counts as working when C(/health) answers.
  - Metrics of the machine itself, such as disks, adapters, services and containers, which the kubelet's do not hold.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.pushed_builds
  - winkube.node.drain
  - winkube.node.nssm
  - winkube.node.inbound
  - winkube.node.cluster
  - winkube.node.components.windows_exporter
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_kubelet
"""

EXAMPLES = r"""
- name: Run windows_exporter
  winkube.node.win_windows_exporter:
    version: 0.31.8
    source:
      url: https://github.com/prometheus-community/windows_exporter/releases/download/v0.31.8/windows_exporter-0.31.8-amd64.exe
      checksum: https://github.com/prometheus-community/windows_exporter/releases/download/v0.31.8/sha256sums.txt
    collectors: ['[defaults]', container]
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done, in the order of the plan.
  returned: always
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
  sample: [{text: restarted windows_exporter, state: done}]
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    answer:
      description: The node's answer to the batch, none if nothing had to be done.
      type: str
    outcome:
      description: What became of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back before, and what became of it.
      returned: if there was one
      type: dict
      sample: {id: 5fa17f4f4b3d4c91b7dd4f076635f82c, outcome: undone}
    batch:
      description: The id of the batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
