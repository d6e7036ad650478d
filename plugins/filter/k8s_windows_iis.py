# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The IIS sample of Kubernetes' guide for Windows containers, for a build of Windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: k8s_windows_iis
short_description: A Deployment and a Service of IIS that a RuntimeClass brings to the right Windows nodes
version_added: 0.1.0
author: The winkube.node authors
description:
  - Gives the sample of Kubernetes' documents, C(iis-2019), for any build of Windows with an image of IIS.
  - The pod names a RuntimeClass such as C(windows-2022), which the playbook C(winkube.node.scheduling) makes.
positional: _input
options:
  _input:
    description: The build, as 20348, 10.0.20348, 2022 or ltsc2022.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Run IIS on Windows Server 2022
  kubernetes.core.k8s:
    definition: "{{ '2022' | winkube.node.k8s_windows_iis }}"
    namespace: default
"""

RETURN = r"""
_value:
  description: The Deployment and the Service.
  type: list
  elements: dict
"""


def k8s_windows_iis(build: Any) -> list[dict[str, Any]]:
    """[Deployment, Service]. AnsibleFilterError for what is not a build, or has no image."""
    # Here, not above: Ansible loads every filter of the collection when a playbook names one.
    from ..plugin_utils.lint.profile import Profile, SettingError, apply_settings
    from ..plugin_utils.workloads.iis import iis

    try:
        (number,) = apply_settings(Profile(), {"builds": [build]}).builds
        return iis(number)
    except (SettingError, ValueError) as error:
        raise AnsibleFilterError(f"k8s_windows_iis: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_iis": k8s_windows_iis}
