# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods do not fit a build of Windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: k8s_windows_misfits
short_description: Which pods do not fit a build of Windows
version_added: 0.1.0
author: The winkube.node authors
description:
  - A container shares the host's kernel, so its base image has to be one that the host's build runs. After an update
    that brought another build, such as an upgrade to the next Windows Server, pods of before may not start any more.
  - The build of an image is told by its tag, such as C(ltsc2022); of an image whose tag names none nothing is said.
    A pod that asks for another build by its nodeSelector (C(node.kubernetes.io/windows-build)) stays Pending.
positional: _input, build
options:
  _input:
    description: Pods as M(winkube.node.win_k8s_drain) returns them.
    type: list
    elements: dict
    required: true
  build:
    description: The host's build, such as V(26100).
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Say which pods do not come back
  ansible.builtin.debug:
    msg: "{{ drained.pods | winkube.node.k8s_windows_misfits(26100) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each image or selector that does not fit.
  type: list
  elements: str
"""


def k8s_windows_misfits(pods: Sequence[Mapping[str, Any]], build: Any) -> list[str]:
    """AnsibleFilterError for what is not a build."""
    # Here, not above: Ansible loads every filter of the collection when a playbook names one.
    from ..plugin_utils.scheduling.misfits import list_misfits

    try:
        return list(list_misfits(pods, int(build)))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(f"k8s_windows_misfits: the build is {build!r}, wanted a number: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_misfits": k8s_windows_misfits}
