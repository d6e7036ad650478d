# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_containerd_images; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_containerd_images
short_description: Pulls images to a Windows node before a pod needs them
version_added: 0.2.0
author: The winkube.node authors (@winkube)
description:
  - Pulls the sandbox image and O(images) with containerd's own C(ctr.exe), into the namespace that the kubelet uses.
    Asks the mirrors of C(node.certs_dir).
  - Which images were pulled, or were there already, is noted on the node. What is noted is not pulled again, also if
    the kubelet has collected it since.
  - A pull that fails fails the task, and leaves containerd as it is.
  - A registry that wants a user and a password is not supported.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.attributes
options:
  images:
    description: Whole names of images, with host, path and tag or digest, such as V(docker.io/library/golang:1.24).
    type: list
    elements: str
    default: []
  pause_image:
    description: The sandbox image. Empty for the one that fits O(kubernetes_version).
    type: str
    default: ''
  pause_image_source:
    description: Whose sandbox image.
    type: str
    choices: [kubernetes, microsoft]
    default: kubernetes
  kubernetes_version:
    description: The Kubernetes that the node shall run. Decides the sandbox image.
    type: str
    default: ''
  timeout:
    description: Seconds that the pull of one image may take.
    type: int
    default: 1800
seealso:
  - module: winkube.node.win_containerd
"""

EXAMPLES = r"""
- name: Have the base image of our pods on the node
  winkube.node.win_containerd_images:
    images: ['mcr.microsoft.com/windows/servercore:ltsc2022']
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
  sample: [{text: 'pull mcr.microsoft.com/windows/servercore:ltsc2022', state: done}]
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
      description: The batch of an earlier run that was finished or taken back before, and what became of it.
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
