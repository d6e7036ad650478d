# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_build; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_build
short_description: Builds a program for Windows nodes on the controller, also each time its sources change
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Runs a build on the controller and reports the file that it made, with size, time and source revision.
  - With O(watch=true) it waits first until a source has changed and nothing has been written for O(settle) seconds.
    C(playbooks/push.yml) alternates it with M(winkube.node.win_k8s_provisioner).
attributes:
  check_mode:
    support: full
    description: Builds nothing, and waits for nothing.
  diff_mode:
    support: none
    description: A build has no difference to show.
  idempotent:
    support: none
    description: It builds each time; what a build leaves as it is, it leaves as it is.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
options:
  name:
    description: The program, such as V(kubelet).
    type: str
    required: true
  directory:
    description: The folder in which the build runs, and below which the sources are.
    type: path
    required: true
  command:
    description: The command and its arguments.
    type: list
    elements: str
    required: true
  environment:
    description: Variables for the command.
    type: dict
    default: {}
  result:
    description: The file that is built, or the folder that it is put into, relative to O(directory).
    type: path
    required: true
  watch:
    description: Whether to wait for a change first. A build that fails does not fail the task then.
    type: bool
    default: false
  since:
    description: RV(stamp) of the previous build. Empty to build at once.
    type: str
    default: ''
  settle:
    description: Seconds without a write before a build begins.
    type: float
    default: 0.5
  endings:
    description: The file extensions of sources.
    type: list
    elements: str
    default: [.go, .mod, .sum, .s, .c, .h]
seealso:
  - module: winkube.node.win_k8s_provisioner
"""

EXAMPLES = r"""
- name: Build containerd
  winkube.node.k8s_windows_build:
    name: containerd
    directory: ~/containerd
    command: [make, bin/containerd]
    environment: {GOOS: windows, GOARCH: amd64}
    result: bin
  delegate_to: localhost
"""

RETURN = r"""
msg:
  description: What was built, or why not, as one line.
  returned: always
  type: str
built:
  description: Whether there is a new build.
  returned: always
  type: bool
seconds:
  description: How long the build took.
  returned: always
  type: float
output:
  description: The build's last lines.
  returned: always
  type: str
stamp:
  description: Identifies the sources that were built; pass it as O(since).
  returned: always
  type: str
file:
  description: C(path), C(size) in bytes, C(written) and C(revision) of what was built.
  returned: if there is a new build
  type: dict
"""
