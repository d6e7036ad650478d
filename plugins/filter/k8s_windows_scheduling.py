# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines that bring a pod to the Windows nodes of one build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: k8s_windows_scheduling
short_description: nodeSelector and tolerations of a pod for Windows nodes of one build
version_added: 0.1.0
author: The winkube.node authors
description:
  - Gives C(nodeSelector) and C(tolerations) of a pod template for the Windows nodes of a build, or of any build if the
    input is empty.
positional: _input
options:
  _input:
    description: The build, as 20348, 10.0.20348, 2022 or ltsc2022; empty for any.
    type: raw
    required: true
  taint:
    description: Taint of the Windows nodes as C(key=value:effect), or V(none).
    type: str
    default: os=windows:NoSchedule
"""

EXAMPLES = r"""
- name: A pod template for Windows Server 2022
  ansible.builtin.debug:
    msg: "{{ {'os': {'name': 'windows'}} | combine('2022' | winkube.node.k8s_windows_scheduling) }}"
"""

RETURN = r"""
_value:
  description: A mapping with C(nodeSelector), whose values are strings, and C(tolerations).
  type: dict
"""


def k8s_windows_scheduling(build: Any, taint: str = "os=windows:NoSchedule") -> dict[str, Any]:
    """`{nodeSelector: {label: text}, tolerations: [...]}`. AnsibleFilterError for a build or taint that is none."""
    # Here, not above: Ansible loads every filter of the collection when a playbook names one.
    from ..plugin_utils.facts.node_labels import BUILD_LABEL
    from ..plugin_utils.lint.fix import toleration_of
    from ..plugin_utils.lint.profile import Profile, SettingError, apply_settings
    from ..plugin_utils.lint.target import OS_LABELS

    try:
        profile = apply_settings(Profile(), {"taint": taint, "builds": [build] if build else []})
    except SettingError as error:
        raise AnsibleFilterError(f"k8s_windows_scheduling: {error}") from error
    selector = {OS_LABELS[0]: "windows"}
    if profile.builds:
        selector[BUILD_LABEL] = f"10.0.{profile.builds[0]}"
    return {"nodeSelector": selector, "tolerations": [toleration_of(profile.taint)] if profile.taint else []}


class FilterModule:
    """Filters of the linter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_scheduling": k8s_windows_scheduling}
