# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_diagnosis; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_diagnosis
short_description: Writes one report of what was found on Windows nodes
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Takes from the records of this run (docs/record.md) what M(winkube.node.win_k8s_diagnose) found on each node and
    writes C(report.md), C(report.html) and C(report.json) on the controller.
  - The HTML file holds a picture of each node's adapters, HNS networks, endpoints and services, and needs nothing
    besides itself.
attributes:
  check_mode:
    support: full
    description: Says whether the files would differ.
  diff_mode:
    support: none
    description: The report is a report.
  idempotent:
    support: full
    description: Files that say the same are left alone.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
options:
  hosts:
    description: The hosts, in the order of the report. A host that the run could not read is listed with the reason.
    type: list
    elements: str
    required: true
  directory:
    description: The folder on the controller. A relative path starts at the current folder.
    type: path
    required: true
  message:
    description:
      - A message that a user pasted. Its known causes come first in RV(lines), whether or not a node answers.
    type: str
    default: ""
seealso:
  - module: winkube.node.win_k8s_diagnose
"""

EXAMPLES = r"""
- name: Write the report
  winkube.node.k8s_windows_diagnosis:
    hosts: "{{ ansible_play_hosts_all }}"
    directory: ./troubleshooting
  run_once: true
"""

RETURN = r"""
files:
  description: The report's files on the controller, by C(md), C(html) and C(json).
  returned: always
  type: dict
counts:
  description: The number of answers of each kind over all nodes, and of nodes that were not reached.
  returned: always
  type: dict
broken:
  description: The hosts on which something is broken.
  returned: always
  type: list
  elements: str
verdicts:
  description: For each node that does not work or was not reached, by host, a sentence that says why.
  returned: always
  type: dict
lines:
  description: The lines that a terminal shows.
  returned: always
  type: list
  elements: str
"""
