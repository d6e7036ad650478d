# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of cri_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cri_info
short_description: Asks a node's container runtime over CRI
version_added: 0.3.0
author: The winkube.node authors (@winkube)
description:
  - Asks containerd over TCP which versions of CRI it serves, what it runs and which calls it answers.
  - A port that listens proves nothing, since containerd opens it for C(tcp_address) alone and then serves no CRI there.
    This module fails unless the call C(Version) is answered.
  - Only calls that read are made.
extends_documentation_fragment:
  - winkube.node.cri
options:
  address:
    description: C(host:port) of the runtime's TCP service, or C(unix:///path) for one on the controller.
    type: str
    required: true
seealso:
  - module: winkube.node.cri_stats_info
"""

EXAMPLES = r"""
- name: Ask the node's containerd
  winkube.node.cri_info:
    address: 127.0.0.1:8888
  register: cri

- name: Stop unless it is the wanted release
  ansible.builtin.assert:
    that: cri.version.runtimeVersion is version('1.7.0', '>=')
"""

RETURN = r"""
version:
  description: The answer to C(Version), names as in CRI.
  returned: success
  type: dict
  sample: {version: 0.1.0, runtimeName: containerd, runtimeVersion: 1.7.12, runtimeApiVersion: v1}
apis:
  description: The versions of CRI that are served.
  returned: success
  type: list
  elements: str
  sample: [v1, v1alpha2]
calls:
  description: Each call that was tried, V(ok) or gRPC's status such as V(UNIMPLEMENTED).
  returned: success
  type: dict
  sample: {ListContainerStats: ok, ListPodSandboxStats: UNKNOWN}
errors:
  description: The sentences for the calls that were not answered.
  returned: success
  type: list
  elements: str
conditions:
  description: The runtime's conditions, such as RuntimeReady and NetworkReady.
  returned: success
  type: list
  elements: dict
pods:
  description: The pod sandboxes, with C(id), C(name), C(namespace) and C(state).
  returned: success
  type: list
  elements: dict
containers:
  description: The containers, with C(id), C(name), C(pod), C(namespace), C(image) and C(state).
  returned: success
  type: list
  elements: dict
images:
  description: The names of the images.
  returned: success
  type: list
  elements: str
"""
