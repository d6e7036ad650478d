# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logs, listings and configuration files of a Windows node mean, without the node."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: k8s_windows_explain
short_description: What texts about a Windows node mean, without the node
version_added: 0.1.0
author: The winkube.node authors
description:
  - Takes files of the controller and says what each of them is and what it shows. Known are logs, C(kubectl describe),
    listings of HNS, C(cni.conf), C(config.toml), the kubelet's configuration, C(ipconfig), C(Get-NetAdapter),
    C(kubectl get nodes), and bundles of C(winkube.node.collect_logs).
  - Listings of one call are compared with each other.
positional: _input
options:
  _input:
    description: Files and folders of the controller.
    type: list
    elements: path
    required: true
  text:
    description: A text besides the files, such as a message.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Say what a log means
  ansible.builtin.debug:
    msg: "{{ ['kubelet.log', 'networks.json'] | winkube.node.k8s_windows_explain }}"
"""

RETURN = r"""
_value:
  description: Sentences; the last one says what was looked at, and what it was taken for.
  type: list
  elements: str
"""


def k8s_windows_explain(files: list[str] | str, text: str = "") -> list[str]:
    """The sentences; AnsibleFilterError for a file that cannot be read."""
    # Here, not above: Ansible loads every filter of the collection when a playbook names one.
    from ..plugin_utils.diagnosis.explain_cli import Given, explain_given, read_all

    names = [files] if isinstance(files, str) else files
    given = Given()
    if text:
        given.add("the message", str(text))
    if names:
        read_all([str(each) for each in names], given)
    if given.refused and not given.texts:
        raise AnsibleFilterError(" ".join(given.refused))
    return [*given.refused, *explain_given(given).lines]


class FilterModule:
    """The filter under its name."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        return {"k8s_windows_explain": k8s_windows_explain}
