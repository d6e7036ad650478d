# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_drift; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_drift
short_description: Writes one report of how nodes differ from what is wanted
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Takes from the records of this run (docs/record.md) what earlier tasks planned for each node in check mode, and
    writes C(drift.json) and C(drift.html) on the controller. The playbook C(winkube.node.drift) runs it.
  - The HTML file needs nothing besides itself. Whatever comes from a node is text in it, never HTML.
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: The report is a report.
  idempotent:
    support: none
    description: The report has the time at which it was made.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
options:
  hosts:
    description: The hosts, in the order of the report. A host that could not be planned is listed with the reason.
    type: list
    elements: str
    required: true
  directory:
    description: The folder on the controller. A relative path starts at the current folder.
    type: path
    required: true
seealso:
  - module: winkube.node.k8s_windows_diagnosis
"""

EXAMPLES = r"""
- name: Write the report
  winkube.node.k8s_windows_drift:
    hosts: "{{ ansible_play_hosts_all }}"
    directory: ./drift
  run_once: true
"""

RETURN = r"""
files:
  description: The report's files on the controller, by C(json) and C(html).
  returned: always
  type: dict
counts:
  description: How many nodes are C(same), C(different), C(failed) and C(unreachable).
  returned: always
  type: dict
verdicts:
  description: For each node that is not as wanted, by host, a sentence that says why.
  returned: always
  type: dict
said:
  description: One sentence about all nodes.
  returned: always
  type: str
  sample: No node differs.
"""
