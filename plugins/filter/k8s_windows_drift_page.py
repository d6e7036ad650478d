# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of winkube.node.drift as an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from jinja2 import UndefinedError

DOCUMENTATION = r"""
name: k8s_windows_drift_page
short_description: The report of drift as an HTML page
version_added: 0.1.0
author: The winkube.node authors
description:
  - Takes what C(winkube.node.drift) writes to C(drift.json) and gives a page of one file without scripts, which needs
    nothing from elsewhere.
  - Whatever comes from a node is text in the page, never HTML.
positional: _input
options:
  _input:
    description: The report, as C(drift.json) has it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Make the page again from a report that was kept
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'drift.json') | from_json | winkube.node.k8s_windows_drift_page }}"
    dest: drift.html
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The page.
  type: str
"""


def k8s_windows_drift_page(report: Mapping[str, Any]) -> str:
    """AnsibleFilterError for what is not a report."""
    # Here, not above: Ansible loads every filter of the collection when a playbook names one.
    from ..plugin_utils.pages.render import render

    try:
        return render("drift.html.j2", report=report)
    except (TypeError, UndefinedError) as error:
        raise AnsibleFilterError(f"k8s_windows_drift_page: this is not a report of drift: {error}") from error


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"k8s_windows_drift_page": k8s_windows_drift_page}
